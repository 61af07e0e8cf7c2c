#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_help.sh COBRE HELPERS: what all commands have alike: help, man pages, mistakes on the command line.
. "$(dirname "$0")/../kit/lib.sh"
man=$(dirname "$script")/../../man

commands() { "$cobre" --help | sed -nE '/^  cobre /d; s/^  ([a-z]+) .*/\1/p'; }

in_this_build() { ! "$cobre" "$1" --help 2>&1 | grep -q "has no trainer"; }

case_pages_describe_the_options() {
    [ "$(commands | sort)" = "$(ls "$man" | sed -nE 's/^cobre-(.*)\.1$/\1/p' | sort)" ] || fail "commands and pages differ"
    for command in $(commands); do
        in_this_build "$command" || continue
        cobre "$command" --help
        grep -oE '^  (-h, )?--?[a-z-]+' "$scratch/out" | tr -d ' ' | tr , '\n' | sort >"$scratch/help"
        grep '^\.It Fl' "$man/cobre-$command.1" | grep -oE 'Fl -?[a-z-]+' | sed 's/Fl /-/' | sort >"$scratch/page"
        [ -s "$scratch/help" ] || fail "$command: no options"
        diff "$scratch/help" "$scratch/page" >"$scratch/diff" || fail "$command: help < and page > differ: $(cat "$scratch/diff")"
    done
}

case_help() {
    for command in $(commands); do
        in_this_build "$command" || continue
        cobre "$command" -h
        code_is 0
        [ "$(sed -n 1p "$scratch/out" | cut -d' ' -f1-3)" = "usage: cobre $command" ] || fail "$command: $(cat "$scratch/out")"
        lacks -E '.{81}' "$scratch/out"
        mv "$scratch/out" "$scratch/short"
        cobre help "$command"
        cmp "$scratch/out" "$scratch/short" || fail "help $command is different"
    done
}

refused() { # refused COMMAND TEXT ARGUMENTS...
    local command=$1 text=$2
    shift 2
    in_this_build "$command" || return 0
    cobre "$command" "$@"
    code_is 2
    err_has "cobre $command: $text"
    err_has "'cobre $command --help'"
}

case_mistakes() {
    for command in $(commands); do
        refused "$command" "there is no option --frobnicate" --frobnicate
        refused "$command" "there is no option -q" -q
        refused "$command" "--help=me takes no value" --help=me
    done
    for command in info bench; do # not the word before it
        refused $command "there is no option -q" --json -qx
    done
    cobre bench --seconds "$(printf '%01000d' 0)" # a long text leaves room for what is wrong with it
    code_is 2
    err_has "0: must be above 0"
    for command in info clean bench; do
        refused $command "unexpected argument 'now'" now
    done
    for command in train decide simulate validate; do
        refused $command "no case given"
        refused $command "unexpected argument 'b'" a b
    done
    refused report "no folder given"
    refused watch "no folder given"
    refused watch "unexpected argument 'b'" a b
    refused report "unexpected argument 'g'" a b c d e f g
    refused policy "no policy file given"
    refused policy "unexpected argument 'b'" a b
    refused policy "--export xml: must be csv or json" a --export xml
    refused run "no program given" -n 2
    refused run "the program's name is empty" ''
    for command in run train simulate bench; do
        refused $command "-n needs a value" -n
        refused $command "--backend needs a value" --backend
        refused $command "-n 0: must be from 1 to 4096" -n 0
        refused $command "-n x: not a whole number" -n x
        refused $command "-n: not a whole number" -n ''
        refused $command "there is no -np here: write -n N" -np 4
    done
    refused bench "--buffers lukewarm: must be warm, cold or both" --buffers lukewarm
    refused bench "--seconds 2h: must be above 0 and at most 3600" --seconds 2h
    for command in train simulate; do
        refused $command "--out: the name of a directory is missing" a --out=
    done
}

run_cases "${@:3}"
