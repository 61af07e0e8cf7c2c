#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_decide.sh COBRE HELPERS: cobre decide.
cases=$(realpath "$(dirname "$0")/../../cases")
tests=$(realpath "$(dirname "$0")/..")
. "$(dirname "$0")/../kit/lib.sh"
cd "$scratch" || exit 1

trained() {
    cp -r "$tests/cases/rio" dated
    sed -i 's/"units"/"start": "2027-06", "currency": "R$", "units"/' dated/case.json
    cobre train dated --iterations 20
    code_is 0
}

# What it says is what the first step of a simulation does with the same inflow, from the same state.
case_as_a_simulation_does() {
    trained
    printf 'scenario,stage,Serra Alta,Pedra Branca,Foz do Sul\na,7,300,90.5,200\n' >now.csv
    cobre simulate dated --scenarios now.csv --stage 7 --state "Serra Alta=40%,Foz do Sul=900" --tables all --out run
    code_is 0
    cobre decide dated --stage 7 --state "Serra Alta=40%,Foz do Sul=900" --inflow "Serra Alta=300,Pedra Branca=90.5,Foz do Sul=200" --json
    code_is 0
    json_keys out 'docs[0]' case policy stage node date duration time_unit cost_unit cost future_cost decision units cost_by_component system \
        difference
    python3 - <<'END' || fail "it is not what the simulation does"
import csv, json
answer = json.load(open("out"))
assert answer["stage"] == 7 and answer["date"] == "2027-12-01" and answer["cost_unit"] == "R$", answer
decision, mean = answer["decision"], {}
types = dict(hydro_generation="hydro", turbined="hydro", spill="hydro", water_value="hydro", inflow="hydro", thermal_generation="thermal",
             deficit="tier", exchange="line", marginal_cost="subsystem")
for name in "variables", "duals", "noise":
    for row in csv.DictReader(open(f"run/{name}.csv")):
        if row["kind"] not in types:
            continue
        element = decision[types[row["kind"]]][row["element"]]
        if row.get("block"):
            assert abs(element[row["kind"] + "_by_block"][row["block"]] - float(row["value"])) < 1e-5 * (1 + abs(float(row["value"]))), row
        key = row["kind"], row["element"]
        mean[key] = mean.get(key, 0) + float(row["value"]) * float(row.get("share") or 1)
for (kind, element), value in mean.items():
    assert abs(decision[types[kind]][element][kind] - value) < 1e-5 * (1 + abs(value)), (kind, element, value)
lake = decision["hydro"]["Serra Alta"]
assert lake["storage_before"] == 2300 and lake["subsystem"] == "Norte", lake
stage = next(csv.DictReader(open("run/stages.csv")))
assert abs(float(stage["cost"]) - answer["cost"]) < 1e-6 * answer["cost"]
assert abs(float(stage["future_cost"]) - answer["future_cost"]) < 1e-6 * answer["future_cost"]
assert abs(sum(answer["cost_by_component"].values()) - answer["cost"]) < 1e-6 * answer["cost"]
assert answer["units"]["water_value"] == "R$/hm3" and answer["units"]["marginal_cost"] == "R$/MWh"
END
}

case_text() {
    trained
    cobre decide dated --date 2027-12 --state "Serra Alta=40%"
    code_is 0
    out_has "Rio Grande do Teste: stage 7 (2027-12-01), storage given for 1 of 2 reservoirs (Serra Alta 2300 hm3), the others as the case begins, with the mean"
    out_has "R\$ expected from then on"
    out_has "of it     thermal generation "
    out_has "Serra Alta            2300.00 "
    out_has "Norte->Sul"
    grep -qE '^Sul .* [0-9.]+$' out || fail "no subsystem: $(cat out)"
    lacks -E '^[A-Z ].{80}' <(tail -n +2 out)
    cobre decide "$cases/gas.sof.json" --policy nowhere.cobre
    code_is 1
    err_has "nowhere.cobre: cannot read"
    cobre train "$cases/gas.sof.json" --iterations 5
    cobre decide "$cases/gas.sof.json" --node "2 tight" --state store=3 --inflow price=15
    code_is 0
    out_has "stage 2, 1 of 1 state given, with the given inflow"
    grep -qE '^price +15\.0' out || fail "$(cat out)"
}

case_dates() {
    trained
    local date
    for date in "2027-06 1" "2027-06-30 1" "2027-07-01 2" "2028-01 8" "2029-05-31 24"; do
        cobre decide dated --date "${date% *}" --json
        json_holds out "docs[0]['stage'] == ${date#* }"
    done
    cobre simulate dated --date 2027-12 --trajectories 3
    out_has "from stage 7 (2027-12-01), in the initial state"
    for date in 2027-05-31 2029-06-01 2029-06 2035-01; do
        cobre decide dated --date $date
        code_is 1
        err_has "no stage is under way at $date"
        err_has "give one from 2027-06-01 to 2029-05-01"
    done
    cobre decide dated --date 2027-13
    code_is 1
    err_has '"2027-13" is no date'
    cobre decide dated --date 2028-02-30
    code_is 1
    err_has '"2028-02-30" is no date'
    cobre decide dated --date 2027-12 --stage 7
    code_is 2
    err_has "give one of them"
    cobre train "$tests/cases/rio" --iterations 2
    cobre decide "$tests/cases/rio" --date 2027-12
    code_is 1
    err_has "the case has no dates"
    sed -i 's/2027-06/2027-6/' dated/case.json
    cobre validate dated
    code_is 1
    out_has 'case.json:3: /start: "2027-6" is no date -- write it like "2027-03" or "2027-03-15"'
    sed -i 's/2027-6/2027-01-31/' dated/case.json # months have a last day
    cobre decide dated --stage 2 --json
    json_holds out 'docs[0]["date"] == "2027-02-28"'
}

case_another_case() {
    trained
    sed -i '2s/,[0-9]*,[0-9]*$/,900,1000/' dated/load.csv
    cobre decide dated
    code_is 0
    err_has "was trained for another case: the data of node"
    cobre decide dated --state "Serra Alto=40%"
    code_is 1
    err_has 'did you mean "Serra Alta"?'
    cobre decide dated --inflow "Serra Alta=many"
    code_is 1
    err_has "Serra Alta"
}

# 10,000 cuts: under 0.1 s from start to end. On a busy machine it takes some tries until one is not disturbed.
case_fast() { # timed
    trained
    cobre train dated --iterations 16 --multi-cut --out many
    cobre policy many/policy.cobre --json
    json_holds out 'docs[0]["cut_count"] > 10000'
    local try start end least=9999999
    for ((try = 0; try < 50 && least >= 100000; try++)); do
        start=$(micros)
        cobre decide dated --policy many/policy.cobre
        end=$(micros)
        code_is 0
        [ $((end - start)) -lt $least ] && least=$((end - start))
    done
    [ $least -lt 100000 ] || fail "it takes $least us"
}

run_cases "${@:3}"
