#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_train.sh COBRE HELPERS MPI: `mpirun -n 2 cobre train`, as docs/backends/mpi.md has it.
cases=$(realpath "$(dirname "$0")/../../cases")
. "$(dirname "$0")/lib.sh"
set -m # background jobs with default signals
cd "$scratch" || exit 1

case_same_as_without_mpi() {
    cobre train -n 2 "$cases/brazil3" --iterations 6 --forward-passes 4 --out shm
    code_is 0
    launch 2 "$cobre" train "$cases/brazil3" --iterations 6 --forward-passes 4 --out mpi
    code_is 0
    out_has "2 ranks (mpi)"
    out_count "stopped: iteration limit, after 6 iterations" 1
    [ "$(grep -cE '^ +[0-9]+ ' out)" = 6 ] || fail "not 6 rows: $(cat out)"
    [ ! -s err ] || fail "it says: $(cat err)"
    cmp shm/policy.cobre mpi/policy.cobre || fail "the policies differ"
    cmp <(cut -d, -f1-9 shm/training.csv) <(cut -d, -f1-9 mpi/training.csv) || fail "the traces differ"
    launch 2 "$cobre" simulate "$cases/brazil3" --policy mpi/policy.cobre --trajectories 20 --out tables
    code_is 0
    out_count "trajectories, in-sample" 1
}

case_one_rank_says_what_is_wrong() {
    launch 2 "$cobre" train nowhere
    code_is 1
    err_count "nowhere: cannot be read" 1
    launch 2 "$cobre" train "$cases/brazil3" -n 2
    code_is 2
    err_has "a rank of a job already"
}

training() { lines_are long/training.csv 3; }
train() {
    rm -rf long
    start_ranks 2 "$cobre" train "$cases/toy" --iterations 100000000 --out long
    wait_for training || fail "no iterations: $(cat err)"
}
rank() { # NUMBER: its process
    grep -slzE "^(OMPI_COMM_WORLD_RANK|PMI_RANK)=$1\$" $(marked | sed 's|.*|/proc/&/environ|') | cut -d/ -f3
}
saved() { # CODE
    finish
    code_is "$1"
    out_count "stopped: asked to stop" 1
    cobre policy long/policy.cobre
    code_is 0
}

case_signal_to_a_rank() {
    for number in 0 1; do
        train
        kill -TERM "$(rank $number)"
        saved 0
    done
}

case_signal_to_the_launcher() {
    train
    kill -USR1 "$launcher"
    saved 0
}

# Open MPI passes it on after a second, kills after one more, and calls it a failure; the test gives it 3.
case_termination_of_the_launcher() {
    OMPI_MCA_odls_base_sigkill_timeout=3 train
    kill -TERM "$launcher"
    saved "$([ "$mpi" = openmpi ] && echo 1 || echo 0)"
}

# In the middle of an iteration: the one before is saved, and goes on to the same bits.
case_grace_is_over() {
    passes="--forward-passes 100 --iterations 2"
    cobre train "$cases/brazil3" $passes --out whole
    for number in launcher 1; do
        rm -rf long
        start_ranks 2 "$cobre" train "$cases/brazil3" $passes --grace 0 --out long
        wait_for lines_are long/training.csv 2 || fail "no iteration: $(cat err)"
        kill -USR1 "$([ $number = launcher ] && echo "$launcher" || rank $number)"
        finish
        code_is 0
        out_count "iteration 2 was under way and is left out" 1
        launch 2 "$cobre" train "$cases/brazil3" $passes --resume long/policy.cobre --out long
        code_is 0
        cmp whole/policy.cobre long/policy.cobre || fail "the policies differ"
    done
}

run_cases "${@:4}"
