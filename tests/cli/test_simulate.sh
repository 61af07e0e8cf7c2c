#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_simulate.sh COBRE HELPERS: cobre simulate and cobre policy.
cases=$(realpath "$(dirname "$0")/../../cases")
. "$(dirname "$0")/../kit/lib.sh"
cd "$scratch" || exit 1

lines() { wc -l <"$1"; }
tables='costs stages states variables duals noise'

trained() {
    cobre train "$cases/brazil3" --iterations 10 --force
    code_is 0
}

case_simulate() {
    trained
    cobre simulate "$cases/brazil3" --trajectories 20
    code_is 0
    out_has "20 trajectories, in-sample"
    out_has "+-"
    [ "$(lines brazil3-out/costs.csv)" = 21 ] || fail "costs.csv: $(lines brazil3-out/costs.csv) lines"
    [ "$(lines brazil3-out/stages.csv)" = 61 ] || fail "stages.csv: $(lines brazil3-out/stages.csv) lines"
    [ "$(lines brazil3-out/states.csv)" = 241 ] || fail "states.csv: $(lines brazil3-out/states.csv) lines"
    grep -q '^1,1,storage,SE,' brazil3-out/states.csv || fail "no storage"
    grep -q '^20,3,load,SE,' brazil3-out/duals.csv || fail "no marginal cost"
    grep -q ',generation,' brazil3-out/variables.csv || fail "no generation"
    grep -q ',inflow,SE,' brazil3-out/noise.csv || fail "no inflow"
    # the summary is the mean of the table
    awk -F, 'FNR == 1 { next } FILENAME ~ /costs/ { sum += $3; n++ } $1 == "mean" { mean = $2 }
        END { d = sum / n - mean; exit !(d * d < 1e-12 * mean * mean) }' brazil3-out/costs.csv \
        brazil3-out/simulation.csv || fail "the mean is not the mean of costs.csv"
}

case_same_tables_on_any_number_of_ranks() {
    local table
    trained
    cobre simulate "$cases/brazil3" --trajectories 23 --seed 5 --out one
    code_is 0
    cobre simulate -n 3 "$cases/brazil3" --policy brazil3-out/policy.cobre --trajectories 23 --seed 5 --out three
    code_is 0
    for table in $tables; do
        cmp "one/$table.csv" "three/$table.csv" || fail "$table.csv differs"
    done
    cobre simulate -n 5 "$cases/brazil3" --trajectories 2 --seed 5 --out few
    code_is 0
    cmp <(head -3 one/costs.csv) few/costs.csv || fail "with more ranks than trajectories"
}

# No room for the rows of one rank: all ranks end with its error, and there are no tables.
case_no_room_for_rows() {
    has_backend tcp || { skip "no tcp in this build" && return; }
    trained
    (
        trap '' XFSZ
        ulimit -f 100
        cobre simulate -n 2 --backend tcp "$cases/brazil3" --trajectories 100 --out full
        exit "$code"
    )
    code=$?
    code_is 1
    err_has "there is no room left for the tables"
    [ ! -e full/costs.csv ] || fail "there are tables"
}

case_tables_and_json() {
    trained
    cobre simulate "$cases/brazil3" --trajectories 4 --json --tables states --out some
    code_is 0
    json_holds out 'docs[0]["trajectories"] == 4'
    json_keys out 'docs[0]' sampling trajectories mean half deviation minimum maximum bound gap proven difference note out
    json_holds out 'abs(docs[0]["gap"] - (docs[0]["mean"] - docs[0]["bound"]) / docs[0]["mean"]) < 1e-12' # a share, not percent
    json_holds out "docs[0]['gap'] == $(sed -n 's/^gap,//p' some/simulation.csv)"
    [ "$(ls some)" = "$(printf 'costs.csv\nrun.json\nsimulation.csv\nstates.csv')" ] || fail "$(ls some)"
    cobre simulate "$cases/brazil3" --trajectories 4 --tables none --out none
    out_has "table     none/costs.csv"
    [ "$(ls none)" = "$(printf 'costs.csv\nrun.json\nsimulation.csv')" ] || fail "$(ls none)"
}

case_no_model() {
    trained
    cobre simulate "$cases/brazil3" --trajectories 5 --out in
    err_lacks "model"
    cobre simulate -n 2 "$cases/brazil3" --trajectories 5 --sampling out-of-sample --out out-of
    code_is 0
    [ "$(grep -c "out-of-sample is the same as in-sample" err)" = 1 ] || fail "$(cat err)"
    cmp in/costs.csv out-of/costs.csv || fail "other costs"
}

# With a risk measure the mean of simulated costs bounds nothing.
case_no_gap() {
    cobre train "$cases/brazil3" --iterations 5 --cvar 0.2,0.5
    out_has "no gap: with a risk measure"
    lacks -E 'gap [0-9-]|upper bound|%.*%' out
    cobre report brazil3-out
    grep -q '<dt>Gap</dt><dd>-' brazil3-out/report.html || fail "a gap: $(grep -o '.*Gap.*' brazil3-out/report.html)"
    cobre simulate "$cases/brazil3" --trajectories 5
    out_has "no gap: with a risk measure"
    out_has "+-"
    cobre report brazil3-out
    grep -q '<dt>Gap</dt><dd>-' brazil3-out/report.html || fail "a gap: $(grep -o '.*Gap.*' brazil3-out/report.html)"
    trained
    out_has ", gap "
    cobre simulate "$cases/brazil3" --trajectories 5
    out_has ", gap "
    cobre report brazil3-out
    grep -q '<dt>Gap</dt><dd>[0-9.-]*[0-9]' brazil3-out/report.html || fail "no gap in the report"
}

# Trained for one dry opening, and simulated with all that the model has: a mean below the bound is called what it is.
case_odd_gap() {
    local note="below the bound, more than its interval: the bound is one for the outcomes of the training"
    cp -r "$cases/cascade" dry && sed -i 's/"openings": 20, "seed": 1/"openings": 1, "seed": 4/' dry/case.json
    cobre train dry --iterations 20
    code_is 0
    cobre simulate dry --trajectories 200 --sampling out-of-sample --json
    json_holds out 'docs[0]["mean"] + docs[0]["half"] < docs[0]["bound"] and docs[0]["note"].find("kinder") > 0'
    cobre simulate -n 2 dry --trajectories 200 --sampling out-of-sample
    code_is 0
    out_has "note      the mean of 200 trajectories is "
    out_has "$note"
    cobre report dry-out
    grep -q 'the mean is beyond the bound' dry-out/report.html || fail "no word in the report"
    cobre simulate dry --trajectories 200
    code_is 0
    lacks ^note out
    cobre report dry-out
    lacks 'the mean is beyond the bound' dry-out/report.html
}

# Own scenarios: what the case has, written as a table, must give the same.
case_own_scenarios_history() {
    trained
    cobre simulate "$cases/brazil3" --sampling given --out history
    code_is 0
    awk -F, 'NR == 1 { print "scenario,stage,SE,S,NE,N"; next }
        $2 == 1 { print $1 ",1,39717.564,6632.5141,15897.183,2525.2938" } # what stage 1 is known to be
        $2 == 2 || $2 == 3' "$cases/brazil3/history.csv" >years.csv
    [ "$(lines years.csv)" = 247 ] || fail "years.csv: $(lines years.csv) lines"
    cobre simulate -n 2 "$cases/brazil3" --scenarios years.csv --out own
    code_is 0
    out_has "82 trajectories, own scenarios"
    out_has "no gap: the scenarios are no sample"
    lacks -F +- out
    cobre simulate "$cases/brazil3" --sampling given --out history --json
    json_holds out 'docs[0]["half"] is None'
    cmp history/costs.csv own/costs.csv || fail "other costs"
    cmp history/states.csv own/states.csv || fail "other decisions"
}

# With a model the table has inflows, from which the noise is found.
case_own_scenarios_par() {
    local case
    for case in cascade brazil_ar; do
        cobre train "$cases/$case" --iterations 2
        cobre simulate "$cases/$case" --sampling out-of-sample --trajectories 5
        code_is 0
        python3 - "$case-out/variables.csv" >inflows.csv <<'END' || fail "no table"
import csv, sys
rows, plants = {}, []
for row in csv.DictReader(open(sys.argv[1])):
    if row["kind"] == "inflow":
        plants += [] if row["element"] in plants else [row["element"]]
        rows.setdefault((row["trajectory"], row["step"]), {})[row["element"]] = row["value"]
print("scenario,stage," + ",".join(plants))
for (trajectory, step), row in rows.items():
    print(f"s{trajectory},{step}," + ",".join(row[p] for p in plants))
END
        cobre simulate "$cases/$case" --scenarios inflows.csv --out own
        code_is 0
        paste -d, "$case-out/costs.csv" own/costs.csv | awk -F, 'NR > 1 { n++; d = $3 - $6; if (d * d > 1e-12 * $3 * $3) bad = 1 }
            END { exit bad || n != 5 }' || fail "$case: $(paste -d, "$case-out/costs.csv" own/costs.csv)"
    done
}

case_own_scenarios_sof() {
    cobre train "$cases/gas.sof.json" --iterations 10
    cobre simulate "$cases/gas.sof.json" --sampling given --out given
    cat >mine.csv <<'END'
scenario,node,price,demand,note
a,1,5,3,
b,1,5,3,steps of a scenario need not be together
a,2 tight,15,6,
a,3 calm,6,2,
b,2 calm,3,3,
b,3 tight,9,8,
END
    cobre simulate "$cases/gas.sof.json" --scenarios mine.csv --out own
    code_is 0
    cmp given/costs.csv own/costs.csv || fail "other costs"
    cmp given/variables.csv own/variables.csv || fail "other decisions"
    cobre validate "$cases/gas.sof.json" --scenarios mine.csv
    code_is 0
    sed -i 's/^a,2 tight/a,3 tight/; s/^b,2 calm,3/b,2 clam,x/; s/^b,3 tight,9/b,2 calm,nine/; s/15,6/15,/' mine.csv
    cobre validate "$cases/gas.sof.json" --scenarios mine.csv
    code_is 1
    out_has "mine.csv:4: column node: 3 tight does not follow 1"
    out_has "mine.csv:4: column demand: is empty"
    out_has "mine.csv:5: column node: 3 calm does not follow 3 tight"
    out_has 'mine.csv:6: column node: "2 clam" is no node of this case'
    out_has 'mine.csv:7: column price: "nine" is not a number'
    cobre simulate -n 2 "$cases/gas.sof.json" --scenarios mine.csv
    code_is 1
    err_has "mine.csv:4: column demand: is empty"
    err_lacks "failed first"
    echo "scenario,node,price" >mine.csv
    cobre validate "$cases/gas.sof.json" --scenarios mine.csv
    out_has 'mine.csv:1: there is no column "demand"'
    cobre simulate "$cases/gas.sof.json" --scenarios nowhere.csv
    code_is 1
    err_has "nowhere.csv: cannot be read"
    cobre simulate "$cases/gas.sof.json" --scenarios mine.csv --sampling given
    code_is 2
}

case_wrong() {
    cobre simulate
    code_is 2
    cobre simulate "$cases/brazil3" --sampling best
    code_is 2
    cobre simulate "$cases/brazil3" --tables water
    code_is 2
    cobre simulate "$cases/brazil3" -n 2
    code_is 1
    err_has "policy.cobre"
    err_has "train first: cobre train $cases/brazil3"
    err_lacks "failed first"
    cobre simulate "$cases/brazil3" --sampling given --trajectories 3
    code_is 2
    trained
    printf garbage >brazil3-out/policy.cobre
    cobre simulate "$cases/brazil3"
    code_is 1
    err_has "policy.cobre"
    cobre simulate "$cases/brazil3" --out nothing
    code_is 1
    [ ! -e nothing ] || fail "it left an empty folder"
}

case_policy() {
    trained
    cobre policy brazil3-out/policy.cobre
    code_is 0
    out_has "10 iterations"
    out_has "20 at 2 of 3 nodes"
    cobre policy brazil3-out/policy.cobre --json
    json_keys out 'docs[0]' policy name sense solver solver_version fallback fallback_version seed iterations bound proven cut_count states
    json_holds out 'docs[0]["cut_count"] == 20'
    cobre policy brazil3-out/policy.cobre --export csv
    code_is 0
    [ "$(lines out)" = 21 ] || fail "$(lines out) lines"
    head -1 out | grep -q '^node,outcome,iteration,intercept,storage\[SE\]' || fail "$(head -1 out)"
    cp out cuts.csv
    cobre policy brazil3-out/policy.cobre --export json --out cuts.json
    code_is 0
    json_keys cuts.json 'docs[0]' policy name sense solver solver_version fallback fallback_version seed iterations bound proven cut_count states cuts
    json_keys cuts.json 'docs[0]["cuts"][0]' node outcome iteration intercept slopes
    json_holds cuts.json 'len(docs[0]["cuts"]) == 20 and len(docs[0]["cuts"][0]["slopes"]) == len(docs[0]["states"])'
    json_holds cuts.json '[[cut["intercept"], *cut["slopes"]] for cut in docs[0]["cuts"]] == [
        [float(field) for field in row.split(",")[3:]] for row in open("cuts.csv").readlines()[1:]]'
    cobre policy nowhere
    code_is 1
    err_has "nowhere: cannot read: No such file"
    cobre policy brazil3-out
    code_is 1
    err_has "give a policy file: policy.cobre of a folder of results"
    cobre policy "$cases/brazil3/history.csv"
    code_is 1
    err_has "this is not a policy file"
    err_has "give a policy file: policy.cobre of a folder of results"
    cobre policy brazil3-out/policy.cobre --export xml
    code_is 2
}

# A case that needs a bound of its future value needs it for training only: then the policy has it.
case_value_bound_of_the_policy() {
    sed 's/"coefficient": -0.1/"coefficient": 0.1/; s/"Interval", "lower": 0, "upper": [0-9]*/"GreaterThan", "lower": 0/' \
        "$cases/gas.sof.json" >open.sof.json
    cobre train open.sof.json --iterations 5
    code_is 1
    err_has "no bound of the future value can be found"
    cobre train open.sof.json --iterations 10 --value-bound 1000
    code_is 0
    cp -r open-out whole
    cobre simulate open.sof.json --trajectories 5
    code_is 0
    cobre train open.sof.json --iterations 5 --value-bound 1000 --force
    cobre train open.sof.json --iterations 10 --resume open-out/policy.cobre
    code_is 0
    cmp open-out/policy.cobre whole/policy.cobre || fail "resumed to another policy"
}

# A policy file says all by itself: what is shown does not change when the case and the folder are gone.
case_policy_alone() {
    local format
    cp "$cases/gas.sof.json" mine.sof.json
    cobre train mine.sof.json --iterations 5 --multi-cut --cvar 0.2,0.5
    code_is 0
    for format in "" --json "--export csv" "--export json"; do
        cobre policy mine-out/policy.cobre $format
        code_is 0
        sed 's|mine-out/policy|elsewhere|' out >"before$format"
    done
    grep -q "^case      Gas store.*: 3 stages, 5 nodes, 1 state$" before || fail "$(cat before)"
    grep -q "(upper)" before || fail "$(cat before)"
    mv mine-out/policy.cobre elsewhere.cobre
    rm -r mine-out mine.sof.json
    for format in "" --json "--export csv" "--export json"; do
        cobre policy elsewhere.cobre $format
        code_is 0
        cmp "before$format" out || fail "policy $format"
    done
}

# Whatever is in the file: refused, with its name.
case_policy_damaged() {
    local size at
    trained
    size=$(stat -c %s brazil3-out/policy.cobre)
    for at in 0 7 8 100 191 192 200 300 1000 $((size / 2)) $((size - 8)) $((size - 1)); do
        head -c "$at" brazil3-out/policy.cobre >cut.cobre
        cobre policy cut.cobre
        code_is 1
        err_has "cut.cobre: "
        cp brazil3-out/policy.cobre bent.cobre
        printf '\377' | dd of=bent.cobre bs=1 seek="$at" conv=notrunc status=none
        cobre policy bent.cobre
        code_is 1
        err_has "bent.cobre: "
    done
    cobre policy .
    code_is 1
}

run_cases "${@:3}"
