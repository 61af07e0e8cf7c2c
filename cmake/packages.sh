#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packages.sh build|test|bench: installs what packages.txt names for building, or for building and testing or measuring,
# and is not there.
# Calls apt-get only when something is missing.
set -eu
cd "$(dirname "$0")/.."

case ${1-} in
build | test | bench) ;;
*) echo "usage: $0 build|test|bench" >&2; exit 2 ;;
esac
wanted=$(awk -v part="$1:" '/^##/ { in_part = $2 == "build:" || $2 == part } /^[^#]/ && in_part { print $1 }' packages.txt)

if ! command -v dpkg-query >/dev/null; then
    echo "Not a Debian system: please see to it that these are there:" $wanted >&2
    exit 0
fi

missing=
for package in $wanted; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "Missing packages:$missing"
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null; then
    as_root=sudo
else
    echo "Please run as root: apt-get update && apt-get install -y --no-install-recommends$missing" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update
$as_root apt-get install -y --no-install-recommends $missing
