#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_run.sh COBRE HELPERS: cobre run, from options to exit code.
. "$(dirname "$0")/../kit/lib.sh"

case_rank_and_size() {
    cobre run -n 4 sh -c "echo \$COBRE_RUN_RANK/\$COBRE_RUN_SIZE/\$$ENV_SHM_RANK/\$$ENV_SHM_SIZE/\$COBRE_COMM_BACKEND"
    code_is 0
    [ "$(sort "$scratch/out" | paste -sd' ')" = "0/4/0/4/shm 1/4/1/4/shm 2/4/2/4/shm 3/4/3/4/shm" ] ||
        fail "$(cat "$scratch/out")"
}

case_one_name_for_all() {
    cobre run -n 3 printenv "$ENV_SHM_NAME"
    [ "$(sort -u "$scratch/out" | wc -l)" = 1 ] || fail "names differ"
    grep -qE '^/cobre-[0-9]+-[0-9a-f]{16}$' "$scratch/out" || fail "$(cat "$scratch/out")"
}

case_names_differ_between_jobs() {
    cobre run -n 1 printenv "$ENV_SHM_NAME"
    local first
    first=$(cat "$scratch/out")
    cobre run -n 1 printenv "$ENV_SHM_NAME"
    [ "$first" != "$(cat "$scratch/out")" ] || fail "both are $first"
}

case_overrides_a_batch_system() {
    SLURM_PROCID=3 SLURM_NTASKS=16 COBRE_COMM_BACKEND=mpi cobre run -n 1 sh -c 'echo $COBRE_COMM_BACKEND'
    out_is shm
}

case_default_is_a_rank_a_core() {
    cobre run sh -c 'echo x'
    code_is 0
    local cores
    cores=$("$cobre" info | sed -n 's/^cores: \([0-9]*\) usable.*/\1/p')
    [ "$(wc -l <"$scratch/out")" = "$cores" ] || fail "$(wc -l <"$scratch/out") ranks, $cores cores"
}

case_backend_local() {
    with "$ENV_SHM_NAME=/outer" "$ENV_SHM_RANK=1" cobre run -n 2 --backend local sh -c "echo \$COBRE_COMM_BACKEND; printenv $ENV_SHM_NAME $ENV_SHM_RANK"
    out_is "local
local"
}

case_options_end_at_the_program() {
    cobre run -n1 echo -n --label -- -x
    out_is "--label -- -x"
    cobre run --backend=shm -n 1 -- echo --
    out_is "--"
    cobre run -n 1 -- sh -c 'echo $#' sh -n 2
    out_is 2
}

case_arguments_stay_whole() {
    cobre run -n 1 printf '<%s>' 'a b' '' '*' '$x'
    out_is '<a b><><*><$x>'
}

case_standard_input_to_rank_0() {
    echo hello >"$scratch/in"
    cobre run -n 3 --label cat <"$scratch/in"
    code_is 0
    out_is "[0] hello"
    cobre run -n 3 --label sh -c 'cat; readlink /proc/self/fd/0' < <(echo through a pipe)
    code_is 0
    out_has "[0] through a pipe"
    out_has "[1] /dev/null"
    out_has "[2] /dev/null"
}

case_large_standard_input() {
    cobre run -n 2 sh -c 'wc -c' < <(head -c 3000000 /dev/zero)
    code_is 0
    [ "$(sort -n "$scratch/out" | paste -sd' ')" = "0 3000000" ] || fail "$(cat "$scratch/out")"
}

case_closed_standard_streams() {
    env "$mark" "$cobre" run -n 2 sh -c 'cat; exit 3' <&- >&- 2>&-
    code=$?
    code_is 3
}

case_output_is_not_piped() {
    cobre run -n 2 sh -c 'readlink /proc/$$/fd/1'
    [ "$(sort -u "$scratch/out")" = "$scratch/out" ] || fail "$(cat "$scratch/out")"
}

case_no_descriptors_leak() {
    local before after error_fd
    before=$(sh -c 'cd /proc/$$/fd; echo *')
    for label in "" --label; do
        # shellcheck disable=SC2086
        cobre run -n 3 $label sh -c 'test $COBRE_RUN_RANK = 2 || exit 0; cd /proc/$$/fd; echo ${COBRE_RUN_ERROR_FD%%:*}: *'
        after=$(sed 's/^\[2\] //; s/.*: //' "$scratch/out")
        error_fd=$(sed 's/^\[2\] //; s/:.*//' "$scratch/out")
        [ "$(echo "$after" | tr ' ' '\n' | sort)" = "$(echo "$before $error_fd" | tr ' ' '\n' | sort)" ] ||
            fail "has '$after', expected '$before' and $error_fd"
    done
}

# A program that closes all descriptors and opens files of its own, as a daemon does: what we handed to it is gone, and its files
# are not ours. First after it has joined the job, then before.
case_files_of_a_program_that_closed_ours_are_left_alone() {
    cobre run -n 2 "$helpers/rank" barrier misuse exit=5
    code_is 5
    err_has "its last error: "
    with COBRE_TEST_DIR="$scratch" cobre run -n 2 "$helpers/rank" barrier usurp=own misuse exit=5
    code_is 5
    err_has "it reported no error"
    [ -e "$scratch/own.0" ] && [ ! -s "$scratch/own.0" ] || fail "in a file of the program: $(cat "$scratch/own.0")"
    mkfifo "$scratch/fifo"
    exec 9<>"$scratch/fifo"
    cobre run -n 2 bash -c 'for fd in {3..63}; do eval "exec $fd<>$0"; done; exec "$@"' \
        "$scratch/fifo" "$helpers/rank" misuse exit=5
    code_is 5
    err_has "it reported no error"
    ! read -rt 0 -u 9 || fail "in a pipe of the program: $(head -n 1 <&9)"
    exec 9<&-
}

case_descriptors_of_the_user_pass() {
    cobre run -n 1 cat /dev/fd/7 7< <(echo from seven)
    out_is "from seven"
}

case_exit_code_of_a_rank() {
    cobre run -n 3 sh -c 'test $COBRE_RUN_RANK != 1 || exit 42'
    code_is 42
    err_has "rank 1 of 3"
    err_has "exit code 42"
    cobre run -n 3 true
    code_is 0
    [ ! -s "$scratch/err" ] || fail "$(cat "$scratch/err")"
}

case_others_are_stopped() {
    cobre run -n 3 sh -c 'test $COBRE_RUN_RANK != 1 || exit 9; exec sleep 600'
    code_is 9
    err_has "2 stopped"
}

case_others_that_ignore_sigterm_are_killed() {
    cobre run -n 2 sh -c 'test $COBRE_RUN_RANK != 1 || exit 9; trap "" TERM; while :; do sleep 600; done'
    code_is 9
}

case_others_that_are_stopped_by_a_signal_end_too() { # timed
    export scratch
    cobre run -n 2 bash -c 'if [ $COBRE_RUN_RANK = 0 ]; then trap "touch $scratch/told; exit 1" TERM
            echo $$ >$scratch/pid; kill -STOP $$; fi
        until grep -qs "T (stopped)" /proc/$(cat $scratch/pid)/status; do sleep 0.02; done 2>/dev/null; exit 4'
    code_is 4
    err_has "rank 1 of 2"
    exists "$scratch/told" || fail "it was killed without a word"
}

case_not_found() {
    cobre run -n 4 "$scratch/no-such-program"
    code_is 127
    err_has "not found"
    cobre run -n 4 no-such-program-in-path
    code_is 127
    err_has "in PATH"
    [ "$(wc -l <"$scratch/err")" = 1 ] || fail "$(cat "$scratch/err")"
}

case_not_executable() {
    echo text >"$scratch/plain"
    cobre run -n 4 "$scratch/plain"
    code_is 126
    err_has "$scratch/plain: is not executable; make it so (chmod +x), or name its interpreter, as in python3 $scratch/plain"
    cobre run -n 4 "$scratch"
    code_is 126
    err_has "is a directory"
    printf '#!/no/such/interpreter\n' >"$scratch/script"
    chmod +x "$scratch/script"
    cobre run -n 4 "$scratch/script"
    code_is 126
    err_has "interpreter"
}

refused() { # refused TEXT ARGUMENTS...
    local text=$1
    shift
    cobre run "$@" touch "$scratch/started"
    code_is 2
    err_has "cobre run: "
    err_has "$text"
    err_has "--help"
    gone "$scratch/started" || fail "something was started"
}

# The most that shm has: a slice of a reduction is then one line, and the last rank has none.
case_most_ranks() { # slow
    cobre run -n 1024 "$helpers/rank" reduce=150000 gather=150000 broadcast=150000
    code_is 0
}

case_bad_options() {
    refused "1 to 4096" -n 0
    refused "1 to 4096" -n 100000
    refused "a job of shm has at most 1024 ranks" -n 1025
    refused "too large" -n 99999999999999999999999
    refused "not a whole number" -n x
    refused "not a whole number" -n 4x
    refused "negative" -n -1
    refused "not a whole number" -n ''
    refused "write -n N" -np 4
    refused "no option --labels" --labels
    refused "takes no value" --label=1
    refused "needs --hosts" --remote-shell rsh
    refused "needs --hosts" --remote-cobre /opt/cobre
    refused "mpiexec" --backend mpi
    refused "no backend has this name" --backend carrier-pigeon
    refused "directory is missing" --log-dir=
}

case_help() {
    cobre run --help
    code_is 0
    out_has "usage: cobre run"
    cobre help run
    out_has "usage: cobre run"
    cobre --help
    code_is 0
    out_has "clean"
    cobre
    code_is 2
    cobre rnu
    code_is 2
    err_has "did you mean 'cobre run'"
    cobre something-else
    code_is 2
    err_lacks "did you mean"
    cobre --version
    out_is "cobre $("$cobre" info | sed -n '1s/cobre //p')"
}

case_nested() {
    cobre run -n 2 "$cobre" run -n 3 sh -c "echo \$COBRE_RUN_RANK/\$$ENV_SHM_SIZE/\$COBRE_RUN_SIZE \$$ENV_SHM_NAME"
    code_is 0
    [ "$(cut -d' ' -f2 "$scratch/out" | sort -u | wc -l)" = 2 ] || fail "names: $(cat "$scratch/out")"
    [ "$(cut -d' ' -f1 "$scratch/out" | sort | paste -sd' ')" = "0/3/3 0/3/3 1/3/3 1/3/3 2/3/3 2/3/3" ] ||
        fail "$(cat "$scratch/out")"
    cobre run -n 2 "$cobre" run -n 2 sh -c 'exit 6'
    code_is 6
}

case_many_ranks() {
    cobre run -n 64 sh -c 'echo $COBRE_RUN_RANK'
    code_is 0
    [ "$(sort -n "$scratch/out" | paste -sd' ')" = "$(seq 0 63 | paste -sd' ')" ] || fail "$(cat "$scratch/out")"
}

case_low_limit_of_open_files() {
    (
        ulimit -Sn 100
        exec "${within[@]}" "$cobre" run -n 200 --label --log-dir "$scratch/log" sh -c 'ulimit -Sn'
    ) >"$scratch/out" 2>"$scratch/err"
    code=$?
    code_is 0
    [ "$(sed 's/.*\] //' "$scratch/out" | sort | uniq -c | tr -s ' ')" = " 200 100" ] || fail "$(tail -3 "$scratch/out")"
    (
        ulimit -n 100
        exec "${within[@]}" "$cobre" run -n 200 --label touch "$scratch/started"
    ) >"$scratch/out" 2>"$scratch/err"
    code=$?
    code_is 125
    err_has "ulimit"
    gone "$scratch/started" || fail "something was started"
}

case_empty_environment() {
    "${within[@]}" env -i "$mark" PATH="$PATH" "$cobre" run -n 2 sh -c 'exit 0' || fail "exit code $?"
}

case_leftover_children_die_with_the_job() {
    cobre run -n 2 sh -c 'sleep 600 & sleep 601 & exit 0'
    code_is 0
    cobre run -n 2 sh -c 'sleep 600 & exit 1'
    code_is 1
}

run_cases "${@:3}"
