# SPDX-License-Identifier: Apache-2.0
# copied_tree.sh: for tests that change a copy of the tree and build it; sourced with the source directory as $1.
set -euo pipefail

source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree build=$work/build

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

says() { # says TEXT COMMAND...
    local text=$1
    shift
    "$@" >"$work/log" 2>&1 || true
    grep -qF -e "$text" "$work/log" || { cat "$work/log" && fail "'$*' does not say: $text"; }
}
