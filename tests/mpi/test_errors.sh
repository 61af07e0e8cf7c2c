#!/bin/bash
# test_errors.sh COBRE HELPERS MPI: what MPI finds wrong, and what COBRE_CHECK=1 finds before it.
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

mismatch() { # RANKS FROM
    local ranks
    ranks=$(seq 0 $(($1 - 1)))
    rm -f "$scratch"/returned.* "$scratch/leave"
    COBRE_CHECK=1 start_ranks "$1" "$helpers/rank" mismatch "$2"
    wait_for happened returned $ranks || fail "$1 ranks: $(cat "$scratch/err")"
    order leave now
    finish
    err_lacks WRONG
}

case_mismatch() { mismatch 2 0; }

# The odd one is named; the last five pairs.
case_mismatch_of_three() { mismatch 3 12; }

# Only the ranks of the node meet in a fence, and they are named by their numbers in the job.
case_mismatch_on_a_node() { COBRE_TEST_MPI_NODES=0,0,1,1 mismatch 4 15; }

run_cases
