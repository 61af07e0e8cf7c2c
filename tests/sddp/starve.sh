#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# starve.sh COBRE DRIVER BACKEND CASE: of two ranks one runs out of memory, earlier or later. Both must end with its error, and
# what was complete before is saved.
set -u
cobre=$1 driver=$2 backend=$3 case=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# The failure may have come in the middle of an iteration: what was saved ends before it, to the bit.
goes_on() {
    "$driver" "$case" passes=3 iterations=4 resume=so_far save=end quiet=1 >/dev/null && cmp whole end || exit 1
    rm so_far
    saved=$((saved + 1))
}

starve() { # starve RANK OPTION...: until it has enough
    local rank=$1 times code
    shift
    for ((times = 0; ; times += 1 + times / 10)); do
        timeout -k 5 120 "$cobre" run -n 2 --backend "$backend" "$driver" "$case" "$@" passes=3 simulate=9 \
            starve=$times starved="$rank" >out 2>err
        code=$?
        [ $code != 0 ] || break
        # A region that cannot be had is the same news to all ranks: it names none of them.
        if [ $code != 1 ] ||
            [ "$(grep -cE ": (AllocationFailed|LpFailed): (.*memory.*failed: $rank|region_create(:| needs) )" err)" != 2 ]; then
            echo "rank $rank, memory $times times, $*: code $code"
            cat err
            exit 1
        fi
        [ ! -e so_far ] || goes_on
    done
    [ $times -gt 100 ] || { echo "rank $rank wanted memory only $times times" && exit 1; }
}

for rank in 0 1; do
    starve $rank iterations=2 rule=2 save=policy
done
for rank in 0 1; do
    starve $rank iterations=3 resume=policy
done
saved=0
"$driver" "$case" passes=3 iterations=4 save=whole quiet=1 >/dev/null || exit 1
starve 1 iterations=4 checkpoint=so_far
[ $saved -gt 4 ] || { echo "only $saved of its failures left a policy" && exit 1; }
