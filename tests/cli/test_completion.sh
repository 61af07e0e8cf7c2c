#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_completion.sh COBRE HELPERS: what shells offer while a command line is written.
. "$(dirname "$0")/../kit/lib.sh"
completion=$(dirname "$script")/../../completion

offers() { # offers EXPECTED WORD...: what bash offers for the last word, sorted, on one line
    local expected=$1 found
    shift
    found=$(bash --norc -c '. "$1/cobre.bash"; COMP_WORDS=("${@:2}"); COMP_CWORD=$(($# - 2)); _cobre "$2"
        printf "%s\n" "${COMPREPLY[@]}"' - "$completion" "$cobre" "$@" | sort | paste -sd' ')
    [ "$found" = "$expected" ] || fail "after '$*': '$found', not '$expected'"
}

case_words() {
    offers "info init" in
    offers "info init" help in
    offers "--json" info --j
    offers "" info ""
    offers "shm tcp" run --backend ""
    offers "tcp" run -n 2 --backend = t
    offers "" run -n 2 ./program --b # it is the program's
    offers "--backend" run -n 2 --b
    offers "" nonsense --
}

case_words_of_the_planner() {
    "$cobre" train --help 2>&1 | grep -q "has no trainer" && return
    offers "--seed --simulation --solver --stall --stop" train case --s
    offers "in-sample" simulate --sampling in
    offers "given in-sample out-of-sample" simulate --sampling =
    offers "--sampling=given" simulate --sampling=g # zsh makes one word of it
    "$cobre" info --json >"$scratch/info"
    offers "$(python3 -c 'import json, sys; print(*(s["name"] for s in json.load(sys.stdin)["solvers"]))' <"$scratch/info")" \
        train --solver ""
}

# The same options as the help has, of every command.
case_all_options() {
    for command in $("$cobre" completion "" | grep -oE '^[a-z]+'); do
        [ "$command" != help ] && "$cobre" "$command" --help >"$scratch/help" 2>/dev/null || continue
        diff <(grep -oE '^  (-h, )?--?[a-z-]+' "$scratch/help" | sed 's/-h, //; s/ //g' | sort) \
            <("$cobre" completion "$command" - | cut -f1 | sort) >"$scratch/diff" || fail "$command: $(cat "$scratch/diff")"
    done
}

# In a terminal: the keys of "cobre inf TAB --j TAB RETURN" run `cobre info --json`.
types() { # types SHELL...: a shell that completes
    PATH=$(dirname "$cobre"):$PATH python3 - "$@" <<'END' || fail "$*: what it shows is above"
import os, pty, select, sys, time

def read_until(text, patience=300):
    seen, end = b"", time.monotonic() + patience
    while text not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
        try:
            piece = os.read(terminal, 65536) if ready else b""
        except OSError:
            piece = b""
        if not piece:
            sys.exit(f"no {text!r} in {seen!r}")
        seen += piece

shell, terminal = pty.fork()
if shell == 0:
    os.environ.update(TERM="dumb", PS1="ready> ", COMPLETION=sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])
read_until(b"ready> ")
os.write(terminal, os.environ["SETUP"].encode() + b"\n")
read_until(b"set-up is done")
os.write(terminal, b"cobre inf\t--j\t\n")
read_until(b'"reservable_bytes"')
os.write(terminal, b"exit\n")
os.close(terminal)
os.waitpid(shell, 0)
END
}

case_bash() {
    SETUP='. $COMPLETION/cobre.bash; echo set-up is "done"' types "$completion" bash --norc --noprofile -i
}

case_zsh() {
    command -v zsh >/dev/null || { skip "no zsh" && return; }
    SETUP='PS1="ready> "; fpath=($COMPLETION $fpath); autoload -Uz compinit; compinit -u -D; echo set-up is "done"' \
        types "$completion" zsh -f -i
}

run_cases "${@:3}"
