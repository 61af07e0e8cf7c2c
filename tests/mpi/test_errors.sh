#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_errors.sh COBRE HELPERS MPI: what MPI finds wrong. What COBRE_CHECK=1 finds before it: tests/conformance/mismatch.c.
. "$(dirname "$0")/lib.sh"

came_back() { # RANK...: all of them
    for rank; do
        happened returned "$rank" || happened failed "$rank" || return 1
    done
}

# Ranks 1 and 2 ask for less than rank 0 sends: they get MPI's error; rank 0 may have got rid of its data before. A rank without
# an error would finalise MPI while the others exit: then Open MPI's launcher may hang or crash (docs/backends/mpi.md). It waits
# until the launcher ends it.
case_error_of_mpi() {
    start_ranks 3 "$helpers/rank" linger=leave truncate mark=returned await=never
    wait_for came_back 0 1 2 || fail "a rank hangs: $(cat "$scratch/err")"
    for rank in 1 2; do
        case $(text_of failed.$rank) in
        *"transport, culprit $rank: CollectiveFailed: broadcast #1: rank $rank (pid "*"MPI_Bcast: "*[Tt]runcated*) ;;
        *) fail "rank $rank: $(text_of failed.$rank)" ;;
        esac
    done
    order leave
    finish
    code_is_not 0
    err_lacks "not so:"
}

run_cases "${@:4}"
