#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_faults.sh COBRE HELPERS MPI: ranks and launchers that die. What happens then is the MPI's affair; this holds it
# to what docs/backends/mpi.md says, with times that are bounds, and prints what it measures.
. "$(dirname "$0")/lib.sh"
own_shm 256m "$0" "$@"
unset OMPI_MCA_odls_base_sigkill_timeout # as it is for users
watch_machine

# three_ranks [STEP]: rank 0 is outside of any call and awaits `go`, to do the step; ranks 1 and 2 wait for it in a barrier.
three_ranks() {
    start_ranks 3 "$helpers/rank" barrier "0:say=rank 0 before the wait" mark=ready 0:await=go ${1:+"0:$1"} barrier mark=returned
    wait_for happened ready 0 1 2 || fail "the ranks do not start: $(cat "$scratch/err")"
    inside 1
    inside 2
    since=$(micros)
}

# ends_with CODE-OF-OPENMPI CODE-OF-MPICH...: the launcher ends all ranks; nobody's call returns; nothing stays.
# The code is that of the rank at fault. MPICH may take that of those that it has killed instead, 9, or of its own failure to
# talk with them, 1 (1 of 40 times).
ends_with() {
    wait_for ended "$(pid_of 2)" || fail "rank 2 goes on"
    local ranks
    ranks=$(ms_between "$since" "$(micros)")
    finish
    echo "  ranks ended within $ranks ms, the launcher within $(ms_between "$since" "$(micros)") ms, code $code"
    if [ "$mpi" = openmpi ]; then
        code_is "$1"
    elif [[ " ${*:2} 9 1 " != *" $code "* ]]; then
        fail "exit code $code, not one of ${*:2} 9 1"
    fi
    [ "$ranks" -lt 10000 ] || fail "after $ranks ms"
    wait_for all_gone || fail "processes are left"
    ! happened returned 1 && ! happened returned 2 || fail "the wait ended"
    err_lacks "failed at"
    err_lacks "not so:"
    [ -z "$(residue)" ] || fail "left: $(residue)"
}

case_killed_inside() {
    three_ranks
    kill -9 "$(pid_of 1)"
    ends_with 137 9
}

case_killed_outside() {
    three_ranks
    kill -9 "$(pid_of 0)"
    ends_with 137 9
}

case_exit_3_without_free() {
    three_ranks exit=3
    order go
    ends_with 3 3
}

# No failure that MPICH would have to report, but those of the ranks that it kills itself.
case_exit_0_without_free() {
    three_ranks exit=0
    order go
    ends_with 1 0
}

case_abort() {
    three_ranks abort=7
    order go
    ends_with 7 7
    err_has "cobre: rank 0 aborted with code 7: the test wants it"
    out_has "rank 0 before the wait"
}

# A code of which the system keeps only a 0 would pass for success.
case_abort_with_0() {
    for code in 0 256; do
        rm -f "$scratch"/*.[012] "$scratch/go"
        three_ranks "abort=$code"
        order go
        ends_with 1 1
    done
}

# A stopped rank is waited for; it does not keep a job alive when another one dies.
case_stopped() {
    three_ranks
    kill -STOP "$(pid_of 0)"
    wait_for state_is "$(pid_of 0)" T || fail "not stopped"
    order go
    sleep 0.5 # the others must not end in this time
    ! happened returned 1 && ! happened returned 2 || fail "the wait ended"
    kill -CONT "$(pid_of 0)"
    finish
    code_is 0
    happened returned 0 1 2 || fail "a wait did not end"
    [ -z "$(residue)" ] || fail "left after a normal end: $(residue)"
}

case_stopped_while_another_dies() {
    three_ranks
    kill -STOP "$(pid_of 0)"
    wait_for state_is "$(pid_of 0)" T || fail "not stopped"
    kill -9 "$(pid_of 1)"
    ends_with 137 9
}

# The ranks follow; of Open MPI its files stay.
case_launcher_killed() {
    three_ranks
    kill -9 "$launcher"
    wait "$launcher" 2>/dev/null
    wait_for all_gone || fail "processes are left"
    echo "  all ended within $(ms_between "$since" "$(micros)") ms; left: $(residue | wc -l) files, $(du -sk /dev/shm | cut -f1) KB"
    if [ "$mpi" = openmpi ]; then
        [ "$(ls /dev/shm | grep -c '^vader_segment')" = 3 ] || fail "in /dev/shm: $(ls /dev/shm)"
        ls -d "$scratch"/tmp/ompi.* >/dev/null || fail "no session directory"
        rm -f /dev/shm/vader_segment*
    else
        [ -z "$(residue)" ] || fail "left: $(residue)"
    fi
}

# MPICH's launcher may end before it has heard of its ranks' ends (2 of 100 times on busy cores), and then says 0.
case_launcher_terminated() {
    three_ranks
    kill -TERM "$launcher"
    ends_with 1 15 0
}

run_cases "${@:4}"
