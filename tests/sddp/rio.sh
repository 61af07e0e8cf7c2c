#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rio.sh COBRE RUN ITERATIONS RANKS...: trains rio or riopar, averse to risk in most runs, with each number of ranks: no
# training fails, and all have the same bits. What changes from run to run: the case, the solver, single cuts or multi-cuts, the
# risk measure, and the seed; 40 runs have every combination. Run 0 is
# cobre train rio --forward-passes 4 --cvar 0.1,0.5
cobre=$(realpath "$1") run=$2 iterations=$3
cases=$(realpath "$(dirname "$0")/../cases")
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

names=(rio riopar)
solvers=("" --solver=clp)
cuts=("" --multi-cut)
risks=("--cvar 0.1,0.5" "" "--cvar 0.2,0.5" "--cvar 0.1,0" "--cvar 0.05,0.9")
options=(--forward-passes 4 --iterations "$iterations" ${risks[run % 5]} ${solvers[run / 2 % 2]} ${cuts[run / 4 % 2]})
[ "$run" = 0 ] || options+=(--seed "$run")
echo "${names[run % 2]} ${options[*]}"
for ranks in "${@:4}"; do
    "$cobre" train "$cases/${names[run % 2]}" -n "$ranks" "${options[@]}" --out "out.$ranks" >out 2>&1 || { tail -n 5 out; exit 1; }
    cmp "out.$4/policy.cobre" "out.$ranks/policy.cobre" || { echo "other bits on $ranks ranks" && exit 1; }
    echo "$ranks ranks: bound $(tail -n 1 "out.$ranks/training.csv" | cut -d, -f2)"
done
