#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# determinism.sh COBRE DRIVER JOBS CASE [OPTION...]: the same bits (trace, policy file, simulation) from one process and
# from each of JOBS, as "shm 2,openmpi 2": where, and how many ranks. In all: one process again (D2), shm with 2, 4 and 3
# (D3 to D5), tcp with 2 and 4 (D6, D7), Open MPI with 2 (D8), MPICH with 4 (D9), Open MPI with 2 again (D10). Simulated
# stages are told to the rank that computed them, each once: lines are compared without their order.
cobre=$1 driver=$2
IFS=, read -r -a jobs <<<"$3"
. "$(dirname "$0")/../mpi/lib.sh" "$cobre" "$(dirname "$driver")" none
run=("$driver" "${@:4}" simulate=30 stages=1)

"${run[@]}" save="$scratch/policy.1" >"$scratch/out.1" || exit
[ "$(grep -c '^trajectory [0-9]* step 0 ' "$scratch/out.1")" = 30 ] || { echo "not 30 trajectories" && exit 1; }
sort -o "$scratch/out.1" "$scratch/out.1"
for job in "${jobs[@]}"; do
    case_failed=0
    read -r where ranks <<<"$job"
    rm -f "$scratch/policy"
    case $where in
    local) "${run[@]}" save="$scratch/policy" >"$scratch/out"; code=$? ;;
    openmpi | mpich) mpi=$where launch "$ranks" "${run[@]}" save="$scratch/policy" ;;
    *) cobre run -n "$ranks" --backend "$where" -- "${run[@]}" save="$scratch/policy" ;;
    esac
    code_is 0
    cmp "$scratch/policy.1" "$scratch/policy" || fail "another policy"
    sort -o "$scratch/out" "$scratch/out"
    cmp "$scratch/out.1" "$scratch/out" || fail "another output: $(diff "$scratch/out.1" "$scratch/out" | head -4)"
    [ $case_failed = 0 ] && echo "$job: same bits" || { echo "FAIL $job" && failures=1; }
done
exit $failures
