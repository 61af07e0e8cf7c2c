#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_watch.sh COBRE HELPERS: cobre watch, on a terminal of tmux. Keys are sent, and the screen is looked at until it shows what
# it must.
cases=$(realpath "$(dirname "$0")/../../cases")
kit=$(realpath "$(dirname "$0")/../kit")
. "$kit/lib.sh"
unset NO_COLOR TMUX
export LC_ALL=C.UTF-8
python=$(type -P /usr/bin/python3 || type -P python3) # whatever wrapper comes first in the PATH

# Each terminal has a server of its own: one that is ending would take the next terminal with it.
terminals=0
export TMUX_TMPDIR=$scratch.tmux # where it leaves its sockets
mkdir "$TMUX_TMPDIR"
tmux() { env "$mark" "$(type -P tmux)" -L "cobre-$$-$terminals" -f /dev/null "$@"; }
close_terminal() { [ $terminals = 0 ] || tmux kill-server 2>/dev/null; }
open_terminal() { # WIDTH HEIGHT: of `sh command`
    close_terminal
    terminals=$((terminals + 1))
    tmux new-session -d -x "$1" -y "$2" "sh $PWD/command 2>&1"
}
clean_up_all() {
    close_terminal
    clean_up
}
trap clean_up_all EXIT

events() { $python "$kit/events.py" "$@"; }

run() { # run [NAME=VALUE...]: a run folder with these events
    mkdir -p run
    events "$@" >run/events.jsonl
}

# on_terminal WIDTH HEIGHT WORDS: `cobre watch WORDS`, in words of a shell; its exit code is shown behind it. $before goes before it.
before=
on_terminal() {
    printf '%s %q watch %s\necho "the code is $?"\nexec sleep 600\n' "$before" "$cobre" "$3" >command
    open_terminal "$1" "$2"
}
watch() { on_terminal 80 24 "$*"; }

keys() { tmux send-keys "$@"; }
screen() { tmux capture-pane -p "$@" >"$scratch/screen" 2>/dev/null; }
has() { # TEXT...: all of them, at once
    local seen text
    seen=$(tmux capture-pane -p 2>/dev/null)
    for text; do
        [[ $seen == *"$text"* ]] || { missing=$text && return 1; }
    done
}
lacks_text() { ! has "$1"; }
shows() { # TEXT...: the screen does, sooner or later
    wait_for has "$@" || fail "no '$missing' on the screen: $(tmux capture-pane -p)"
}
hides() { wait_for lacks_text "$1" || fail "'$1' on the screen: $(tmux capture-pane -p)"; }
is_ascii() { screen && ! LC_ALL=C grep -q '[^ -~]' "$scratch/screen"; }

# Another process locks the folder, as a training does. $holder
lock() {
    rm -f locked
    env "$mark" $python -c 'import fcntl, os, time
fd = os.open("run", os.O_RDONLY)
fcntl.flock(fd, fcntl.LOCK_EX)
open("locked", "w").close()
time.sleep(600)' &
    holder=$!
    disown
    wait_for exists locked || fail "no lock"
}
unlock() { kill -9 "$holder"; }

prepare() { # false: the case is skipped
    patience=60
    cd "$scratch" || exit 1
    type -P tmux >/dev/null || { skip "tmux is not installed" && return 1; }
    "$cobre" watch run 2>&1 </dev/null | grep -q "has no dashboard" && { skip "built without ncurses" && return 1; }
    return 0
}

case_views() {
    prepare || return
    run started=0 last=8 end=stop
    watch run
    shows "[1 convergence]" "here  2 ranks (shm)  run" "iteration 8  0:00:00" "lower bound 937.5" "95 %, 16 passes" "cost in kR\$, linear" \
        "bound" "mean" "finished: iteration limit" "replay 8/8" "converged: " "gap 15.73 %"
    keys 2
    shows "[2 iteration]" "iteration 8 took 100 ms: 6000 LPs per second" "backward           52.5 ms      55 ms     55.6 %"
    keys 3
    shows "[3 cuts]" "3 stages: 32 cuts made, 16 kept, 8 active" "    1        16         8         4    50.0 %"
    keys 4
    shows "[4 resources]" "2 ranks: 170 MB of memory, 130 MB own and 40.0 MB shared; 1.60 CPUs busy" "80 %"
    keys 5
    shows "[5 communication]" "allgatherv            3    4.10 kB       4 ms    4.00 %" "     1           5.5 ms      11 ms   11.00 %"
    keys Tab
    shows "[1 convergence]"
    keys BTab
    shows "[5 communication]"
    keys q
    shows "the code is 0"
    close_terminal
}

case_plot() {
    prepare || return
    run started=0 last=64 end=stop
    watch run
    shows "over the iterations" " 20 "
    keys l x
    shows "logarithmic" "over the time" "0:00:02"
    keys l x + +
    shows "zoom 4x" "linear" " 50 "
    keys Home
    shows "replay 1/64" "iteration 1 " "lower bound 500"
    keys Right Right 2
    shows "replay 3/64" "iteration 3 took"
    keys End
    shows "replay 64/64" "iteration 64 took"
    keys + # only the plot has it
    shows "press 1"
    keys 1 0
    hides "zoom 4x"
    close_terminal
}

case_many_stages_and_ranks() {
    prepare || return
    run started=0 last=2 ranks=100 stages=60 end=stop
    watch run
    keys 3
    shows "60 stages" "   16       200"
    screen
    lacks "^   17 " screen
    keys Down
    shows "   17       200"
    keys NPage NPage NPage NPage
    shows "   60         0"
    keys 4 NPage
    shows "    29      390 MB"
    keys 5 Down
    shows "allgatherv"
    close_terminal
}

case_follows() {
    prepare || return
    run started=0 last=5
    lock
    watch run
    shows "running" "iteration 5 "
    hides replay
    events first=6 last=9 >>run/events.jsonl
    shows "iteration 9 " " to 100 iterations"
    keys Left
    shows "replay 8/9"
    events first=10 last=10 >>run/events.jsonl
    shows "replay 8/10"
    keys End
    hides replay
    printf '{"event": "steered", "seconds": 1, "iteration": 10, "command": "pause", "rules": {"iterations": "50"}}\n' >>run/events.jsonl
    shows "paused"
    printf '{"event": "steered", "seconds": 1, "iteration": 10, "command": "resume", "rules": {"iterations": "50"}}\n' >>run/events.jsonl
    shows "running" " to 50 iterations"
    printf '{"event": "checkpoint", "seconds": 1, "iteration": 10, "policy": "p", "took": 0.1}\n' >>run/events.jsonl
    shows "the policy of iteration 10 is saved"
    events last=0 end=error >>run/events.jsonl
    shows "failed: stage 2 has no solution" "look at its limits"
    unlock
    close_terminal
}

# The silence counts from when the file was written.
case_lags() {
    prepare || return
    run started=0 last=5
    touch -d '-20 seconds' run/events.jsonl
    lock
    watch run
    shows "lagging: no event for 2"
    events first=6 last=6 >>run/events.jsonl
    shows "running"
    unlock
    close_terminal
}

case_killed() {
    prepare || return
    run started=0 last=5
    lock
    watch run
    shows running
    unlock
    shows "died" "--resume"
    keys p
    shows "it has died: there is nothing to pause"
    close_terminal
}

case_waits_for_the_first_event() {
    prepare || return
    mkdir run
    lock
    watch run
    shows "starting: no event yet" "There is no iteration yet."
    keys p
    shows "it has not started yet"
    keys 2 3 4 5
    shows "[5 communication]" "There is no iteration yet."
    run started=0
    shows running "here  2 ranks"
    events last=1 >>run/events.jsonl
    shows "iteration 1 "
    unlock
    close_terminal
}

# Another training in the same folder: a new file, an emptied one, one that goes on.
case_new_training() {
    prepare || return
    run started=0 last=5
    lock
    watch run
    shows "iteration 5 "
    events started=0 last=3 name=second >new && mv new run/events.jsonl
    shows "second" "iteration 3 "
    events started=0 last=2 name=third >run/events.jsonl
    shows "third" "iteration 2 "
    events first=3 last=30 >>run/events.jsonl
    shows "iteration 30 "
    events started=20 first=21 last=22 name=fourth >>run/events.jsonl
    shows "fourth" "iteration 22 "
    keys 2
    shows "       21"
    keys NPage
    shows "       20"
    screen
    lacks "^       2[3-9]" screen
    unlock
    close_terminal
}

case_broken_events() {
    prepare || return
    run started=0 last=3 "name=$(printf 'a\033[31mb\tc')"
    events first=11 last=11 >last
    {
        printf 'garbage\n\n{"event": 3}\n[1, 2]\n\377\376\n{"event": "comet", "seconds": 1}\n'
        printf '{"event": "iteration", "seconds": 0.9, "iteration": 9, "bound": null, "window_mean": null, "ranks": {"forward": [1, "x", null], "cpu": [1]}, '
        printf '"stages": {"made": [5], "kept": []}, "operations": {"odd": null, "%s": {"seconds": 1e300}}}\n' "$(printf 'x%.0s' {1..300})"
        printf '{"event": "iteration", "seconds": "x", "iteration": -1}\n{"event": "iteration"}\n'
        head -c 200 last
    } >>run/events.jsonl
    lock
    watch run
    shows 'a?[31mb?c' "iteration 9 " "lower bound -" "6 lines unreadable" "no gap"
    keys 2
    shows "5 missing" "forward                1 s"
    keys 3
    shows "1 stage: 5 cuts made, - kept, - active"
    keys 4
    shows "3 ranks"
    keys 5
    shows "odd" "xxxxxxxxxxxxxx "
    tail -c +201 last >>run/events.jsonl
    shows "iteration 11 "
    unlock
    close_terminal
}

case_empty_file() {
    prepare || return
    mkdir run && : >run/events.jsonl
    watch run
    shows "There is no iteration yet." died
    keys l x + e 2 e 3 e 4 e 5 e Left Right Home End Up Down i Enter q
    shows "the code is 0"
    close_terminal
}

case_sizes() {
    prepare || return
    run started=0 last=5 end=stop
    watch run
    shows finished
    tmux resize-window -x 60 -y 20
    shows "too small: 80 x 24 is needed, this is 60 x 20"
    tmux resize-window -x 80 -y 24
    shows "? help  q quit"
    tmux resize-window -x 132 -y 43
    wait_for has "iteration 5  0:00:00" || fail "$(cat screen)"
    wait_for is_wide || fail "not 43 lines: $(cat screen)"
    for key in 2 3 4 5 '?'; do
        keys $key
        wait_for is_wide || fail "not 43 lines: $(cat screen)"
    done
    close_terminal
}
is_wide() { screen && [ "$(wc -l <screen)" = 43 ] && sed -n 43p screen | grep -qE 'q quit|back'; }

case_ascii() {
    prepare || return
    run started=0 last=20 "name=caf$(printf '\303\251')" end=stop
    watch run
    shows "café" "±"
    watch run --ascii
    shows "* bound  o mean" "+-" "caf?" "oooo"
    local key
    for key in l 2 3 4 5 '?'; do
        wait_for is_ascii || fail "$(cat screen)"
        keys "$key"
    done
    before="LC_ALL=C"
    watch run
    before=
    shows "* bound  o mean"
    keys 2
    shows "####"
    wait_for is_ascii || fail "$(cat screen)"
    close_terminal
}

# All is there without colours, too.
case_colours() {
    prepare || return
    run started=0 last=20 end=stop
    local how
    for how in TERM=screen-256color TERM=screen NO_COLOR=1 TERM=vt100; do
        before=$how
        watch run
        before=
        shows finished "[1 convergence]" "mean" "bound"
        screen -e
        case $how in
        TERM=screen-256color) grep -q $'\033\\[[0-9;]*38;5;75m' screen || fail "$how: no colours: $(cat -v screen)" ;;
        TERM=screen) grep -q $'\033\\[[0-9;]*36m' screen || fail "$how: no colours: $(cat -v screen)" ;;
        *) lacks -P '\x1b\[[0-9;]*[34][0-8]' screen ;;
        esac
    done
    close_terminal
}

case_finished() {
    prepare || return
    run started=0 last=5 end=stop
    watch run
    shows "finished: iteration limit"
    keys p
    shows "it has finished: there is nothing to pause"
    keys s
    shows "it has finished: there is nothing to stop"
    keys r
    shows "it has finished: there is nothing to change"
    keys i
    shows "stage:" "from 1 to 3"
    keys 1 Enter
    shows "no policy was saved"
    keys '?'
    shows "Keys" "change a stopping rule"
    keys x
    hides "Keys"
    keys C-c
    shows "the code is 0"
    close_terminal
}

# A training that answers: `ok, WORDS`, or `no` to a rule. Each command is a line of the file `heard`.
answer() {
    env "$mark" $python -c 'import os, socket, time
listener = socket.socket(socket.AF_UNIX)
listener.bind("run/steer.sock")
listener.listen()
while True:
    client = listener.accept()[0]
    words = client.recv(512).decode().rstrip("\n")
    while words == "pause" and not os.path.exists("go"):
        time.sleep(0.01)
    if words != "die":
        client.send((("no, " if words.startswith("rule") else "ok, ") + words + "\n").encode())
    client.close()
    with open("heard", "a") as heard:
        heard.write(words + "\n")' 8>&- &
    disown
    wait_for exists run/steer.sock || fail "no socket"
}

case_steering() {
    prepare || return
    run started=0 last=5
    lock
    answer
    watch run
    shows running
    keys p
    shows "pause: sent, waiting for the training to answer"
    keys 2 # the screen does not wait
    shows "[2 iteration]" "waiting for the training to answer"
    : >go
    shows "the training says: ok, pause"
    printf '{"event": "steered", "seconds": 1, "iteration": 5, "command": "pause"}\n' >>run/events.jsonl
    shows paused
    keys p
    shows "ok, resume"
    keys s
    shows "stop the training" "(y/n)"
    keys n c
    shows "ok, checkpoint"
    keys r
    shows "rule:" "now: iterations 100"
    keys -l "iterations 200x"
    keys BSpace
    shows "rule: iterations 200"
    lacks_text 200x || fail "not deleted"
    keys Enter
    shows "no, rule iterations 200"
    keys r
    keys -l "time 1"
    keys Escape
    shows cancelled
    keys s y
    shows "ok, stop"
    [ "$(paste -sd, heard)" = "pause,resume,checkpoint,rule iterations 200,stop" ] || fail "$(cat heard)"
    close_terminal
    kill -9 $(marked) 2>/dev/null
}

case_send() {
    cd "$scratch" || exit 1
    mkdir run
    cobre watch nowhere --send pause
    code_is 1
    err_has "cobre watch: nowhere: no training can be reached there"
    cobre watch run --send pause
    code_is 1
    err_has "cobre watch: run: no training can be reached there: it has ended, or runs on another host"
    cobre watch run --send "$(printf 'a\nb')"
    code_is 1
    err_has "a command is one line"
    cobre watch run --send ''
    code_is 2
    err_has "a command is missing"
    cobre watch - --send pause
    code_is 2
    : >go
    answer
    cobre watch run --send pause
    code_is 0
    out_is "ok, pause"
    cobre watch run --send 'rule time 2h'
    code_is 1
    out_is "no, rule time 2h"
    cobre watch run --send die
    code_is 1
    err_has "the training has ended without an answer"
    kill -9 $(marked) 2>/dev/null
}

case_errors() {
    cd "$scratch" || exit 1
    "$cobre" watch run 2>&1 | grep -q "has no dashboard" && { skip "built without ncurses" && return; }
    cobre watch nowhere
    code_is 1
    err_has "cobre watch: nowhere: No such file or directory; give the folder"
    mkdir run
    cobre watch run
    code_is 1
    err_has "cobre watch: run has no events.jsonl"
    err_has '`cobre report`'
    run started=0
    cobre watch run/events.jsonl
    code_is 1
    err_has "run/events.jsonl is a file; give the folder that it is in"
    cobre watch run
    code_is 1
    err_has "standard output is no terminal"
    err_has "--send"
    prepare || return
    local term
    for term in TERM=foo TERM=dumb TERM=; do
        before=$term
        watch run
        before=
        shows "cobre watch: ${term%=}" "the code is 1"
    done
    watch -
    shows "standard input is a terminal" "the code is 1"
    close_terminal
}

# However it ends, the shell has its screen and its echo back.
case_the_terminal_is_restored() {
    prepare || return
    run started=0 last=5 end=stop
    local how
    for how in q C-c TERM INT HUP QUIT; do
        printf '%q watch run\necho "the code is $?"\nPS1="back> " exec sh -i\n' "$cobre" >command
        open_terminal 80 24
        shows finished
        [ "$(tmux display -p '#{alternate_on} #{cursor_flag}')" = "1 0" ] || fail "no screen of its own"
        case $how in
        q | C-c) keys $how ;;
        *) kill -"$how" $(watcher) ;;
        esac
        shows "the code is" "back>"
        keys -l 'echo it$((40 + 2))'
        shows 'echo it$((40'
        keys Enter
        shows it42
        [ "$(tmux display -p '#{alternate_on} #{cursor_flag}')" = "0 1" ] || fail "$how: the screen is not restored"
        close_terminal
        wait_for all_gone || fail "$how: left over"
    done
}
watcher() { # the process of `cobre watch`
    local pid
    for pid in $(marked); do
        [ "$(readlink "/proc/$pid/exe")" != "$cobre" ] || echo "$pid"
    done
}

case_pipe() {
    prepare || return
    mkdir run
    mkfifo pipe
    before="cat pipe |"
    watch -
    exec 8>pipe
    events started=0 last=5 >&8
    shows "standard input" running "iteration 5 "
    keys 3 Left Left
    shows "3 stages: 12 cuts made" "replay 3/5"
    keys End p
    shows "run: no training can be reached there"
    answer
    : >go
    keys p
    shows "ok, pause"
    keys q
    shows "the training stops and saves. Quit? (y/n)"
    keys y
    exec 8>&-
    shows "the code is 0"
    watch -
    events started=0 last=4 >pipe
    shows "died" "iteration 4 "
    keys q # nothing is asked
    shows "the code is 0"
    before=
    close_terminal
    kill -9 $(marked) 2>/dev/null
}

case_export() {
    prepare || return
    run started=0 last=8 ranks=3 end=stop
    : >watch-convergence-1.csv
    watch run
    shows finished
    keys e
    shows "exported to watch-convergence-2.txt and watch-convergence-2.csv"
    keys 2 e 3 e 4 e 5 e e
    shows watch-communication-2.csv
    [ ! -s watch-convergence-1.csv ] || fail "overwritten"
    grep -q "lower bound 937.5" watch-convergence-2.txt || fail "$(cat watch-convergence-2.txt)"
    [ "$(sed -n 9p watch-convergence-2.csv | cut -d, -f1,3)" = 8,937.5 ] || fail "$(cat watch-convergence-2.csv)"
    [ "$(wc -l <watch-iteration-1.csv)" = 9 ] || fail "$(cat watch-iteration-1.csv)"
    [ "$(sed -n 2p watch-cuts-1.csv)" = 1,24,12,6 ] || fail "$(cat watch-cuts-1.csv)"
    [ "$(sed -n 4p watch-resources-1.csv | cut -d, -f1-3)" = 2,120000000,40000000 ] || fail "$(cat watch-resources-1.csv)"
    grep -qx "operation,allgatherv,3,4096,0.004" watch-communication-1.csv || fail "$(cat watch-communication-1.csv)"
    grep -q "^waiting,2,,,0.012" watch-communication-1.csv || fail "$(cat watch-communication-1.csv)"
    close_terminal
}

case_cuts_of_a_stage() {
    prepare || return
    cobre train "$cases/toy" --iterations 3 --out run --quiet
    code_is 0
    run started=0 last=3 end=stop
    watch run
    shows finished
    keys i
    keys -l x
    keys Enter
    shows "x: not the number of a stage"
    keys i 9 9 Enter
    shows "there is no stage 99: they go from 1 to "
    keys i 1 Enter
    shows "stage 1: " "cuts, in the policy of iteration 3" "slopes, the largest first" "        3 1"
    keys e
    shows "watch-stage-1.csv"
    head -1 watch-stage-1.csv | grep -q '^node,iteration,intercept,' || fail "$(cat watch-stage-1.csv)"
    keys Escape
    shows "cost in kR\$"
    close_terminal
}

# cobre train --watch: the dashboard at once; to quit leaves the training running; its end, and a refusal, are told behind it.
case_train_watch() {
    prepare || return
    printf '%q train %q -n 2 --iterations 10000000 --out r --watch\necho "the code is $?"\nexec sleep 600\n' "$cobre" "$cases/brazil3" >command
    open_terminal 80 24
    shows running "2 ranks (shm)"
    keys q
    shows "the training goes on, as process" "cobre watch r" "the code is 0"
    cobre watch r --send stop
    code_is 0
    out_has "ok, it stops and saves, after iteration"
    wait_for grep -q '"event": "finished"' r/events.jsonl || fail "it did not stop"
    printf '%q train %q --iterations 12 --out r --watch\necho "the code is $?"\nexec sleep 600\n' "$cobre" "$cases/brazil3" >command
    open_terminal 80 24
    shows "holds a finished run" "the code is 1"
    sed -i 's/--watch/--watch --force/' command
    open_terminal 80 24
    shows "finished: iteration limit" "iteration 12"
    keys q
    shows "stopped: iteration limit, after 12 iterations" "next      cobre simulate" "the code is 0"
    close_terminal
    cobre train "$cases/brazil3" --watch </dev/null
    code_is 2
    err_has "there is no terminal here"
}

run_cases "${@:3}"
