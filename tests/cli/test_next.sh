#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_next.sh COBRE HELPERS: every command that the program prints runs as it stands, in the same directory.
cases=$(realpath "$(dirname "$0")/../../cases")
. "$(dirname "$0")/../kit/lib.sh"
set -m # background jobs with default signals
export PATH=$scratch/bin:$PATH

# The commands in what was printed: in quotes, or to the end of the line. "cobre train: ..." begins a message; "did you mean"
# asks for a name.
printed() {
    python3 - "$@" <<'PYTHON'
import re, sys
verb = r" (?:init|train|decide|simulate|policy|validate|report|mcp|info|run|bench|clean)"
quoted = re.compile(r"(?<!\S)(['`])(cobre(?:" + verb + r")?(?: -[^'`]*)?)\1")
whole = re.compile(r"(?<!\S)cobre" + verb + r" (?!.*(?<!\S)cobre" + verb + r" ).*")
for path in sys.argv[1:]:
    for line in open(path):
        if "did you mean" in line:
            continue
        for _, command in quoted.findall(line):
            print(command)
        for command in whole.findall(quoted.sub("", line.rstrip("\n"))):
            print(command)
PYTHON
}

# follow CODE LEAST: runs what the last command printed, and what that prints, and so on; each must end with CODE, and there
# must be so many.
follow() {
    local command count=0 found
    printed "$scratch/out" "$scratch/err" >"$scratch/todo"
    : >"$scratch/done"
    while :; do
        found=$(grep -vxFf "$scratch/done" "$scratch/todo" | head -n 1)
        [ "$found" ] || break
        echo "$found" >>"$scratch/done"
        count=$((count + 1))
        "${within[@]}" sh -c "$found" >"$scratch/out" 2>"$scratch/err" </dev/null
        code=$?
        [ $code = "$1" ] || fail "exit code $code: $found: $(head -c 600 "$scratch/err")"
        [ $count -lt 30 ] || { fail "the commands do not end: $(cat "$scratch/done")" && return; }
        case $found in *--help) ;; *) printed "$scratch/out" "$scratch/err" >>"$scratch/todo" ;; esac
    done
    [ $count -ge "$2" ] || fail "$count commands, not $2: $(cat "$scratch/done")"
}

# A directory of its own, with names that a shell would take apart.
enter() {
    rm -rf "${scratch:?}/here"
    mkdir -p "$scratch/bin" && ln -sf "$cobre" "$scratch/bin/cobre"
    mkdir "$scratch/here" && cd "$scratch/here" || exit 1
    cp -r "$cases/toy" "it's a case"
    cp "$cases/gas.sof.json" '$HOME; a (store).sof.json'
}

# A case from nothing, trained and simulated by following what is printed; a folder that is there is left alone.
case_init() {
    enter
    cobre init "a new 'case'"
    code_is 0
    follow 0 3
    diff -r "a new 'case'" "$cases/start" || fail "it is not cases/start"
    [ -s "a new 'case'-out/report.html" ] || fail "there is no report"
    echo mine >"it's a case/case.json"
    cobre init "it's a case"
    code_is 1
    err_has "is there already, and stays as it is"
    [ "$(cat "it's a case/case.json")" = mine ] || fail "a case was overwritten"
    (ulimit -f 1 && exec "$cobre" init limited >"$scratch/out" 2>"$scratch/err")
    code=$?
    code_is 1
    err_has "limited: cannot write: no file may be larger than 1024 bytes (ulimit -f)"
    err_has "raise the limit of file sizes"
    [ ! -e limited ] || fail "half a case is left"
}

case_from_nothing_to_a_report() {
    local case
    for case in "it's a case" '$HOME; a (store).sof.json'; do
        enter
        cobre simulate "$case"
        code_is 1
        follow 0 3 # train, simulate, report
        [ -s "${case%.sof.json}-out/report.html" ] || fail "no report: $(ls)"
        enter
        cobre simulate "$case" --policy "some & where/policy.cobre"
        code_is 1
        follow 0 3
        cobre simulate "$case" --policy "some & where/policy.cobre"
        code_is 0
        [ -s "some & where/report.html" ] || fail "no report: $(ls)"
        cobre train "$case" --iterations 2 --out 'more `of` it'
        follow 0 2
        cobre simulate "$case" --policy 'more `of` it/policy.cobre' --tables none --out "tables\\only"
        follow 0 1
    done
}

# A folder that was used: whatever is proposed works.
case_again() {
    local options
    for options in "" "--iterations 3" "--iterations 5 --multi-cut" "--iterations 5 --seed 3 --cvar 0.5,0.5"; do
        enter
        cobre train "it's a case" --iterations 3
        code_is 0
        cobre train "it's a case" $options
        follow 0 1
    done
}

iterates() { [ "$(grep -sE "^ +[0-9]+ " "$scratch/out" | wc -l)" -gt 2 ]; }

case_interrupted() {
    enter
    cp -r "$cases/brazil3" "some river"
    start train "some river" -n 2 --seed=7 --forward 2 --cvar 0.2,0.5 --iterations 150 --out "the \"results\""
    wait_for iterates || fail "no iterations"
    kill -INT "$launcher"
    finish
    code_is 0
    follow 0 3 # go on, simulate, report
}

# What cannot be solved cannot be solved by the same command again; but that is all that is wrong with it.
case_no_solution() {
    enter
    sed 's/"demand": 6}/"demand": -6}/' "$cases/gas.sof.json" >"no way.sof.json"
    cobre train "no way.sof.json" --value-bound 1e6 --iterations 9
    code_is 1
    follow 1 0
}

case_wrong_lines() {
    local line
    enter
    for line in trian train "train x --nope" "train x --seed" "simulate x --tables y" "report a b c d e f g" "policy" "validate a b" "info x" \
        "run" "bench -n 0" "clean x" "train x --backend tin" "train x --accept-other-case"; do
        cobre $line
        code_is 2
        follow 0 1
    done
}

run_cases "${@:3}"
