#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_simulate.sh COBRE HELPERS: cobre simulate and cobre policy.
cases=$(realpath "$(dirname "$0")/../../cases")
tests=$(realpath "$(dirname "$0")/..")
. "$(dirname "$0")/../kit/lib.sh"
cd "$scratch" || exit 1

lines() { wc -l <"$1"; }
tables='statistics costs stages states variables duals noise'

trained() {
    cobre train "$cases/brazil3" --iterations 10 --force
    code_is 0
}

case_simulate() {
    trained
    cobre simulate "$cases/brazil3" --trajectories 20 --tables all
    code_is 0
    out_has "20 trajectories, in-sample"
    out_has "+-"
    [ "$(lines brazil3-out/costs.csv)" = 21 ] || fail "costs.csv: $(lines brazil3-out/costs.csv) lines"
    [ "$(lines brazil3-out/stages.csv)" = 61 ] || fail "stages.csv: $(lines brazil3-out/stages.csv) lines"
    [ "$(lines brazil3-out/states.csv)" = 241 ] || fail "states.csv: $(lines brazil3-out/states.csv) lines"
    grep -q '^1,1,1,,storage,SE,.*,MWmonth$' brazil3-out/states.csv || fail "no storage"
    grep -q '^20,3,3,,,,marginal_cost,SE,.*,\$/MWmonth$' brazil3-out/duals.csv || fail "no marginal cost"
    grep -q ',thermal_generation,.*,MW$' brazil3-out/variables.csv || fail "no generation"
    grep -q ',inflow,SE,.*,MW$' brazil3-out/noise.csv || fail "no inflow"
    # the summary is the mean of the table
    awk -F, 'FNR == 1 { next } FILENAME ~ /costs/ { sum += $3; n++ } $1 == "mean" { mean = $2 }
        END { d = sum / n - mean; exit !(d * d < 1e-12 * mean * mean) }' brazil3-out/costs.csv \
        brazil3-out/simulation.csv || fail "the mean is not the mean of costs.csv"
}

case_same_tables_on_any_number_of_ranks() {
    local table
    trained
    cobre simulate "$cases/brazil3" --trajectories 23 --seed 5 --tables all --out one
    code_is 0
    cobre simulate -n 3 "$cases/brazil3" --policy brazil3-out/policy.cobre --trajectories 23 --seed 5 --tables all --out three
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
    json_keys out 'docs[0]' sampling start trajectories cost_unit mean half deviation minimum maximum bound gap proven difference note warnings out
    json_holds out 'abs(docs[0]["gap"] - (docs[0]["mean"] - docs[0]["bound"]) / docs[0]["mean"]) < 1e-12' # a share, not percent
    json_holds out "docs[0]['gap'] == $(sed -n 's/^gap,//p' some/simulation.csv)"
    [ "$(ls some)" = "$(printf 'costs.csv\nrun.json\nsimulation.csv\nstates.csv\nstatistics.csv')" ] || fail "$(ls some)"
    cobre simulate "$cases/brazil3" --trajectories 4 --out none
    out_has "tables    none/{statistics,costs}.csv"
    [ "$(ls none)" = "$(printf 'costs.csv\nrun.json\nsimulation.csv\nstatistics.csv')" ] || fail "$(ls none)"
    cobre simulate "$cases/brazil3" --trajectories 4 --tables all --out none
    [ "$(ls none)" = "$(printf '%s\n' costs.csv duals.csv noise.csv run.json simulation.csv stages.csv states.csv statistics.csv \
        variables.csv)" ] || fail "$(ls none)"
    cobre simulate "$cases/brazil3" --trajectories 4 --tables none --out none # the old tables go
    [ "$(ls none)" = "$(printf 'costs.csv\nrun.json\nsimulation.csv\nstatistics.csv')" ] || fail "$(ls none)"
}

# The statistics are those of the detailed tables: with load blocks, sums over subsystems, totals, on several ranks.
case_statistics() {
    cp -r "$tests/cases/rio" dated
    sed -i 's/"units"/"start": "2027-06", "currency": "R$", "cost_scale": 0.001, "units"/' dated/case.json
    cobre train dated --iterations 20
    cobre simulate dated --trajectories 41 --tables all -n 3
    code_is 0
    python3 - dated-out <<'END' || fail "the statistics are not those of the tables"
import collections, csv, math, sys
table = lambda name: list(csv.DictReader(open(f"{sys.argv[1]}/{name}.csv")))
values = collections.defaultdict(lambda: collections.defaultdict(float))  # of (kind, level, element, step): by trajectory
subsystem = {"Serra Alta": "Norte", "Pedra Branca": "Norte", "Foz do Sul": "Sul", "Gas Norte": "Norte", "Carvao Sul": "Sul", "Eolica": "Norte"}
where = lambda row: (row["step"], int(row["trajectory"]))
def add(kind, level, element, row, value):
    step, trajectory = where(row)
    values[kind, level, element, step][trajectory] += value
dates = {}
for name in "variables", "duals", "noise":
    for row in table(name):
        share = float(row["share"]) if row.get("share") else 1
        value = float(row["value"]) * share
        if row["kind"] == "storage":  # the states have it
            continue
        dates[row["step"]] = row["date"]
        add(row["kind"], "element", row["element"], row, value)
        if row["kind"] in ("hydro_generation", "thermal_generation"):
            add(row["kind"], "subsystem", subsystem[row["element"]], row, value)
            add(row["kind"], "system", "", row, value)
        if row["kind"] == "deficit":
            step, trajectory = where(row)
            add("unserved_energy", "system", "", row, 730 * value)
            values["unserved_energy", "system", "", ""][trajectory] += 730 * value
energy = {"Serra Alta": (0.9 + 0.45 + 0.7) / 0.0036, "Foz do Sul": 0.7 / 0.0036}
for row in table("states"):
    add("storage", "element", row["element"], row, float(row["out"]))
    useful = float(row["out"]) - {"Serra Alta": 500, "Foz do Sul": 200}[row["element"]]
    add("stored_energy", "system", "", row, useful * energy[row["element"]])
for row in table("stages"):
    assert row["unit"] == "kR$"
    add("cost", "system", "", row, float(row["cost"]))
for row in table("costs"):
    values["cost", "system", "", ""][int(row["trajectory"])] = float(row["cost"])
seen = set()
components = collections.defaultdict(float)
for row in table("statistics"):
    key = row["kind"], row["level"], row["element"], row["step"]
    if row["level"] == "component":
        components[row["step"]] += float(row["mean"])
    if row["level"] == "system" and row["kind"] == "cost":
        components[row["step"]] -= float(row["mean"])
    if key not in values:
        continue
    seen.add(key)
    its = sorted(values[key].values())
    n, mean = len(its), math.fsum(its) / len(its)
    at = lambda share: (lambda x: its[int(x)] + (x - int(x)) * (its[min(int(x) + 1, n - 1)] - its[int(x)]))(share * (n - 1))
    deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in its) / (n - 1))
    expected = dict(count=n, mean=mean, deviation=deviation, minimum=its[0], maximum=its[-1], p5=at(0.05), p25=at(0.25), p50=at(0.5),
                    p75=at(0.75), p95=at(0.95), positive=sum(x > 1e-6 * max(1, abs(its[0]), abs(its[-1])) for x in its) / n)
    for column, value in expected.items():
        assert abs(float(row[column]) - value) <= 1e-6 * (abs(value) + abs(its[-1]) + abs(its[0]) + 1e-3), (key, column, row[column], value)
    year, month = divmod(2027 * 12 + 5 + int(row["step"] or 1) - 1, 12)
    assert row["date"] == (f"{year}-{month + 1:02}-01" if row["step"] else ""), row
missing = {k for k in values if k[0] not in ("storage_in", "production_dual", "noise")} - seen
assert not missing, sorted(missing)[:5]
assert max(abs(x) for x in components.values()) < 1, components
assert dates["1"] == "2027-06-01" and dates["8"] == "2028-01-01", dates
units = {row["kind"]: row["unit"] for row in table("statistics")}
assert units["marginal_cost"] == "R$/MWh" and units["cost"] == "kR$" and units["stored_energy"] == "MWh", units
price = [float(r["mean"]) for r in table("statistics") if r["kind"] == "marginal_cost" and r["element"] == "Sul"]
assert 1 < max(price) < 6000, price  # as in the tables of the case, not in thousands
END
}

# NetCDF: the numbers of the CSV tables, a tenth of their size at most; the same bytes on any number of ranks.
case_netcdf() {
    cp -r "$tests/cases/rio" dated
    sed -i 's/"units"/"start": "2027-06", "units"/' dated/case.json
    cobre train dated --iterations 5
    cobre simulate dated --trajectories 12 --netcdf --out one
    if [ "$code" = 2 ] && grep -q "built without it" err; then
        skip "no NetCDF in this build"
        return
    fi
    code_is 0
    out_has "netcdf    one/simulation.nc"
    cobre simulate dated --policy dated-out/policy.cobre --trajectories 12 --netcdf -n 3 --out three
    code_is 0
    cmp one/simulation.nc three/simulation.nc || fail "other bytes on three ranks"
    cobre simulate dated --trajectories 12 --tables all --out text
    [ $(($(cat text/{stages,states,variables,duals,noise}.csv | wc -c) / $(wc -c <one/simulation.nc))) -ge 10 ] || fail "$(ls -l one text)"
    /usr/bin/python3 - <<'END' || fail "the arrays are not the tables"
import csv, numpy, xarray
data = xarray.open_dataset("one/simulation.nc")
assert dict(data.sizes) == dict(trajectory=12, stage=24, block=3, hydro=3, thermal=3, tier=4, line=2, subsystem=2), data.sizes
assert str(data.date.values[7])[:10] == "2028-01-01", data.date
assert abs(data.block_share.sum("block") - 1).max() < 1e-12 and (data.duration == 730).all()
axis = dict(hydro_generation="hydro", turbined="hydro", spill="hydro", thermal_generation="thermal", deficit="tier", exchange="line",
            marginal_cost="subsystem", water_value="hydro", inflow="hydro", storage="hydro")
count = 0
for name in "variables", "duals", "noise", "states":
    for row in csv.DictReader(open(f"text/{name}.csv")):
        if row["kind"] not in axis or name == "variables" and row["kind"] == "storage":
            continue
        its = data[row["kind"]].values[int(row["trajectory"]) - 1, int(row["step"]) - 1]
        if row.get("block"):
            its = its[list(data.block.values).index(row["block"])]
        its = its[list(data[axis[row["kind"]]].values).index(row["element"])]
        value = float(row["value" if name != "states" else "out"])
        assert abs(its - value) <= 1e-6 * abs(value) + 1e-6, (row, its)
        assert data[row["kind"]].units in (row["unit"], "m3 s-1", "$ MW-1 h-1", "$ hm-3"), (row, data[row["kind"]].units)
        count += 1
assert count > 12 * 24 * 30, count
assert numpy.isnan(data.storage.sel(hydro="Pedra Branca")).all()  # it has none
END
    cobre simulate dated --trajectories 4 --netcdf --tables states --out one
    code_is 2
    err_has "in NetCDF all of them are in one file"
    cobre simulate dated --trajectories 4 --out one # what is not asked for goes
    gone one/simulation.nc || fail "an old file"
    # An inflow that is a state of the next stage is an inflow, too.
    cobre train "$tests/cases/riopar" --iterations 2
    cobre simulate "$tests/cases/riopar" --trajectories 3 --netcdf --out par
    cobre simulate "$tests/cases/riopar" --trajectories 3 --tables variables --out par-text
    /usr/bin/python3 - <<'END' || fail "inflows are not those of the table"
import csv, xarray
data = xarray.open_dataset("par/simulation.nc")
rows = [row for row in csv.DictReader(open("par-text/variables.csv")) if row["kind"] == "inflow"]
assert len(rows) == 3 * data.sizes["stage"] * 3, len(rows)
for row in rows:
    its = data.inflow.sel(hydro=row["element"]).values[int(row["trajectory"]) - 1, int(row["step"]) - 1]
    assert abs(its - float(row["value"])) <= 1e-5 * abs(float(row["value"])) + 1e-5, (row, its)
END
    # No room for it: an error, and nothing is left.
    (
        ulimit -f 40
        cobre simulate dated --policy dated-out/policy.cobre --trajectories 20 --netcdf --out little
        exit "$code"
    )
    code=$?
    code_is 1
    gone little/simulation.nc && gone little/simulation.nc.part || fail "$(ls little)"
}

# Results do not come into a case, and files of others stay.
case_folders_of_others() {
    cp -r "$cases/cascade" mine
    cobre train mine --iterations 2
    cobre simulate mine --out mine --trajectories 3
    code_is 1
    err_has "mine is a case: results would come between its tables"
    cobre train mine --iterations 2 --out mine --force
    code_is 1
    err_has "mine is a case"
    diff -r "$cases/cascade" mine || fail "the case has changed"
    mkdir data && echo hello >data/states.csv
    cobre simulate mine --out data --trajectories 3
    code_is 0
    [ "$(cat data/states.csv)" = hello ] || fail "a file of the user's is gone"
    cobre simulate mine --sampling out-of-sample --trajectories 3
    err_lacks "replaces"
    cobre simulate mine --trajectories 3
    err_has "this replaces another simulation in mine-out: 3 trajectories, out-of-sample; --out DIR keeps both"
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
    cobre simulate "$cases/brazil3" --sampling given --tables all --out history
    code_is 0
    awk -F, 'NR == 1 { print "scenario,stage,SE,S,NE,N"; next }
        $2 == 1 { print $1 ",1,39717.564,6632.5141,15897.183,2525.2938" } # what stage 1 is known to be
        $2 == 2 || $2 == 3' "$cases/brazil3/history.csv" >years.csv
    [ "$(lines years.csv)" = 247 ] || fail "years.csv: $(lines years.csv) lines"
    cobre simulate -n 2 "$cases/brazil3" --scenarios years.csv --tables all --out own
    code_is 0
    out_has "82 trajectories, own scenarios"
    out_has "no gap: the scenarios are no sample"
    lacks -F +- out
    cobre simulate "$cases/brazil3" --sampling given --tables all --out history --json
    json_holds out 'docs[0]["half"] is None'
    cmp history/costs.csv own/costs.csv || fail "other costs"
    cmp history/states.csv own/states.csv || fail "other decisions"
}

inflows_of() { # TABLE: inflows of each stage, as a table of scenarios
    python3 - "$1" <<'END'
import csv, sys
rows, plants = {}, []
for row in csv.DictReader(open(sys.argv[1])):
    if row["kind"] == "inflow":
        plants += [] if row["element"] in plants else [row["element"]]
        rows.setdefault((row["trajectory"], row["step"]), {})[row["element"]] = row["value"]
print("scenario,stage," + ",".join(plants))
for (trajectory, step), row in rows.items():
    print(f"{trajectory},{step}," + ",".join(row[p] for p in plants))
END
}

# With a model the table has inflows, from which the noise is found.
case_own_scenarios_par() {
    local case
    for case in cascade brazil_ar; do
        cobre train "$cases/$case" --iterations 2
        cobre simulate "$cases/$case" --sampling out-of-sample --trajectories 5 --tables variables
        code_is 0
        inflows_of "$case-out/variables.csv" >inflows.csv || fail "no table"
        cobre simulate "$cases/$case" --scenarios inflows.csv --out own
        code_is 0
        paste -d, "$case-out/costs.csv" own/costs.csv | awk -F, 'NR > 1 { n++; d = $3 - $6; if (d * d > 1e-12 * $3 * $3) bad = 1 }
            END { exit bad || n != 5 }' || fail "$case: $(paste -d, "$case-out/costs.csv" own/costs.csv)"
    done
}

case_own_scenarios_sof() {
    cobre train "$cases/gas.sof.json" --iterations 10
    cobre simulate "$cases/gas.sof.json" --sampling given --tables all --out given
    cat >mine.csv <<'END'
scenario,node,price,demand,note
a,1,5,3,
b,1,5,3,steps of a scenario need not be together
a,2 tight,15,6,
a,3 calm,6,2,
b,2 calm,3,3,
b,3 tight,9,8,
END
    cobre simulate "$cases/gas.sof.json" --scenarios mine.csv --tables all --out own
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

state_of() { # TRAJECTORY STEP FOLDER: what came in, as a table
    python3 - "$@" <<'END'
import csv, sys
print("state,value")
for row in csv.DictReader(open(sys.argv[3] + "/states.csv")):
    if (row["trajectory"], row["step"]) == (sys.argv[1], sys.argv[2]):
        name = {"storage": "storage[%s]", "past_inflow": "inflow[%s]"}[row["kind"]] % row["element"].replace(":", ",")
        print(f'"{name}",{row["in"]}')
END
}

same_costs() { # A TRAJECTORY STEP B: stage costs of A from a step on, and those of B
    paste -d, <(awk -F, -v t="$2" -v k="$3" '$1 == t && $2 >= k { print $3, $7 }' OFS=, "$1/stages.csv") \
        <(awk -F, -v t="$2" '$1 == t { print $3, $7 }' OFS=, "$4/stages.csv") |
        awk -F, '{ n++; d = $2 - $4; if ($1 != $3 || d * d > 1e-14 * $2 * $2) bad = 1 } END { exit bad || !n }' ||
        fail "$4: other costs than $1 from step $3 on"
}

# What a trajectory does from a stage on is what one does that begins there, on any number of ranks.
case_begin_anywhere() {
    local case ranks scenarios
    for case in rio riopar; do
        cobre train "$tests/cases/$case" --iterations 5
        code_is 0
        if [ $case = rio ]; then
            cobre simulate "$tests/cases/rio" --sampling given --tables all
            scenarios="--sampling given"
        else
            cobre simulate "$tests/cases/riopar" --sampling out-of-sample --trajectories 6 --tables all
            inflows_of riopar-out/variables.csv >inflows.csv || fail "no table"
            scenarios="--scenarios inflows.csv"
        fi
        code_is 0
        state_of 3 7 $case-out >in.csv
        for ranks in 1 2 4; do
            cobre simulate -n $ranks "$tests/cases/$case" --policy $case-out/policy.cobre $scenarios --stage 7 \
                --state in.csv --tables all --out $case-$ranks
            code_is 0
            same_costs $case-out 3 7 $case-$ranks
            diff -r $case-1 $case-$ranks || fail "$case: $ranks ranks differ from one"
        done
    done
    out_has "6 trajectories, own scenarios, from stage 7, storage given for 2 of 2 reservoirs (Serra Alta "
    out_has " hm3), 3 of 3 past inflows given"
}

# It is said where it begins; without a bound there is no gap.
case_begin_is_told() {
    cobre train "$tests/cases/rio" --iterations 5
    cobre simulate -n 2 "$tests/cases/rio" --trajectories 20 --stage 7 --state "Serra Alta=40%"
    code_is 0
    out_has "20 trajectories, in-sample, from stage 7, storage given for 1 of 2 reservoirs (Serra Alta 2300 hm3)"
    out_has "bound     -, no gap: it begins elsewhere than the training"
    grep -q '^bound,nan$' rio-out/simulation.csv && grep -q '^gap,none$' rio-out/simulation.csv ||
        fail "$(cat rio-out/simulation.csv)"
    grep -q '^start,"from stage 7, storage given for 1 of 2 reservoirs (Serra Alta 2300 hm3)"$' rio-out/simulation.csv ||
        fail "$(cat rio-out/simulation.csv)"
    json_holds rio-out/run.json 'docs[0]["simulation"]["options"]["node"] == "7"'
    json_holds rio-out/run.json \
        'docs[0]["simulation"]["options"]["state"] == {"storage[Serra Alta]": 2300, "storage[Foz do Sul]": 1000}'
    cobre report rio-out
    code_is 0
    cobre simulate "$tests/cases/rio" --trajectories 20 --stage 7 --json
    json_holds out 'docs[0]["start"] == {"stage": 7, "node": "7",
        "state": {"storage[Serra Alta]": 2800, "storage[Foz do Sul]": 1000}}'
    json_holds out 'docs[0]["bound"] is None and docs[0]["gap"] is None'
    cobre simulate "$tests/cases/rio" --trajectories 20 --json
    json_holds out 'docs[0]["start"] is None and docs[0]["gap"] is not None'
    cp rio-out/costs.csv root.csv
    cobre simulate "$tests/cases/rio" --trajectories 20 --stage 1 --state "Serra Alta=2800" # where it begins anyway
    out_has ", gap "
    cmp root.csv rio-out/costs.csv || fail "other costs"
}

case_begin_wrong() {
    cobre train "$tests/cases/rio" --iterations 2
    cobre simulate -n 2 "$tests/cases/rio" --stage 25
    code_is 1
    err_has "there is no stage 25"
    err_has "give one from 1 to 24"
    err_lacks "failed first"
    cobre simulate "$tests/cases/rio" --stage 0
    code_is 2
    cobre simulate "$tests/cases/rio" --stage 7 --node 7
    code_is 2
    cobre simulate "$tests/cases/rio" --node august
    code_is 1
    err_has 'there is no node "august"; there are 1, 2, '
    cobre simulate -n 2 "$tests/cases/rio" --stage 7 --state "Sera Alta=40%"
    code_is 1
    err_has 'did you mean "Serra Alta"?'
    printf 'hydro,storage\nSerra Alta,40%%\nFoz do Sul,95\n' >state.csv
    cobre simulate -n 2 "$tests/cases/rio" --stage 7 --state state.csv
    code_is 1
    err_has "state.csv:3: state storage[Foz do Sul] cannot be 95: at node 7 it must be from 200 to 1800"
    err_has "give a number within these limits"
    cobre simulate "$tests/cases/rio" --state nowhere.csv
    code_is 1
    err_has "nowhere.csv: cannot be read"
    printf 'scenario,stage,Serra Alta,Pedra Branca,Foz do Sul\na,8,300,90,200\n' >late.csv
    cobre validate "$tests/cases/rio" --scenarios late.csv
    code_is 0
    cobre simulate "$tests/cases/rio" --scenarios late.csv
    code_is 1
    err_has "scenario 1 begins at node 8, which is not where the case begins"
    err_has "(--stage, --state)"
    cobre simulate "$tests/cases/rio" --scenarios late.csv --stage 7
    code_is 1
    err_has "scenario 1 has no step at node 7"
    cobre simulate "$tests/cases/rio" --scenarios late.csv --stage 8
    code_is 0
    cobre train "$cases/gas.sof.json" --iterations 2
    cobre simulate "$cases/gas.sof.json" --stage 2
    code_is 1
    err_has "stage 2 has 2 nodes: 2 calm, 2 tight"
    err_has "(--node)"
    cobre simulate "$cases/gas.sof.json" --node "2 tight" --state store=3
    code_is 0
    out_has "from node 2 tight, 1 of 1 state given"
}

# A plan made for one case, used for what has happened since: more load, a thermal plant less, a hydro plant out of service.
case_changed_case() {
    local change season
    cobre train "$tests/cases/rio" --iterations 5
    for change in load thermal turbine changes gone; do
        cp -r "$tests/cases/rio" $change
    done
    sed -i 's/,822,1034$/,900,1100/' load/load.csv
    sed -i /Carvao/d thermal/thermals.csv
    sed -i 's/,5000,2800,800,/,5000,2800,0,/' turbine/hydros.csv
    for season in $(seq 12); do
        echo "$season,hydros,Serra Alta,turbine_max,0" >>changes/changes.csv
    done
    for change in load thermal turbine changes; do
        cobre simulate $change --policy rio-out/policy.cobre --trajectories 20 --stage 7 --out new-$change
        code_is 0
        [ "$(lines err)" = 1 ] || fail "$(cat err)"
        err_has "rio-out/policy.cobre was trained for another case: the data of node "
        out_has "no gap: trained for another case"
    done
    cmp new-turbine/costs.csv new-changes/costs.csv || fail "the same change costs something else"
    cmp -s new-turbine/costs.csv new-load/costs.csv && fail "other changes cost the same"
    sed -i '/^Foz do Sul/d; s/,Foz do Sul$/,/' gone/hydros.csv
    sed -i 's/,[^,]*$//' gone/history.csv
    cobre simulate gone --policy rio-out/policy.cobre
    code_is 1
    err_has "it has 2 states, this one has 1; storage[Foz do Sul] is not here"
    err_has "with turbine_max 0 it is out of service, and the policy can be used"
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
