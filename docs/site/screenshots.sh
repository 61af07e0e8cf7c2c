#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# screenshots.sh BUILD_DIR: makes the screenshots of the documents anew, with Chromium: the reports of README.md and docs/index.md. It
# takes some minutes. No test calls it: what a page looks like depends on the fonts of the machine.
set -eu
tree=$(cd "$(dirname "$0")/../.." && pwd)
PATH=$(cd "$1" && pwd):$PATH
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

shoot() { # shoot PAGE PICTURE WIDTH HEIGHT
    chromium --headless --no-sandbox --disable-gpu --disable-background-networking --hide-scrollbars \
        --user-data-dir="$scratch/browser" --window-size="$3,$4" --screenshot="$2" "file://$scratch/$1" >/dev/null 2>&1
    echo "$2"
}

cobre init river >/dev/null
cobre train river -n 2 --forward-passes 8 --iterations 50 --quiet
cobre simulate river --trajectories 3000 >/dev/null
cobre report river-out >/dev/null
shoot river-out/report.html "$tree/docs/pictures/river-report.png" 1000 900

cobre train "$tree/cases/brazil60" -n 2 --forward-passes 4 --iterations 40 --quiet
cobre simulate "$tree/cases/brazil60" -n 2 --trajectories 2000 --policy brazil60-out/policy.cobre >/dev/null
cobre report brazil60-out >/dev/null
shoot brazil60-out/report.html "$tree/docs/report.png" 1000 1250
