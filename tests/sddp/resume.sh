#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# resume.sh COBRE DRIVER: a run that was interrupted goes on to the same bits, also on another number of ranks; damaged
# and foreign files are refused, on all ranks; a warm start keeps what was learnt.
cobre=$1 driver=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
fail() { echo "FAILED: $*"; exit 1; }
case="cvar_1d_50 passes=4"

"$driver" $case iterations=20 save=whole >/dev/null || fail train
"$cobre" run -n 3 -- "$driver" $case iterations=9 checkpoint=part every=4 >/dev/null || fail "first half"
"$cobre" run -n 2 -- "$driver" $case iterations=20 resume=part save=resumed >/dev/null || fail "second half"
cmp whole resumed || fail "the resumed policy differs"
[ ! -e part.part ] || fail "an unfinished file was left"

refused() { # refused TEXT OPTION...
    text=$1
    shift
    "$cobre" run -n 2 -- "$driver" "$@" >/dev/null 2>err && fail "accepted: $*"
    grep -q "$text" err || { cat err; fail "no \"$text\" for: $*"; }
}
refused "seed is not the one" $case iterations=20 seed=3 resume=part
refused "another problem" mccardle_farm passes=4 iterations=20 resume=part
head -c 3000 part >short
refused "cut off" $case iterations=20 resume=short
cp part bent
printf x | dd of=bent bs=1 seek=1000 conv=notrunc 2>/dev/null
refused "checksum" $case iterations=20 resume=bent
refused "cannot read" $case iterations=20 resume=nowhere

"$driver" reservoir_infinite iterations=200 save=learnt quiet=1 >/dev/null || fail "infinite horizon"
bound=$("$driver" reservoir_infinite iterations=1 warm=learnt quiet=1 | sed 's/.*bound [^ ]* \([0-9.]*\) .*/\1/')
case $bound in 119.16*) ;; *) fail "warm start: bound $bound, not 119.167" ;; esac
echo "resume, damage, warm start: all as they should be"
