#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_memory.sh COBRE HELPERS MPI: many regions and communicators, and a /dev/shm that is too small.
. "$(dirname "$0")/lib.sh"
own_shm 64m "$0" "$@"

cycles() {
    launch 2 "$helpers/rank" cycles="$1",60
    code_is 0
    out_count "60 times $1" 2
    [ -z "$(residue)" ] || fail "left: $(residue)"
    sed 's/^/  /' "$scratch/out"
}

case_regions() { cycles region; }
case_splits() { cycles split; }
case_opens() { cycles open; }

case_a_region_that_does_not_fit() {
    launch 2 "$helpers/rank" overfill
    code_is 0
    out_count "of shared memory is free" 2
    err_lacks "not so:"
    [ -z "$(residue)" ] || fail "left: $(residue)"
}

case_one_rank_without_memory() {
    launch 2 "$helpers/starved" refused=region refused=split refused=seal barrier
    code_is 0
}

# The launcher's limit is that of its ranks; what MPI itself needs is below it.
case_file_limit() {
    launch 2 bash -c 'ulimit -f 20480 && exec "$@"' rank "$helpers/rank" region=10000000 region=30000000
    code_is_not 0
    err_count "of shared memory would make the job's file larger than its limit (ulimit -f)" 2
}

# Found, not promised: without room for its own buffers MPICH ends the job in MPI_Init, Open MPI warns and goes on.
case_no_room_for_mpi_itself() {
    mount -o remount,size=1m /dev/shm
    launch 2 "$helpers/rank" hello barrier
    if [ "$mpi" = mpich ]; then
        code_is_not 0
        err_has "MPI_Init_thread"
    else
        code_is 0
        # its launcher does not always manage to show the warning
        grep -qE 'not enough space for /dev/shm|orte/util/show_help.c' "$scratch/err" || fail "no warning: $(cat "$scratch/err")"
        out_count "of 2 by mpi" 2
    fi
    rm -rf /dev/shm/*
    mount -o remount,size=64m /dev/shm
}

run_cases "${@:4}"
