#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh RUNNER [MPI...]: does the runner see what goes wrong? RUNNER is built from the cases beside this file.
runner=$1
shift
failed=0
mpis=$*

# expect CODE PATTERN ARGUMENTS...: exit code, and an extended regular expression that a line of the output matches.
expect() {
    code=$1 pattern=$2
    shift 2
    output=$("$runner" "$@" 2>&1)
    got=$?
    if [ $got -ne "$code" ] || ! printf '%s\n' "$output" | grep -Eq "$pattern"; then
        printf 'runner %s: exit code %d, wanted %d and /%s/ in:\n%s\n' "$*" $got "$code" "$pattern" "$output"
        failed=1
    fi
}

export COBRE_TEST_DEADLINE=10
expect 0 '^passed: passes on 2 ranks of shm' passes 2 shm
expect 0 '^passed: passes on 1 ranks of local' passes 1 local
expect 0 '^passed: .*seed 3$' passes 2 shm --repeat 3
expect 0 '^passed: passes on 3 ranks of shm \(threads\)' passes 3 shm --threads
expect 0 '^text that nobody needs$' passes 1 local --rank-only
expect 1 '\[rank 2\] .*cases.c:[0-9]+: not so: .*41, not 42' fails 3 shm
expect 1 '\[rank 2\] +rank 2 of 3, seed 1, doing: thinking of a number' fails 3 shm
expect 1 '\[all ranks\] +rank 2 of 3, seed 1, doing: thinking' fails 3 shm --threads
expect 1 'InvalidRoot, not Ok' fails_with_error 2 shm
expect 1 'last error: InvalidRoot: .*root 1' fails_with_error 1 local
expect 1 '^rank 1: killed by signal 9' crashes 2 shm
expect 77 '^skipped: skips on 2 ranks' skips 2 shm
expect 77 '^skipped: skips on 2 ranks' skips 2 shm --threads
expect 1 'only 1 of 2 ranks skipped' skips_partly 2 shm
expect 1 'only 1 of 2 ranks skipped' skips_partly 2 shm --threads
expect 1 'left behind: a process' leaves_process 2 shm
expect 1 'left behind: /dev/shm/cobre-test-' leaves_name 2 shm
if [ -e "$(printf '%s\n' "$output" | sed -n 's/^left behind: //p')" ]; then
    echo "the runner reports a name in /dev/shm but does not remove it"
    failed=1
fi
expect 1 'cobre_comm_free.*InvalidArgument, not Ok' forgets_region 1 local
expect 2 'no such case' passed 1 local
expect 2 'no such backend' passes 1 lokal
expect 2 'so many ranks' passes 2 local
expect 2 'so many ranks' passes 0 shm
expect 2 'unknown option' passes 1 local --thread
expect 0 '^passes.r8 busy$' --list shm
expect 0 '^passes.r1$' --list local
expect 2 'usage' --list lokal
expect 0 '^passed: passes on 2 ranks' 'pass*' 2 shm
expect 2 'no such case' 'pass*' 5 shm
expect 0 '^passed: passes on 2 ranks' skips,passes 2 shm
expect 1 '^FAILED: fails on 2 ranks' fails,passes 2 shm
for mpi in $mpis; do
    expect 0 '^passed: 2 of 2 cases on 3 ranks of .* \(checked\)' passes,passes 3 $mpi --check
    expect 0 '^skipped: skips on 2 ranks' passes,skips 2 $mpi
    expect 77 '^skipped: skips on 2 ranks' skips 2 $mpi
    expect 1 '^FAILED: fails on 3 ranks' passes,fails,passes 3 $mpi
    expect 1 'not so: .*41, not 42' passes,fails,passes 3 $mpi
    expect 1 '^FAILED: 1 of 3 cases' passes,crashes,passes 2 $mpi
    expect 1 'left behind: /dev/shm/left-by-selftest' leaves_files 2 $mpi
    expect 1 'left behind: /tmp/cobre-test-.*/left-by-selftest' leaves_files 2 $mpi
done
COBRE_TEST_DEADLINE=1
expect 1 'not finished at the deadline: rank 2, last note: on the way' hangs 3 shm
expect 1 'not finished at the deadline: rank 2, last note: on the way' hangs 3 shm --threads
COBRE_TEST_DEADLINE=10 # its launcher may take some seconds
for mpi in $mpis; do
    expect 1 'not finished at the deadline: rank 2, last note: on the way' passes,hangs 3 $mpi
    expect 1 'cases are over, but a process has not ended' leaves_process 2 $mpi
done

exit $failed
