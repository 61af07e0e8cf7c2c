# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# lib.sh: what the tests in shell share. Sourced with: COBRE-BINARY HELPER-DIRECTORY.
# Each case is a function; it fails by calling `fail`. Nothing waits by hope: `wait_for` asks until a deadline.
# A case whose first line ends with "# timed" depends on a limit of the launcher, such as the 0.5 s that it gives the other
# ranks after a failure. If it fails while the machine withheld time, it is repeated; see sentinel.h.
set -u
script=$(realpath "$0")
cobre=$(realpath "$1")
helpers=$(realpath "$2")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/cobre-cli.XXXXXX")
mark=COBRE_TEST_MARK=$$-$RANDOM$RANDOM
failures=0 skipped=0
patience=300 # seconds; only what hangs takes so long
within=(timeout -k 5 $patience env "$mark")

# $ENV_SHM_NAME, ...: how the variables of the library are called, which are not set here. What every rank of every backend
# has from the launcher (COBRE_RUN_RANK, COBRE_RUN_SIZE) and what chooses the backend are written as users write them.
eval "$(sed -n 's/^#define \(ENV_[A-Z_]*\) "\(.*\)"$/\1=\2; unset \2/p' "$(dirname "${BASH_SOURCE[0]}")/variables.h")"

marked() { # the processes that carry our mark
    grep -slzx "$mark" /proc/[0-9]*/environ | cut -d/ -f3
}

clean_up() {
    local pids
    pids=$(marked)
    [ -z "$pids" ] || kill -9 $pids 2>/dev/null
    rm -rf "$scratch" "$scratch".*
}
trap clean_up EXIT

fail() {
    echo "  $*"
    case_failed=1
}

skip() { # the case then returns
    echo "  skipped: $*"
    skipped=1
}

wait_for() { # wait_for CONDITION...: false if it did not come true
    local end=$((SECONDS + patience))
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.02
    done
}

exists() { [ -e "$1" ]; }
gone() { [ ! -e "$1" ]; }
all_gone() { [ -z "$(marked)" ]; }
ended() { # also true of a zombie that nobody reaps
    case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in '' | Z*) true ;; *) false ;; esac
}
state_is() { [ "$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null)" = "$2" ]; }
lines_are() { [ "$(cat "$1" 2>/dev/null | wc -l)" -ge "$2" ]; }

with() { # with NAME=VALUE... COMMAND...: as env does, for functions, too
    while [[ $1 == *=* ]]; do
        local -x "$1"
        shift
    done
    "$@"
}

# Runs `cobre ARGUMENTS...`: $code, and what it wrote in $scratch/out and $scratch/err.
cobre() {
    "${within[@]}" "$cobre" "$@" >"$scratch/out" 2>"$scratch/err"
    code=$?
    lacks -E 'Sanitizer|runtime error' "$scratch/err"
}

# The same in the background as $launcher. SIGINT with its default: who runs us in the background may have it ignored.
start() {
    env --default-signal=INT "$mark" "$cobre" "$@" >"$scratch/out" 2>"$scratch/err" &
    launcher=$!
}

finish() { # waits for $launcher; its code in $code
    wait_for ended "$launcher" || { fail "the launcher did not end" && kill -9 "$launcher"; }
    wait "$launcher" 2>/dev/null
    code=$?
}

# Ranks of `cobre run` that wait, with a child and a grandchild. Their processes are in files of $scratch, which is exported then.

waiting='sleep 600 & (sleep 601 & wait) & echo $$ >$scratch/new-$COBRE_RUN_RANK
    mv $scratch/new-$COBRE_RUN_RANK $scratch/pid-$COBRE_RUN_RANK; while :; do wait; sleep 0.05; done' # a signal may have ended the child

ready() { # ready RANKS: waits until all have said so
    local rank
    for rank in $(seq 0 $(($1 - 1))); do
        wait_for exists "$scratch/pid-$rank" || fail "rank $rank did not start"
    done
}

rank_pid() { cat "$scratch/pid-$1"; }
stop() { # stop PID: also -GROUP
    kill -STOP -- "$1"
    wait_for state_is "${1#-}" T || fail "process $1 runs on"
}
stop_ranks() { # stop_ranks RANK...: with their children
    local rank
    for rank; do
        stop "-$(rank_pid "$rank")"
    done
}
parent_of() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f2; } # PID; of a rank it is the launcher, or its agent
first_child() { # first_child PID: of a launcher, or an agent, it is the guard
    local child=
    read -r child _ <"/proc/$1/task/$1/children"
    echo "$child"
}

code_is() { [ "$code" = "$1" ] || fail "exit code $code, not $1: $(head -c 600 "$scratch/err")"; }
out_is() { [ "$(cat "$scratch/out")" = "$1" ] || fail "output '$(head -c 600 "$scratch/out")', not '$1'"; }
err_has() { grep -qF -e "$1" "$scratch/err" || fail "no '$1' in: $(head -c 600 "$scratch/err")"; }
err_lacks() { lacks -F -e "$1" "$scratch/err"; }
out_has() { grep -qF -e "$1" "$scratch/out" || fail "no '$1' in: $(head -c 600 "$scratch/out")"; }

lacks() { # lacks OPTION... PATTERN FILE...: grep finds nothing; that it cannot look is a failure, too
    grep -rq "$@"
    [ $? = 1 ] || fail "found by grep $*, or not there: $(grep -r "$@" | head -c 600)"
}

json_holds() { # json_holds FILE CONDITION: in Python, where `docs` are the JSON documents of the file
    python3 - "$@" <<'END' || fail "not $2: $(head -c 600 "$1")"
import json, sys
text, docs = open(sys.argv[1]).read().strip(), []
while text:
    doc, end = json.JSONDecoder().raw_decode(text)
    docs.append(doc)
    text = text[end:].lstrip()
sys.exit(not eval(sys.argv[2]))
END
}

json_keys() { # json_keys FILE OBJECT KEY...: an object, as in docs[0]["cuts"][0], has these keys, in this order
    json_holds "$1" "' '.join($2) == '${*:3}'"
}

pipe_is_full() { # FD; less than a page is left
    python3 - <<END
import fcntl, struct, termios
held = struct.unpack("i", fcntl.ioctl($1, termios.FIONREAD, bytes(4)))[0]
exit(held <= fcntl.fcntl($1, 1032) - 4096) # F_GETPIPE_SZ
END
}

has_backend() { # NAME
    "$cobre" info | grep -q "^backends in this build:.*\<$1\>"
}

# How much time the machine gave, see sentinel.h: watch_machine, once, and then ask about the time between two micros.
micros() { "$helpers/sentinel" now; }
is_filled() { [ -s "$1" ]; }
watch_machine() {
    "$helpers/sentinel" watch "$scratch.sentinel" >/dev/null &
    disown # it ends with us
    wait_for is_filled "$scratch.sentinel" || fail "no sentinel"
}
lost_between() { "$helpers/sentinel" lost "$scratch.sentinel" "$1" "$2"; }
ms_between() { echo $((($2 - $1 - $(lost_between "$1" "$2")) / 1000)); } # the milliseconds that were given

# The cases of a script, in its order: the lines that begin with case_NAME(). tests/CMakeLists.txt reads them likewise.
list_cases() { sed -n 's/^ *case_\([a-z0-9_]*\)().*/\1/p' "$script"; }
is_timed() { grep -q "^ *case_$1().*# timed" "$script"; }

run_case() {
    case_failed=0
    rm -rf "${scratch:?}"/*
    "case_$1"
    wait_for all_gone || fail "left over: $(ps -o pid,ppid,stat,args -p "$(marked | paste -sd,)")"
}

run_timed_case() {
    local tries from lost
    watch_machine
    for tries in {1..10}; do
        from=$(micros)
        run_case "$1"
        lost=$(lost_between "$from" "$(micros)") || fail "no sentinel"
        [ $case_failed = 1 ] && [ "$lost" -ge 100000 ] || return
        echo "  try $tries: the machine withheld $((lost / 1000)) ms"
    done
}

run_cases() { # run_cases NAME...: these, or all; --list prints their names
    local name begin
    [ "${1-}" != --list ] || { list_cases && return; }
    for name in ${*:-$(list_cases)}; do
        declare -F "case_$name" >/dev/null || { echo "no case is called $name" && return 2; }
        begin=$(micros)
        if is_timed "$name"; then run_timed_case "$name"; else run_case "$name"; fi
        if [ $case_failed = 0 ]; then
            echo "ok $name ($((($(micros) - begin) / 1000)) ms)"
        else
            echo "FAIL $name"
            failures=$((failures + 1))
        fi
    done
    [ $failures = 0 ] || return 1
    [ $skipped = 0 ] || return 77
}
