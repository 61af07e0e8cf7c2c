#!/bin/sh
# listed.sh RUNNER TESTLIST: a case that the testlist does not name for a backend would never run there.
unlisted=$("$1" --list | while read -r case; do
    for backend in local shm tcp mpi; do
        grep -Eq "^($case +[0-9,]+ +$backend|# not on $backend: $case: .+)$" "$2" || echo "$case $backend"
    done
done)
[ -z "$unlisted" ] || { printf 'not in %s:\n%s\n' "$2" "$unlisted"; exit 1; }
