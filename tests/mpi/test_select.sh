#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_select.sh COBRE HELPERS MPI: which plugin is taken, and never N silent jobs of one rank.
. "$(dirname "$0")/lib.sh"

case_plugin_by_name_and_by_path() {
    for plugin in "$mpi" "$plugins/libcobre-mpi-$mpi.so"; do
        with "$ENV_MPI_PLUGIN=$plugin" launch 2 "$helpers/rank" hello barrier
        code_is 0
        out_count "of 2 by mpi" 2
    done
    COBRE_COMM_BACKEND=mpi launch 2 "$helpers/rank" hello barrier
    out_count "of 2 by mpi" 2
}

all_refused() { [ "$(ls "$scratch" | grep -c '^failed\..*[0-9]$')" = 2 ]; }

# refused PROGRAM TEXT...: every rank refuses, with these texts; the launcher says so; no rank gets anywhere.
refused() {
    local program=$1
    shift
    rm -f "$scratch"/failed.* "$scratch/leave"
    start_ranks 2 "$program" linger=leave hello barrier
    wait_for all_refused || fail "not all refuse: $(cat "$scratch/out" "$scratch/err")"
    order leave
    finish
    code_is_not 0
    out_count "by " 0
    for text; do
        err_count "$text" 2
    done
}

# Each rank becomes a job of its own first; two Open MPIs that start at once in one directory can fail over it.
case_plugin_of_the_other_mpi() {
    local size=PMI_SIZE
    [ "$mpi" = mpich ] || size=OMPI_COMM_WORLD_SIZE
    printf '#!/bin/sh\nTMPDIR=$(mktemp -d) exec "%s" "$@"\n' "$helpers/rank" >"$scratch/apart"
    chmod +x "$scratch/apart"
    for plugin in "$other" "$plugins/libcobre-mpi-$other.so"; do
        with "$ENV_MPI_PLUGIN=$plugin" refused "$scratch/apart" "InitializationFailed: $size=2 indicates 2 ranks" \
            "$ENV_MPI_PLUGIN=openmpi or mpich"
    done
}

case_no_plugin() {
    for plugin in pigeon /dev/null "$plugins/libcobre.so" /nowhere/plugin.so; do
        with "$ENV_MPI_PLUGIN=$plugin" refused "$helpers/rank" \
            "InitializationFailed: the mpi plugin $plugin cannot be loaded ($ENV_MPI_PLUGIN" \
            "; set $ENV_MPI_PLUGIN to openmpi, mpich, or the path of a plugin"
    done
}

# The program `alone` looks beside itself, and where the system looks, nowhere else.
case_plugin_beside_the_program() {
    cp "$helpers/alone" "$scratch/alone"
    refused "$scratch/alone" "InitializationFailed: the mpi plugin $mpi cannot be loaded" "-DCOBRE_MPI=ON"
    [ "$mpi" = mpich ] && err_count "(Debian: libmpich" 2 || err_count "(Debian: libopenmpi" 2
    cp "$plugins/libcobre-mpi-$other.so" "$scratch"
    refused "$scratch/alone" "InitializationFailed: the mpi plugin $mpi cannot be loaded"
    cp "$plugins/libcobre-mpi-$mpi.so" "$scratch"
    launch 2 "$scratch/alone" hello barrier
    code_is 0
    out_count "of 2 by mpi" 2
}

single() { # VARIABLE=VALUE...: $code, out, err of a process that no launcher has started
    env "$mark" "$@" "$helpers/rank" hello barrier >"$scratch/out" 2>"$scratch/err"
    code=$?
}

# Without a launcher an MPI makes a job of one; a step of Slurm that has four tasks contradicts it.
case_singleton() {
    local batch="SLURM_NTASKS=4 SLURM_PROCID=0" step="SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4"
    single COBRE_COMM_BACKEND=mpi "$ENV_MPI_PLUGIN=$mpi"
    code_is 0
    out_is "rank 0 of 1 by mpi"
    single COBRE_COMM_BACKEND=mpi "$ENV_MPI_PLUGIN=$mpi" $batch # the shell of a batch job
    code_is 0
    out_is "rank 0 of 1 by mpi"
    single $batch
    code_is 0
    out_is "rank 0 of 1 by local"
    single "$ENV_MPI_PLUGIN=$mpi" $batch $step
    code_is 3
    err_has "InitializationFailed: SLURM_PROCID=0 and SLURM_STEP_NUM_TASKS=4 make this a rank of an MPI job that srun started"
    out_is ""
    [ "$mpi" = mpich ] || return 0 # Open MPI would see that there is no PMIx, and end the process
    single "$ENV_MPI_PLUGIN=$plugins/libcobre-mpi-mpich.so" $batch $step PMIX_RANK=0
    code_is 3
    err_has "InitializationFailed: SLURM_STEP_NUM_TASKS=4 indicates 4 ranks"
    out_is ""
}

# MPICH's launcher can end by SIGPIPE, with nothing printed, when its ranks never join MPI and end at once; with /bin/true it
# did in 3 of 120 runs. That is not ours to test: again.
launch_strangers() {
    for _ in 1 2 3 4 5; do
        launch "$@"
        [ "$mpi $code" = "mpich 141" ] || break
    done
}

case_other_backends_under_the_launcher() {
    COBRE_COMM_BACKEND=local launch_strangers 2 "$helpers/rank" hello barrier
    code_is 0
    out_count "rank 0 of 1 by local" 2
    launch_strangers 1 "$cobre" run -n 2 "$helpers/rank" hello barrier
    code_is 0
    out_count "of 2 by shm" 2
}

case_bad_check() {
    with $ENV_CHECK=7 refused "$helpers/rank" "InitializationFailed: $ENV_CHECK is \"7\", not 0 or 1"
    with $ENV_CHECK=1 launch 2 "$helpers/rank" hello barrier
    code_is 0
}

run_cases "${@:4}"
