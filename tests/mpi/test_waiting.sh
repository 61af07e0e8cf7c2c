#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_waiting.sh COBRE HELPERS MPI: waits that end before all have come, and what a wait costs.
. "$(dirname "$0")/lib.sh"

watch_machine

failed_with() { # RANK TEXT
    case $(text_of "failed.$1") in *"$2"*) ;; *) fail "rank $1, not '$2': $(text_of "failed.$1")" ;; esac
}

# Only the rank that asked is told: under MPI there is nobody to pass it on. Rank 0 is late for all that it does: the
# interrupt must not meet the barrier before.
case_interrupted() {
    COBRE_TEST_LATE=0=0.2 start_ranks 3 "$helpers/rank" hook linger=leave barrier 0:await=go inside=waiting barrier mark=returned
    wait_for happened waiting 1 2 || fail "the hook is not asked"
    local begin ms
    begin=$(micros)
    order interrupt.1
    wait_for happened failed 1 || fail "rank 1 goes on waiting"
    ms=$(ms_between "$begin" "$(time_of failed.1)")
    echo "  interrupted within $ms ms"
    [ "$ms" -lt 200 ] || fail "after $ms ms"
    failed_with 1 "interrupted, culprit 1: CollectiveFailed: barrier #2: the call was interrupted on rank 1"
    ! happened failed 2 || fail "rank 2: $(text_of failed.2)"
    order interrupt.2
    wait_for happened failed 2 || fail "rank 2 goes on waiting"
    failed_with 2 "interrupted, culprit 2"
    order leave
    order go
    finish
    code_is_not 0
    err_lacks "not so:"
}

case_stalled() {
    with $ENV_STALL_SECS=0.5 start_ranks 3 "$helpers/rank" linger=leave 0:await=go barrier mark=returned
    wait_for happened failed 1 2 || fail "the wait does not end"
    for rank in 1 2; do
        failed_with $rank "stalled, culprit -1: CollectiveFailed: barrier #1: a rank did not enter before the stall limit"
        case $(text_of failed.$rank) in "after 0."[5-9]* | "after "[1-9]*) ;; *) fail "too early: $(text_of failed.$rank)" ;; esac
    done
    order leave
    order go
    finish
    code_is_not 0
    err_lacks "not so:"
}

naps_of() { sed -n 's/^voluntary_ctxt_switches:\t//p' "/proc/$1/status"; } # PID
has_napped() { [ "$(naps_of "$1")" -ge "$2" ]; }                          # PID TIMES

# waiting OPTION...: rank 1 in a barrier without rank 0, until it has spent 50 ms of CPU or has napped 100 times, so that it is
# the same on a busy machine: $spent ms and $naps.
waiting() {
    local pid cpu before
    rm -f "$scratch/go" "$scratch"/ready.*
    start_ranks 2 "$helpers/rank" "$@" barrier mark=ready 0:await=go barrier
    wait_for happened ready 0 1 || fail "the ranks do not start: $(cat "$scratch/err")"
    pid=$(pid_of 1)
    cpu=$(cpu_of "$pid")
    before=$(naps_of "$pid")
    spent_or_napped() { has_spent "$pid" $((cpu + 50000000)) || has_napped "$pid" $((before + 100)); }
    wait_for spent_or_napped || fail "it does not wait"
    naps=$(($(naps_of "$pid") - before))
    spent=$((($(cpu_of "$pid") - cpu) / 1000000))
    order go
    finish
    code_is 0
    echo "  ${*:-plain}: $spent ms of CPU, $naps naps"
}

# Both MPIs poll; with a hook, or a stall limit, cobre naps between its looks.
case_polling() {
    waiting
    [ "$spent" -ge 50 ] && [ "$naps" -lt 50 ] || fail "it does not poll"
    waiting hook
    [ "$spent" -lt 50 ] && [ "$naps" -ge 100 ] || fail "it polls with a hook"
    with $ENV_STALL_SECS=60 waiting
    [ "$spent" -lt 50 ] && [ "$naps" -ge 100 ] || fail "it polls with a stall limit"
}

run_cases "${@:4}"
