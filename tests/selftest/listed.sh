#!/bin/sh
# listed.sh RUNNER TESTLIST: a case that no line of the testlist names would never run.
unlisted=$("$1" --list | while read -r case; do grep -q "^$case " "$2" || echo "$case"; done)
[ -z "$unlisted" ] || { printf 'not in %s:\n%s\n' "$2" "$unlisted"; exit 1; }
