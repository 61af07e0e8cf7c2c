#!/bin/bash
# test_errors.sh COBRE HELPERS MPI: what MPI finds wrong. What COBRE_CHECK=1 finds before it: tests/conformance/mismatch.c.
. "$(dirname "$0")/lib.sh"

# The receivers' buffers are too small: they get MPI's error; the sender may have got rid of its data before.
case_error_of_mpi() {
    start_ranks 3 "$helpers/rank" truncate
    wait_for happened returned 0 1 2 || fail "a rank hangs: $(cat "$scratch/err")"
    for rank in 1 2; do
        case $(text_of returned.$rank) in
        *"CollectiveFailed, transport, culprit $rank: broadcast #1: rank $rank (pid "*"MPI_Bcast: "*[Tt]runcated*) ;;
        *) fail "rank $rank: $(text_of returned.$rank)" ;;
        esac
    done
    order leave now
    finish
    code_is_not 0
    err_lacks WRONG
}

run_cases
