#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packages.sh build|test|bench|docs: installs what packages.txt names for building, for building and testing or measuring, or
# for the site of the documents alone, and is not there. Calls apt-get only when something is missing, and never with
# PACKAGES=no. A build goes on without what cannot be installed: CMake then leaves parts out and says so. It stops only
# without a compiler, CMake and Ninja. Tests, measurements and the site need everything.
set -eu
cd "$(dirname "$0")/.."

case ${1-} in
build | test | bench | docs) ;;
*) echo "usage: $0 build|test|bench|docs" >&2; exit 2 ;;
esac
wanted=$(awk -v part="$1:" '/^##/ { in_part = $2 == part || ($2 == "build:" && part != "docs:") } /^[^#]/ && in_part { print $1 }' packages.txt)

list_missing() {
    for package in $wanted; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf ' %s' "$package"
    done
}

# Those that this system's archive has: an unknown one would keep apt-get from installing the others.
list_known() {
    apt-cache policy $missing 2>/dev/null |
        awk '/^[^ ]/ { sub(/:$/, ""); package = $0 } /Candidate: [^(]/ { printf " %s", package }'
}

install_missing() {
    as_root=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || return 1
        as_root=sudo
    fi
    export DEBIAN_FRONTEND=noninteractive
    $as_root apt-get -o DPkg::Lock::Timeout=120 update || return 1
    known=$(list_known)
    [ -n "$known" ] && $as_root apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends $known
}

missing=
if ! command -v dpkg-query >/dev/null; then
    echo "Not a Debian system. The Debian packages with these names have what is used here:" $wanted >&2
else
    missing=$(list_missing)
    if [ -n "$missing" ] && [ "${PACKAGES-}" != no ]; then
        echo "Missing packages:$missing"
        install_missing || true
        missing=$(list_missing)
    fi
fi
if [ -n "$missing" ]; then
    echo "Not installed:$missing" >&2
    echo "To install them, as root: apt-get update && apt-get install -y --no-install-recommends$missing" >&2
fi

fail() {
    echo "$0: $*" >&2
    exit 1
}

has() { # has COMMAND...: one of them
    for command; do
        if command -v "$command" >/dev/null; then
            return 0
        fi
    done
    return 1
}

has "${CC:-cc}" gcc clang || fail "there is no C compiler (Debian: build-essential)"
has cmake || fail "there is no cmake (Debian: cmake)"
has ninja ninja-build samu || fail "there is no ninja (Debian: ninja-build)"
version=$(cmake --version | awk 'NR == 1 { print $3 }')
[ "$(printf '3.25\n%s\n' "$version" | sort -V | head -n 1)" = 3.25 ] ||
    fail "cmake is $version; 3.25 or later is needed (https://cmake.org/download, or pip install cmake)"
if [ "$1" != build ] && [ -n "$missing" ] && [ "${PACKAGES-}" != no ]; then
    fail "'make $1' needs these packages; PACKAGES=no goes on without them"
fi
