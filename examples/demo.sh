#!/bin/sh
# demo.sh BUILD_DIR: shows each command, then runs it.
set -eu
PATH=$1:$1/examples:$PATH

show() {
    printf '\n$ %s\n' "$*"
    "$@"
}

show cobre info
for example in hello mean shared_table; do
    show $example
    show cobre run -n 4 $example
done

echo
echo 'The last of four ranks is killed while the others wait for it:'
if show cobre run -n 4 failure; then
    echo 'demo.sh: this should have failed' >&2
    exit 1
fi
