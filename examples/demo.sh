#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo.sh BUILD_DIR [ITERATIONS]: shows each command, then runs it.
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

# In a build without the trainer the help is a failure, too.
if cobre train --help >/dev/null 2>&1; then
    cases=$(dirname "$(dirname "$0")")/cases
    echo
    echo 'The Brazilian power system, 60 months: a policy, what it does, and a page about it:'
    show cobre train "$cases/brazil60" -n "$(nproc)" --forward-passes 4 --iterations "${2-20}" --out "$1/demo" --force
    show cobre simulate "$cases/brazil60" -n "$(nproc)" --trajectories 100 --out "$1/demo" --policy "$1/demo/policy.cobre"
    show cobre report "$1/demo"
    printf '\nOpen %s in a browser.\n' "$1/demo/report.html"
fi

examples=$(dirname "$0")/python
python=python3
[ ! -x /usr/bin/python3 ] || python=/usr/bin/python3 # the one that the build prefers
if [ -e "$1/python/cobre/_cobre.abi3.so" ]; then
    export PYTHONPATH="$1/python"
    printf '\nThe same in Python, with PYTHONPATH=%s:\n' "$PYTHONPATH"
    show cobre run -n 4 "$python" "$examples/mean.py"
    show "$python" "$examples/launch.py"
else
    printf '\nThe Python examples are left out: the package was not built (Debian: python3-dev).\n'
fi
