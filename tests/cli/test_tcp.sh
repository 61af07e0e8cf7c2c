#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_tcp.sh COBRE HELPERS: cobre run --backend tcp on this host.
. "$(dirname "$0")/../kit/lib.sh"
export scratch helpers
rank=$helpers/rank
has_backend tcp || { echo "no tcp in this build" && exit 77; }

case_rank_and_size() {
    cobre run --backend tcp -n 3 sh -c "echo \$$ENV_TCP_RANK/\$$ENV_TCP_SIZE/\$COBRE_RUN_RANK/\$COBRE_RUN_SIZE/\$COBRE_COMM_BACKEND/\$$ENV_TCP_COORDINATOR"
    code_is 0
    [ "$(sort "$scratch/out" | paste -sd' ')" = "0/3/0/3/tcp/127.0.0.1 1/3/1/3/tcp/127.0.0.1 2/3/2/3/tcp/127.0.0.1" ] ||
        fail "$(cat "$scratch/out")"
}

case_token_and_port() {
    cobre run --backend tcp -n 3 sh -c "echo \$$ENV_TCP_TOKEN \$$ENV_TCP_PORT"
    [ "$(sort -u "$scratch/out" | wc -l)" = 1 ] || fail "they differ: $(cat "$scratch/out")"
    grep -qE '^[0-9a-f]{64} [1-9][0-9]+$' "$scratch/out" || fail "$(cat "$scratch/out")"
    local first
    first=$(head -n 1 "$scratch/out" | cut -d' ' -f1)
    cobre run --backend tcp -n 1 printenv "$ENV_TCP_TOKEN"
    [ "$first" != "$(cat "$scratch/out")" ] || fail "two jobs have one token"
}

case_only_rank_0_has_the_socket() {
    cobre run --backend tcp -n 3 --label bash -c 'sockets=$(ls -l /proc/$$/fd | grep -c socket:)
        echo $sockets ${COBRE_RUN_LISTEN_FD:+told}; until [ -e $scratch/go ]; do sleep 0.01; [ $COBRE_RUN_RANK != 0 ] || touch $scratch/go; done'
    [ "$(sort "$scratch/out" | sed 's/ $//')" = "[0] 1 told
[1] 0
[2] 0" ] || fail "$(cat "$scratch/out")"
}

case_launcher_lets_go_of_the_socket() {
    start run --backend tcp -n 2 sh -c "$waiting"
    ready 2
    no_socket() { ls -l "/proc/$launcher/fd" >"$scratch/fds" && ! grep -q socket: "$scratch/fds"; }
    wait_for no_socket || fail "the launcher has it still"
    kill -TERM "$launcher"
    finish
    code_is 143
}

case_hello() {
    local n
    for n in 1 2 3 8; do
        cobre run --backend tcp -n $n "$rank" hello barrier
        code_is 0
        [ "$(sort -V "$scratch/out")" = "$(seq -f "rank %g of $n by tcp" 0 $((n - 1)))" ] || fail "$(cat "$scratch/out")"
    done
}

case_jobs_at_once() {
    local pids=() i
    for i in 1 2 3 4; do
        env "$mark" "$cobre" run --backend tcp -n 3 "$rank" hello barrier >"$scratch/out-$i" 2>&1 &
        pids+=($!)
    done
    for i in 1 2 3 4; do
        wait "${pids[i - 1]}" || fail "$(cat "$scratch/out-$i")"
    done
}

case_inside_a_batch_job() {
    SLURM_PROCID=0 SLURM_NTASKS=1 PMI_RANK=0 PMI_SIZE=1 cobre run --backend tcp -n 2 "$rank" hello barrier
    code_is 0
}

# What belongs to an outer job, or was set for a job by hand, must not leak into this one.
case_outer_job_is_forgotten() {
    local outer="$ENV_TCP_COORDINATOR=nowhere $ENV_TCP_PORT=1 $ENV_TCP_RANK=7 $ENV_TCP_SIZE=9 $ENV_TCP_BIND=192.0.2.1
        $ENV_TCP_TOKEN_FILE=/no/such/file $ENV_TCP_TOKEN=secret $ENV_TCP_OPEN=1 $ENV_RUN_LISTEN_FD=0"
    for backend in shm local; do
        # shellcheck disable=SC2086
        env "$mark" $outer "$cobre" run -n 1 --backend $backend sh -c 'env | grep -e COBRE_TCP -e LISTEN; echo end' >"$scratch/out"
        out_is end
    done
    # shellcheck disable=SC2086
    env "$mark" $outer "$cobre" run -n 3 --backend tcp "$rank" hello barrier >"$scratch/out" 2>"$scratch/err" ||
        fail "$(cat "$scratch/err")"
}

case_nested() {
    cobre run --backend tcp -n 2 "$cobre" run --backend tcp -n 3 "$rank" hello barrier
    code_is 0
    [ "$(grep -c 'of 3' "$scratch/out")" = 6 ] || fail "$(cat "$scratch/out")"
    if has_backend shm; then
        cobre run --backend tcp -n 2 "$cobre" run -n 3 "$rank" hello barrier
        code_is 0
        cobre run -n 2 "$cobre" run --backend tcp -n 3 "$rank" hello barrier
        code_is 0
    fi
}

case_token_is_in_no_argument_list_nor_output() {
    start run --backend tcp -n 3 --label --log-dir "$scratch/log" sh -c "echo \$$ENV_TCP_TOKEN >\$scratch/token-\$COBRE_RUN_RANK; $waiting"
    ready 3
    local token
    token=$(cat "$scratch/token-0")
    [ ${#token} = 64 ] || fail "no token"
    cat /proc/[0-9]*/cmdline >"$scratch/lists" 2>/dev/null
    grep -aq "$(basename "$cobre")" "$scratch/lists" || fail "no argument lists"
    lacks -a "$token" "$scratch/lists"
    kill -9 "$(cat "$scratch/pid-1")"
    finish
    lacks "$token" "$scratch/out" "$scratch/err" "$scratch/log"
}

case_killed_rank_is_named() { # timed
    local victim
    for victim in 0 2; do
        cobre run --backend tcp -n 4 "$rank" barrier=3 $victim:die=kill barrier=1000
        code_is 137
        err_has "rank $victim of 4"
        err_has "killed by SIGKILL"
        err_has "reported: "
    done
}

case_other_failures() {
    cobre run --backend tcp -n 4 "$rank" barrier=3 2:exit=42 barrier=1000
    code_is 42
    err_has "rank 2 of 4"
    cobre run --backend tcp -n 4 "$rank" barrier=3 2:abort=7 barrier=1000
    code_is 7
    err_has "the test wants it"
    cobre run --backend tcp -n 3 "$rank" 0:barrier !0:reduce=8
    code_is 3
    err_has allreduce
    cobre run --backend tcp -n 3 "$rank" barrier 1:misuse 1:exit=5 barrier
    code_is 5
}

case_kill_of_the_launcher() {
    start run --backend tcp -n 4 sh -c "$waiting"
    ready 4
    kill -9 "$launcher"
    wait "$launcher" 2>/dev/null
    wait_for all_gone || fail "processes are left"
}

case_kill_of_the_launcher_while_the_job_forms() {
    start run --backend tcp -n 2 sh -c 'echo $$ >$scratch/pid-$COBRE_RUN_RANK
        test $COBRE_RUN_RANK != 0 || exec $helpers/rank; exec sleep 600'
    ready 2
    joins() { [ "$(cat "/proc/$(cat "$scratch/pid-0")/comm")" = rank ] && state_is "$(cat "$scratch/pid-0")" S; }
    wait_for joins || fail "rank 0 does not wait"
    kill -9 "$launcher"
    wait "$launcher" 2>/dev/null
    wait_for all_gone || fail "processes are left"
}

case_failure_while_the_job_forms() {
    cobre run --backend tcp -n 2 sh -c 'test $COBRE_RUN_RANK != 0 || exec $helpers/rank; exit 3'
    code_is 3
    err_has "rank 1 of 2"
}

# Rank 0 has closed the socket that we gave it, and sockets of its own have that number: it listens anew.
case_sockets_of_a_program_that_closed_ours_are_left_alone() {
    cobre run --backend tcp -n 2 python3 -c 'import os, socket, sys
os.closerange(3, 64)
own = socket.create_server(("127.0.0.1", 0))
for fd in range(3, 64):
    os.dup2(own.fileno(), fd)
os.execv(sys.argv[1], sys.argv[1:])' "$helpers/rank" barrier
    code_is 0
}

# Rank 0 waits for the others when another user's process comes, ten thousand times.
case_strangers() { # timed
    [ "$(id -u)" = 0 ] || { skip "only root can act for another user" && return; }
    start run --backend tcp -n 3 sh -c "echo \$$ENV_TCP_PORT >\$scratch/port-\$COBRE_RUN_RANK; echo \$\$ >\$scratch/pid-\$COBRE_RUN_RANK
        until [ \$COBRE_RUN_RANK = 0 ] || [ -e \$scratch/go ]; do sleep 0.01; done; exec \$helpers/rank barrier"
    ready 3
    listens() { grep -q "cobre-tcp/$(cat "$scratch/port-0")\$" /proc/net/unix; }
    wait_for listens || fail "rank 0 does not wait"
    env "$mark" python3 "$(dirname "$script")/../kit/flood.py" 127.0.0.1 "$(cat "$scratch/port-0")" 10000 65534 >"$scratch/flood" &
    local flood=$! from
    has_flooded() { ended "$flood" || grep -q flooded "$scratch/flood"; }
    wait_for has_flooded
    ! ended "$flood" || fail "no flood"
    from=$(micros)
    touch "$scratch/go"
    finish
    code_is 0
    from=$(ms_between "$from" "$(micros)")
    echo "  formed after $from ms"
    [ "$from" -le 2000 ] || fail "the job took $from ms"
    kill "$flood"
    wait "$flood" 2>/dev/null
}

run_cases "${@:3}" 2>&1
