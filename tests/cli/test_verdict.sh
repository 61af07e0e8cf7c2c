#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_verdict.sh COBRE HELPERS: who is named as the first to fail. The ranks are scripts that write the error lines that
# libcobre would write, and order their ends by waiting for each other.
. "$(dirname "$0")/../kit/lib.sh"
export scratch

# For the scripts: `blame CAUSE CULPRIT` and `say LINE` are what libcobre would report, `zombie RANK` orders the ends. No rank
# begins before all have started.
export BASH_ENV=$scratch.env
cat >"$BASH_ENV" <<'END'
rank=$COBRE_RUN_RANK
say() { printf '%s\n' "$1" >&"${COBRE_RUN_ERROR_FD%%:*}"; }
blame() {
    say "{\"kind\": \"CollectiveFailed\", \"message\": \"rank $rank says: rank $2, $1\", \"context\": {\"cause\": \"$1\", \"culprit\": $2}, \"suggestion\": \"look at rank $2\"}"
}
exec {never}<>"$scratch/never"
nap() { read -rt 0.01 -u $never; } # without a process, which a crowded machine may be slow to start
zombie() { # waits until a rank has ended
    local pid line
    read -r pid <"$scratch/pid-$1"
    until read -r line <"/proc/$pid/stat" && [[ $line == *") Z "* ]]; do nap; done
}
echo $$ >"$scratch/new-$rank" && mv "$scratch/new-$rank" "$scratch/pid-$rank"
for ((other = 0; other < COBRE_RUN_SIZE; other++)); do
    until [ -e "$scratch/pid-$other" ]; do nap; done
done
END

named() { # named RANK CODE
    code_is "$2"
    err_has "rank $1 of $ranks "
    err_has "failed first"
}

ranks=4
job() {
    mkfifo "$scratch/never"
    cobre run -n $ranks bash -c "$1"
}

case_killed_rank_that_ends_last() { # timed
    job 'case $rank in
        2) trap "" TERM; zombie 0; zombie 1; zombie 3; kill -9 $$ ;;
        *) blame "peer died" 2; exit 1 ;; esac'
    named 2 137
    err_has "it reported no error"
    err_has "rank 0 reported: rank 0 says: rank 2, peer died"
    err_has "3 failed after it"
}

case_killed_rank_that_ends_first() {
    job 'case $rank in
        2) kill -9 $$ ;;
        *) zombie 2; blame "peer died" 2; exit 1 ;; esac'
    named 2 137
}

# Its memory takes longer to free than the others' moment: it ends after our SIGTERM, which it does not see any more.
case_killed_rank_that_ends_after_sigterm() { # timed
    job 'case $rank in
        2) trap "kill -9 \$\$" TERM; while :; do nap; done ;;
        *) blame "peer died" 2; exit 1 ;; esac'
    named 2 137
}

case_exit_code_of_the_culprit() { # timed
    job 'case $rank in
        3) zombie 0; exit 42 ;;
        *) blame "peer left" 3; exit 1 ;; esac'
    named 3 42
}

case_aborted() { # timed
    job 'case $rank in
        1) trap "" TERM; zombie 0; exit 7 ;;
        *) blame aborted 1; exit 1 ;; esac'
    named 1 7
}

case_chain() { # timed
    job 'case $rank in
        0) blame "peer left" 1; exit 10 ;;
        1) zombie 0; blame "peer left" 2; exit 11 ;;
        2) zombie 1; blame "peer died" 3; exit 12 ;;
        3) zombie 2; kill -SEGV $$ ;; esac'
    named 3 139
}

case_two_that_blame_each_other() {
    job 'case $rank in
        1) blame mismatch 3; exit 11 ;;
        3) zombie 1; blame mismatch 1; exit 13 ;;
        *) exec sleep 600 ;; esac'
    named 1 11
    err_has "its last error: rank 1 says: rank 3, mismatch"
    err_has "suggestion: look at rank 3"
}

case_culprit_that_blames_itself() { # timed
    job 'case $rank in
        1) zombie 0; blame mismatch 1; exit 11 ;;
        *) blame mismatch 1; exit 10 ;; esac'
    named 1 11
}

case_culprit_that_ended_well() {
    job 'case $rank in
        1) exit 0 ;;
        *) zombie 1; blame "peer left" 1; exit 10 ;; esac'
    code_is 10
    err_lacks "rank 1 of 4"
    err_has "rank 1 had ended with exit code 0"
}

# A stalled rank lives; that it fails when we stop it says nothing.
case_stalled_culprit() {
    job 'case $rank in
        1) trap "exit 99" TERM; while :; do nap; done ;;
        *) blame stalled 1; exit 10 ;; esac'
    code_is 10
    err_lacks "rank 1 of 4"
}

# The program became another one: dead for the library, alive for us.
case_culprit_that_lives() {
    job 'case $rank in
        1) exec sleep 600 ;;
        *) blame "peer died" 1; exit 10 ;; esac'
    code_is 10
    err_lacks "rank 1 of 4"
}

case_own_error_is_shown() {
    job 'test $rank = 2 || exec sleep 600
        say "{\"kind\": \"InvalidRoot\", \"message\": \"an old one\", \"context\": {}, \"suggestion\": \"\"}"
        say "{\"kind\": \"InvalidRoot\", \"message\": \"root 9 is \\\"not\\\" a rank \\u00e9 \\\\ \\u001b[31m\", \"context\": {\"size\": 4, \"root\": 18446744073709551615}, \"suggestion\": \"use 0 to 3\"}"
        exit 5'
    named 2 5
    err_has 'its last error: root 9 is "not" a rank é \  [31m'
    err_has "suggestion: use 0 to 3"
    err_lacks "an old one"
}

case_nonsense_on_the_error_pipe() {
    job 'test $rank = 2 || exec sleep 600
        say "no json"; say "{\"context\": {\"culprit\": 99}}"; say "{"; say "{\"message\": \"cut off"
        printf "{\"message\": \"no end of line" >&${COBRE_RUN_ERROR_FD%%:*}; exit 5'
    named 2 5
    err_has 'its last error: {"message": "cut off'
}

case_much_on_the_error_pipe() {
    job 'test $rank = 2 || exec sleep 600
        for i in {1..5000}; do blame "peer left" 0; done 2>/dev/null
        until say "{\"message\": \"the last\"}" 2>/dev/null; do nap; done; exit 5'
    named 2 5
    err_has "its last error: the last"
}

# All ends are there when the launcher looks first: it was stopped.
case_ends_without_order() {
    ranks=3
    job 'if [ $rank = 0 ]; then kill -STOP $PPID; fi
        until grep -q "T (stopped)" /proc/$PPID/status || [ -e $scratch/over ]; do nap; done
        case $rank in
        0) blame "peer died" 2; zombie 1; zombie 2; touch $scratch/over; (zombie 0; kill -CONT $PPID) & exit 1 ;;
        1) exit 3 ;;
        2) kill -9 $$ ;; esac'
    ranks=4
    code_is 137
    err_has "rank 2 of 3"
}

case_suggests_memory() {
    job 'test $rank != 1 || kill -9 $$; exec sleep 600'
    named 1 137
    err_has "memory may have run out"
}

run_cases "${@:3}"
