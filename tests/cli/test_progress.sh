#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_progress.sh COBRE HELPERS: cobre train on a terminal, and its log.
cases=$(realpath "$(dirname "$0")/../../cases")
kit=$(realpath "$(dirname "$0")/../kit")
. "$kit/lib.sh"
cd "$scratch" || exit 1
export TERM=xterm
unset NO_COLOR

# on_terminal COLUMNS [TEXT ACTION]... -- ARGUMENT...: `cobre ARGUMENT...` on a terminal; see terminal.py.
on_terminal() {
    local arguments=("$@") i
    for i in "${!arguments[@]}"; do
        [ "${arguments[i]}" != -- ] || break
    done
    timeout -k 5 $patience env --default-signal=INT "$mark" python3 "$kit/terminal.py" "${arguments[@]:0:i}" -- \
        "$cobre" "${arguments[@]:i+1}" 2>err
    code=$?
}

widest() { # of the lines that were drawn: what is between a carriage return and the sequence that clears the rest
    grep -oP '\r[^\r\n\x1b]*(?=\x1b)' raw | tail -n "${1:-1000000}" | wc -L
}

# What is left on the screen is the table and the end: every line as in a file, none behind another.
screen_is_clean() {
    lacks -E '[0-9] iterations?, ' screen
    lacks -E '.+cobre (train|run): ' <(sed 's/^cobre [a-z]*: .*/cobre/' screen)
}

case_progress() {
    on_terminal 80 " to 1000000 iterations" wait " to 1000000 iterations" "type ^C" -- train "$cases/brazil3" --iterations 1000000
    code_is 0
    grep -qE $'\r[0-9]+ iterations, 0:00:[0-9]+, bound [0-9.]+, (gap -?[0-9.]+ %, )?[0-9.]+ (s|min|h) to 1000000 iterations\033' raw ||
        fail "no progress: $(cat -v raw)"
    [ "$(widest)" -le 79 ] || fail "lines of $(widest) columns"
    grep -q "stopped: asked to stop" screen || fail "$(cat screen)"
    screen_is_clean
}

case_progress_in_a_narrow_terminal() {
    local text=" to 1000000 iterations"
    on_terminal 60 "$text" "columns 50" "$text" wait "$text" wait "$text" "type ^C" -- train "$cases/brazil3" --iterations 1000000
    code_is 0
    [ "$(widest)" -le 59 ] || fail "lines of $(widest) columns"
    [ "$(widest 2)" -le 49 ] || fail "the width has changed, but lines have $(widest 2) columns"
    on_terminal 7 " it" "type ^C" -- train "$cases/brazil3" --iterations 1000000 --force
    code_is 0
    [ "$(widest)" -le 6 ] || fail "lines of $(widest) columns"
}

# Rules of which nothing can be said say nothing.
case_time_left() {
    on_terminal 80 " s to the time limit" "type ^C" -- train "$cases/brazil3" --iterations 100000000 --time 30
    code_is 0
    on_terminal 80 " iterations, " "type ^C" -- train "$cases/brazil3" --stall 100000000 --force
    code_is 0
    lacks -E ' to [0-9]' raw
    on_terminal 80 " iterations, " "type ^C" -- train "$cases/brazil3" --gap --window 100000000 --time 1h --stop all --force
    code_is 0
    lacks ' to the time' raw
    on_terminal 80 " to the time limit" "type ^C" -- train "$cases/brazil3" --iterations 10 --time 1h --stop all --force
    code_is 0
}

# A message begins its line, whoever writes it.
case_messages() {
    local ranks rank
    for ranks in 1 2; do
        on_terminal 80 " iterations, " "type ^C" -- train "$cases/brazil3" -n $ranks --iterations 1000000 --force
        code_is 0
        grep -q "^cobre train: asked to stop" screen || fail "$(cat screen)"
        screen_is_clean
    done
    for rank in 0 1; do
        on_terminal 80 " iterations, " "kill $rank" -- train "$cases/brazil3" -n 2 --iterations 1000000 --force
        code_is 137
        grep -q "^cobre run: rank $rank of 2" screen || fail "$(cat screen)"
        screen_is_clean
    done
    # Rows of training.csv cannot be written: this is said while it goes on.
    printf '#!/bin/bash\nulimit -f 8\nexec %q "$@"\n' "$cobre" >limited && chmod +x limited
    with cobre="$PWD/limited" on_terminal 80 "rows are kept" wait " iterations, " "type ^C" -- train "$cases/brazil3" --iterations 1000000 --force
    grep -q "^cobre train: brazil3-out/events.jsonl: cannot write" screen || fail "$(cat screen)"
    screen_is_clean
}

# The only escape sequence is the one that clears a line; a terminal that has none gets lines.
case_no_colours() {
    local name
    for name in TERM=xterm NO_COLOR=1; do
        with $name on_terminal 80 " iterations, " "type ^C" -- train "$cases/brazil3" --iterations 1000000 --force
        code_is 0
        lacks -P '\x1b(?!\[K)' raw
    done
    for name in TERM=dumb TERM=; do
        with $name on_terminal 80 -- train "$cases/brazil3" --iterations 20 --force
        code_is 0
        lacks -P '[\x1b\r]' raw
        [ "$(grep -cE '^ +[0-9]+ ' raw)" = 20 ] || fail "not 20 rows: $(cat raw)"
    done
    on_terminal 80 -- train "$cases/brazil3" --iterations 20 --force --quiet
    code_is 0
    [ ! -s raw ] || fail "not quiet: $(cat raw)"
}

# What differs from run to run is left out: LP/s, time.
steady() { sed -E 's/ +[0-9-]+ +[0-9:]+$//; s/ and [0-9.]+ s$//; s/[0-9]+ ranks? \([a-z]*\)//; /^next/d' "$1"; }

case_log() {
    local way
    cobre train "$cases/brazil3" --iterations 5
    code_is 0
    mv out plain
    for way in "" --quiet --json "-n 2" "-n 2 --quiet"; do
        rm -rf brazil3-out a.log
        cobre train "$cases/brazil3" --iterations 5 --log a.log $way
        code_is 0
        cmp <(steady plain) <(steady a.log) || fail "$way: $(cat a.log)"
    done
    on_terminal 80 -- train "$cases/brazil3" --iterations 5 --force --log b.log
    cmp <(steady plain) <(steady b.log) || fail "on a terminal: $(cat -v b.log)"
    cobre train "$cases/brazil3" --iterations 5 --quiet --log b.log # it is appended
    code_is 1
    grep -q "holds a finished run" b.log || fail "no error: $(cat b.log)"
    grep -qxF "  cobre train $cases/brazil3 --iterations 5 --quiet --log b.log --force" b.log || fail "no command: $(cat b.log)"
    cmp <(steady plain) <(steady b.log | head -n "$(steady plain | wc -l)") || fail "not appended: $(cat b.log)"
}

case_log_of_errors() {
    cp -r "$cases/toy" short && sed -i 's/^1,1,500/1,0.9,500/' short/deficits.csv
    cobre train short --iterations 3 --quiet --log short-out/a.log
    code_is 0
    cmp err <(grep warning short-out/a.log) || fail "$(cat err short-out/a.log)"
    sed -i 's/0.9,500/x,500/' short/deficits.csv
    cobre train short --log b.log -n 2
    code_is 1
    cmp err b.log || fail "$(cat err b.log)"
    on_terminal 80 " iterations, " "type ^C" -- train "$cases/brazil3" --iterations 1000000 --log c.log
    grep -q "^cobre train: asked to stop" c.log || fail "$(cat c.log)"
    on_terminal 80 " iterations, " "kill 1" -- train "$cases/brazil3" -n 2 --iterations 1000000 --log d.log --force
    grep -q "^cobre train: .* rank 1 (pid [0-9]*) died" d.log || fail "$(cat d.log)"
}

case_log_that_cannot_be_written() {
    cobre train "$cases/toy" --log nowhere/a.log
    code_is 1
    err_has "cobre train: --log nowhere/a.log: No such file or directory"
    [ ! -e toy-out ] || fail "there are results"
    cobre train "$cases/toy" --log . --json -n 2
    code_is 1
    json_holds out 'docs[-1]["event"] == "error" and docs[-1]["message"] == "--log .: Is a directory"'
    mkfifo pipe
    cobre train "$cases/toy" --log pipe
    code_is 1
    err_has "--log pipe: No such device"
    cobre train "$cases/toy" --log /dev/full --iterations 3
    code_is 0
    err_has "cobre train: --log /dev/full: No space left on device: the log ends here, and training goes on"
    [ "$(wc -l <err)" = 1 ] || fail "told more than once: $(cat err)"
}

run_cases "${@:3}"
