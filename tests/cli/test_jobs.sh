#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_jobs.sh COBRE HELPERS: cobre run with programs that use libcobre (HELPERS/rank), over shm.
. "$(dirname "$0")/../kit/lib.sh"
export scratch helpers
rank=$helpers/rank
has_backend shm || { echo "no shm in this build" && exit 77; }

no_segment() { # NAME as the ranks had it
    [ -n "$1" ] || fail "no name"
    gone "/dev/shm$1" || fail "/dev/shm$1 is left"
}

case_hello() {
    local n
    for n in 1 2 5 16; do
        cobre run -n $n "$rank" hello barrier
        code_is 0
        [ "$(sort -V "$scratch/out")" = "$(seq -f "rank %g of $n by shm" 0 $((n - 1)))" ] || fail "$(cat "$scratch/out")"
    done
}

case_more_ranks_than_cores() {
    cobre run -n 64 "$rank" hello barrier
    code_is 0
    [ "$(grep -c 'of 64' "$scratch/out")" = 64 ] || fail "$(cat "$scratch/out")"
}

case_inside_a_batch_job() {
    SLURM_PROCID=0 SLURM_NTASKS=1 PMI_RANK=0 PMI_SIZE=1 cobre run -n 2 "$rank" hello barrier
    code_is 0
}

case_local() {
    cobre run -n 2 --backend local "$rank" hello barrier
    code_is 0
    out_is "rank 0 of 1 by local
rank 0 of 1 by local"
}

case_nested() {
    cobre run -n 2 "$cobre" run -n 3 "$rank" hello barrier
    code_is 0
    [ "$(grep -c 'of 3' "$scratch/out")" = 6 ] || fail "$(cat "$scratch/out")"
}

dies() { # dies HOW CODE TEXT...: rank 2 does, by the last of the steps HOW
    local how expected=$2
    read -r -a how <<<"$1"
    shift 2
    cobre run -n 4 "$rank" barrier=3 "${how[@]/#/2:}" barrier=1000
    code_is "$expected"
    err_has "rank 2 of 4"
    for text in "$@"; do err_has "$text"; done
}

case_killed() { for _ in 1 2 3 4 5; do dies die=kill 137 "killed by SIGKILL" "reported: "; done; } # timed
case_killed_with_much_memory() { dies "fill=500000000 die=kill" 137 "killed by SIGKILL" "reported: "; } # timed
case_crashed() { (ulimit -c 0; dies die=segv 139 "killed by SIGSEGV"; exit $case_failed) || case_failed=1; }
case_exited() { dies exit=42 42 "exit code 42"; }
case_aborted() { dies abort=7 7 "exit code 7" "the test wants it"; }

# What it has printed goes into a file that is as long as it may be: the exit code is its own all the same.
case_aborted_at_the_file_limit() {
    head -c 1024 /dev/zero >"$scratch/full"
    (ulimit -f 1 && COBRE_COMM_BACKEND=local exec "$rank" say=more abort=7 >>"$scratch/full")
    code=$?
    code_is 7
}

case_left() {
    cobre run -n 4 "$rank" barrier=3 2:exit=0 barrier=1000
    code_is 3
    err_has "rank 2 had ended with exit code 0"
}

case_mismatch() {
    cobre run -n 2 "$rank" 0:barrier 1:reduce=8
    code_is 3
    err_has "its last error: "
    err_has "suggestion: "
    err_has barrier
    err_has allreduce
}

case_wrong_argument() {
    cobre run -n 3 "$rank" barrier 1:misuse 1:exit=5 barrier
    code_is 5
    err_has "rank 1 of 3"
    err_has "its last error: "
    err_has "99"
}

# Rank 1 stays outside, so that the job has a name for as long as we need.
forming="test \$COBRE_RUN_RANK != 0 || { printenv $ENV_SHM_NAME >\$scratch/name; exec \$helpers/rank; };"

wait_for_name() {
    wait_for lines_are "$scratch/name" 1 || fail "not started"
    segment=$(cat "$scratch/name")
    wait_for exists "/dev/shm$segment" || fail "no segment"
}

case_failure_while_the_job_forms() {
    cobre run -n 2 sh -c "$forming until [ -e /dev/shm\$$ENV_SHM_NAME ]; do sleep 0.01; done; exit 3"
    code_is 3
    err_has "rank 1 of 2"
    no_segment "$(cat "$scratch/name")"
}

case_all_killed_while_the_job_forms() {
    start run -n 2 sh -c "$forming exec sleep 600"
    wait_for_name
    kill -9 "$launcher"
    wait "$launcher" 2>/dev/null
    wait_for all_gone || fail "processes are left"
    no_segment "$segment"
}

case_interrupted_while_the_job_forms() {
    start run -n 2 sh -c "$forming exec sleep 600"
    wait_for_name
    kill -TERM "$launcher"
    finish
    code_is 143
    no_segment "$segment"
}

case_no_name_after_the_job_has_formed() {
    cobre run -n 3 sh -c "echo \$$ENV_SHM_NAME >\$scratch/name-\$COBRE_RUN_RANK
        \$helpers/rank && test ! -e /dev/shm\$$ENV_SHM_NAME"
    code_is 0
    [ "$(sort -u "$scratch"/name-* | grep -c ^/cobre-)" = 1 ] || fail "$(cat "$scratch"/name-*)"
}

run_cases "${@:3}"
