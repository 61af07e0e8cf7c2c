#!/bin/sh
# determinism.sh COBRE DRIVER CASE [OPTION...]: the same bits (trace, policy file, simulation) from one process run
# twice (D1, D2), 2, 3 and 4 ranks on shm (D3 to D5), 2 and 4 on tcp (D6, D7). Backends that are not built are left out.
cobre=$1 driver=$2
shift 2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
"$driver" "$@" save="$dir/policy.1" simulate=30 >"$dir/out.1" || exit
code=0
check() { # check NAME COMMAND...
    name=$1
    shift
    "$@" save="$dir/policy.2" simulate=30 >"$dir/out.2" || { echo "$name: failed"; code=1; return; }
    if cmp "$dir/policy.1" "$dir/policy.2" && cmp "$dir/out.1" "$dir/out.2"; then
        echo "$name: same bits"
    else
        echo "$name: DIFFERENT"
        diff "$dir/out.1" "$dir/out.2" | head -4
        code=1
    fi
}
check "local again" "$driver" "$@"
for job in "shm 2" "shm 3" "shm 4" "tcp 2" "tcp 4"; do
    backend=${job% *} ranks=${job#* }
    "$cobre" info 2>/dev/null | grep -q "$backend" || continue
    check "$job" "$cobre" run -n "$ranks" --backend "$backend" -- "$driver" "$@"
done
exit $code
