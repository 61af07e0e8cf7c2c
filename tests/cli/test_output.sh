#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_output.sh COBRE HELPERS: --label and --log-dir.
. "$(dirname "$0")/../kit/lib.sh"

case_label_keeps_streams_apart() {
    cobre run -n 2 --label sh -c 'echo out $COBRE_RUN_RANK; echo err $COBRE_RUN_RANK >&2'
    code_is 0
    [ "$(sort "$scratch/out")" = "[0] out 0
[1] out 1" ] || fail "$(cat "$scratch/out")"
    [ "$(sort "$scratch/err")" = "[0] err 0
[1] err 1" ] || fail "$(cat "$scratch/err")"
}

# Eight ranks write long lines in pieces, to both outputs, which are one pipe that is soon full: each line must arrive
# whole.
case_label_tears_no_line() {
    "${within[@]}" "$cobre" run -n 8 --label bash -c '
        piece=$(printf "%01000d" 0 | tr 0 $COBRE_RUN_RANK)
        for line in {1..40}; do
            for part in {1..9}; do printf %s "$piece"; done; printf "%s\n" "$piece"
            for part in {1..3}; do printf %s "$piece" >&2; done; printf "%s\n" "$piece" >&2
        done' 2>&1 | { sleep 0.5; cat >"$scratch/all"; }
    code=${PIPESTATUS[0]}
    code_is 0
    [ "$(wc -l <"$scratch/all")" = 640 ] || fail "$(wc -l <"$scratch/all") lines"
    awk '{ rank = substr($1, 2, 1); text = $2; gsub(rank, "", text)
           if ($1 != "[" rank "]" || NF != 2 || text != "" || (length($2) != 4000 && length($2) != 10000)) exit 1 }' \
        "$scratch/all" || fail "a line is torn"
    for rank in {0..7}; do
        [ "$(grep -c "^\[$rank\]" "$scratch/all")" = 80 ] || fail "rank $rank has lost lines"
    done
}

case_label_through_a_pipe() {
    "${within[@]}" "$cobre" run -n 4 --label sh -c 'seq 1 20000' 2>&1 | sort | uniq -c | wc -l >"$scratch/count"
    [ "$(cat "$scratch/count")" = 80000 ] || fail "$(cat "$scratch/count") different lines"
}

case_label_completes_the_last_line() {
    cobre run -n 1 --label printf 'one\n\ntwo'
    [ "$(cat -A "$scratch/out")" = '[0] one$
[0] $
[0] two$' ] || fail "$(cat -A "$scratch/out")"
}

case_label_keeps_any_bytes() {
    cobre run -n 1 --label printf 'a\0b\377c\n'
    [ "$(od -An -c "$scratch/out" | tr -s ' ')" = ' [ 0 ] a \0 b 377 c \n' ] || fail "$(od -c "$scratch/out")"
}

case_label_cuts_an_endless_line() {
    cobre run -n 2 --label sh -c 'head -c 3000000 /dev/zero | tr "\0" $COBRE_RUN_RANK; echo; echo next'
    code_is 0
    for rank in 0 1; do
        [ "$(grep -F -e "[$rank] $rank" -e "[$rank+]" "$scratch/out" | sed 's/^[^ ]* //' | tr -d '\n' | wc -c)" = 3000000 ] ||
            fail "bytes of rank $rank are lost"
        grep -qxF "[$rank] next" "$scratch/out" || fail "no line after it"
    done
}

case_label_output_of_children_at_the_end() {
    cobre run -n 1 --label sh -c '(echo from a child); echo last'
    out_is "[0] from a child
[0] last"
}

# A reader that has had enough: the ranks get SIGPIPE, as without --label.
case_label_reader_goes_away() {
    "${within[@]}" "$cobre" run -n 2 --label yes 2>"$scratch/err" | head -n 1 >"$scratch/out"
    code=${PIPESTATUS[0]}
    code_is 141
    err_has SIGPIPE
}

# A reader that does not read: signals still reach the ranks.
case_label_reader_is_stuck() {
    mkfifo "$scratch/fifo"
    exec 8<>"$scratch/fifo"
    env "$mark" "$cobre" run -n 2 --label sh -c 'trap "touch '"$scratch"'/got-\$COBRE_RUN_RANK; exit 0" TERM
        touch '"$scratch"'/ready-$COBRE_RUN_RANK; yes & while :; do wait; done' >"$scratch/fifo" 2>"$scratch/err" 8<&- &
    launcher=$!
    wait_for exists "$scratch/ready-0" && wait_for exists "$scratch/ready-1" || fail "not started"
    wait_for pipe_is_full 8 || fail "no output"
    kill -TERM $launcher
    wait_for exists "$scratch/got-0" && wait_for exists "$scratch/got-1" || fail "the signal did not arrive"
    asked_again() { kill -TERM $launcher 2>/dev/null; ended $launcher; }
    wait_for asked_again || fail "it waits for the reader"
    exec 8>&-
    finish
}

case_log_dir() {
    cobre run -n 3 --log-dir "$scratch/a/b" sh -c 'echo out $COBRE_RUN_RANK; echo err $COBRE_RUN_RANK >&2'
    code_is 0
    out_is ""
    for rank in 0 1 2; do
        [ "$(cat "$scratch/a/b/rank-$rank.out")" = "out $rank" ] || fail "rank-$rank.out"
        [ "$(cat "$scratch/a/b/rank-$rank.err")" = "err $rank" ] || fail "rank-$rank.err"
    done
    [ "$(ls "$scratch/a/b" | wc -l)" = 6 ] || fail "$(ls "$scratch/a/b")"
    cobre run -n 1 --log-dir "$scratch/a/b" echo again
    [ "$(cat "$scratch/a/b/rank-0.out")" = again ] || fail "an old log was kept"
    cobre run -n 2 --log-dir "$scratch/a/b" sh -c 'test $COBRE_RUN_RANK = 0 || exit 3'
    code_is 3
    err_has "what it wrote: $scratch/a/b/rank-1.err"
}

case_log_dir_and_label() {
    cobre run -n 2 --label --log-dir "$scratch/log" sh -c 'echo out $COBRE_RUN_RANK; printf "no newline" >&2'
    [ "$(sort "$scratch/out")" = "[0] out 0
[1] out 1" ] || fail "$(cat "$scratch/out")"
    [ "$(cat "$scratch/log/rank-1.out")" = "out 1" ] || fail "rank-1.out"
    [ "$(od -An -c "$scratch/log/rank-1.err" | tr -d ' \n')" = "nonewline" ] || fail "rank-1.err is not as written"
}

case_log_dir_refused() {
    touch "$scratch/file"
    cobre run -n 2 --log-dir "$scratch/file/log" touch "$scratch/started"
    code_is 125
    err_has "Not a directory"
    cobre run -n 2 --log-dir "$scratch/file" touch "$scratch/started"
    code_is 125
    err_has "Not a directory"
    gone "$scratch/started" || fail "something was started"
}

run_cases "${@:3}"
