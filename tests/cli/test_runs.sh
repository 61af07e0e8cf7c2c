#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_runs.sh COBRE HELPERS: work is not lost, and results belong to a run: checkpoints, run.json, folders that are in use.
cases=$(realpath "$(dirname "$0")/../../cases")
. "$(dirname "$0")/../kit/lib.sh"
set -m # background jobs with default signals
cd "$scratch" || exit 1

proposed() { sed -n 's/^  //p' err; } # the commands that the last one proposed
state_of() { json_holds "$1/run.json" "docs[0]['training']['state'] == '$2'"; }

# What says nothing about when and where a run was.
sum_of() { # sum_of FOLDER FILE
    case $2 in
        training.csv) cut -d, -f1-9 "$1/$2" ;;
        summary.csv) grep -vE '^(date|case|ranks|backend|seconds),' "$1/$2" ;;
        *) cat "$1/$2" ;;
    esac | sha256sum | cut -d' ' -f1
}

case_record_is_the_same_on_any_number_of_ranks() {
    local ranks file
    cp -r "$cases/brazil3" mine
    for ranks in 1 3; do
        cobre train -n $ranks mine --iterations 4 --forward-passes 4 --seed 18446744073709551615 --cvar 0.1,0.5 --stall 5 \
            --multi-cut --out $ranks
        code_is 0
        cobre simulate -n $ranks mine --policy $ranks/policy.cobre --trajectories 7 --tables all
        code_is 0
        mv mine moved && mv moved mine # where it is does not matter
    done
    cmp 1/run.json 3/run.json || fail "the records differ"
    json_keys 1/run.json 'docs[0]' format hash training simulation
    json_keys 1/run.json 'docs[0]["training"]' version case options rules state stop iterations solvers files
    json_keys 1/run.json 'docs[0]["simulation"]' version policy options solvers files
    json_holds 1/run.json 'docs[0]["training"]["options"] == {"seed": "18446744073709551615", "forward_passes": 4,
        "multi_cut": True, "cvar": "0.1,0.5"}'
    json_holds 1/run.json 'docs[0]["training"]["rules"] == {"iterations": "4", "stall": "5,1e-06"}'
    for file in policy.cobre training.csv summary.csv; do
        json_holds 1/run.json "docs[0]['training']['files']['$file'] == '$(sum_of 1 $file)'"
    done
    json_holds 1/run.json "docs[0]['simulation']['policy'] == '$(sum_of 1 policy.cobre)'"
    for file in costs stages states variables duals noise simulation; do
        json_holds 1/run.json "docs[0]['simulation']['files']['$file.csv'] == '$(sum_of 1 $file.csv)'"
    done
    lacks -E "$(hostname)|$(id -un)@|$PWD|date\"" 1/run.json
}

# A run in parts is the run: its record, too.
case_record_of_a_run_in_parts() {
    cobre train "$cases/brazil3" --iterations 8 --out whole
    cobre train "$cases/brazil3" --iterations 3 --out parts
    cobre train "$cases/brazil3" -n 2 --iterations 8 --out parts --resume parts/policy.cobre
    code_is 0
    cmp whole/run.json parts/run.json || fail "the records differ"
}

case_finished_run_is_refused() {
    local before count=0 command
    cobre train "$cases/toy" --iterations 5 --seed 2
    cobre simulate "$cases/toy" --trajectories 4
    before=$(cat toy-out/* | sha256sum)
    cobre train "$cases/toy" --iterations 7 --seed 2 -n 2
    code_is 1
    out_is ""
    err_has "toy-out holds a finished run"
    [ "$(proposed | wc -l)" = 3 ] || fail "$(cat err)"
    [ "$(cat toy-out/* | sha256sum)" = "$before" ] || fail "it changed something"
    proposed >commands
    while read -r command; do
        rm -rf copy && cp -r toy-out copy
        eval "$command" </dev/null
        code_is 0
        out_has "after 7 iterations"
        rm -rf toy-out && mv copy toy-out
        count=$((count + 1))
    done <commands
    [ $count = 3 ] || fail "$count commands"
    cobre train "$cases/toy" --seed 3 # to go on would be refused, and is not proposed
    code_is 1
    [ "$(proposed | wc -l)" = 2 ] || fail "$(cat err)"
    err_lacks resume
    cobre train "$cases/toy" --json
    code_is 1
    json_holds out 'docs[0]["event"] == "error" and "finished run" in docs[0]["message"]'
    cobre train "$cases/brazil3" --iterations 2 --out other
    cobre train "$cases/brazil3" --iterations 3 --out toy-out --resume other/policy.cobre # goes on with another one
    code_is 1
    err_has "toy-out holds a finished run"
    cp -r "$cases/toy" edited # another case: to go on would be refused, and is not proposed
    sed -i '2s/,[0-9.]*$/,77/' edited/thermals.csv
    cobre train edited --iterations 7 --seed 2 --out toy-out
    code_is 1
    [ "$(proposed | wc -l)" = 2 ] || fail "$(cat err)"
    err_lacks resume
}

# The command that was proposed may have nothing to do.
case_resume_with_nothing_left_says_so() {
    cobre train "$cases/toy" --iterations 5
    lacks -F "iterations before" "$scratch/out"
    cobre train "$cases/toy" --iterations 5 --resume toy-out/policy.cobre
    code_is 0
    out_has "the policy had 5 iterations before: give more than that to go on (--iterations)"
    cobre train "$cases/toy" --iterations 6 --resume toy-out/policy.cobre
    lacks -F "iterations before" "$scratch/out"
}

case_force_leaves_nothing_of_the_old_run() {
    cobre train "$cases/toy" --iterations 5
    cobre simulate "$cases/toy" --trajectories 4
    cobre report toy-out
    echo mine >toy-out/notes.txt
    cobre train "$cases/toy" --force --seed 9 --solver pencil # nothing starts: the old one stays
    code_is 1
    cobre report toy-out
    code_is 0
    cobre train "$cases/toy" --force --iterations 3 --warm-start toy-out/policy.cobre
    code_is 0
    [ "$(ls toy-out)" = "$(printf '%s\n' events.jsonl notes.txt policy.cobre run.json summary.csv times.csv training.csv)" ] ||
        fail "$(ls toy-out)"
    json_holds toy-out/run.json '"simulation" not in docs[0] and len(docs[0]["training"]["options"]["warm_start"]) == 64'
}

# Everything is killed at once: at most the time since the last checkpoint is lost.
case_killed_between_checkpoints() {
    local training=("$cases/brazil3" --forward-passes 2 --iterations)
    has_rows() { lines_are part/training.csv 30 && [ -s part/policy.cobre ]; }
    env "$mark" "$cobre" train -n 2 "${training[@]}" 1000000 --checkpoint-every 0.05s --out part >first.out 2>&1 &
    wait_for has_rows || fail "no checkpoint: $(cat first.out)"
    kill -KILL $(marked)
    wait_for all_gone
    wait 2>/dev/null
    state_of part running
    for file in policy.cobre run.json times.csv summary.csv costs.csv report.html; do # as if it had been killed while it wrote them
        echo half >"part/$file.part"
    done
    cobre train "${training[@]}" 5 --out part
    code_is 1
    err_has "part holds the policy of a run that has not come to its end"
    cobre policy part/policy.cobre --json
    local saved
    saved=$(sed -n 's/.*"iterations": \([0-9]*\).*/\1/p' out)
    [ "$saved" -gt 0 ] || fail "$(cat out)"
    cobre report part # as far as it came
    code_is 0
    grep -q "This training has not ended" part/report.html || fail "the report does not say so"
    cobre train "${training[@]}" $((saved + 5)) --out part --resume part/policy.cobre
    code_is 0
    cobre train "${training[@]}" $((saved + 5)) --out whole
    [ -z "$(find part -name '*.part')" ] || fail "files that are not whole are left: $(ls part)"
    cmp part/policy.cobre whole/policy.cobre || fail "the policies differ"
    cmp part/run.json whole/run.json || fail "the records differ"
}

# Only at the end: a training that was killed leaves no policy, and its folder can be used again.
case_no_checkpoints() {
    has_rows() { lines_are o/training.csv 20; }
    env "$mark" "$cobre" train "$cases/toy" --iterations 100000000 --checkpoint-every 0 --out o >first.out 2>&1 &
    wait_for has_rows || fail "no iterations: $(cat first.out)"
    kill -KILL $(marked)
    wait_for all_gone
    wait 2>/dev/null
    gone o/policy.cobre || fail "a checkpoint"
    cobre train "$cases/toy" --iterations 3 --out o
    code_is 0
    state_of o finished
}

case_checkpoint_every() {
    cobre train --help
    out_has "--checkpoint-every N|T"
    out_has "5min"
    for wrong in 3.5 soon -1 5x s; do
        cobre train "$cases/toy" --checkpoint-every "$wrong"
        code_is 2
        err_has "write 50, 300s or 5min"
    done
    for right in 0 50 300s 5min 2h 0.5m; do
        cobre train "$cases/toy" --iterations 1 --checkpoint-every "$right" --force
        code_is 0
    done
}

# Stage 2 has no solution where stage 1 drew its rare outcome: the first iteration that meets it fails.
rare_case() {
    python3 - >rare.sof.json <<'END'
import json
def stage(name, function):
    return {"state_variables": {"x": {"in": "x_in", "out": "x_out"}}, "random_variables": ["w"], "subproblem": {
        "version": {"major": 1, "minor": 2}, "variables": [{"name": n} for n in ("x_in", "x_out", "y", "w")],
        "objective": {"sense": "min", "function": {"type": "Variable", "name": "y"}},
        "constraints": [
            {"function": {"type": "Variable", "name": v}, "set": {"type": "Interval", "lower": 0, "upper": 3}} for v in ("x_out", "y")] + [
            {"name": name, "function": {"type": "ScalarAffineFunction", "constant": 0, "terms": [
                {"coefficient": c, "variable": v} for v, c in function.items()]}, "set": {"type": "EqualTo", "value": 0}}]}}
def node(kind, outcomes, **successors):
    node = {"subproblem": kind, "realizations": [{"probability": p, "support": {"w": w}} for p, w in outcomes]}
    return dict(node, successors=successors) if successors else node
print(json.dumps({"name": "rare", "version": {"major": 1, "minor": 0},
    "root": {"state_variables": {"x": 0}, "successors": {"first": 1}},
    "nodes": {"first": node("draw", [(.9, 0), (.1, 2)], second=1), "second": node("use", [(.5, 1), (.5, 2)])},
    "subproblems": {"draw": stage("draw", {"x_out": 1, "w": -1}), "use": stage("use", {"y": 1, "x_in": 1, "w": -1})}}))
END
}

case_failure_saves_what_was_complete() {
    local ranks iterations
    rare_case
    for ranks in 1 2; do
        cobre train rare.sof.json -n $ranks --seed 3 --forward-passes 2 --iterations 500 --checkpoint-every 2h --out $ranks
        code_is 1
        err_has "infeasible"
        state_of $ranks failed
        json_holds $ranks/run.json '"infeasible" in docs[0]["training"]["error"] and docs[0]["training"]["iterations"] > 1'
        "$cobre" report $ranks >report.out 2>&1 || fail "$(cat report.out)"
        grep -q "This training has failed: node .*infeasible" $ranks/report.html || fail "the report does not say so"
        iterations=$(sed -n 's/.*the policy as of iteration \([0-9]*\) is saved.*/\1/p' err)
        [ "$(($(wc -l <$ranks/training.csv) - 1))" = "$iterations" ] || fail "$iterations: $(cat $ranks/training.csv)"
        proposed >commands
        [ "$(cat commands)" = "cobre train rare.sof.json -n $ranks --seed 3 --forward-passes 2 --iterations 500 --checkpoint-every 2h --resume $ranks/policy.cobre --out $ranks" ] ||
            fail "$(cat commands)"
        eval "$(cat commands)" # meets the same outcome
        code_is 1
        err_has "the policy as of iteration $iterations is saved"
        cobre train rare.sof.json --seed 3 --forward-passes 2 --iterations "$iterations" --out whole.$ranks
        code_is 0
        cmp $ranks/policy.cobre whole.$ranks/policy.cobre || fail "it is not the policy as of iteration $iterations"
        cobre train rare.sof.json --out $ranks
        code_is 1
        err_has "$ranks holds the policy of a run that has not come to its end"
    done
    cmp 1/policy.cobre 2/policy.cobre || fail "the policies differ"
}

# A rank is killed: the others' work until then is saved by rank 0, or by the last checkpoint.
case_killed_rank() {
    local iterations
    has_rows() { lines_are o/training.csv 30; }
    start train "$cases/brazil3" -n 2 --forward-passes 2 --iterations 1000000 --checkpoint-every 10 --out o
    wait_for has_rows || fail "no iterations"
    kill -KILL "$(pgrep -P "$launcher" -f -- '--rank' | tail -1)"
    finish
    [ $code != 0 ] || fail "code 0"
    cobre policy o/policy.cobre --json
    iterations=$(sed -n 's/.*"iterations": \([0-9]*\).*/\1/p' out)
    cobre train "$cases/brazil3" --forward-passes 2 --iterations "$iterations" --out whole
    cmp o/policy.cobre whole/policy.cobre || fail "it is not the policy as of iteration $iterations"
}

case_report_does_not_mix() {
    local other
    cobre train "$cases/toy" --iterations 5 --out one
    cobre train "$cases/toy" --iterations 5 --seed 7 --out two
    cobre simulate "$cases/toy" --policy one/policy.cobre --trajectories 4 --tables stages
    cobre simulate "$cases/toy" --policy two/policy.cobre --trajectories 4 --tables stages
    for other in training.csv policy.cobre costs.csv statistics.csv stages.csv; do
        rm -rf mixed && cp -r one mixed
        cp two/$other mixed
        cobre report mixed
        code_is 1
        err_has "mixed/$other does not belong to the run in run.json: it has changed since, or is from another run"
        gone mixed/report.html || fail "a page"
        rm mixed/$other
        cobre report mixed
        code_is 1
        err_has "mixed/$other does not belong to the run in run.json: it is missing"
    done
    rm -rf mixed && cp -r one mixed
    sed -i 's/^bound,.*/bound,17/' mixed/summary.csv
    cobre report mixed
    code_is 1
    err_has "mixed/summary.csv"
    sed -i 's/^date,.*/date,2001-01-01T00:00:00Z/; s/^ranks,.*/ranks,9/' one/summary.csv # that is no other run
    cobre report one
    code_is 0
    [ ! -s err ] || fail "$(cat err)"
    cobre train "$cases/toy" --iterations 9 --seed 7 --resume two/policy.cobre --out two
    code_is 0
    cobre report two
    code_is 1
    err_has "two: the simulation is of another policy than policy.cobre"
    cobre simulate "$cases/toy" --policy two/policy.cobre --trajectories 4 --tables none
    cobre report two
    code_is 0
    rm one/run.json # as an older version has left it
    cobre train "$cases/toy" --out one
    code_is 1
    err_has "one holds a policy"
    cobre report one
    code_is 0
    [ "$(grep -c "cannot be checked" err)" = 1 ] || fail "$(cat err)"
    echo '{' >one/run.json
    cobre report one
    code_is 1
    err_has "one/run.json: it cannot be read, or is damaged"
}

case_simulation_of_another_policy() {
    cobre train "$cases/toy" --iterations 5 --out one
    cobre train "$cases/toy" --iterations 5 --seed 7 --out two
    cobre simulate "$cases/toy" --policy one/policy.cobre --trajectories 4 --out two
    code_is 1
    err_has "two holds another policy: a simulation of one/policy.cobre does not belong there"
    gone two/costs.csv || fail "there are tables"
    cobre simulate "$cases/toy" --policy one/policy.cobre --trajectories 4 --out three
    code_is 0
    cobre report three
    code_is 0
    [ ! -s err ] || fail "$(cat err)"
    cobre train "$cases/toy" --iterations 5 --out three # beside tables of another policy
    code_is 1
    err_has "three holds a simulation"
    cobre simulate "$cases/toy" --policy one/policy.cobre --trajectories 5
    cobre simulate "$cases/toy" --policy one/policy.cobre --trajectories 6 --tables states
    code_is 0
    [ "$(ls one)" = "$(printf '%s\n' costs.csv events.jsonl policy.cobre run.json simulation.csv states.csv statistics.csv summary.csv times.csv training.csv)" ] ||
        fail "$(ls one)"
    cobre report one
    code_is 0
}

# Results never come into the case itself.
case_default_folder() {
    local -a rows
    mkdir -p a/b && cp -r "$cases/toy" a/toy && mkdir a/toy/sub && cp "$cases/gas.sof.json" a/b
    try() { # try FOLDER CASE WHERE: results of CASE, from FOLDER
        (cd "$1" && cobre train "$2" --iterations 1 && code_is 0 && cobre simulate "$2" --trajectories 2 && code_is 0 && [ $case_failed = 0 ]) ||
            fail "$*: $(cat err)"
        [ -s "$3/policy.cobre" ] && [ -s "$3/costs.csv" ] || fail "$*: $(find a -name policy.cobre)"
        rm -rf "$3"
    }
    try a/toy . a/toy-out
    try a/toy ./ a/toy-out
    try a/toy ../toy a/toy-out
    try a/toy/sub .. a/toy-out
    try a/toy/sub ../ a/toy-out
    try a/toy/sub ../../toy a/toy-out
    try a toy a/toy-out
    try a toy/ a/toy-out
    try a toy/. a/toy-out
    try a/b ../toy a/b/toy-out
    try a/b gas.sof.json a/b/gas-out
    ln -s toy a/link
    try a link a/link-out
    try a/link . a/toy-out
    [ -z "$(find a -name '*-out')" ] || fail "$(find a -name '*-out')"
}

run_cases "${@:3}"
