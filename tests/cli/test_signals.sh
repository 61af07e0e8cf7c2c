#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_signals.sh COBRE HELPERS: signals, kills, and that nothing is left.
. "$(dirname "$0")/../kit/lib.sh"
set -m # background jobs with default signals, each in a process group of its own
export scratch

kill_launcher() { # kill_launcher PID-OR-GROUP: at once, and without the shell's remark about it
    kill -9 -- "$1"
    wait "$launcher" 2>/dev/null
}

many_are_marked() { [ "$(marked | wc -l)" -ge "$1" ]; } # a grandchild may start after its rank is ready

case_kill_of_one_rank() {
    start run -n 4 sh -c "$waiting"
    ready 4
    kill -9 "$(rank_pid 2)"
    finish
    code_is 137
    err_has "rank 2 of 4"
    err_has SIGKILL
}

case_crash_of_one_rank() {
    (
        ulimit -c 0
        cobre run -n 3 sh -c 'test $COBRE_RUN_RANK != 1 || kill -SEGV $$; exec sleep 600'
        code_is 139
        err_has "killed by SIGSEGV (signal 11)"
        exit $case_failed
    ) || case_failed=1
}

case_kill_of_the_launcher() {
    start run -n 4 sh -c "$waiting"
    ready 4
    wait_for many_are_marked 18 || fail "expected 4 ranks with 3 descendants each, launcher and guard"
    kill_launcher "$launcher"
    wait_for all_gone || fail "processes are left"
}

case_kill_of_the_launcher_with_ranks_that_ignore_signals() {
    start run -n 2 sh -c "trap '' TERM HUP INT; $waiting"
    ready 2
    kill_launcher "$launcher"
    wait_for all_gone || fail "processes are left"
}

case_kill_of_the_launcher_group() {
    start run -n 2 sh -c "$waiting"
    ready 2
    kill_launcher "-$launcher"
    wait_for all_gone || fail "processes are left"
}

case_kill_of_the_outer_launcher() {
    start run -n 2 sh -c 'export outer=$COBRE_RUN_RANK; exec '"$cobre"' run -n 2 sh -c "echo \$\$ >\$scratch/pid-\$((2 * outer + COBRE_RUN_RANK)); sleep 600"'
    ready 4
    kill_launcher "$launcher"
    wait_for all_gone || fail "processes are left"
}

# A rank kills it, while it starts those that follow.
killed_while_starting() { # killed_while_starting PIDS: as the rank sees them
    local killer in_time=0
    for killer in $(seq 0 4 28); do
        rm -f "$scratch"/started-*
        start run -n 40 bash -c 'read guard _ </proc/$PPID/task/$PPID/children
            test $COBRE_RUN_RANK != '"$killer"' || kill -9 '"$1"'; touch $scratch/started-$COBRE_RUN_RANK; exec sleep 600'
        wait "$launcher" 2>/dev/null
        wait_for all_gone || fail "processes are left"
        exists "$scratch/started-39" || in_time=$((in_time + 1))
    done
    [ $in_time -gt 0 ] || fail "it was always too late"
}

case_kill_of_the_launcher_while_it_starts_ranks() { killed_while_starting '$PPID'; }

case_kill_of_launcher_and_guard_while_it_starts_ranks() { killed_while_starting '$guard $PPID'; }

# What only waits, so that a rank is one process.
single='echo $$ >$scratch/pid-$COBRE_RUN_RANK.new; mv $scratch/pid-$COBRE_RUN_RANK.new $scratch/pid-$COBRE_RUN_RANK; exec sleep 600'

case_kill_of_launcher_and_guard() {
    local guard
    start run -n 4 sh -c "trap '' TERM HUP INT; $single"
    ready 4
    guard=$(first_child "$launcher")
    kill -9 "$guard" "$launcher"
    wait "$launcher" 2>/dev/null
    wait_for all_gone || fail "processes are left"
}

has_another_guard() { # has_another_guard PID: than this one
    local child
    for child in $(cat "/proc/$launcher/task/$launcher/children"); do
        [ "$child" = "$1" ] || [ "$(cat "/proc/$child/comm")" != cobre-guard ] || return 0
    done
    return 1
}

case_kill_of_the_guard_and_then_of_the_launcher() {
    local guard
    start run -n 2 sh -c "$waiting"
    ready 2
    wait_for many_are_marked 10 || fail "expected 2 ranks with 3 descendants each, launcher and guard"
    guard=$(first_child "$launcher")
    kill -9 "$guard"
    wait_for has_another_guard "$guard" || fail "no other guard"
    kill_launcher "$launcher"
    wait_for all_gone || fail "processes are left"
}

case_kill_of_the_guard_while_ranks_start() {
    start run -n 40 bash -c 'read guard _ </proc/$PPID/task/$PPID/children; test $COBRE_RUN_RANK != 0 || kill -9 $guard'
    finish
    code_is 0
}

case_stopped_guard_holds_up_nobody() {
    local guard
    start run -n 2 sh -c "$waiting"
    ready 2
    guard=$(first_child "$launcher")
    stop "$guard"
    kill -TERM "$launcher"
    finish
    code_is 143
}

# The ranks end at once, what they have started when the guard goes on.
case_kill_of_the_launcher_while_the_guard_is_stopped() {
    local guard
    start run -n 2 sh -c "$waiting"
    ready 2
    wait_for many_are_marked 10 || fail "expected 2 ranks with 3 descendants each, launcher and guard"
    guard=$(first_child "$launcher")
    stop "$guard"
    kill_launcher "$launcher"
    wait_for ended "$(rank_pid 0)" && wait_for ended "$(rank_pid 1)" || fail "ranks are left"
    kill -CONT "$guard"
    wait_for all_gone || fail "processes are left"
}

case_guard_does_not_hold_our_output() {
    mkfifo "$scratch/fifo"
    env "$mark" "$cobre" run -n 2 sh -c "$waiting" >"$scratch/fifo" 2>&1 &
    launcher=$!
    exec 8<"$scratch/fifo"
    ready 2
    kill_launcher "$launcher"
    timeout $patience cat <&8 >/dev/null || fail "no EOF"
    exec 8<&-
}

passed_on() { # passed_on SIGNAL NUMBER: kills ranks that do not catch it, with the right exit code
    rm -f "$scratch"/pid-*
    start run -n 3 sh -c "$waiting"
    ready 3
    kill "-$1" "$launcher"
    finish
    code_is $((128 + $2))
    err_has "SIG$1 was passed on"
    err_lacks "failed first"
    wait_for all_gone || fail "processes are left"
}

case_ending_signals_are_passed_on() {
    passed_on INT 2
    passed_on TERM 15
    passed_on HUP 1
}

case_ranks_may_handle_a_signal() {
    local signal
    for signal in INT TERM HUP USR1 USR2; do
        rm -f "$scratch"/pid-*
        start run -n 3 sh -c "trap 'echo \$COBRE_RUN_RANK; kill \$(jobs -p) 2>/dev/null; exit 0' $signal; $waiting"
        ready 3
        kill "-$signal" "$launcher"
        finish
        code_is 0
        [ "$(sort "$scratch/out" | paste -sd' ')" = "0 1 2" ] || fail "$signal reached: $(cat "$scratch/out")"
    done
}

case_own_code_after_a_signal() {
    start run -n 2 sh -c "trap 'exit 33' TERM; $waiting"
    ready 2
    kill -TERM "$launcher"
    finish
    code_is 33
}

case_stopped_ranks_end() {
    local signal number
    ulimit -c 0
    while read -r signal number; do
        rm -f "$scratch"/pid-*
        start run -n 2 sh -c "$waiting"
        ready 2
        stop_ranks 0 1
        kill "-$signal" "$launcher"
        finish
        code_is $((128 + number))
        err_has "SIG$signal was passed on"
    done <<<"INT 2
TERM 15
HUP 1
QUIT 3"
}

case_stopped_rank_may_handle_a_signal() {
    start run -n 2 sh -c "trap 'echo \$COBRE_RUN_RANK; kill \$(jobs -p) 2>/dev/null; exit 0' TERM; $waiting"
    ready 2
    stop_ranks 1
    kill -TERM "$launcher"
    finish
    code_is 0
    [ "$(sort "$scratch/out" | paste -sd' ')" = "0 1" ] || fail "it reached: $(cat "$scratch/out")"
}

# Ranks that note each signal and stay.
staying='trap "echo signal >>$scratch/got-$COBRE_RUN_RANK" INT TERM; '$waiting
again=0.6 # seconds; signals that come closer are one wish
ask() { # ask SIGNAL TIMES: waits until all ranks have got it
    kill "-$1" "$launcher"
    wait_for lines_are "$scratch/got-0" "$2" && wait_for lines_are "$scratch/got-1" "$2" || fail "$1 did not arrive"
}

case_second_signal_kills_after_two_seconds() { # timed
    local since till took
    start run -n 2 sh -c "$staying"
    ready 2
    ask TERM 1
    sleep 3
    ! ended "$launcher" && ! ended "$(rank_pid 0)" && ! ended "$(rank_pid 1)" || fail "the first signal killed"
    since=$(micros)
    ask TERM 2
    finish
    till=$(micros)
    took=$(ms_between "$since" "$till")
    [ $((till - since)) -ge 2000000 ] && [ "$took" -lt 3000 ] || fail "the kill came after $took ms"
    code_is 143
    err_has "SIGTERM was passed on"
    err_has "2 of 2 ranks were killed"
    err_lacks "failed first"
}

case_third_signal_kills_at_once() { # timed
    local since took
    start run -n 2 sh -c "$staying"
    ready 2
    ask INT 1
    sleep $again
    since=$(micros)
    ask INT 2
    sleep $again
    kill -INT "$launcher"
    finish
    took=$(ms_between "$since" "$(micros)")
    [ "$took" -lt 1500 ] || fail "the kill came after $took ms"
    code_is 130
    err_has "2 of 2 ranks were killed"
}

# As timeout(1) sends them: one wish, which kills nothing.
case_two_signals_at_once_are_one_wish() { # timed
    start run -n 2 sh -c "trap 'sleep 3; echo done; kill \$(jobs -p) 2>/dev/null; exit 0' TERM INT; $waiting"
    ready 2
    kill -TERM "$launcher"
    kill -INT "$launcher"
    finish
    code_is 0
    out_has "done"
}

case_second_signal_may_be_another() { # timed
    start run -n 2 sh -c "trap 'echo >>\$scratch/got-\$COBRE_RUN_RANK' INT; $waiting"
    ready 2
    ask INT 1
    sleep $again
    kill -TERM "$launcher"
    finish
    code_is 143
    err_has "SIGTERM was passed on"
    err_lacks "failed first"
    err_lacks "were killed"
}

# The ranks live through the user's SIGTERM; later one crashes, and another dies by our own SIGTERM.
case_a_later_failure_is_not_the_users() {
    start run -n 2 sh -c 'trap "trap - TERM; touch $scratch/once-$COBRE_RUN_RANK" TERM
        echo $$ >$scratch/new-$COBRE_RUN_RANK; mv $scratch/new-$COBRE_RUN_RANK $scratch/pid-$COBRE_RUN_RANK
        while :; do sleep 0.05; done'
    ready 2
    kill -TERM "$launcher"
    wait_for exists "$scratch/once-0" && wait_for exists "$scratch/once-1" || fail "the signal did not arrive"
    kill -SEGV "$(rank_pid 1)"
    finish
    code_is 139
    err_has "rank 1 of 2"
}

case_nohup() {
    (
        trap '' HUP
        start run -n 1 sh -c "$waiting"
        ready 1
        kill -HUP "$launcher"
        kill -TERM "$launcher"
        finish
        code_is 143
        exit $case_failed
    ) || case_failed=1
}

case_stop_and_continue() {
    start run -n 2 sh -c "$waiting"
    ready 2
    kill -TSTP "$launcher"
    wait_for state_is "$(rank_pid 0)" T || fail "rank 0 runs on"
    wait_for state_is "$(rank_pid 1)" T || fail "rank 1 runs on"
    wait_for state_is "$launcher" T || fail "the launcher runs on"
    kill -CONT "$launcher"
    wait_for state_is "$(rank_pid 0)" S || fail "rank 0 stays stopped"
    wait_for state_is "$(rank_pid 1)" S || fail "rank 1 stays stopped"
    kill -TERM "$launcher"
    finish
    code_is 143
}

# Without a shell that could continue it, a job must not stop.
case_stop_without_job_control() {
    local pid
    setsid --wait env "$mark" "$cobre" run -n 1 sh -c 'echo $PPID >$scratch/pid-0; until [ -e $scratch/go ]; do sleep 0.02; done' &
    launcher=$!
    ready 1
    pid=$(rank_pid 0)
    kill -TSTP "$pid"
    touch "$scratch/go"
    wait_for ended "$pid" || fail "it stays stopped"
    finish
    code_is 0
}

case_stopped_launcher_is_killed() {
    start run -n 2 sh -c "$waiting"
    ready 2
    kill -STOP "$launcher"
    wait_for state_is "$launcher" T || fail "the launcher runs on"
    kill_launcher "$launcher"
    wait_for all_gone || fail "processes are left"
}

# The rest needs a terminal: `script` makes one.

in_terminal() { # in_terminal COMMAND: $code, output in $scratch/out; what to type is our standard input
    env "$mark" timeout --foreground $patience script -qec "$1" /dev/null >"$scratch/out" 2>&1
    code=$?
}

case_terminal_input() {
    in_terminal "$cobre run -n 3 sh -c 'read line && echo rank \$COBRE_RUN_RANK got \$line; true'" \
        < <(printf 'hello\n')
    code_is 0
    grep -q 'rank 0 got hello' "$scratch/out" || fail "$(cat "$scratch/out")"
    lacks 'rank [12] got' "$scratch/out"
}

case_terminal_end_of_input() {
    in_terminal "$cobre run -n 2 sh -c 'wc -l'" < <(printf 'one\ntwo\n\004')
    code_is 0
    tr -d '\r' <"$scratch/out" | grep -qx 2 || fail "$(cat "$scratch/out")"
}

case_terminal_interrupt() {
    in_terminal "trap 'touch $scratch/done' EXIT; $cobre run -n 2 sh -c '$waiting'" \
        < <(wait_for exists "$scratch/pid-1" && printf '\003' && wait_for exists "$scratch/done")
    code_is 130
}

case_terminal_tostop() {
    in_terminal "stty tostop; $cobre run -n 2 echo visible" </dev/null
    code_is 0
    [ "$(grep -c visible "$scratch/out")" = 2 ] || fail "$(cat "$scratch/out")"
}

# In the background the launcher must neither be stopped for reading the terminal nor spin.
case_terminal_background() {
    in_terminal "bash -c 'set -m; $cobre run -n 2 sleep 1 & wait \$!; echo code \$?; times'" </dev/null
    grep -q 'code 0' "$scratch/out" || fail "$(cat "$scratch/out")"
    tr -d '\r' <"$scratch/out" | tail -n 1 | grep -qE '^0m0\.[0-4][0-9]*s 0m0\.[0-4][0-9]*s$' || fail "it spins: $(cat "$scratch/out")"
}

run_cases "${@:3}"
