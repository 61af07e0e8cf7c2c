#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_terminal.sh COBRE HELPERS: the last stage of a case takes its future cost from the cuts of a policy or a table.
page=$(realpath "$(dirname "$0")/../../docs/case-format.md")
. "$(dirname "$0")/../kit/lib.sh"
cd "$scratch" || exit 1

# lake NAME STAGES [KEYS]: a lake whose inflows are states, too. It is small enough to be trained to the optimum.
lake() {
    rm -rf "$1"
    mkdir "$1"
    cat >"$1/case.json" <<END
{
    "name": "lake", "units": "energy", "time_unit": "month", "stages": $2, "annual_rate": 0.5,
    "subsystems": ["main"], "inflow": {"source": "par", "openings": 3, "seed": 1},
    ${3-}
    "seasons": 2
}
END
    printf 'main\n100\n' >"$1/load.csv"
    printf 'thermal,subsystem,max,cost\ngas,main,40,50\noil,main,30,90\n' >"$1/thermals.csv"
    printf 'tier,depth,cost\n1,1,500\n' >"$1/deficits.csv"
    printf 'hydro,subsystem,storage_max,storage_initial,turbine_max\nlake,main,120,60,90\n' >"$1/hydros.csv"
    printf 'hydro,season,mean,scale,noise,phi1,phi2\nlake,1,60,20,0.8,0.5,0.1\nlake,2,35,15,0.7,0.6,\n' >"$1/par.csv"
    printf 'lag,lake\n1,50\n2,30\n' >"$1/past_inflows.csv"
}

train() { # train CASE OUT OPTION...: to the optimum
    cobre train "$1" --out "$2" --iterations 40 --forward-passes 4 --quiet "${@:3}"
    code_is 0
}

same_bound() { # same_bound OUT OUT
    local one other
    one=$(sed -n 's/^bound,//p' "$1/summary.csv") other=$(sed -n 's/^bound,//p' "$2/summary.csv")
    python3 -c "exit(not (abs($one) > 1 and abs($one - $other) <= 1e-7 * abs($one)))" || fail "$1 has $one, $2 has $other"
}

first_storages() { # first_storages CASE OUT: what is left after stage 1, for each of its outcomes
    cobre simulate "$1" --policy "$2/policy.cobre" --out "$2-run" --trajectories 40 --tables stages,states
    code_is 0
    join -t, <(awk -F, '$2 == 1 { print $1, $6 }' OFS=, "$2-run/stages.csv" | sort) \
        <(awk -F, '$2 == 1 && $5 == "storage" { print $1, $8 }' OFS=, "$2-run/states.csv" | sort) | cut -d, -f2,3 | sort -u
}

refused() { # refused CASE FILE:LINE TEXT...: by validate
    local text
    cobre validate "$1"
    code_is 1
    for text in "${@:2}"; do
        out_has "$text"
    done
    out_has "1 error"
}

# Discounts, lags and outcomes are those of the longer case, and counted once.
case_as_the_longer_case() {
    lake six 6
    train six six-out
    cobre policy six-out/policy.cobre --export csv --out cuts.csv
    lake three 3 '"terminal": "../six-out/policy.cobre",'
    train three three-out
    same_bound six-out three-out
    [ "$(first_storages six six-out)" = "$(first_storages three three-out)" ] || fail "the first decisions differ"
    [ "$(first_storages three three-out | wc -l)" = 3 ] || fail "not each outcome once: $(first_storages three three-out)"
    lake worthless 3
    train worthless worthless-out
    [ "$(first_storages six six-out)" = "$(first_storages worthless worthless-out)" ] && fail "the end makes no difference"
    lake table 3 '"terminal": {"file": "../cuts.csv", "stage": 3},'
    train table table-out
    cmp three-out/policy.cobre table-out/policy.cobre || fail "a table gives another policy"
    lake inside 3 '"terminal": {"file": "cuts.csv", "node": "3"},'
    cp cuts.csv inside
    train inside inside-out -n 2
    cmp three-out/policy.cobre inside-out/policy.cobre || fail "two ranks give another policy"
    cobre simulate three --policy three-out/policy.cobre --trajectories 2000 --out gap --json
    code_is 0
    json_holds out "docs[-1]['bound'] > 0 and abs(docs[-1]['mean'] - docs[-1]['bound']) < 1.5 * docs[-1]['half']"
}

case_resume() {
    lake six 6
    train six six-out
    lake three 3 '"terminal": "../six-out/policy.cobre",'
    train three whole
    cobre train three --out parts --iterations 15 --forward-passes 4 --quiet
    train three parts --resume parts/policy.cobre
    cmp whole/policy.cobre parts/policy.cobre || fail "the policies differ"
    # Other cuts are another case.
    lake three 3 '"terminal": {"file": "../six-out/policy.cobre", "stage": 5},'
    cobre train three --out other --iterations 50 --forward-passes 4 --resume whole/policy.cobre
    code_is 1
    err_has "it was trained for another case: the data of node 3 differs"
}

case_averse_to_risk() {
    lake six 6
    train six six-out --cvar 0.3,0.5
    lake three 3 '"terminal": "../six-out/policy.cobre",'
    train three three-out --cvar 0.3,0.5
    same_bound six-out three-out
}

case_written_as_stochoptformat() {
    lake six 6
    sed -i 's/, "annual_rate": 0.5//' six/case.json
    train six six-out
    lake three 3 '"terminal": "../six-out/policy.cobre",'
    sed -i 's/, "annual_rate": 0.5//' three/case.json
    train three three-out
    cobre validate three --write three.sof.json
    code_is 0
    train three.sof.json sof-out
    same_bound three-out sof-out
    same_bound six-out sof-out
}

# With seasons the time of the year says whose cuts they are.
case_seasons() {
    lake six 6
    train six six-out
    local stages first expected
    for expected in 3,1,3 4,1,4 6,1,4 5,1,5 2,2,3 5,2,4 1,2,2; do
        IFS=, read -r stages first expected <<<"$expected"
        lake case "$stages" "\"first_season\": $first, \"terminal\": \"../six-out/policy.cobre\","
        lake told "$stages" "\"first_season\": $first, \"terminal\": {\"file\": \"../six-out/policy.cobre\", \"stage\": $expected},"
        cobre validate case --write case.sof.json >/dev/null
        code_is 0
        cobre validate told --write told.sof.json >/dev/null
        code_is 0
        cmp case.sof.json told.sof.json || fail "$stages stages from season $first: not the cuts of stage $expected"
    done
    lake case 3 '"terminal": {"file": "../six-out/policy.cobre", "stage": 4},'
    refused case "case/case.json:4: /terminal: stage 4 of case/../six-out/policy.cobre lies in season 2, and the last stage of this \
case in season 1 -- take a stage of season 1"
    lake case 3 '"terminal": {"file": "../six-out/policy.cobre", "stage": 6},'
    refused case "case/case.json:4: /terminal: " 'has no cuts of stage "6", but of 1, 2, 3, 4, 5 -- take one of these; the last'
    lake case 3 '"terminal": "../six-out/policy.cobre",'
    sed -i '/"seasons"/d; s/policy.cobre",/policy.cobre"/' case/case.json
    printf 'hydro,mean,scale,noise,phi1,phi2\nlake,60,20,0.8,0.5,0.1\n' >case/par.csv
    refused case "case/case.json:4: /terminal: " "has cuts of 5 nodes, 1, 2, 3, 4, 5, and it is not clear whose are meant" \
        'say whose: {"file": ..., "node": "5"}'
}

case_multi_cuts_are_refused() {
    lake six 6
    train six six-out --multi-cut
    cobre policy six-out/policy.cobre --export csv --out cuts.csv
    lake three 3 '"terminal": "../six-out/policy.cobre",'
    refused three "case.json:4: /terminal: " "six-out/policy.cobre has multi-cuts, each of one outcome" "train without --multi-cut"
    lake three 3 '"terminal": {"file": "../cuts.csv", "stage": 3},'
    refused three "cuts.csv:2: column outcome: is a cut of one outcome" "train without --multi-cut"
}

# A state matters where its slope is not 0: the second lag does after season 2, and not after season 1.
case_other_states() {
    lake six 6
    train six six-out
    cobre policy six-out/policy.cobre --export csv --out cuts.csv
    one_lag() { sed -i 's/0.5,0.1$/0.5,/' "$1/par.csv"; }
    lake four 4 '"terminal": "../six-out/policy.cobre",'
    one_lag four
    refused four "case.json:4: /terminal: the cuts of four/../six-out/policy.cobre depend on state inflow[lake,2], which this case" \
        "use a policy of a case with the same plants and lags"
    lake three 3 '"terminal": "../six-out/policy.cobre",'
    one_lag three
    cobre validate three
    code_is 0
    lake three 3 '"terminal": {"file": "../cuts.csv", "stage": 3},'
    one_lag three
    refused three 'cuts.csv:1: column inflow[lake,2]: unknown column "inflow[lake,2]"; closest name: inflow[lake,1]; others: node, outcome'
    # A state that its cuts do not know is a warning.
    lake short 6
    one_lag short
    train short short-out
    lake three 3 '"terminal": "../short-out/policy.cobre",'
    cobre validate three
    code_is 0
    out_has "case.json:4: /terminal: warning: three/../short-out/policy.cobre has no slopes of state inflow[lake,2]: its"
}

# Its program turns a file of SDDP.jl, whose intercepts are heights at a state, into a table.
case_sddpjl() {
    sed -n '/^```python$/,/^```$/p' "$page" | sed '/^```/d' >convert.py
    grep -q single_cuts convert.py || fail "docs/case-format.md has no such program"
    cat >cuts.json <<'END'
[{"node": "2", "single_cuts": [], "multi_cuts": [], "risk_set_cuts": []},
 {"node": "1", "multi_cuts": [], "risk_set_cuts": [], "single_cuts": [
   {"intercept": 700.0, "coefficients": {"volume": -50.0}, "state": {"volume": 100.0}},
   {"intercept": 3000.5, "coefficients": {"volume": -0.1}}]}]
END
    python3 convert.py cuts.json >cuts.csv || fail "convert.py fails"
    printf 'node,intercept,storage[lake]\r\n1,5700.0,-50.0\r\n1,3000.5,-0.1\r\n' | cmp - cuts.csv || fail "$(cat cuts.csv)"
    lake one 1 '"terminal": "../cuts.csv",'
    cobre validate one
    code_is 0
    out_has "warning: one/../cuts.csv has no slopes of state inflow[lake,1]"
    sed -i 's/"volume"/"other"/' cuts.json
    python3 convert.py cuts.json >cuts.csv 2>err && fail "a state without a name here"
    grep -q "other" err || fail "$(cat err)"
}

run_cases "${@:3}"
