#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_own.sh COBRE HELPERS MPI: a program that uses MPI itself, see own.c.
. "$(dirname "$0")/lib.sh"
own=$helpers/own_$mpi

case_respected() {
    launch 2 "$own" respected
    code_is 0
    out_count " respected" 2
    err_lacks cobre
}

# The program's own MPI decides, though a variable of the other one's launcher is there.
case_linked_mpi_beats_variables() {
    local sign=MPI_LOCALRANKID
    [ "$mpi" = openmpi ] || sign=OMPI_COMM_WORLD_RANK
    env "$mark" "$sign=0" "$own" respected >"$scratch/out" 2>"$scratch/err"
    code=$?
    code_is 0
    out_is "rank 0 respected"
}

case_thread_level() {
    for level in single funneled; do
        launch 2 "$own" level $level
        code_is 0
        if [ "$(grep -c ": InitializationFailed: MPI was initialised with a thread level below MPI_THREAD_SERIALIZED" \
            "$scratch/out")" != 2 ]; then
            fail "$level: $(cat "$scratch/out")"
        fi
        out_count "MPI_Init_thread and MPI_THREAD_MULTIPLE" 2
    done
    launch 2 "$own" level serialized
    code_is 0
    out_count ": Ok" 2
}

case_after_finalize() {
    launch 2 "$own" after
    code_is 0
    out_count "MPI has been finalised already" 2
    launch 2 "$own" late
    code_is 0
    out_count "MPI has been finalised already" 2
}

run_cases "${@:4}"
