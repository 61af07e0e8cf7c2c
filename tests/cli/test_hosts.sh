#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_hosts.sh COBRE HELPERS: cobre run --hosts, with fake-ssh for the remote shell: the hosts are this one, by two names.
. "$(dirname "$0")/../kit/lib.sh"
set -m # background jobs with default signals
export scratch helpers
rank=$helpers/rank
shell="sh $(realpath "$(dirname "$0")")/fake-ssh"
two=localhost:2,127.0.0.1:2
has_backend tcp || { echo "no tcp in this build" && exit 77; }

on() { # on HOSTS ARGUMENTS...: cobre run there
    local hosts=$1
    shift
    cobre run --hosts "$hosts" --remote-shell "$shell" "$@"
}

start_on() {
    local hosts=$1
    shift
    start run --hosts "$hosts" --remote-shell "$shell" "$@"
}

case_placement() {
    on $two --label sh -c "echo \$$ENV_TCP_RANK/\$$ENV_TCP_SIZE/\$COBRE_RUN_SIZE \$FAKE_HOST \$$ENV_TCP_COORDINATOR \$COBRE_COMM_BACKEND"
    code_is 0
    [ "$(sort "$scratch/out")" = "[0] 0/4/4 localhost localhost tcp
[1] 1/4/4 localhost localhost tcp
[2] 2/4/4 127.0.0.1 localhost tcp
[3] 3/4/4 127.0.0.1 localhost tcp" ] || fail "$(cat "$scratch/out")"
    [ ! -s "$scratch/err" ] || fail "$(cat "$scratch/err")"
}

case_fewer_ranks_than_slots() {
    on $two -n 3 --label sh -c "echo \$FAKE_HOST \$$ENV_TCP_SIZE"
    [ "$(sort "$scratch/out" | paste -sd,)" = "[0] localhost 3,[1] localhost 3,[2] 127.0.0.1 3" ] ||
        fail "$(cat "$scratch/out")"
    on localhost,127.0.0.1,localhost --label sh -c 'echo $FAKE_HOST'
    [ "$(sort "$scratch/out" | paste -sd,)" = "[0] localhost,[1] 127.0.0.1,[2] localhost" ] || fail "$(cat "$scratch/out")"
}

case_user_names() {
    on me@localhost:1,you@127.0.0.1 --label sh -c "echo \$FAKE_HOST \$$ENV_TCP_COORDINATOR"
    [ "$(sort "$scratch/out" | paste -sd,)" = "[0] me@localhost localhost,[1] you@127.0.0.1 localhost" ] ||
        fail "$(cat "$scratch/out")"
}

case_hello() {
    local n
    for n in 1 2 5; do
        on localhost:$n "$rank" hello barrier
        code_is 0
        [ "$(sort -V "$scratch/out")" = "$(seq -f "rank %g of $n by tcp" 0 $((n - 1)))" ] || fail "$(cat "$scratch/out")"
    done
    on localhost:12,127.0.0.1:12 "$rank" hello barrier
    code_is 0
    [ "$(wc -l <"$scratch/out")" = 24 ] || fail "$(cat "$scratch/out")"
    on "[::1]:2,localhost" "$rank" hello barrier
    code_is 0
}

case_not_more_than_a_few_at_once() {
    export FAKE_SSH_LOG=$scratch/shells
    start_on silent,localhost:30 true # rank 0 never answers: nobody else may start
    wait_for lines_are "$scratch/shells" 1 || fail "not started"
    sleep 0.2
    [ "$(wc -l <"$scratch/shells")" = 1 ] || fail "$(wc -l <"$scratch/shells") connections"
    kill -TERM "$launcher"
    finish
    code_is 143
    rm "$scratch/shells"
    start_on localhost,silent:20 true
    wait_for lines_are "$scratch/shells" 9 || fail "not started"
    sleep 0.2
    [ "$(wc -l <"$scratch/shells")" = 9 ] || fail "$(wc -l <"$scratch/shells") connections at once"
    kill -INT "$launcher"
    finish
    code_is 130
    err_has "SIGINT was passed on"
    unset FAKE_SSH_LOG
}

case_environment() {
    FROM_LAUNCHER="a  b
c" TMPDIR=/launcher HOME=/launcher HOSTNAME=launcher SSH_AUTH_SOCK=/launcher with "$ENV_STALL_SECS=77" \
        on localhost sh -c 'echo "$FROM_LAUNCHER,$TMPDIR,$HOME,${HOSTNAME-none},${SSH_AUTH_SOCK-none},'"\$$ENV_STALL_SECS\""
    out_is "a  b
c,/var/tmp,/home/localhost,none,none,77"
}

case_directory() {
    mkdir "$scratch/a dir"
    (cd "$scratch/a dir" && on localhost sh -c 'pwd; readlink /proc/$$/cwd; echo $PWD')
    out_is "$scratch/a dir
$scratch/a dir
$scratch/a dir"
}

case_arguments_stay_whole() {
    on localhost printf '<%s>' 'a b' '' '*' '$x' "it's \"q\"" 'two
lines' '\' ';' '#'
    out_is "<a b><><*><\$x><it's \"q\"><two
lines><\\><;><#>"
}

case_large_arguments_and_environment() {
    local large
    large=$(head -c 100000 /dev/zero | tr '\0' x)
    LARGE1=$large LARGE2=$large LARGE3=$large on localhost sh -c 'echo ${#1} ${#LARGE1} ${#LARGE2} ${#LARGE3}' sh "$large"
    out_is "100000 100000 100000 100000"
}

case_standard_input_to_rank_0() {
    head -c 3000000 /dev/urandom >"$scratch/in"
    on $two sh -c 'exec cat' <"$scratch/in"
    code_is 0
    cmp "$scratch/in" "$scratch/out" || fail "not the same bytes"
    on $two --label sh -c 'wc -c' < <(cat "$scratch/in")
    [ "$(sort "$scratch/out")" = "[0] 3000000
[1] 0
[2] 0
[3] 0" ] || fail "$(cat "$scratch/out")"
    on localhost sh -c 'cat; echo end' </dev/null
    out_is end
}

# Input that nobody reads holds up neither signals nor the end.
case_standard_input_that_is_not_read() {
    start_on localhost:2 sh -c "$waiting" < <(exec yes)
    ready 2
    kill -TERM "$launcher"
    finish
    code_is 143
    on localhost true < <(exec yes)
    code_is 0
    on localhost head -n 1 < <(exec yes)
    out_is y
}

case_terminal_input() {
    env "$mark" timeout --foreground $patience script -qec \
        "$cobre run --hosts localhost:2 --remote-shell '$shell' sh -c 'wc -l'" /dev/null \
        < <(printf 'one\ntwo\n\004') >"$scratch/out" 2>&1
    tr -d '\r' <"$scratch/out" | grep -qx 2 || fail "$(cat "$scratch/out")"
    tr -d '\r' <"$scratch/out" | grep -qx 0 || fail "$(cat "$scratch/out")"
}

case_output() {
    on $two sh -c 'echo out $COBRE_RUN_RANK; echo err $COBRE_RUN_RANK >&2'
    [ "$(sort "$scratch/out" | paste -sd,)" = "out 0,out 1,out 2,out 3" ] || fail "$(cat "$scratch/out")"
    [ "$(sort "$scratch/err" | paste -sd,)" = "err 0,err 1,err 2,err 3" ] || fail "$(cat "$scratch/err")"
    on localhost printf 'a\0b\377no newline'
    [ "$(od -An -c "$scratch/out" | tr -d ' \n')" = 'a\0b377nonewline' ] || fail "$(od -c "$scratch/out")"
    on localhost --label printf 'one\ntwo'
    out_is "[0] one
[0] two"
}

case_much_output() {
    "${within[@]}" "$cobre" run --hosts $two --remote-shell "$shell" --label sh -c 'seq 1 50000' |
        { sleep 0.3; sort; } | uniq | wc -l >"$scratch/count"
    [ "$(cat "$scratch/count")" = 200000 ] || fail "$(cat "$scratch/count") different lines"
}

case_reader_goes_away() {
    for label in "" --label; do
        # shellcheck disable=SC2086
        "${within[@]}" "$cobre" run --hosts localhost:2 --remote-shell "$shell" $label yes 2>"$scratch/err" |
            head -n 1 >"$scratch/out"
        code=${PIPESTATUS[0]}
        code_is 141
        err_has SIGPIPE
    done
}

# Signals reach the ranks though nobody reads their output.
case_reader_is_stuck() {
    mkfifo "$scratch/fifo"
    exec 8<>"$scratch/fifo"
    env "$mark" "$cobre" run --hosts localhost:2 --remote-shell "$shell" sh -c 'trap "touch $scratch/got-$COBRE_RUN_RANK; exit 0" TERM
        yes & touch $scratch/pid-$COBRE_RUN_RANK; while :; do wait; done' >"$scratch/fifo" 2>"$scratch/err" 8<&- &
    launcher=$!
    ready 2
    wait_for pipe_is_full 8 || fail "no output"
    kill -TERM $launcher
    wait_for exists "$scratch/got-0" && wait_for exists "$scratch/got-1" || fail "the signal did not arrive"
    cat <&8 >/dev/null &
    local reader=$!
    finish
    code_is 0
    exec 8>&-
    kill $reader && wait $reader 2>/dev/null
}

case_log_dir() {
    on $two --log-dir "$scratch/log" sh -c 'echo out $COBRE_RUN_RANK; echo err $COBRE_RUN_RANK >&2'
    code_is 0
    out_is ""
    for i in 0 1 2 3; do
        [ "$(cat "$scratch/log/rank-$i.out")" = "out $i" ] || fail "rank-$i.out"
        [ "$(cat "$scratch/log/rank-$i.err")" = "err $i" ] || fail "rank-$i.err"
    done
    on localhost --label --log-dir "$scratch/log" echo both
    out_is "[0] both"
    [ "$(cat "$scratch/log/rank-0.out")" = both ] || fail "not in the log"
}

case_exit_codes() {
    on $two sh -c 'test $COBRE_RUN_RANK != 2 || exit 42; exec sleep 600'
    code_is 42
    err_has "rank 2 of 4 on 127.0.0.1 (pid "
    err_has "exit code 42"
    err_has "3 stopped"
    on $two true
    code_is 0
    on localhost:2 sh -c 'test $COBRE_RUN_RANK != 1 || exit 9; trap "" TERM; while :; do sleep 600; done'
    code_is 9
}

case_leftover_children_die_with_the_job() {
    on localhost:2 sh -c 'sleep 600 & sleep 601 & exit 0'
    code_is 0
    on localhost sh -c '(sleep 600; echo late) & exit 0' # it holds the output, but the job is over
    out_is ""
}

case_program_is_not_there() {
    on $two "$scratch/no-such-program"
    code_is 127
    err_has "localhost: $scratch/no-such-program: not found"
    [ "$(wc -l <"$scratch/err")" = 1 ] || fail "$(cat "$scratch/err")"
    on localhost "$scratch"
    code_is 126
    err_has "is a directory"
    on $two sh -c 'exec "$scratch/no-such-program"'
    code_is 127
}

case_directory_is_not_there() {
    mkdir "$scratch/gone"
    (cd "$scratch/gone" && rmdir "$scratch/gone" && on localhost true; code_is 125; exit $case_failed) || case_failed=1
}

case_killed_rank_is_named() { # timed
    on $two "$rank" barrier=3 2:die=kill barrier=1000
    code_is 137
    err_has "rank 2 of 4 on 127.0.0.1 (pid "
    err_has "killed by SIGKILL"
    err_has "reported: "
    start_on $two sh -c "$waiting"
    ready 4
    local pid
    pid=$(rank_pid 1)
    kill -9 "$pid"
    finish
    code_is 137
    err_has "rank 1 of 4 on localhost (pid $pid)"
}

case_last_error() {
    on $two "$rank" barrier 3:misuse 3:exit=5 barrier
    code_is 5
    err_has "rank 3 of 4 on 127.0.0.1"
    err_has "its last error: "
    on $two "$rank" barrier=3 1:abort=7 barrier=1000
    code_is 7
    err_has "the test wants it"
}

case_signals_are_passed_on() {
    local signal
    start_on $two sh -c "$waiting"
    ready 4
    kill -INT "$launcher"
    finish
    code_is 130
    err_has "SIGINT was passed on"
    for signal in TERM USR1; do
        rm -f "$scratch"/pid-*
        start_on $two sh -c "trap 'echo \$COBRE_RUN_RANK; kill \$(jobs -p) 2>/dev/null; exit 0' $signal; $waiting"
        ready 4
        kill "-$signal" "$launcher"
        finish
        code_is 0
        [ "$(sort "$scratch/out" | paste -sd' ')" = "0 1 2 3" ] || fail "$signal reached: $(cat "$scratch/out")"
    done
}

case_stopped_ranks_end() {
    start_on $two sh -c "$waiting"
    ready 4
    stop_ranks 0 1 2 3
    kill -TERM "$launcher"
    finish
    code_is 143
    err_has "SIGTERM was passed on"
}

# The launcher hears of it as of any failure.
case_signal_to_an_agent_ends_its_stopped_rank() {
    start_on $two sh -c "$waiting"
    ready 4
    stop_ranks 3
    kill -TERM "$(parent_of "$(rank_pid 3)")"
    finish
    code_is 143
    err_has "rank 3 of 4 on 127.0.0.1"
}

case_second_signal_kills() { # timed
    local rank
    start_on $two sh -c "trap 'touch \$scratch/got-\$COBRE_RUN_RANK' TERM; $waiting"
    ready 4
    kill -TERM "$launcher"
    for rank in 0 1 2 3; do
        wait_for exists "$scratch/got-$rank" || fail "rank $rank did not get it"
    done
    sleep 0.6 # signals that come closer are one wish
    kill -TERM "$launcher"
    finish
    code_is 143
    err_has "4 of 4 ranks were killed"
}

case_stop_and_continue() {
    start_on $two sh -c "$waiting"
    ready 4
    kill -TSTP "$launcher"
    wait_for state_is "$(rank_pid 3)" T || fail "rank 3 runs on"
    wait_for state_is "$launcher" T || fail "the launcher runs on"
    kill -CONT "$launcher"
    wait_for state_is "$(rank_pid 3)" S || fail "rank 3 stays stopped"
    kill -TERM "$launcher"
    finish
    code_is 143
}

case_kill_of_the_launcher() {
    start_on $two sh -c "trap '' TERM HUP INT; $waiting"
    ready 4
    kill -9 "$launcher"
    wait "$launcher" 2>/dev/null
    wait_for all_gone || fail "processes are left"
}

case_kill_of_an_agent_and_its_guard() {
    local agent guard
    start_on $two sh -c 'echo $$ >$scratch/new-$COBRE_RUN_RANK; mv $scratch/new-$COBRE_RUN_RANK $scratch/pid-$COBRE_RUN_RANK
        trap "" TERM HUP; exec sleep 600'
    ready 4
    agent=$(parent_of "$(rank_pid 3)")
    guard=$(first_child "$agent")
    kill -9 "$guard" "$agent"
    wait_for ended "$(rank_pid 3)" || fail "the rank is left"
    finish
    code_is 125
    err_has "rank 3 of 4 on 127.0.0.1"
}

case_stopped_guard_of_an_agent_holds_up_nobody() {
    local agent guard
    start_on $two sh -c "$waiting"
    ready 4
    agent=$(parent_of "$(rank_pid 3)")
    guard=$(first_child "$agent")
    stop "$guard"
    kill -TERM "$launcher"
    finish
    code_is 143
    wait_for all_gone || fail "processes are left"
}

case_kill_of_the_launcher_while_it_starts_ranks() {
    local i
    for i in 1 5 9 13; do
        export FAKE_SSH_LOG=$scratch/shells-$i FAKE_SSH_KILLS_AT=$i
        start_on localhost:16 sh -c "$waiting"
        wait "$launcher" 2>/dev/null
        wait_for all_gone || fail "processes are left"
        [ "$(find "$scratch" -name 'pid-*' | wc -l)" -lt 16 ] || fail "it was too late"
        rm -f "$scratch"/pid-*
    done
    unset FAKE_SSH_LOG FAKE_SSH_KILLS_AT
}

agents() { # the pids of our agents; the guards look alike but for their name
    local pid
    for pid in $(marked); do
        [ "$(tr '\0' ' ' <"/proc/$pid/cmdline" | cut -d' ' -f2)" = agent ] && [ "$(cat "/proc/$pid/comm")" != cobre-guard ] &&
            echo "$pid"
    done
}

case_kill_of_an_agent() {
    start_on $two sh -c "$waiting"
    ready 4
    local victim parent
    victim=$(rank_pid 2)
    parent=$(parent_of "$victim")
    agents | grep -qx "$parent" || fail "$parent is no agent"
    kill -9 "$parent"
    finish
    code_is 125
    err_has "rank 2 of 4 on 127.0.0.1 (pid $victim)"
    err_has "lost contact with 127.0.0.1: the remote shell was killed by SIGKILL"
    wait_for all_gone || fail "processes are left"
}

# As when a host has vanished: nothing comes from there, but the job must end.
case_agent_that_is_stopped() {
    start_on $two sh -c "$waiting"
    ready 4
    local parent
    parent=$(parent_of "$(rank_pid 2)")
    kill -STOP "$parent"
    wait_for state_is "$parent" T || fail "the agent runs on"
    kill -9 "$(rank_pid 0)"
    finish
    code_is 137
    err_has "rank 0 of 4 on localhost"
    wait_for all_gone || fail "processes are left"
}

case_remote_shell_fails() {
    on refused:2,localhost "$rank" hello barrier
    code_is 125
    err_has "Connection refused"
    err_has "refused: the remote shell ended with exit code 255 before cobre answered; does this work: $shell refused true"
    on localhost:2,me@refused:3 "$rank" hello barrier
    code_is 125
    err_has "cobre run: me@refused: "
    [ "$(grep -c "before cobre answered" "$scratch/err")" = 1 ] || fail "$(cat "$scratch/err")"
}

case_remote_shell_is_not_there() {
    cobre run --hosts localhost --remote-shell "$scratch/no-such-shell -x" true
    code_is 127
    err_has "no-such-shell: not found"
}

case_cobre_is_not_there() {
    on $two --remote-cobre "$scratch/it's not here" true
    code_is 125
    err_has "localhost: cobre could not be run there; --remote-cobre"
    ln -s "$cobre" "$scratch/it's here"
    on $two --remote-cobre "$scratch/it's here" "$rank" hello barrier
    code_is 0
}

case_answer_that_is_not_from_cobre() {
    on chatty true
    code_is 125
    err_has "chatty: the answer is not from cobre"
}

case_unknown_host() {
    cobre run --hosts no-such-host.invalid -n 1 true # with the real ssh, if there is one
    case $code in 125 | 127) ;; *) fail "exit code $code" ;; esac
    if [ "$code" = 125 ]; then err_has "no-such-host.invalid: the remote shell ended with exit code 255"; fi
}

case_secrets_stay_out_of_argument_lists() {
    export FAKE_SSH_LOG=$scratch/shells
    start_on $two --log-dir "$scratch/log" sh -c "echo \$$ENV_TCP_TOKEN >\$scratch/token-\$COBRE_RUN_RANK; $waiting"
    look() { cat /proc/[0-9]*/cmdline >>"$scratch/lists" 2>/dev/null; [ -e "$scratch/pid-3" ]; }
    wait_for look || fail "not started"
    ready 4
    look
    local token
    token=$(cat "$scratch/token-3")
    [ ${#token} = 64 ] || fail "no token"
    kill -9 "$(rank_pid 1)"
    finish
    grep -aq "$(basename "$cobre")" "$scratch/lists" || fail "no argument lists"
    lacks -a "$token" "$scratch/lists"
    lacks "$token" "$scratch/out" "$scratch/err" "$scratch/log" "$scratch/shells"
    unset FAKE_SSH_LOG
}

case_nested() {
    on localhost:2 "$cobre" run --hosts localhost:2 --remote-shell "$shell" "$rank" hello barrier
    code_is 0
    [ "$(grep -c 'of 2' "$scratch/out")" = 4 ] || fail "$(cat "$scratch/out")"
    on localhost:2 "$cobre" run --backend tcp -n 2 "$rank" hello barrier
    code_is 0
}

case_hostfile() {
    printf '# two machines\n\nlocalhost:2 # the first\n 127.0.0.1\tslots=1\r\nlocalhost' >"$scratch/hosts"
    cobre run --hostfile "$scratch/hosts" --remote-shell "$shell" --label sh -c 'echo $FAKE_HOST'
    code_is 0
    [ "$(sort "$scratch/out" | paste -sd,)" = "[0] localhost,[1] localhost,[2] 127.0.0.1,[3] localhost" ] ||
        fail "$(cat "$scratch/out")"
}

refused() { # refused TEXT ARGUMENTS...
    local text=$1
    shift
    cobre run --remote-shell "touch $scratch/started" "$@" true
    code_is 2
    err_has "$text"
    gone "$scratch/started" || fail "something was started"
}

case_hosts_errors() {
    refused "-n 5: the hosts have 4 slots" --hosts $two -n 5
    refused "need tcp" --hosts $two --backend shm
    refused "need tcp" --backend local --hosts $two
    refused "--hosts: give it once" --hosts a --hosts b
    refused "give one of them" --hosts a --hostfile b
    refused "not a number of slots" --hosts a:0
    refused "not a number of slots" --hosts a:x
    refused "not a number of slots" --hosts a:
    refused "not a number of slots" --hosts a:5000
    refused "is not the name of a host" --hosts ''
    refused "is not the name of a host" --hosts a,,b
    refused "is not the name of a host" --hosts "a b"
    refused "is not the name of a host" --hosts "-oProxyCommand=x"
    refused "is not the name of a host" --hosts 'a;b'
    refused "is not the name of a host" --hosts 'me@'
    refused "write an IPv6 address as [::1]" --hosts ::1
    refused "add -n" --hosts a:4096,b:4096
    refused "command is missing" --hosts a --remote-shell ' '
}

case_hostfile_errors() {
    local file=$scratch/hosts
    refused "No such file" --hostfile "$file"
    printf '# nothing\n' >"$file"
    refused "$file: names no host" --hostfile "$file"
    printf 'a\n\nb slots=none\n' >"$file"
    refused "$file:3: 'none' is not a number of slots" --hostfile "$file"
    printf 'a\nb cores=2\n' >"$file"
    refused "$file:2: 'cores=2' is not understood" --hostfile "$file"
    printf 'a:2 slots=2\n' >"$file"
    refused "$file:1: the slots of a are there twice" --hostfile "$file"
    printf 'a slots=2 more\n' >"$file"
    refused "$file:1: unexpected word 'more'" --hostfile "$file"
    printf 'a/b\n' >"$file"
    refused "$file:1: 'a/b' is not the name of a host" --hostfile "$file"
}

case_agent_alone() {
    cobre agent </dev/null
    code_is 125
    cobre agent <<<"hello"
    code_is 2
    err_has "not for you"
    cobre help
    code_is 0
    lacks agent "$scratch/out"
}

run_cases "${@:3}" 2>&1
