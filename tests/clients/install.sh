#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh FOLDER: puts the clients of package.json into FOLDER, unless they are there.
here=$(dirname "$0")
missing=
for program in node npm; do
    command -v $program >/dev/null || missing="$missing $program"
done
if [ -n "$missing" ]; then
    echo "make test-clients needs Node 20 or later and npm, which comes with it. Missing:$missing" >&2
    exit 1
fi
if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then
    echo "make test-clients needs Node 20 or later; this is $(node --version)" >&2
    exit 1
fi
cmp -s "$here/package.json" "$1/installed.json" && exit
mkdir -p "$1" && cp "$here/package.json" "$1" || exit 1
echo "Installing the clients into $1"
if ! npm install --prefix "$1" --ignore-scripts --no-package-lock --no-audit --no-fund --loglevel=error; then
    echo "The clients could not be installed: npm must reach its registry, or have them in its cache" >&2
    exit 1
fi
cp "$1/package.json" "$1/installed.json"
