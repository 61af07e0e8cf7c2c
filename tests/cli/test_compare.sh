#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_compare.sh COBRE HELPERS: cobre compare, on real runs.
rio=$(realpath "$(dirname "$0")/../cases/rio")
. "$(dirname "$0")/../kit/lib.sh"
cd "$scratch" || exit 1

# made NAME SEED TRAJECTORIES OPTION...: a run that is trained and simulated
made() {
    cobre train "$rio" --iterations 15 --out "$1" "${@:4}"
    code_is 0
    cobre simulate "$rio" --policy "$1/policy.cobre" --seed "$2" --trajectories "$3"
    code_is 0
}

fits() { lacks -E '.{101}' out; } # on lines of 100 characters

# cell KIND ELEMENT RUN: of the JSON in out, as a Python expression
cell() { echo "[r for r in docs[0]['rows'] if r['kind'] == '$1' and r['element'] == '$2'][0]['runs'][$3]"; }

case_one_run_twice() {
    made one 1 40
    cobre compare one one
    code_is 0
    out_has "one (2) costs the same as one (1) in every trajectory."
    lacks -E '\*$' out
    fits
    cobre compare one one/ --json
    code_is 0
    json_holds out "not any(c['significant'] for r in docs[0]['rows'] for c in r['runs'])"
    json_holds out "all(r['runs'][1]['difference'] == 0 for r in docs[0]['rows'] if r['runs'][1]['difference'] is not None)"
}

case_neutral_and_averse() {
    made neutral 1 400
    made averse 1 400 --cvar 0.1,0.5
    cobre compare neutral averse --csv rows.csv
    code_is 0
    fits
    head -2 out | grep -qE '^averse costs [0-9.]+ % more than neutral on average: .* \(95 %\), larger than' || fail "$(cat out)"
    out_has "In the worst 5 % of the trajectories it costs"
    out_has "It has deficits in"
    out_has "bounds of different risk measures"
    grep -q '^over,kind,level,element,unit,.*,note$' rows.csv || fail "$(head -1 rows.csv)"
    grep -qE '^horizon,cost,system,,\$,,,,averse,[0-9.]+,[0-9.]+,400,[0-9.]+,[0-9.]+,yes,pairs,$' rows.csv || fail "$(head -4 rows.csv)"
    cobre compare neutral averse --json
    json_keys out 'docs[0]' runs notes rows
    json_keys out 'docs[0]["runs"][1]' name path words sampling trajectories seed averse
    json_keys out 'docs[0]["rows"][0]' over kind level element unit step stage date runs
    json_keys out 'docs[0]["rows"][0]["runs"][1]' value deviation count difference error significant method note
    json_holds out "$(cell cost '' 1)['method'] == 'pairs' and $(cell cost '' 1)['significant']"
    json_holds out "$(cell deficit_probability '' 1)['method'] == 'shares'"
    json_holds out "$(cell marginal_cost Norte 1)['method'] == 'stages'"
    json_holds out "$(cell bound '' 1)['difference'] is None"
    json_holds out "docs[0]['runs'][1]['averse'] and not docs[0]['runs'][0]['averse']"
    # the difference is that of costs.csv
    difference=$(paste -d, neutral/costs.csv averse/costs.csv | awk -F, 'NR > 1 {s += $6 - $3} END {printf "%.6f", s / (NR - 1)}')
    json_holds out "abs($(cell cost '' 1)['difference'] - $difference) < 1e-6 * abs($difference)"
}

case_details() {
    made one 1 40
    made two 2 60
    cobre compare one two --by stage --kind marginal_cost
    code_is 0
    [ "$(grep -cE '^  step [0-9]+ ' out)" = 48 ] || fail "not 24 stages of two subsystems: $(cat out)"
    fits
    cobre compare one two --by element --json
    json_holds out "$(cell storage 'Serra Alta' 1)['method'] == 'stages' and $(cell cost '' 1)['method'] == 'independent'"
    cobre compare one two --kind spill
    [ "$(grep -c '^  spill ' out)" = 3 ] || fail "not three plants: $(cat out)"
    cobre compare one two --by stage
    code_is 2
    err_has "--by stage needs --kind"
    cobre compare one two --kind smell
    code_is 1
    err_has "give one of cost"
}

case_many_runs() {
    made a-very-long-name-of-a-run-2030-01 1 40
    local run runs=()
    for run in {2..8}; do
        cp -r a-very-long-name-of-a-run-2030-01 "a-very-long-name-of-a-run-2030-0$run"
    done
    runs=(a-very-long-name-of-a-run-*)
    cobre compare "${runs[@]}"
    code_is 0
    fits
    out_has "a-ve..0-08" # what differs is left
    cobre compare "${runs[@]}" one-more
    code_is 2
    err_has "unexpected argument 'one-more'"
    mkdir x y
    mv a-very-long-name-of-a-run-2030-01 x/run
    mv a-very-long-name-of-a-run-2030-02 y/run
    cobre compare x/run y/run
    out_has "y/run costs the same as x/run"
}

case_policies() {
    cobre train "$rio" --iterations 5 --out few
    cobre train "$rio" --iterations 15 --out more
    cobre compare few more/policy.cobre
    code_is 0
    out_has "% higher than that of few"
    grep -qE '^  iterations +5 +15 +\+10 ' out || fail "$(cat out)"
    grep -qx "  cobre simulate $rio --policy few/policy.cobre" out || fail "no command: $(cat out)"
    grep -qx "  cobre simulate CASE --policy more/policy.cobre" out || fail "no command: $(cat out)"
    cobre simulate "$rio" --policy few/policy.cobre --trajectories 40
    cobre compare few more
    code_is 0
    out_has "more has not been simulated"
    grep -qE '^  total cost +\$ +[0-9.e]+ +- ' out || fail "$(cat out)"
}

case_scenarios_are_no_sample() {
    made drawn 1 40
    cobre simulate "$rio" --policy drawn/policy.cobre --sampling given --out given
    cobre compare drawn given
    code_is 0
    out_has "in its scenarios, which are no sample"
    out_has "scenarios that were given are no sample"
    lacks -E '\+-[0-9]' out
}

# What differs besides the policies is said.
case_other_beginning() {
    made one 1 40
    cobre simulate "$rio" --policy one/policy.cobre --seed 1 --trajectories 40 --state "Serra Alta=1400" --out low
    code_is 0
    cobre simulate "$rio" --policy one/policy.cobre --seed 1 --trajectories 50 --state "Serra Alta=1500" --out lower
    code_is 0
    tr '\n' ' ' < <("$cobre" compare one low) >joined
    grep -qF "low was simulated from another beginning (storage given for 1 of 2 reservoirs (Serra Alta 1400 hm3)) than one (where the case begins)" joined ||
        fail "$(cat joined)"
    tr '\n' ' ' < <("$cobre" compare low lower) >joined
    grep -qF "low has 40 trajectories and lower has 50: they are not compared in pairs" joined || fail "$(cat joined)"
    grep -qF "another beginning" joined || fail "$(cat joined)"
    cobre compare low low
    lacks "another beginning" out
}

case_wrong() {
    made one 1 4
    cobre compare one
    code_is 2
    err_has "one run alone: give two or more"
    cobre compare one nowhere
    code_is 1
    err_has "nowhere: No such file or directory"
    cobre compare one "$rio"
    code_is 1
    err_has "is no folder of a run"
    err_has "give folders that \`cobre train\` or \`cobre simulate\` wrote"
    cobre compare one one/run.json
    code_is 1
    cp -r one two
    echo 5,24,1 >>two/costs.csv
    cobre compare one two
    code_is 1
    err_has "two/costs.csv does not belong to the run in run.json"
    err_has "train or simulate again"
    cobre compare one two --json
    json_holds out "docs[0]['event'] == 'error' and docs[0]['suggestion']"
    rm two/run.json two/statistics.csv # older
    cobre compare one two
    code_is 0
    out_has "two has no statistics.csv: simulate it again"
    cobre compare one one --csv nowhere/rows.csv
    code_is 1
    err_has "nowhere/rows.csv"
}

run_cases "${@:3}"
