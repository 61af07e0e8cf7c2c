#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_events.sh COBRE HELPERS: what a training says as events, the tables that are made of them, and how it is steered.
cases=$(realpath "$(dirname "$0")/../../cases")
docs=$(realpath "$(dirname "$0")/../../docs")
. "$(dirname "$0")/../kit/lib.sh"
set -m # background jobs with default signals
cd "$scratch" || exit 1

# send FOLDER WORDS: a client of its own, that knows the page about events and nothing else.
send() {
    python3 - "$@" <<'END'
import os, socket, sys
folder, words = sys.argv[1:]
talk = socket.socket(socket.AF_UNIX)
talk.settimeout(300)
talk.connect(f"/proc/self/fd/{os.open(folder, os.O_PATH)}/steer.sock")
talk.sendall(words.encode() + b"\n")
print(talk.makefile().read(), end="")
END
}
answers() { # answers FOLDER WORDS TEXT: how the answer begins
    local answer
    answer=$(send "$1" "$2")
    [[ $answer == "$3"* ]] || fail "'$2' is answered by '$answer', not '$3'"
}
count_of() { grep -c "^{\"event\": \"$2\"" "$1/events.jsonl" 2>/dev/null; } # count_of FOLDER EVENT
has() { [ -e "$1/events.jsonl" ] && [ "$(count_of "$1" "$2")" -ge "$3" ]; }                            # has FOLDER EVENT COUNT
steered() { grep -q "\"event\": \"steered\".*\"command\": \"$2\"" "$1/events.jsonl"; }
last_iteration() { sed -n 's/^{"event": "iteration", "iteration": \([0-9]*\),.*/\1/p' "$1/events.jsonl" | tail -1; }

valid() { # valid FILE: each line is what the schema allows
    /usr/bin/python3 - "$docs/events.schema.json" "$1" <<'END' || fail "$1: not by the schema"
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
check = jsonschema.Draft202012Validator(schema)
for line in open(sys.argv[2]):
    check.validate(json.loads(line))
END
}

tables_follow() { # tables_follow FOLDER: they can be made again from the events, byte for byte
    python3 - "$1" <<'END' || fail "$1: the tables are not those of the events"
import json, sys
folder = sys.argv[1]
events = [json.loads(line) for line in open(f"{folder}/events.jsonl")]
iterations = [e for e in events if e["event"] == "iteration"]
start, end = [e for e in events if e["event"] == "started"][-1], events[-1]
def real(x):
    short = "nan" if x is None else "%.15g" % x
    return short if x is None or float(short) == x else "%.17g" % x
same = lambda name, text: open(f"{folder}/{name}").read() == text or sys.exit(f"{name} is not\n{text}")
keys = ["iteration", "bound", "mean", "deviation", "window_mean", "window_half", "window_passes", "cuts", "solves"]
rows = [",".join(real(e[k]) for k in keys) + ",%.6f" % e["seconds"] for e in iterations]
same("training.csv", "\n".join([",".join(keys) + ",seconds"] + rows) + "\n")
phases = ["forward", "backward", "bound", "communication", "waiting", "simulation", "other"]
rows = [f"{r},{p},{end['per_rank'][p][r]:.6f}" for r in range(start["ranks"]) for p in phases]
same("times.csv", "\n".join(["rank,phase,seconds"] + rows) + "\n")
def row(key, of):
    value = of[key]
    text = "yes" if value is True else "no" if value is False else value if isinstance(value, str) else "%.6f" % value if key == "seconds" else real(value)
    return f'{key},"{text}"' if "," in text else f"{key},{text}"
first = ["name", "case", "sense", "cost_unit", "nodes", "states", "ranks", "backend", "forward_passes"] + ["value_bound"] * ("value_bound" in start)
last = ["solver", "seed", "stop", "iterations", "bound", "proven", "averse", "window_mean", "window_half", "cuts", "solves", "lps_without_cut", "seconds"]
rows = [row("version", start), row("date", end)] + [row(k, start) for k in first] + [row(k, end) for k in last]
same("summary.csv", "\n".join(["key,value"] + rows) + "\n")
time = 0
for e in events: # one clock
    time = 0 if e["event"] == "started" else time
    assert e["seconds"] >= time, e
    time = e["seconds"]
END
}

# The same lines in both places, by the schema; the tables are made of them; what they say of ranks, stages and data adds up.
case_stream() {
    local ranks
    for ranks in 1 3; do
        cobre train "$cases/brazil3" -n $ranks --iterations 5 --forward-passes 4 --simulation 5,40 --stop all --json --out r --force
        code_is 0
        cmp out r/events.jsonl || fail "--json and events.jsonl differ"
        valid out
        tables_follow r
        json_holds out "docs[0]['event'] == 'started' and docs[0]['ranks'] == $ranks and docs[-1]['event'] == 'finished'"
        json_holds out "docs[0]['rules'] == {'iterations': '5', 'simulation': '5,40', 'stop': 'all'}"
        json_holds out "[d['iteration'] for d in docs[1:-1]] == list(range(1, len(docs) - 1)) and len(docs) > 5"
        python3 - out $ranks <<'END' || fail "sums: $(head -c 900 out)"
import json, sys
docs, ranks = [json.loads(line) for line in open(sys.argv[1])], int(sys.argv[2])
before = 0
for d in docs[1:-1]:
    assert all(len(x) == ranks and min(x) >= 0 for x in d["per_rank"].values()), d
    assert sum(d["per_rank"]["solves"]) == d["solves"] - before, d
    before = d["solves"]
    stages = d["per_stage"]
    assert sum(stages["made"]) == d["cuts"] and len(stages["made"]) == 3 and stages["made"][2] == 0, d
    assert all(a <= k <= m for m, k, a in zip(*stages.values())) and sum(stages["active"]) > 0, d
    assert all(s <= m and m > 1e6 for s, m in zip(d["per_rank"]["shared"], d["per_rank"]["memory"])), d
    # two steps have cuts of 4 trajectories, 3 + 4 numbers each; and what the ranks tell, 14 each
    assert d["operations"]["allgatherv"] == {**d["operations"]["allgatherv"], "calls": 3 if d["iteration"] > 1 else 2}, d
    # (the gather about an iteration is counted with the next one)
    assert d["operations"]["allgatherv"]["bytes"] == 2 * 4 * 7 * 8 + (ranks * 14 * 8 if d["iteration"] > 1 else 0), d
    assert d["operations"]["broadcast"]["calls"] == 1, d
shared = docs[-2]["per_rank"]["shared"]
assert all(s > 0 for s in shared) == (ranks > 1), shared
end = docs[-1]
names = ["forward", "backward", "bound", "communication", "waiting", "simulation", "other"]
for r in range(ranks): # every moment of a rank is counted once
    total = sum(end["per_rank"][n][r] for n in names)
    assert abs(total - end["seconds"]) < 0.02 + 0.02 * end["seconds"], (total, end["seconds"])
assert sum(end["per_rank"]["simulation"]) > 0 and sum(end["per_rank"]["solves"]) == end["solves"]
END
    done
}

case_risk_multi_cuts_and_cycles() {
    cobre train "$cases/brazil3" --iterations 3 --json --multi-cut --cvar 0.2,0.5 --seed 18446744073709551615 --out r
    code_is 0
    valid out
    tables_follow r
    json_holds out 'docs[0]["averse"] and docs[0]["seed"] == "18446744073709551615" and docs[1]["gap"] is None'
    json_holds out 'sum(docs[3]["per_stage"]["made"]) == docs[3]["cuts"] and docs[3]["per_stage"]["made"][0] > 3'
    cobre train "$cases/reservoir" --iterations 5 --json --out c
    code_is 0
    valid out
    json_holds out 'sum(docs[3]["per_stage"]["made"]) == docs[3]["cuts"]'
}

# Warnings of the case come after the start; an error ends the stream.
case_warnings_and_errors() {
    cp -r "$cases/start" odd
    sed -i 's/400,3000,1800/0.1,1,0.6/' odd/hydros.csv
    cobre train odd --iterations 2 --json
    code_is 0
    valid out
    json_holds out 'docs[0]["event"] == "started" and docs[1]["event"] == "warning" and "a storage of at most 1 hm3" in docs[1]["message"]'
    cmp out odd-out/events.jsonl || fail "--json and events.jsonl differ"
    cobre train "$cases/brazil3" --resume nothing --json
    code_is 1
    json_holds out '[d["event"] for d in docs] == ["error"]'
    valid out
}

# Every command: each takes effect after an iteration and is recorded. The bits are those of a training that nobody touched.
case_steer() {
    start train "$cases/brazil3" -n 2 --iterations 10000000 --out r --quiet --checkpoint-every 0
    wait_for has r iteration 3 || fail "no iteration"
    answers r pause "ok, it pauses after iteration "
    wait_for steered r pause || fail "it does not pause"
    answers r pause "no, it is paused already"
    local until
    until=$(($(last_iteration r) + 30))
    answers r checkpoint "ok, it saves now"
    wait_for has r checkpoint 1 || fail "no checkpoint"
    answers r "rule iterations $until" "ok, rule iterations $until now"
    answers r "rule gap on" "ok"
    answers r "rule gap off" "ok"
    answers r "rule stall 5,0" "no, stall 5,0: TOLERANCE must be above 0"
    answers r "rule iterations off" "no, one rule must remain"
    answers r "rule colour red" "no, there is no rule colour"
    answers r "rule" "no, write a rule and its value"
    answers r "rule simulation 1,99999999999" "no, simulation: 99999999999 passes are too many"
    answers r "stop all" "no, nothing may follow this command: all"
    answers r "sing" "no, write pause, resume, stop, checkpoint or rule NAME VALUE"
    answers r "$(printf 'x%.0s' {1..600})" "no, a command is one line"
    [ "$(last_iteration r)" = $((until - 30)) ] || fail "it went on while it was paused"
    answers r resume "ok, it goes on"
    finish
    code_is 0
    valid r/events.jsonl
    tables_follow r
    [ "$(last_iteration r)" = $until ] || fail "it ended after $(last_iteration r), not $until"
    json_holds r/events.jsonl '"pause checkpoint rule rule rule resume".split() == [d["command"] for d in docs if "command" in d]'
    json_holds r/run.json "docs[0]['training']['rules'] == {'iterations': '$until'}"
    [ ! -e r/steer.sock ] || fail "the socket is still there"
    cobre train "$cases/brazil3" --iterations $until --out same --quiet
    cmp r/policy.cobre same/policy.cobre || fail "steering has changed the policy"
}

case_steer_elsewhere() {
    local backend
    for backend in local tcp; do
        start train "$cases/brazil3" -n $([ $backend = local ] && echo 1 || echo 2) --backend $backend --iterations 10000000 \
            --out r --force --quiet
        wait_for has r iteration 3 || fail "no iteration"
        answers r pause "ok, it pauses after iteration "
        wait_for steered r pause || fail "$backend: it does not pause"
        answers r "rule iterations 1" "ok, rule iterations 1 now" # it holds already
        finish
        code_is 0
        json_holds r/events.jsonl 'docs[-1]["stop"] == "iteration limit" and docs[-1]["iterations"] == docs[-2]["iteration"]'
    done
}

# Also while the rule about simulations simulates: no rank goes on with that.
case_stop_while_it_simulates() {
    start train "$cases/brazil3" -n 2 --iterations 10000000 --simulation 1,2000000 --stop all --out r --quiet
    wait_for has r iteration 1 || fail "no iteration"
    answers r stop "ok, it stops and saves"
    finish
    code_is 0
    json_holds r/events.jsonl 'docs[-1]["iterations"] == 1 and docs[-2]["words"] == "stop"'
}

case_stop_by_steering() {
    start train "$cases/brazil3" -n 2 --iterations 10000000 --out r --quiet
    wait_for has r iteration 2 || fail "no iteration"
    answers r stop "ok, it stops and saves, after iteration "
    finish
    code_is 0
    json_holds r/events.jsonl 'docs[-1]["stop"] == "asked to stop" and docs[-2]["command"] == "stop"'
    # While it is paused, too; and a signal and the limit of time end a pause.
    start train "$cases/brazil3" --iterations 10000000 --out p --quiet
    wait_for has p iteration 2 || fail "no iteration"
    answers p pause ok
    wait_for steered p pause || fail "it does not pause"
    answers p stop "ok, it stops and saves, now"
    finish
    code_is 0
    start train "$cases/brazil3" -n 2 --iterations 10000000 --out s --quiet
    wait_for has s iteration 2 || fail "no iteration"
    answers s pause ok
    wait_for steered s pause || fail "it does not pause"
    kill -TERM "$launcher"
    finish
    code_is 0
    json_holds s/events.jsonl 'docs[-1]["stop"] == "asked to stop"'
    start train "$cases/brazil3" -n 2 --time 2 --out t --quiet
    wait_for has t iteration 2 || fail "no iteration"
    answers t pause ok
    finish
    code_is 0
    json_holds t/events.jsonl 'docs[-1]["stop"] == "time limit"'
    # ... but not if other rules must hold, too: then it goes on only when it is told.
    start train "$cases/brazil3" --time 1 --iterations 10000000 --stop all --out u --quiet
    wait_for has u iteration 2 || fail "no iteration"
    answers u pause ok
    wait_for steered u pause || fail "it does not pause"
    local made
    made=$(last_iteration u)
    sleep 1.2 # longer than --time
    answers u checkpoint "ok, it saves now"
    wait_for has u checkpoint 1 || fail "no checkpoint"
    [ "$(last_iteration u)" = "$made" ] || fail "it went on while it was paused"
    answers u stop "ok, it stops and saves, now"
    finish
    code_is 0
    json_holds u/events.jsonl '[d["words"] for d in docs if d["event"] == "steered"] == ["pause", "checkpoint", "stop"]'
    json_holds u/events.jsonl 'sum(docs[-1]["per_rank"][k][0] for k in ["forward", "backward", "waiting", "communication", "other"]) < docs[-1]["seconds"] - 1'
}

# Only its own user; a folder of any length; a socket that a killed training has left.
case_socket() {
    local long pid
    long=$(printf 'a-folder-with-a-long-name/%.0s' {1..8})
    start train "$cases/brazil3" --iterations 10000000 --out "$long" --quiet
    wait_for has "$long" iteration 2 || fail "no iteration"
    [ "$(stat -c %a:%F "$long/steer.sock")" = 600:socket ] || fail "$(stat -c %a:%F "$long/steer.sock")"
    if [ "$(id -u)" = 0 ]; then
        chmod 755 "$scratch"
        setpriv --reuid 65534 --regid 65534 --clear-groups /usr/bin/python3 -c "
import os, socket, sys
talk, folder = socket.socket(socket.AF_UNIX), os.open('$long', os.O_PATH)
try:
    talk.connect(f'/proc/self/fd/{folder}/steer.sock')
except PermissionError:
    sys.exit(7)"
        [ $? = 7 ] || fail "another user gets through"
        chmod 666 "$long/steer.sock" # and not by the mode alone
        setpriv --reuid 65534 --regid 65534 --clear-groups /usr/bin/python3 -c "
import os, socket, sys
talk, folder = socket.socket(socket.AF_UNIX), os.open('$long', os.O_PATH)
talk.connect(f'/proc/self/fd/{folder}/steer.sock')
try:
    talk.sendall(b'stop\n')
    sys.exit(0 if talk.recv(100) else 7)
except (BrokenPipeError, ConnectionResetError):
    sys.exit(7)"
        [ $? = 7 ] || fail "another user is answered"
    fi
    # Callers that say nothing, or half a line, hold up nobody.
    python3 - "$long" <<'END' || fail "silent callers are in the way"
import os, socket, sys, time
folder = os.open(sys.argv[1], os.O_PATH)
def dial():
    talk = socket.socket(socket.AF_UNIX)
    talk.settimeout(300)
    while True: # it looks 20 times a second, and not all fit into its queue
        try:
            talk.connect(f"/proc/self/fd/{folder}/steer.sock")
            return talk
        except BlockingIOError:
            time.sleep(0.01)
talk = dial()
talk.sendall(b"pause\0\n")
assert talk.recv(100).startswith(b"no"), "a NUL"
silent = []
for i in range(100):
    silent.append(dial())
    silent[-1].sendall(b"pau" if i % 2 else b"\n"[:0])
talk = dial()
talk.sendall(b"checkpoint\n")
assert talk.recv(100).startswith(b"ok"), "no answer"
END
    kill -9 "$launcher" # it is the rank itself: there is one
    finish
    exists "$long/steer.sock" || fail "no socket is left: nothing is tested"
    cobre train "$cases/brazil3" --iterations 3 --out "$long" --force
    code_is 0
    gone "$long/steer.sock" || fail "the socket is still there"
}

# Killed in the middle and resumed: each iteration once, in the same folder and in another one; the last line may be cut off.
case_killed_and_resumed() {
    start train "$cases/brazil3" --iterations 10000000 --out r --quiet --checkpoint-every 5
    wait_for has r iteration 12 || fail "no iteration"
    kill -9 "$launcher"
    finish
    printf '{"event": "iteration", "iteration": 99999, "bo' >>r/events.jsonl
    local last=$(($("$cobre" policy r/policy.cobre --json | sed -n 's/.*"iterations": \([0-9]*\).*/\1/p' | head -1) + 4))
    cobre train "$cases/brazil3" --iterations $last --out other --resume r/policy.cobre
    code_is 0
    cobre train "$cases/brazil3" --iterations $last --out r --resume r/policy.cobre
    code_is 0
    local folder
    for folder in r other; do
        valid $folder/events.jsonl
        tables_follow $folder
        json_holds $folder/events.jsonl "[d['iteration'] for d in docs if d['event'] == 'iteration'] == list(range(1, $last + 1))"
        json_holds $folder/events.jsonl "[d['iterations'] for d in docs if d['event'] == 'started'] == [0, $last - 4]"
    done
}

# What the writer and the socket cost, by their own clock: at most 0.5 % of brazil60. On a busy machine the best of some tries counts.
case_cost() {
    local try
    for try in 1 2 3 4; do
        cobre train "$cases/brazil60" --iterations 20 --quiet --out r --force
        code_is 0
        python3 -c 'import json; d = json.loads(open("r/events.jsonl").readlines()[-1])
exit(sum(d["overhead"].values()) >= 0.005 * d["seconds"])' && return
    done
    fail "$(tail -1 r/events.jsonl)"
}

# Who reads --json may go: it stops and saves, and that is no error.
case_reader_goes() {
    "$cobre" train "$cases/brazil3" --iterations 10000000 --json --out r 2>err | head -3 >/dev/null
    local codes=("${PIPESTATUS[@]}")
    [ "${codes[0]}" = 0 ] || fail "exit code ${codes[0]}: $(cat err)"
    [ ! -s err ] || fail "$(cat err)"
    json_holds r/events.jsonl 'docs[-1]["stop"] == "asked to stop"'
}

# Rules that were changed are in the command to go on with.
case_go_on() {
    start train "$cases/brazil3" --time 100000 --gap --window 1000000 --seed 3 --out r
    wait_for has r iteration 2 || fail "no iteration"
    answers r "rule stop all" ok # first: then none of the others can end it
    answers r "rule stall 7,1e-9" ok
    answers r "rule gap off" ok
    answers r stop ok
    finish
    code_is 0
    out_has "go on     cobre train $cases/brazil3 --seed 3 --time 100000 --stall 7,1e-09 --window 1000000 --stop all --resume r/policy.cobre"
}

run_cases "${@:3}"
