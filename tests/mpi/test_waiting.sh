#!/bin/bash
# test_waiting.sh COBRE HELPERS MPI: waits that end before all have come, and what a wait costs.
. "$(dirname "$0")/lib.sh"

returned() { # RANK TEXT
    case $(text_of "returned.$1") in *"$2"*) ;; *) fail "rank $1, not '$2': $(text_of "returned.$1")" ;; esac
}

# Only the rank that asked is told: under MPI there is nobody to pass it on. Rank 0 is late
# for the barrier before: the interrupt must not meet that one.
case_interrupted() {
    COBRE_TEST_HOOK=1 COBRE_TEST_LATE=0=0.3 start_ranks 3 "$helpers/rank" wait 0
    wait_for happened inside 1 2 || fail "the hook is not asked"
    local begin
    begin=$(micros)
    order interrupt.1 now
    wait_for happened returned 1 || fail "rank 1 goes on waiting"
    local ms=$(ms_since "$begin")
    echo "  interrupted within $ms ms"
    [ "$ms" -lt 1000 ] || fail "after $ms ms"
    returned 1 "CollectiveFailed, interrupted, culprit 1: barrier #2: the call was interrupted on rank 1"
    ! happened returned 2 || fail "rank 2 returned: $(text_of returned.2)"
    order interrupt.2 now
    wait_for happened returned 2 || fail "rank 2 goes on waiting"
    returned 2 "interrupted, culprit 2"
    order leave now
    order go on
    finish
    code_is_not 0
    err_lacks WRONG
}

case_stalled() {
    COBRE_STALL_SECS=0.5 start_ranks 3 "$helpers/rank" wait 0
    wait_for happened returned 1 2 || fail "the wait does not end"
    for rank in 1 2; do
        returned $rank "CollectiveFailed, stalled, culprit -1: barrier #2: a rank had not come when the stall limit"
        read -r _ _ seconds _ <"$scratch/returned.$rank"
        case $seconds in 0.[5-9]* | [1-9].*) ;; *) fail "rank $rank after $seconds s" ;; esac
    done
    order leave now
    order go on
    finish
    code_is_not 0
    err_lacks WRONG
}

spent() { # rank 1's milliseconds of CPU in a wait of a second
    launch 2 "$helpers/rank" cpu
    code_is 0
    sed -n 's/^/  /; s/\(rank 1 .*\)/\1/p' "$scratch/out"
    milliseconds=$(sed -n 's/^rank 1 waited .* spent \([0-9]*\) ms$/\1/p' "$scratch/out")
}

# Both MPIs poll, with all that is left of a core; with a hook, or a stall limit, cobre naps between its looks.
case_polling() {
    spent
    local polling=${milliseconds:-0}
    [ "$polling" -ge 20 ] || fail "it does not poll: $polling ms"
    COBRE_TEST_HOOK=1 spent
    [ "${milliseconds:-1000}" -lt $((polling / 2)) ] || fail "with a hook: $milliseconds ms"
    COBRE_STALL_SECS=60 spent
    [ "${milliseconds:-1000}" -lt $((polling / 2)) ] || fail "with a stall limit: $milliseconds ms"
}

run_cases
