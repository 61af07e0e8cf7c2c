#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_train.sh COBRE HELPERS: cobre train and cobre validate.
cases=$(realpath "$(dirname "$0")/../../cases")
. "$(dirname "$0")/../kit/lib.sh"
set -m # background jobs with default signals
cd "$scratch" || exit 1

lines() { wc -l <"$1"; }

case_train() {
    cobre train "$cases/brazil3" --iterations 5
    code_is 0
    out_has "lower bound"
    out_has "stopped: iteration limit, after 5 iterations"
    out_has "brazil3-out/policy.cobre"
    [ "$(grep -cE '^ +[0-9]+ ' "$scratch/out")" = 5 ] || fail "not 5 rows: $(cat "$scratch/out")"
    [ "$(awk 'length > 80 && !/^next/' "$scratch/out" | wc -l)" = 0 ] || fail "lines of more than 80 characters"
    [ "$(lines brazil3-out/training.csv)" = 6 ] || fail "training.csv: $(cat brazil3-out/training.csv)"
    [ "$(lines brazil3-out/times.csv)" = 8 ] || fail "times.csv: $(cat brazil3-out/times.csv)"
    grep -q '^iterations,5$' brazil3-out/summary.csv || fail "summary.csv: $(cat brazil3-out/summary.csv)"
}

case_same_policy_on_any_number_of_ranks() {
    cobre train "$cases/brazil3" --iterations 6 --forward-passes 4 --out one
    code_is 0
    cobre train -n 3 "$cases/brazil3" --iterations 6 --forward-passes 4 --out three
    code_is 0
    out_has "3 ranks (shm)"
    cmp one/policy.cobre three/policy.cobre || fail "the policies differ"
    cmp <(cut -d, -f1-9 one/training.csv) <(cut -d, -f1-9 three/training.csv) || fail "the traces differ"
    [ "$(lines three/times.csv)" = 22 ] || fail "times.csv: $(cat three/times.csv)"
    cobre run -n 2 "$cobre" train "$cases/brazil3" --iterations 6 --forward-passes 4 --out two
    code_is 0
    cmp one/policy.cobre two/policy.cobre || fail "cobre run: the policies differ"
}

case_resume() {
    cobre train "$cases/brazil3" --iterations 8 --out whole
    cobre train "$cases/brazil3" --iterations 3 --out parts
    cobre train "$cases/brazil3" --iterations 8 --out parts --resume parts/policy.cobre
    code_is 0
    cmp whole/policy.cobre parts/policy.cobre || fail "the policies differ"
    cmp <(cut -d, -f1-8 whole/training.csv) <(cut -d, -f1-8 parts/training.csv) || fail "the traces differ"
    cobre train "$cases/brazil3" --iterations 2 --out warm --warm-start whole/policy.cobre
    code_is 0
    cobre train "$cases/brazil3" --iterations 2 --out averse --cvar 0.5,0.5 --warm-start whole/policy.cobre
    code_is 0
    cobre train "$cases/brazil3" --iterations 2 --out cold --warm-start averse/policy.cobre # its cuts lie above the costs
    code_is 1
    err_has "more averse to risk"
    cobre train "$cases/brazil3" --iterations 9 --out cold --resume averse/policy.cobre
    code_is 1
    err_has "the risk measure is not the one of that run"
    err_lacks "warm start" # advice that does not work
    cobre train "$cases/brazil3" --iterations 9 --out other --resume parts/policy.cobre
    code_is 0
    [ "$(lines other/training.csv)" = 10 ] || fail "$(cat other/training.csv)"
    printf '\0\n1,2\n' >other/training.csv # damaged: it begins anew
    cobre train "$cases/brazil3" --iterations 10 --out other --resume other/policy.cobre
    code_is 0
    [ "$(cut -d, -f1 other/training.csv | tr '\n' ' ')" = "iteration 10 " ] || fail "$(cat other/training.csv)"
    grep -E '^(bound|window_mean|cuts|solves),' whole/summary.csv >before
    cobre train "$cases/brazil3" --iterations 8 --out whole --resume whole/policy.cobre # nothing is left to do
    code_is 0
    cmp before <(grep -E '^(bound|window_mean|cuts|solves),' whole/summary.csv) || fail "$(cat whole/summary.csv)"
    cobre train "$cases/brazil3" --iterations 8 --out moved --resume whole/policy.cobre
    code_is 0
    cmp whole/policy.cobre moved/policy.cobre || fail "nothing left to do, and another policy"
    cmp whole/training.csv moved/training.csv || fail "nothing left to do, and another trace"
    [ "$(ls moved)" = "$(printf '%s\n' events.jsonl policy.cobre run.json summary.csv times.csv training.csv)" ] || fail "$(ls moved)"
    cmp whole/run.json moved/run.json || fail "nothing left to do, and another record"
}

case_drop_cuts() { # other cuts are looked for, on any number of ranks and after a break the same ones; the policy keeps all
    local rule
    drop() { # drop FOLDER RULE ITERATIONS OPTION...
        cobre train "$cases/brazil3" --out "$1" --drop-cuts "$2" --iterations "$3" --forward-passes 2 --force --quiet "${@:4}"
        code_is 0
    }
    drop never never 16
    for rule in level-one last-active,3; do
        drop $rule $rule 16
        drop two $rule 16 -n 2
        cmp $rule/policy.cobre two/policy.cobre || fail "$rule: another policy on two ranks"
        drop two $rule 6 -n 2 --backend tcp
        drop two $rule 16 --resume two/policy.cobre
        cmp $rule/policy.cobre two/policy.cobre || fail "$rule: another policy after a break"
        python3 - never $rule <<'END' || fail "$rule: $(tail -n 2 $rule/events.jsonl)"
import json, sys
never, rule = [[e for e in map(json.loads, open(f"{name}/events.jsonl")) if e["event"] == "iteration"][-1] for name in sys.argv[1:]]
assert rule["cuts"] == never["cuts"] and sum(rule["per_stage"]["kept"]) < 0.9 * sum(never["per_stage"]["kept"])
assert abs(rule["bound"] - never["bound"]) < 1e-3 * never["bound"]
END
        drop warm never 2 --warm-start $rule/policy.cobre
        drop warm $rule 2 --warm-start never/policy.cobre
    done
    cobre simulate "$cases/brazil3" --policy level-one/policy.cobre --trajectories 20
    code_is 0
    cobre train "$cases/brazil3" --iterations 20 --forward-passes 2 --drop-cuts last-active,4 --resume last-active,3/policy.cobre
    code_is 1
    err_has "the rule for dropping cuts is not the one of that run"
}

case_resume_from_a_read_only_folder() {
    unshare -m true 2>/dev/null || { skip "no mount namespace here" && return; }
    cobre train "$cases/brazil3" --iterations 3 --out parts
    cat >inside <<'END'
mount --bind parts parts && mount -o remount,bind,ro parts || exit 9
touch parts/new 2>/dev/null && exit 8
exec "$1" train "$2/brazil3" --iterations 4 --out other --resume parts/policy.cobre
END
    "${within[@]}" unshare -m bash inside "$cobre" "$cases" >out 2>err
    code=$?
    code_is 0
    [ "$(lines other/training.csv)" = 5 ] || fail "$(cat other/training.csv)"
}

# What refuses to start says only why.
case_refused() {
    local options
    cobre train "$cases/toy" --iterations 1
    for options in "--resume toy-out/policy.cobre --seed 9" "--resume toy-out/policy.cobre --value-bound -5" "--warm-start toy-out/policy.cobre --multi-cut" "--resume nowhere"; do
        cobre train "$cases/toy" $options
        code_is 1
        out_is ""
        [ -s err ] || fail "$options: no error"
        cobre train "$cases/toy" $options --out nothing
        gone nothing || fail "$options: it leaves a folder"
    done
}

# The commands that it proposes can be copied as they are.
case_quotes() {
    cp -r "$cases/toy" "it's a case"
    cobre train "it's a case" --iterations 1 --out "\$HOME & more"
    code_is 0
    out_has "cobre simulate 'it'\\''s a case' --policy '\$HOME & more/policy.cobre'"
    eval "$(sed -n 's/^next *//p' out)"
    code_is 0
    eval "$(sed -n 's/^next *//p' out)"
    code_is 0
    [ -s "\$HOME & more/report.html" ] || fail "no report: $(ls)"
}

# Killed at any moment, and resumed until it is done: the same policy, and every iteration once in training.csv.
case_killed() {
    local tries=0 resume seconds
    local options="$cases/cascade --iterations 40 --forward-passes 2 --checkpoint-every 1"
    cobre train $options --out whole
    code_is 0
    code=1
    while [ $code != 0 ] && [ $((tries += 1)) -lt 200 ]; do
        resume=
        [ ! -e parts/policy.cobre ] || resume="--resume parts/policy.cobre"
        seconds=$((tries / 10)).$((RANDOM % 50 + 10))
        [ $tries -gt 1 ] || seconds=0.01
        timeout -s KILL $seconds env "$mark" "$cobre" train $options --out parts $resume >out 2>err
        code=$?
    done
    [ $tries -gt 1 ] || fail "it was never killed"
    [ $code = 0 ] || fail "it was never done"
    cmp whole/policy.cobre parts/policy.cobre || fail "the policies differ, after $tries tries"
    cmp <(cut -d, -f1-9 whole/training.csv) <(cut -d, -f1-9 parts/training.csv) || fail "the traces differ"
    cobre train "$cases/cascade" --iterations 42 --forward-passes 2 --resume parts/policy.cobre --out elsewhere
    [ "$(lines elsewhere/training.csv)" = 43 ] || fail "elsewhere: $(cut -d, -f1 elsewhere/training.csv)"
}

# A full disk: nothing starts there. One that fills up: it says so once, goes on, and saves when there is room again.
case_full_disk() {
    unshare -m true 2>/dev/null || { skip "no mount namespace here" && return; }
    mkdir small
    cat >inside <<'END'
mount -t tmpfs -o size=400k tmpfs small && cd small || exit 9
dd if=/dev/zero of=fill bs=1k 2>/dev/null
"$1" train nowhere --out o && exit 8 # this is told before the case is read
[ ! -e o ] || exit 7
rm fill
"$1" train "$2/brazil3" --iterations 2 --out o >/dev/null || exit 6
cp o/policy.cobre ../before
dd if=/dev/zero of=fill bs=1k 2>/dev/null
"$1" report o && exit 5
"$1" simulate "$2/brazil3" --policy o/policy.cobre --trajectories 50 && exit 4
cmp o/policy.cobre ../before && [ "$(ls o)" = "$(printf '%s\n' events.jsonl policy.cobre run.json summary.csv times.csv training.csv)" ]
END
    "${within[@]}" unshare -m bash inside "$cobre" "$cases" >out 2>err
    code=$?
    code_is 0
    [ "$(grep -c "o: No space left on device" err)" = 2 ] || fail "$(cat err)"
    err_has "o/report.html: cannot write: No space left on device"
    err_lacks nowhere
}

case_disk_that_fills_up() {
    unshare -m true 2>/dev/null || { skip "no mount namespace here" && return; }
    mkdir small
    cobre train "$cases/brazil3" --iterations 60 --out whole
    # The first line of its output is the signal to fill the disk, and the message that to make room.
    cat >inside <<'END'
mount -t tmpfs -o size=400k tmpfs small && cd small || exit 9
mkfifo rows
"$1" train "$2/brazil3" --iterations 60 --checkpoint-every 1 --out o >rows 2>../said &
exec 3<rows
while read -r -u 3 row && [ "${row%% *}" != 5 ]; do :; done
dd if=/dev/zero of=fill bs=1k 2>/dev/null
while [ ! -s ../said ] && read -r -u 3 row; do :; done
while [ $((lines += 1)) -lt 5 ] && read -r -u 3 row; do :; done
rm fill
cat <&3 >/dev/null
wait $! || exit 7
mv o ..
END
    "${within[@]}" unshare -m bash inside "$cobre" "$cases" >out 2>err
    code=$?
    code_is 0
    grep -q "o/policy.cobre: cannot write: No space left on device: training goes on, and tries again" said || fail "$(cat said)"
    grep -q "o/policy.cobre: written again" said || fail "$(cat said)"
    [ "$(grep -c 'training goes on' said)" = "$(grep -c 'written again' said)" ] || fail "$(cat said)"
    cmp whole/policy.cobre o/policy.cobre || fail "the policies differ"
    cmp whole/run.json o/run.json || fail "the records differ" # it has the hash of training.csv, too
}

case_read_only_folder() {
    unshare -m true 2>/dev/null || { skip "no mount namespace here" && return; }
    mkdir there
    cat >inside <<'END'
mount --bind there there && mount -o remount,bind,ro there || exit 9
"$1" train nowhere --out there && exit 8
"$1" train nowhere --out there/new && exit 7
exit 0
END
    "${within[@]}" unshare -m bash inside "$cobre" >out 2>err
    code=$?
    code_is 0
    [ "$(grep -c 'Read-only file system' err)" = 2 ] || fail "$(cat err)"
    err_lacks nowhere
}

case_file_size_limit() { # a limit is told, and does not kill; the policy as of the last checkpoint that fitted is there
    (ulimit -f 1 && "$cobre" train "$cases/toy" --out o >out 2>err)
    code=$?
    code_is 1
    err_has "cobre train: --out o: cannot write: no file may be larger than 1024 bytes (ulimit -f)"
    err_has "raise the limit of file sizes: ulimit -f unlimited"
    cobre train "$cases/cascade" --iterations 60 --out whole
    (ulimit -f 1 && "$cobre" train "$cases/brazil3" --out o >out 2>err)
    err_has "o: cannot write: no file may be larger than 1024 bytes (ulimit -f)"
    gone o || fail "a folder is left"
    (ulimit -f 8 && "$cobre" train "$cases/cascade" --iterations 60 --checkpoint-every 1 --out o >out 2>err)
    code=$?
    code_is 1
    err_has "o/policy.cobre: cannot write: no file may be larger than 8192 bytes (ulimit -f): training goes on"
    err_has "raise the limit of file sizes: ulimit -f unlimited"
    err_has "is saved; go on with"
    gone o/policy.cobre.part || fail "it has left a part"
    json_holds o/run.json 'docs[0]["training"]["state"] == "failed" and "(ulimit -f)" in docs[0]["training"]["error"]'
    eval "$(sed -n 's/^  //p' err)" # the command that it proposed
    code_is 0
    out_has "stopped: iteration limit, after 60 iterations"
    cmp whole/policy.cobre o/policy.cobre || fail "the policies differ"
    cmp whole/run.json o/run.json || fail "the records differ"
}

# Nobody reads what it says: it ends as after a signal.
case_reader_gone() {
    local ranks
    for ranks in 1 2; do
        "${within[@]}" "$cobre" train "$cases/toy" -n $ranks --iterations 100000000 2>err | head -1 >out
        code=${PIPESTATUS[0]}
        code_is 0
        [ ! -s err ] || fail "$(cat err)"
        [ -s toy-out/policy.cobre ] || fail "no policy"
        rm -rf toy-out
    done
}

case_closed_output() { # what is printed must not end up in a file that got the number of the output
    cobre train "$cases/brazil3" --iterations 3 --out open
    "${within[@]}" "$cobre" train "$cases/brazil3" --iterations 3 --out closed <&- >&- 2>&- || fail "code $?"
    cmp open/policy.cobre closed/policy.cobre || fail "the policies differ"
    cmp <(cut -d, -f1-9 open/training.csv) <(cut -d, -f1-9 closed/training.csv) || fail "the traces differ"
}

case_two_in_one_folder() {
    env "$mark" "$cobre" train "$cases/brazil3" --iterations 1000000 --checkpoint-every 1 --out shared >first.out 2>&1 &
    local first=$!
    wait_for test -s shared/policy.cobre || fail "no checkpoint: $(cat first.out)"
    cobre train "$cases/brazil3" --iterations 3 --out shared
    code_is 1
    err_has "another training writes there"
    kill -KILL $first
    cobre train "$cases/brazil3" --iterations 3 --out shared --force # the lock has gone with its owner
    wait $first 2>/dev/null
    code_is 0
}

# One table, while others are not there or wrong.
case_validate_table() {
    cp -r "$cases/cascade" new && rm new/load.csv new/par.csv
    cobre validate new --table hydros.csv
    code_is 0
    out_has "hydros.csv: no error found; 2 in other files of the case, which may hide some"
    sed -i 's/0\.42/42x/' new/hydros.csv
    cobre validate new --table hydros.csv
    code_is 1
    out_has 'new/hydros.csv:3: column productivity: "42x" is not a number'
    [ "$(lines out)" = 2 ] || fail "more is told: $(cat out)"
    cobre validate new --table hydros.csv --json
    code_is 1
    json_holds out 'len(docs[0]["errors"]) == 1 and docs[0]["elsewhere"] == 2 and docs[0]["valid"] is False'
    cobre validate new --table load.csv
    code_is 2
    err_has "new/load.csv: No such file"
    cobre validate "$cases/cascade" --table load.csv
    code_is 0
    out_has "valid: 12 stages"
    cobre validate new --table new/hydros.csv
    code_is 2
    sed -i 's/"stages"/"stagse"/' new/case.json # without which no table is read
    cobre validate new --table hydros.csv
    code_is 1
    out_has 'new/case.json:5: /stagse: unknown key "stagse"; closest name: stages'
    [ "$(lines out)" = 2 ] || fail "more is told: $(cat out)"
}

case_quiet() {
    cobre train "$cases/toy" --iterations 3 --quiet
    code_is 0
    [ ! -s out ] && [ ! -s err ] || fail "not quiet: $(cat out err)"
    [ -s toy-out/policy.cobre ] || fail "no policy"
    cobre train "$cases/toy" --iterations 3 --quiet
    code_is 1
    err_has "--force"
    cobre train "$cases/toy" --quiet --json
    code_is 2
}

# The exit code says whether it converged; the policy is saved in any case.
case_require_converged() {
    local ranks
    for ranks in 1 2; do
        cobre train "$cases/brazil3" --iterations 2 --gap --require converged -n $ranks --out "limit$ranks"
        code_is 4
        err_has "it has not converged: iteration limit; the policy is saved"
        [ "$(lines err)" = 1 ] || fail "more is said: $(cat err)"
        [ -s "limit$ranks/policy.cobre" ] || fail "no policy"
        cobre train "$cases/toy" --iterations 100 --stall 5 --require converged --json -n $ranks --out "stalled$ranks"
        code_is 0
        json_holds out 'docs[-1]["converged"] is True and docs[-1]["stop"] == "bound stalled"'
    done
    cobre train "$cases/toy" --iterations 100 --require converged
    code_is 2
    err_has "give a rule that finds it"
    cobre train "$cases/toy" --gap --require sense
    code_is 2
}

case_json() {
    cobre train "$cases/brazil3" --iterations 3 --json --multi-cut --cvar 0.2,0.5 --seed 7
    code_is 0
    [ "$(lines out)" = 5 ] || fail "$(cat out)"
    head -1 out | grep -q '"event": "started"' || fail "$(cat out)"
    tail -1 out | grep -q '"stop": "iteration limit"' || fail "$(cat out)"
    json_holds out 'len(docs) == 5 and docs[1]["iteration"] == 1'
    json_holds out 'docs[1]["gap"] is None' # with a risk measure
    json_holds out 'repr(docs[3]["bound"]) == repr(docs[4]["bound"])'
    cobre train nowhere --json
    code_is 1
    json_keys out 'docs[0]' event kind message suggestion
}

# A path can hold any bytes but 0. Those that are not UTF-8 come out as U+FFFD.
case_json_of_strange_names() {
    local name=$'a "b" \\c\n\377' text='"a \"b\" \\c\n\ufffd'
    cp -r "$cases/brazil3" "$name"
    cobre train "$name" --iterations 3 --json --out "$name-out"
    code_is 0
    [ "$(lines out)" = 5 ] || fail "$(cat out)"
    json_holds out "docs[0]['case'].endswith($text\") and docs[0]['out'].endswith($text-out\")"
    json_holds out "docs[4]['policy'].endswith($text-out/policy.cobre\")"
    cobre simulate "$name" --policy "$name-out/policy.cobre" --trajectories 4 --json
    code_is 0
    json_holds out "docs[0]['out'] == $text-out\""
    cobre policy "$name-out/policy.cobre" --json
    code_is 0
    json_holds out "docs[0]['policy'] == $text-out/policy.cobre\""
    cobre policy "$name-out/policy.cobre" --export json
    code_is 0
    json_holds out "docs[0]['policy'] == $text-out/policy.cobre\""
    cobre validate --json "$name"
    code_is 0
    json_holds out "docs == [{'case': $text\", 'errors': [], 'warnings': [], 'unbounded': [], 'elsewhere': 0, 'valid': True}]"
    sed -i '2s/,[^,]*$/,many/' "$name/thermals.csv"
    cobre validate --json "$name"
    code_is 1
    json_holds out "docs[0]['errors'][0]['file'] == $text/thermals.csv\" and docs[0]['errors'][0]['line'] == 2"
    cobre train "$name" --json
    code_is 1
    json_keys out 'docs[0]' event kind message suggestion
}

# Slopes of 1e7 beside the future cost's 1 were hard for GLPK: it gave up, or bounds were above the optimum, which is about 271e6.
bounds_of_multi_cuts() { # SOLVER
    local seed
    for seed in 1 3; do
        cobre train "$cases/cascade" --multi-cut --forward-passes 5 --iterations 8 --seed $seed --solver "$1" --out cascade
        code_is 0
        awk -F, 'NR > 1 && $2 > 272e6 { print "bound", $2; bad = 1 } END { exit bad || NR < 2 }' cascade/training.csv ||
            fail "seed $seed: a bound above the optimum"
        rm -rf cascade
    done
}

case_multi_cuts_of_large_costs_glpk() { bounds_of_multi_cuts glpk; } # slow
case_multi_cuts_of_large_costs_clp() { bounds_of_multi_cuts clp; } # slow

# A stage that some state leaves without a solution: all ranks end, one says why.
case_no_way_out() {
    local ranks solver other
    sed 's/"GreaterThan", "lower": 0/"GreaterThan", "lower": 1.5/; s/"lower": 0, "upper": 4/"lower": 0, "upper": 0/' \
        "$cases/gas.sof.json" >dry.sof.json
    sed 's/"lower": 0, "upper": 10/"lower": 0, "upper": 1e9/; s/"upper": 4/"upper": 1e9/; s/"coefficient": -0.1/"coefficient": 9/' \
        "$cases/gas.sof.json" | sed 's/"type": "Interval", "lower": 0, "upper": 1e9/"type": "GreaterThan", "lower": 0/' >wild.sof.json
    for ranks in 1 2 4; do
        for solver in glpk clp; do
            [ $solver = glpk ] && other=clp || other=glpk
            rm -rf ./*-out
            cobre train -n $ranks dry.sof.json --iterations 20 --forward-passes 4 --solver $solver
            code_is 1
            err_has "demand = "
            err_has "the LP is infeasible after 4 tries of $solver and as many of $other"
            err_has "cobre train:   written to dry-out/cobre-"
            [ "$(wc -L <err)" -le 160 ] || fail "a long line: $(cat err)"
            err_has "no decision meets these at once: "
            err_has "every state and outcome must be feasible"
            [ -n "$(find dry-out -name "cobre-2*.lp" -size +100c)" ] || fail "no .lp: $(ls dry-out)"
            cobre train -n $ranks wild.sof.json --iterations 20 --value-bound 1e6 --solver $solver
            code_is 1
            err_has "node 1, outcome 1: the LP is unbounded"
            err_has "cobre train:   price = 5, demand = 3"
            err_has "cobre train:   incoming store = 2"
        done
    done
    cp -r "$cases/toy" short && rm short/deficits.csv && sed -i 's/0,80,50/0,5,50000/' short/thermals.csv
    for solver in glpk clp; do
        rm -rf short-out
        cobre train short --solver $solver
        code_is 1
        err_has "give deficits.csv tiers"
        grep -q '50000 .*generation.gas.' short-out/*.lp || fail "not in the units of the case: $(cat short-out/*.lp)"
        grep -q 'generation.gas.' short-out/*.lp || fail "no names: $(cat short-out/*.lp)"
        cobre train short --solver $solver --json
        json_holds out '[d["event"] for d in docs] == ["started", "error"]'
    done
    cp -r "$cases/toy" high && printf 'stage,table,name,column,value\n3,hydros,lake,storage_min,190\n' >high/changes.csv
    for solver in glpk clp; do
        cobre train high --solver $solver
        code_is 1
        err_has "node 3, outcome 2: the LP is infeasible"
        err_has "cobre train:   inflow[lake] = 80"
        err_has "cobre train:   incoming storage[lake] = 0"
        err_has "cobre train:   no decision meets these at once: incoming storage[lake] = 0, storage[lake] >= 190,"
        err_has "cobre train:   hydro[lake] >= 0, spill[lake] >= 0, row water[lake] = 80"
        cobre train high --solver $solver --json
        json_holds out '"row water[lake] = 80" in docs[-1]["message"] and "\n" not in docs[-1]["message"]'
        grep -q '^\\   storage.lake. >= 190' high-out/*.lp || fail "no conflict in the file: $(cat high-out/*.lp)"
    done
    cobre train wild.sof.json
    code_is 1
    err_has "wild.sof.json:9: 5 errors in the case; the first: /nodes/1: node 1, outcome 1: its own LP is unbounded"
    for solver in glpk clp; do
        cobre validate wild.sof.json --solver $solver
        code_is 1
        out_has "wild.sof.json:9: /nodes/1: node 1, outcome 1: its own LP is unbounded"
        out_has "/nodes/3 tight: node 3 tight, outcome 1: its own LP is unbounded"
        out_has "5 errors"
    done
    cobre validate wild.sof.json --value-bound 1e6
    code_is 0
}

case_rules() {
    cobre train "$cases/brazil3" --time 0.2
    out_has "stopped: time limit"
    cobre train "$cases/brazil3" --stall 5,0.5 --force
    out_has "stopped: bound stalled"
    cobre train "$cases/brazil3" --iterations 3 --stall 1,1 --stop all --force
    code_is 0
    out_has "after 3 iterations"
}

training() { lines_are "$scratch/long/training.csv" 4; }

asked() { # asked SIGNAL: what the first signal leaves behind
    finish
    code_is 0
    out_has "stopped: asked to stop"
    [ -s long/policy.cobre ] || fail "no policy"
    wait_for all_gone || fail "processes are left"
}

case_signals() {
    start train "$cases/brazil60" -n 2 --iterations 100000 --out long
    wait_for training || fail "no iterations"
    kill -INT "$launcher"
    asked
    err_has "asked to stop"
    rm -r long
    start train "$cases/brazil3" -n 2 --iterations 100000 --out long
    wait_for training || fail "no iterations"
    kill -TERM "$(pgrep -P "$launcher" -f -- '--rank' | tail -1)"
    asked
    rm -r long
    start run -n 2 "$cobre" train "$cases/brazil3" --iterations 100000 --out long
    wait_for training || fail "no iterations"
    kill -TERM "$launcher"
    asked
    rm -r long
    start train "$cases/brazil3" --iterations 100000 --out long
    wait_for training || fail "no iterations"
    kill -USR1 "$launcher"
    asked
}

# The command that it prints goes on, with the same options.
case_go_on() {
    start train "$cases/brazil3" -n 2 --seed=7 --forward 3 --cvar 0.2,0.5 --multi-cut --solver glpk --value-bound 0 \
        --iterations 100000 --stall 90000,1e-9 --out long
    wait_for training || fail "no iterations"
    kill -INT "$launcher"
    asked
    out_has " -n 2 --seed 7 --forward-passes 3 --cvar 0.2,0.5 --multi-cut --solver glpk --value-bound 0 --iterations 100000 --stall 90000,1e-9 --resume long/policy.cobre --out long"
    cobre $(sed -n 's/^go on *cobre //p' out) --iterations 2
    code_is 0
    out_has "stopped: iteration limit"
}

# A signal in the middle of an iteration, whose cuts are there in part: what is left is the policy of the iteration before, and
# a training that goes on from it gives the bits of one without a break.
passes="--forward-passes 100 --iterations 2"
cut_off() { # WHO OPTION...: SIGTERM to WHO: the launcher, or the first or last rank alone
    local who
    rm -rf long
    start train "$cases/brazil3" $passes --grace 0 --out long "${@:2}"
    wait_for lines_are long/training.csv 2 || fail "no iteration: $(cat err)"
    who=$(pgrep -P "$launcher" -f -- --rank)
    case $1 in
    launcher) who=$launcher ;;
    first) who=$(head -1 <<<"$who") ;;
    last) who=$(tail -1 <<<"$who") ;;
    esac
    kill -TERM "$who"
    finish
    code_is 0
    out_has "stopped: asked to stop, after 1 iteration"
    out_has "iteration 2 was under way and is left out"
    wait_for all_gone || fail "processes are left"
    [ "$(lines long/training.csv)" = 2 ] || fail "training.csv: $(cat long/training.csv)"
    cobre train "$cases/brazil3" $passes --resume long/policy.cobre --out long "${@:2}"
    code_is 0
    cmp whole/policy.cobre long/policy.cobre || fail "$*: the policies differ"
    cmp <(cut -d, -f1-8 whole/training.csv) <(cut -d, -f1-8 long/training.csv) || fail "$*: the traces differ"
}

case_grace_is_over() {
    cobre train "$cases/brazil3" $passes --out whole
    code_is 0
    cut_off launcher
    cut_off launcher -n 2 --backend tcp
    cut_off first -n 3 # the others hear of it
    cut_off last -n 3
}

case_second_signal() {
    start train "$cases/brazil60" -n 2 --forward-passes 30 --iterations 2 --grace 10min --out long # each takes some seconds
    wait_for lines_are long/training.csv 2 || fail "no iteration"
    kill -STOP "$launcher" # the launcher gets both signals at once, as from timeout(1): that is one wish
    kill -INT "$launcher"
    kill -TERM "$launcher"
    kill -CONT "$launcher"
    wait_for grep -q "asked to stop: finishing the iteration, for at most 600 s" err || fail "no answer"
    gone long/policy.cobre || fail "it saved before it was asked twice"
    sleep 0.7 # longer than the 0.5 s in which two signals are one wish
    [ "$(marked | wc -l)" -gt 2 ] || fail "an echo of the first signal ended it: $(cat err)"
    kill -USR1 "$launcher"
    asked
    err_has "saving what is finished"
    out_has "after 1 iteration"
    out_has "iteration 2 was under way and is left out"
    cobre report long
    code_is 0
}

# The simulation after the first iteration has no end; it need not be finished.
endless="--iterations 2 --simulation 1,100000000 --out long"
case_signal_to_a_simulation_in_training() {
    start train "$cases/brazil3" -n 2 $endless --grace 600
    wait_for lines_are long/training.csv 2 || fail "no iteration"
    kill -TERM "$launcher"
    asked
    out_has "after 1 iteration"
    lacks "left out" out
}

start_a_save() { # start_a_save SIGNAL OPTION...: it is asked twice, and waits for a reader of the policy
    start train "$cases/brazil3" $endless --grace 600 "${@:2}"
    wait_for lines_are long/training.csv 2 || fail "no iteration"
    mkfifo long/policy.cobre
    for answer in "asked to stop" "saving what is finished"; do
        kill "-$1" "$launcher"
        wait_for grep -q "$answer" err || fail "no answer: $answer"
        sleep 0.7
    done
}

case_saving_after_a_second_signal_may_take_long() {
    start_a_save TERM -n 2
    sleep 2 # what `cobre run` would give its ranks is over
    if ended "$launcher"; then
        fail "it was killed while it saved: $(cat err)"
        return
    fi
    timeout $patience cat long/policy.cobre >saved
    kill -TERM "$launcher" # it looks at what it has saved, and waits for that, too
    finish
    code_is 143
    cobre policy saved
    code_is 0
}

third_signal() { # third_signal OPTION...
    rm -rf long
    start_a_save INT "$@"
    echo half >long/policy.cobre.part
    kill -INT "$launcher"
    finish
    code_is 130
    gone long/policy.cobre.part || fail "what it was writing is left"
}
case_third_signal() {
    third_signal
    third_signal -n 2
}

case_signal_before_the_first_iteration_is_finished() {
    start train "$cases/brazil60" -n 2 --forward-passes 20000 --iterations 2 --grace 0 --out long # an iteration has no end
    ranks_catch() { [ "$(for pid in $(pgrep -P "$launcher" -f -- --rank); do grep SigCgt "/proc/$pid/status"; done | grep -c '[2367abef]..$')" = 2 ]; }
    wait_for ranks_catch || fail "no start"
    kill -TERM "$launcher"
    finish
    code_is 1
    err_has "asked to stop: nothing is finished that could be saved"
    err_has "before the first iteration was finished: there is nothing to save"
    err_lacks "go on with"
    gone long/policy.cobre || fail "a policy without an iteration"
    grep -q '"state": "failed"' long/run.json || fail "run.json: $(cat long/run.json)"
}

# What is resumed is finished, also while it is read.
case_signal_while_a_policy_is_read() {
    mkfifo policy
    start train "$cases/brazil3" --resume policy --out long
    catches() { grep -q 'SigCgt.*[2367abef]..$' "/proc/$launcher/status"; }
    wait_for catches || fail "no start"
    kill -TERM "$launcher"
    wait_for grep -q "asked to stop" err || fail "no answer"
    err_has "finishing the iteration, for at most 25 s, and saving"
    timeout $patience sh -c ': >policy'
    finish
    code_is 1
}

case_wrong() {
    cobre train
    code_is 2
    err_has "no case given"
    cobre train a b
    code_is 2
    cobre train "$cases/toy" --iteratons=5
    code_is 2
    err_has "there is no option --iteratons=5; did you mean --iterations?"
    cobre train a --cvar 0.1
    code_is 2
    cobre train a --time soon
    code_is 2
    err_has "15m, 2h, 1d"
    cobre train a --stop never
    code_is 2
    cobre train nowhere -n 2
    code_is 1
    err_has "nowhere"
    err_lacks "failed first"
    gone nowhere-out || fail "a folder for nothing"
    cobre train "$cases/brazil3" -n 2 --solver pencil
    code_is 1
    [ "$(grep -c pencil err)" = 1 ] || fail "said by more than one rank: $(cat err)"
    cobre train "$cases/brazil3" --out /proc/nowhere/x
    code_is 1
    err_has "/proc/nowhere/x"
    cobre run -n 2 "$cobre" train nowhere
    code_is 1
    err_has "its last error: "
    err_lacks "reported no error"
    cobre run -n 2 "$cobre" train "$cases/brazil3" -n 2
    code_is 2
    err_has "a rank of a job already"
    cobre train "$cases/brazil3" -n 2 --backend carrier-pigeon
    code_is 2
    err_has "cobre train: --backend carrier-pigeon: no backend has this name"
}

case_validate() {
    cobre validate "$cases/brazil3"
    code_is 0
    out_has "valid: 3 stages, 3 nodes, 4 states; 4 subsystems, 4 hydros, "
    cobre validate "$cases/gas.sof.json"
    code_is 0
    lacks hydro out
    cobre validate "$cases/brazil3/case.json"
    code_is 1
    out_has "give the folder: $cases/brazil3"
    cobre validate "$cases/brazil3/load.csv"
    code_is 1
    out_has "is a part of a case -- give the folder: $cases/brazil3"
    cobre validate nowhere
    code_is 1
    out_has "nowhere: cannot be read: No such file or directory -- check the path; 'cobre init FOLDER' makes a case"
    cobre validate --json "$cases/brazil3"
    code_is 0
    json_holds out 'docs[0]["valid"]'
    cp -r "$cases/brazil3" bad
    sed -i '2s/,[^,]*$/,many/; 3s/,[^,]*$/,few/' bad/thermals.csv
    cobre validate bad
    code_is 1
    out_has "thermals.csv:2:"
    out_has "thermals.csv:3:"
    out_has "errors"
    cobre validate --json bad
    code_is 1
    json_holds out 'not docs[0]["valid"] and len(docs[0]["errors"]) >= 2'
    json_keys out 'docs[0]' case errors warnings unbounded elsewhere valid
    json_keys out 'docs[0]["errors"][0]' file line place message suggestion more
    cobre train bad
    code_is 1
    err_has "thermals.csv:2:"
    cobre validate bad --write bad.sof.json
    code_is 1
    [ ! -e bad.sof.json ] || fail "a case with errors was written"
    cobre validate
    code_is 2
}

# A case that was written trains to the same numbers: reservoir has no discount.
# A lake without turbines feeds a plant over its spillway. The slack that keeps its inflow feasible costs more than what the water
# saves there: the cost is 730 h, twice, of 380 MW of deficit at 1000 and 10 MW of gas at 100.
case_water_from_nowhere_costs_more_than_a_deficit() {
    mkdir lake
    echo '{"units": "water", "stages": 2, "subsystems": ["m"], "inflow": {"source": "par", "openings": 1}}' >lake/case.json
    printf 'tier,depth,cost\n1,1,1000\n' >lake/deficits.csv
    printf 'hydro,subsystem,productivity,storage_max,storage_initial,turbine_max,downstream,spill_downstream\n%s\n%s\n' \
        lake,m,0,1000,0,0,,plant plant,m,5,0,0,100,, >lake/hydros.csv
    printf 'm\n400\n' >lake/load.csv
    printf 'hydro,mean,scale,noise\nlake,1,1,0\nplant,1,1,0\n' >lake/par.csv
    printf 'thermal,subsystem,max,cost\ngas,m,10,100\n' >lake/thermals.csv
    cobre train lake --iterations 10
    code_is 0
    out_has "bound     556260000 (lower)"
    # It saves no penalty of a plant further down, and no deficit that gets dearer: the price counts all stages.
    printf 'hydro,subsystem,productivity,storage_max,storage_initial,turbine_max,downstream,spill_downstream,outflow_min,outflow_penalty\n%s\n%s\n' \
        lake,m,0,1000,0,0,,weir,, weir,m,0,0,0,100,,,50,1e7 >lake/hydros.csv
    printf 'hydro,mean,scale,noise\nlake,1,1,0\nweir,1,1,0\n' >lake/par.csv
    buys_no_water
    printf 'hydro,subsystem,productivity,storage_max,storage_initial,turbine_max\nlake,m,5,1000,0,100\n' >lake/hydros.csv
    printf 'hydro,mean,scale,noise\nlake,1,1,0\n' >lake/par.csv
    printf 'thermal,subsystem,max,cost\ngas,m,400,1\n' >lake/thermals.csv
    printf 'stage,table,name,column,value\n2,thermals,gas,cost,100000\n' >lake/changes.csv
    rm lake/deficits.csv
    buys_no_water
}

# Of many errors of one kind a few are shown, and all are counted.
case_many_errors() {
    cp -r "$cases/brazil3" many
    for i in $(seq 50); do echo "more$i,wrong"; done >>many/thermals.csv
    cobre validate many
    code_is 1
    out_has "50 errors"
    cobre train many
    code_is 1
    err_has "and 30 more like that"
    err_has "50 errors in the case"
    sed -i '1s/.*/a,a,a/' many/hydros.csv
    cobre validate many
    [ "$(grep -c 'two columns are called "a"' out)" = 2 ] || fail "$(grep hydros.csv out)"
    head -c 3000000 /dev/zero | tr '\0' , >many/hydros.csv # which takes no hour
    cobre validate many
    out_has "column 1 has no name"
}

# A warning is told by `cobre validate`, and once by a training, on whatever ranks; the case is valid.
case_warnings() {
    local good
    cp -r "$cases/toy" dear && sed -i 's/^1,1,500/1,1,5e13/' dear/deficits.csv
    cobre validate dear
    code_is 0
    out_has "dear/case.json: stage 1: warning: the costs go from 50 (node 1, column generation[gas]) to 5e+13 (node 1, column deficit[main,1]): a ratio of 1e+12, beyond 1e+11, costs accuracy -- "
    out_has ": valid: 3 stages"
    cobre validate --json dear
    code_is 0
    json_holds out 'docs[0]["valid"] and docs[0]["errors"] == [] and [w["place"] for w in docs[0]["warnings"]] == ["stage 1"]'
    cobre train dear -n 2 --iterations 3
    code_is 0
    [ "$(grep -c 'warning: the costs go' err)" = 1 ] || fail "not once: $(cat err)"
    cp -r "$cases/cascade" cheap && sed -i 's/"seed": 1/"seed": 1, "lack_cost": 100/' cheap/case.json
    cobre validate cheap
    code_is 0
    out_has "cheap/case.json:1: warning: lack_cost 100 is below 1.55835e+06, "
    out_has "which water can save at hydro head: water from nowhere may hide a deficit"
    for good in toy brazil3 cascade gas.sof.json; do
        cobre validate "$cases/$good"
        code_is 0
        lacks warning out err
    done
}

# The policy of the case `lake` buys none.
buys_no_water() {
    rm -rf dry
    cobre train lake --iterations 10 --out dry
    code_is 0
    cobre simulate lake --policy dry/policy.cobre --trajectories 4 --tables variables
    code_is 0
    grep -q '^1,1,1,,,,inflow_lack,lake,0,m3/s$' dry/variables.csv || fail "water from nowhere: $(grep lack dry/variables.csv)"
    lacks -E 'inflow_lack,[a-z]+,[^0]' dry/variables.csv
}

# What SDDP.jl writes is read. The optima were found by another solver.
case_files_of_sddp_jl() {
    local options
    for options in "" "--multi-cut --value-bound -1e4"; do
        cobre train "$(dirname "$cases")/tests/sddp/sddpjl_min.sof.json" --iterations 80 --out min --force $options
        code_is 0
        out_has "bound     -39.8260000 (lower)"
    done
    cobre train "$(dirname "$cases")/tests/sddp/sddpjl_max.sof.json" --iterations 80 --out max
    code_is 0
    out_has "bound     39.8260000 (upper)"
}

# Outcomes and edges of probability 0 need have no solution.
case_what_never_happens() {
    local options solver
    sed '/"2 tight": {/,/"successors"/s/{"probability": 0.4/{"probability": 0, "support": {"price": 8, "demand": -5}},\n&/
        /"3 tight": {/,/]/s/{"probability": 0.6.*/&,\n{"probability": 0, "support": {"price": 8, "demand": -5}}/' \
        "$cases/gas.sof.json" >outcomes.sof.json
    [ "$(grep -c 'demand": -5' outcomes.sof.json)" = 2 ] || fail "$(cat outcomes.sof.json)"
    sed 's/"2 calm": 0.7,/"never": 0, &/
        s/^    "nodes": {/&"never": {"subproblem": "trade", "realizations": [{"probability": 1, "support": {"price": 8, "demand": -5}}]},/' \
        "$cases/gas.sof.json" >edges.sof.json
    for solver in glpk clp; do
        for options in "" --multi-cut "--cvar 0.3,0.5" "--cvar 0.3,0.5 --multi-cut"; do
            rm -rf plain outcomes edges
            cobre train "$cases/gas.sof.json" --iterations 8 --solver $solver $options --out plain
            cobre train outcomes.sof.json --iterations 8 --solver $solver $options --out outcomes
            code_is 0
            cmp plain/policy.cobre outcomes/policy.cobre || fail "$solver $options: another policy"
            cobre train edges.sof.json --iterations 8 --solver $solver $options --out edges
            code_is 0
            cmp <(cut -d, -f1-3 plain/training.csv) <(cut -d, -f1-3 edges/training.csv) || fail "$solver $options: another training"
        done
        cobre simulate edges.sof.json --policy edges/policy.cobre --trajectories 20 --solver $solver
        code_is 0
        cobre validate edges.sof.json --solver $solver --write again.sof.json
        code_is 0
        cobre validate again.sof.json --solver $solver
        code_is 0
    done
}

# Compressed is what begins like it, whatever it is called.
case_compressed() {
    gzip -c "$cases/gas.sof.json" >gas.sof.json.gz
    cobre train gas.sof.json.gz --iterations 5
    code_is 0
    cobre train "$cases/gas.sof.json" --iterations 5 --out plain
    cmp gas-out/policy.cobre plain/policy.cobre || fail "another policy"
    cobre simulate gas.sof.json.gz --trajectories 3
    code_is 0
    cp "$cases/gas.sof.json" plain.sof.json.gz
    cobre validate plain.sof.json.gz
    code_is 0
    for bytes in 5 300 $(($(stat -c %s gas.sof.json.gz) - 1)); do
        head -c $bytes gas.sof.json.gz >short.sof.json.gz
        cobre validate short.sof.json.gz
        code_is 1
        out_has "short.sof.json.gz: its compressed data is cut off"
    done
    cp gas.sof.json.gz bent.sof.json.gz
    printf '\377\377\377\377' | dd of=bent.sof.json.gz bs=1 seek=300 conv=notrunc 2>/dev/null
    cobre validate bent.sof.json.gz
    code_is 1
    out_has "bent.sof.json.gz: its compressed data is damaged"
    gzip -c /dev/null >empty.sof.json.gz
    cobre validate empty.sof.json.gz
    code_is 1
    out_has "is not JSON"
    python3 -c 'import gzip; open("bomb.sof.json.gz", "wb").write(gzip.compress(b" " * (1 << 24)) * 65)'
    cobre validate bomb.sof.json.gz
    code_is 1
    out_has "its compressed data becomes more than 1073741824 bytes"
    cobre validate "$cases/reservoir" --write written.sof.json.gz
    code_is 1
    err_has "compressed files are read, but not written"
    gone written.sof.json.gz || fail "it was written"
}

case_write() {
    cobre validate "$cases/reservoir" --write written.sof.json
    code_is 0
    out_has "valid"
    cobre validate written.sof.json
    code_is 0
    cobre train "$cases/reservoir" --iterations 5 --out one
    code_is 0
    cobre train written.sof.json --iterations 5 --out two
    code_is 0
    cut -d, -f1-4 one/training.csv | cmp - <(cut -d, -f1-4 two/training.csv) || fail "the bounds differ"
    cobre validate "$cases/reservoir" --write nowhere/x.sof.json
    code_is 1
    err_has "nowhere/x.sof.json: cannot write"
}

run_cases "${@:3}"
