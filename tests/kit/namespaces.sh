# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# namespaces.sh: for scripts whose cases each run in namespaces of their own. When the first process of a case ends, however that
# happens, the kernel takes everything down: no process, no namespace, no file is left.
#
# Exit code 77: this machine, this kernel or this user cannot do that.

cannot() {
    echo "skipped: $*"
    exit 77
}

try() { # try WHAT COMMAND...
    local why
    why=$("${@:2}" 2>&1) || cannot "no $1 here: ${*:2} says: $why"
}

need() { # need TOOL...
    local tool
    for tool; do
        command -v "$tool" >/dev/null || cannot "no $tool here (packages.txt says what is needed)"
    done
}

# Outside: runs the script once for each case, inside, and ends. Inside: goes on.
each_case_inside() { # each_case_inside UNSHARE-OPTION... -- COBRE HELPERS [CASE...]
    local inside=(unshare) cobre helpers name why code worst=0
    [ -z "${COBRE_TEST_INSIDE-}" ] || return 0
    while [ "$1" != -- ]; do
        inside+=("$1")
        shift
    done
    inside+=(--net --mount --pid --fork --kill-child --mount-proc)
    cobre=$(realpath "$2") helpers=$(realpath "$3")
    shift 3
    why=$("${inside[@]}" mount -t tmpfs tmpfs /run 2>&1) || cannot "cannot make namespaces: $why"
    # shellcheck disable=SC2046
    [ $# -gt 0 ] || set -- $(sed -n 's/^case_\([a-z0-9_]*\)().*/\1/p' "$0")
    for name; do
        COBRE_TEST_INSIDE=1 "${inside[@]}" bash "$0" "$cobre" "$helpers" "$name"
        code=$?
        [ $code = 0 ] || worst=$code
    done
    exit $worst
}
