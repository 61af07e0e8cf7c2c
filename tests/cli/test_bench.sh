#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_bench.sh COBRE HELPERS: cobre bench. What it measures is not looked at, only that it measures.
. "$(dirname "$0")/../kit/lib.sh"

quick="--seconds 0.001"

lines_have() { # COUNT REGEX: so many lines of the output match
    [ "$(grep -cE -e "$2" "$scratch/out")" = "$1" ] || fail "not $1 lines with '$2' in: $(head -c 2000 "$scratch/out")"
}

case_alone() {
    cobre bench $quick --sizes 8,4K
    code_is 0
    out_has "local, 1 rank;"
    lines_have 1 '^barrier +0 warm +[0-9.]+ +[0-9.]+ +[0-9.]+$'
    for operation in allreduce broadcast allgatherv allgatherv_region; do
        lines_have 1 "^$operation +8 warm( +[0-9.]+){3}$"
        lines_have 1 "^$operation +4096 warm( +[0-9.]+){3}$"
    done
    [ ! -s "$scratch/err" ] || fail "a progress bar without a terminal: $(cat "$scratch/err")"
}

case_every_backend_from_a_launcher() {
    for backend in shm tcp; do
        has_backend $backend || continue
        cobre run -n 3 --backend $backend "$cobre" bench $quick --sizes 8,64K
        code_is 0
        lines_have 1 "^$backend, 3 ranks;"
        lines_have 9 ' warm( +[0-9.]+){3}$'
    done
}

case_starts_its_ranks() {
    has_backend shm || return
    cobre bench -n 2 $quick --sizes 8 --operations allgatherv_region,barrier --buffers both
    code_is 0
    out_has "shm, 2 ranks;"
    lines_have 1 '^barrier '
    lines_have 1 '^allgatherv_region +8 warm '
    lines_have 1 '^allgatherv_region +8 cold '
}

case_in_a_job() {
    cobre run -n 1 --backend local "$cobre" bench -n 2 $quick
    code_is 2
    err_has "cobre bench: this is a rank of a job already"
    cobre run -n 1 --backend local "$cobre" bench --backend shm $quick
    code_is 2
    err_has "leave out -n and --backend"
}

# The shells of Slurm's sbatch and salloc are no ranks, and one task alone may start ranks.
case_in_a_slurm_job() {
    local batch=(SLURM_PROCID=0 SLURM_NTASKS=4) step=(SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_STEP_ID=0)
    has_backend shm || return
    with "${batch[@]}" cobre bench -n 2 $quick --sizes 8 --operations barrier
    code_is 0
    out_has "shm, 2 ranks;"
    with "${batch[@]}" cobre bench $quick --sizes 8 --operations barrier
    code_is 0
    out_has "local, 1 rank;"
    with "${step[@]}" SLURM_STEP_NUM_TASKS=1 PMI_RANK=0 PMI_SIZE=1 cobre bench -n 2 $quick --sizes 8 --operations barrier
    code_is 0
    out_has "shm, 2 ranks;"
    with "${step[@]}" SLURM_STEP_NUM_TASKS=2 cobre bench -n 2 $quick
    code_is 2
    err_has "cobre bench: this is a rank of a job already"
}

case_bad_backend() {
    cobre bench --backend mpi $quick
    code_is 2
    err_has "cobre bench: --backend mpi: the ranks of such a job are started by its own launcher (mpiexec)"
    cobre bench -n 2 --backend carrier-pigeon $quick
    code_is 2
    err_has "cobre bench: --backend carrier-pigeon: no backend has this name"
    err_has "'cobre bench --help'"
}

case_cold() {
    cobre bench $quick --sizes 1K --operations allreduce --buffers both
    code_is 0
    lines_have 1 '^allreduce +1024 warm '
    lines_have 1 '^allreduce +1024 cold '
}

case_json() {
    cobre bench $quick --sizes 8,16 --operations allreduce --json
    code_is 0
    json_keys "$scratch/out" 'docs[0]' version backend ranks results
    json_keys "$scratch/out" 'docs[0]["results"][0]' operation bytes buffers samples median_us p10_us p90_us
    json_holds "$scratch/out" 'docs[0]["backend"] == "local" and docs[0]["ranks"] == 1'
    json_holds "$scratch/out" '[r["bytes"] for r in docs[0]["results"]] == [8, 16]'
}

case_bad_options() {
    local words
    while read -r words; do
        cobre bench $words
        code_is 2
        err_has "cobre bench: "
        err_has "'cobre bench --help'"
    done <<'END'
--sizes 7
--sizes 0
--sizes 8,
--sizes 4X
--sizes 99999999999999G
--operations scan
--operations
--buffers lukewarm
--seconds 0
--seconds soon
--xml
now
END
    cobre bench -n 0
    code_is 2
    err_has "must be from 1"
}

case_unknown_backend() {
    COBRE_COMM_BACKEND=pigeon cobre bench
    code_is 1
    err_has "cobre bench: "
    err_has "pigeon"
}

run_cases "${@:3}"
