#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh CALLER: runs caller.c of the local-only build, then reads its machine code: a barrier, and a broadcast from
# root 0, must leave no instruction behind, and their status must be the constant 0.
set -euo pipefail

caller=$1
"$caller"

case $(uname -m) in
x86_64) zero='xor %eax,%eax' ret=ret ;;
aarch64) zero='mov w0, #0x0' ret=ret ;;
*) echo "no idea what nothing looks like on $(uname -m)"; exit 77 ;;
esac

# Instructions of one function, without landing pads and padding, on one line.
instructions() {
    objdump --disassemble="$1" --no-show-raw-insn "$caller" |
        sed -nE '/^ +[0-9a-f]+:/{s/^[^:]*:\s*//; s/\s*(#|\/\/).*//; s/\s+/ /g; s/ $//; p}' |
        grep -vE '^(endbr64|bti|data16|cs |nop|xchg %ax,%ax)' | paste -sd';'
}

expect() {
    local found
    found=$(instructions "$1")
    if [ "$found" != "$2" ]; then
        printf 'FAIL: %s is "%s", not "%s"\n' "$1" "$found" "$2" >&2
        status=1
    fi
}

status=0
expect call_barrier "$ret"
expect call_broadcast "$ret"
expect call_barrier_status "$zero;$ret"
expect call_broadcast_status "$zero;$ret"
exit $status
