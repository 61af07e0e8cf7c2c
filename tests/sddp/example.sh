#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# example.sh COBRE TWO_STAGES: the example builds, trains and writes its problem, and the file trains to the same bound.
cobre=$1 example=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
fail() { echo "FAILED: $*"; exit 1; }

one=$("$example") || fail "alone"
[ "$one" = "today and tomorrow cost 300 on average" ] || fail "$one"
two=$("$cobre" run -n 2 -- "$example" water.sof.json) || fail "two ranks"
[ "$one" = "$two" ] || fail "$two"
"$cobre" train water.sof.json --iterations 20 --out run >/dev/null || fail "train"
# The bound is proven: a little below 300, never above.
tail -1 run/training.csv | awk -F, '{ exit !($2 <= 300 && $2 > 300 - 1e-9) }' || fail "$(tail -1 run/training.csv)"
