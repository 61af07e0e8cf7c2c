#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_policy.sh COBRE HELPERS: which policy goes with which case.
cases=$(realpath "$(dirname "$0")/../../cases")
. "$(dirname "$0")/../kit/lib.sh"
cd "$scratch" || exit 1

# copy NAME FILE SED...: the cascade with one change.
copy() {
    rm -rf "$1"
    cp -r "$cases/cascade" "$1"
    [ $# = 1 ] && return
    sed -i "${@:3}" "$1/$2"
    cmp -s "$cases/cascade/$2" "$1/$2" && fail "$1: nothing has changed in $2"
}

trained() { # trained OPTION...: the cascade, in old/
    cobre train "$cases/cascade" --iterations 6 --forward-passes 2 --out old "$@"
    code_is 0
    out_has "(lower), gap"
    grep -q '^proven,yes$' old/summary.csv || fail "$(cat old/summary.csv)"
}

simulates_with() { # simulates_with CASE SENTENCE
    cobre simulate "$1" --policy old/policy.cobre --trajectories 20 --out "$1-run"
    code_is 0
    err_has "old/policy.cobre was trained for another case: $2"
    [ "$(wc -l <err)" = 1 ] || fail "not one sentence: $(cat err)"
    out_has "no gap: trained for another case"
    grep -q '^gap,none$' "$1-run/simulation.csv" || fail "$(cat "$1-run/simulation.csv")"
    grep -qF "$2" "$1-run/simulation.csv" || fail "$(cat "$1-run/simulation.csv")"
    cobre simulate "$1" --policy old/policy.cobre --trajectories 20 --out "$1-json" --json
    code_is 0
    json_holds out "docs[0]['difference'].startswith('''$2''') and docs[0]['bound'] is None"
}

refuses_to_resume() { # refuses_to_resume CASE SENTENCE ADVICE
    cobre train "$1" --iterations 9 --forward-passes 2 --resume old/policy.cobre --out never
    code_is 1
    err_has "it was trained for another case: $2"
    err_has "$3"
    gone never || fail "it leaves a folder"
}

needs_to_be_accepted() { # needs_to_be_accepted CASE SENTENCE
    cobre train "$1" --iterations 2 --warm-start old/policy.cobre --out never
    code_is 1
    err_has "it was trained for another case: $2"
    err_has "--accept-other-case"
    gone never || fail "it leaves a folder"
    cobre train "$1" --iterations 2 --warm-start old/policy.cobre --accept-other-case --out "$1-warm"
    code_is 0
    out_has "(lower, unproven: with cuts of another case)"
    grep -q '^proven,no$' "$1-warm/summary.csv" || fail "$(cat "$1-warm/summary.csv")"
}

# Cuts do not depend on where the process begins.
case_another_initial_state() {
    local sentence="the initial state of storage[head] is 2000 here and was 2600 there"
    copy other hydros.csv 's/,2600,/,2000,/'
    trained
    simulates_with other "$sentence"
    refuses_to_resume other "$sentence" "(--warm-start)"
    cobre train other --iterations 300 --out alone
    cobre train other --iterations 2 --warm-start old/policy.cobre --out warm
    code_is 0
    grep -q '^proven,yes$' warm/summary.csv || fail "$(cat warm/summary.csv)"
    cobre train other --iterations 2 --out cold
    awk -F, '$1 == "bound" { bound[FILENAME] = $2 }
        END { exit !(bound["cold/summary.csv"] < bound["warm/summary.csv"] &&
                     bound["warm/summary.csv"] < 1.001 * bound["alone/summary.csv"]) }' */summary.csv ||
        fail "bounds: $(grep '^bound' */summary.csv)"
    copy other past_inflows.csv 's/590/600/'
    sed -i 's/,2600,/,2000,/' other/hydros.csv
    simulates_with other "the initial state of storage[head] is 2000 here and was 2600 there, and 1 more initial state differs"
}

case_other_data() {
    copy other load.csv 's/^12,peak,\([0-9]*\)/12,peak,1\1/'
    trained
    simulates_with other "the data of node dec differs"
    refuses_to_resume other "the data of node dec differs" "--warm-start with --accept-other-case"
    needs_to_be_accepted other "the data of node dec differs"
    # What is not proven stays so.
    cobre train other --iterations 3 --resume other-warm/policy.cobre --out resumed --json
    code_is 0
    json_holds out "docs[-1]['proven'] is False"
    cobre train other --iterations 3 --warm-start other-warm/policy.cobre --out again
    code_is 0
    out_has "unproven"
    cobre policy other-warm/policy.cobre
    out_has "unproven"
    cobre policy other-warm/policy.cobre --json
    json_holds out "docs[0]['proven'] is False"
    cobre simulate other --policy other-warm/policy.cobre --trajectories 5
    code_is 0
    out_has "(unproven), gap"
    cobre report other-warm
    code_is 0
    grep -q "of the training, unproven" other-warm/report.html || fail "the report does not say so"
    copy other load.csv 's/,peak,\([0-9]*\)/,peak,1\1/'
    simulates_with other "the data of node jan and of 11 more nodes differ"
    cobre train other --accept-other-case --out never
    code_is 2
}

case_same_bits_on_any_number_of_ranks() {
    copy other case.json 's/"seasons": 12,/"seasons": 12, "first_season": 3,/'
    trained
    cobre train other --iterations 2 --warm-start old/policy.cobre --accept-other-case --out one
    cobre train -n 3 other --iterations 2 --warm-start old/policy.cobre --accept-other-case --out three
    code_is 0
    cmp one/policy.cobre three/policy.cobre || fail "the policies differ"
    cobre simulate other --policy old/policy.cobre --trajectories 7 --tables states --out one-run
    cobre simulate -n 3 other --policy old/policy.cobre --trajectories 7 --tables states --out three-run
    code_is 0
    cmp one-run/states.csv three-run/states.csv || fail "the simulations differ"
}

# The cuts of February's stage serve February, wherever it is.
case_a_moved_horizon() {
    local sentence="stage 1 is in season 2 here and was in season 1 there, so that its cuts of stage 2 serve stage 1, and so on"
    local kind
    for kind in "" --multi-cut; do
        rm -rf old other-* same_end-*
        copy other case.json 's/"seasons": 12,/"seasons": 12, "first_season": 2,/'
        rm other/stages.csv other/changes.csv # no names: a stage is called by its number
        cp -r other same_end
        sed -i 's/"stages": 12/"stages": 11/' same_end/case.json
        trained $kind
        [ "$kind" ] || simulates_with other "$sentence"
        refuses_to_resume other "$sentence" "--warm-start with --accept-other-case"
        cobre train other --warm-start old/policy.cobre $kind --out never
        code_is 1
        cobre policy old/policy.cobre --export json >/dev/null
        cp out old.json
        for case in other same_end; do
            cobre train $case --iterations 1 --warm-start old/policy.cobre $kind --accept-other-case --out $case-warm
            code_is 0
            out_has "unproven"
            cobre policy $case-warm/policy.cobre --export json
            cp out new.json
            python3 - <<'MOVED' || fail "$kind $case: the cuts have not moved by one stage"
import json
months = "jan feb mar apr may jun jul aug sep oct nov dec".split()
kept = lambda cuts, stage: [(stage(c["node"]), c["outcome"], c["intercept"], c["slopes"]) for c in cuts]
old = [c for c in kept(json.load(open("old.json"))["cuts"], lambda node: months.index(node)) if c[0] > 0]
new = kept([c for c in json.load(open("new.json"))["cuts"] if c["iteration"] == 0], int)
exit(not old or old != new)
MOVED
        done
    done
    copy other case.json 's/"seasons": 12,/"seasons": 12, "first_season": 2,/; s/"stages": 12/"stages": 1/'
    rm other/stages.csv other/changes.csv
    cobre train other --iterations 1 --out short
    sed -i 's/"first_season": 2/"first_season": 3/' other/case.json
    cobre simulate other --policy short/policy.cobre
    code_is 1
    err_has "it ends before this one begins"
}

case_other_states_or_nodes() {
    trained
    local way
    copy states hydros.csv 's/^mouth/delta/; s/,mouth,/,delta,/'
    sed -i 's/^mouth/delta/' states/par.csv
    sed -i 's/mouth/delta/' states/past_inflows.csv states/correlation.csv states/changes.csv
    copy nodes case.json 's/"stages": 12/"stages": 11/'
    sed -i '/^12,/d' nodes/stages.csv nodes/changes.csv
    copy names stages.csv 's/,may,/,mai,/'
    copy openings case.json 's/"openings": 20/"openings": 10/'
    refused() { # refused CASE SENTENCE OPTION...
        for way in "simulate $1 --policy" "train $1 --resume" "train $1 --accept-other-case --warm-start"; do
            cobre $way old/policy.cobre --out never "${@:3}"
            code_is 1
            err_has "this policy belongs to another problem: $2"
            gone never || fail "it leaves a folder"
        done
    }
    refused states "state 2 is storage[mouth] there and storage[delta] here"
    refused nodes "it has 12 nodes, this one has 11"
    refused names "node 5 is may there and mai here"
    simulates_with openings "the data of node jan and of 11 more nodes differ"
    rm -r old
    trained --multi-cut
    refused openings "it has multi-cuts, and node jan has 20 outcomes there and 10 here"
}

run_cases "${@:3}"
