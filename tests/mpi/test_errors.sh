#!/bin/bash
# test_errors.sh COBRE HELPERS MPI: what MPI finds wrong, and what COBRE_CHECK=1 finds before it.
. "$(dirname "$0")/lib.sh"

came_back() { # RANK...: all of them
    for rank; do
        happened returned "$rank" || happened failed "$rank" || return 1
    done
}

# Ranks 1 and 2 ask for less than rank 0 sends: they get MPI's error; rank 0 may have got rid of its data before. A rank without
# an error would finalise MPI while the others exit: then Open MPI's launcher may hang or crash (docs/mpi.md). It waits
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

mismatch() { # RANKS FROM
    local ranks
    ranks=$(seq 0 $(($1 - 1)))
    rm -f "$scratch"/returned.* "$scratch/leave"
    COBRE_CHECK=1 start_ranks "$1" "$helpers/mismatch" "$2"
    wait_for happened returned $ranks || fail "$1 ranks: $(cat "$scratch/err")"
    order leave
    finish
    err_lacks WRONG
}

case_mismatch() { mismatch 2 0; }

# The odd one is named; the last five pairs.
case_mismatch_of_three() { mismatch 3 12; }

# Only the ranks of the node meet in a fence, and they are named by their numbers in the job.
case_mismatch_on_a_node() { COBRE_TEST_MPI_NODES=0,0,1,1 mismatch 4 15; }

run_cases "${@:4}"
