#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh SOURCE_DIR CASE: what a build does where something is missing.
set -euo pipefail

source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    cat "$work/log" >&2 || true
    echo "FAIL: $*" >&2
    exit 1
}

has() { grep -qE -e "$1" "$work/log" || fail "it does not say: $1"; }
lacks() { ! grep -qE -e "$1" "$work/log" || fail "it says: $1"; }

configure() { # configure OPTION...
    cmake -S "$source_dir" --preset release -B "$work/build" "$@" >"$work/log" 2>&1 || fail "cmake $*"
    cp "$work/build/left-out.txt" "$work/log"
}

# What is missing is left out and named; what is installed later is there when cmake runs again; what goes, goes.
case_left_out() {
    local nowhere="-DCMAKE_IGNORE_PATH=/usr/include;/usr/include/coin"
    PKG_CONFIG_LIBDIR=/nowhere configure
    has '^  the tcp backend +not found: libsodium +libsodium-dev$'
    has '^  the mpi backend +not found: Open MPI, MPICH +libopenmpi-dev or libmpich-dev$'
    has '^  the command cobre, the tests +not found: jansson +libjansson-dev$'
    has '^  the planner +not found: jansson, zlib +libjansson-dev zlib1g-dev$'
    configure "$nowhere"
    has '^  the LP solver glpk +not found: glpk\.h +libglpk-dev$'
    has '^  the LP solver clp +not found: coin/ClpSimplex\.hpp +coinor-libclp-dev$'
    lacks 'the tcp backend|the command'
    configure -UCMAKE_IGNORE_PATH -DCOBRE_MPI=OFF
    [ ! -s "$work/log" ] || fail "what is turned off is missed"
    touch "$work/build/libcobre-lp-glpk.so"
    configure -DCOBRE_MPI=AUTO -DCOBRE_GLPK=OFF
    [ ! -e "$work/build/libcobre-lp-glpk.so" ] || fail "a plugin that is turned off stays"
    configure -DCOBRE_GLPK=AUTO
    configure -DCOBRE_MPI=AUTO
    [ ! -s "$work/log" ] || fail "something is left out"
    PKG_CONFIG_LIBDIR=/nowhere configure
    has '^  the tcp backend '
}

case_asked_for() {
    ! PKG_CONFIG_LIBDIR=/nowhere cmake -S "$source_dir" --preset release -B "$work/build" -DCOBRE_TCP=ON >"$work/log" 2>&1 ||
        fail "COBRE_TCP=ON without libsodium"
    has 'COBRE_TCP is ON, but this is not found: libsodium'
}

# cmake/packages.sh in a world of its own: a folder of commands is all that it finds.

world() { # world COMMAND...: the real ones, and dpkg-query to which libsodium-dev is not installed
    rm -rf "$work/bin"
    mkdir "$work/bin"
    local command
    for command in sh awk dirname grep head printf sort "$@"; do
        ln -s "$(command -v "$command")" "$work/bin/$command"
    done
    fake dpkg-query 'case $* in *libsodium-dev) exit 1 ;; *) echo installed ;; esac'
    fake id 'echo 1000'
}

fake() { # fake COMMAND SCRIPT
    printf '#!%s\n%s\n' "$(command -v bash)" "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}

packages() { # packages WHAT: its exit code in $code
    code=0
    PATH=$work/bin "$source_dir/cmake/packages.sh" "$1" >"$work/log" 2>&1 || code=$?
}

case_packages() {
    world cmake ninja cc
    packages build
    [ $code = 0 ] || fail "a user without root: $code"
    has '^Not installed: libsodium-dev$'
    has 'apt-get install -y --no-install-recommends libsodium-dev'
    packages test
    [ $code = 1 ] || fail "tests without a package: $code"
    has "'make test' needs"
    PACKAGES=no packages test
    [ $code = 0 ] || fail "PACKAGES=no: $code"

    fake id 'echo 0'
    fake apt-get 'echo "apt-get $*"; exit 100'
    packages build
    [ $code = 0 ] || fail "no network: $code"
    has '^apt-get .* update$'
    has '^Not installed: libsodium-dev$'
    PACKAGES=no packages build
    lacks '^apt-get'
    fake apt-get 'echo "apt-get $*"'
    fake apt-cache 'echo "$2:"; echo "  Candidate: 1.0"'
    packages build
    has '^apt-get .*install .* libsodium-dev$'
    fake apt-cache 'echo "$2:"; echo "  Candidate: (none)"'
    packages build
    lacks '^apt-get .*install'

    fake dpkg-query 'echo installed'
    packages test
    [ $code = 0 ] && [ ! -s "$work/log" ] || fail "nothing is missing: $code"
    rm "$work/bin/dpkg-query"
    packages build
    [ $code = 0 ] || fail "another distribution: $code"
    has '^Not a Debian system.* libsodium-dev'
}

case_packages_required() {
    local tool
    for tool in cmake ninja cc; do
        world cmake ninja cc
        rm "$work/bin/$tool"
        packages build
        [ $code = 1 ] || fail "without $tool: $code"
        has "there is no (C compiler|$tool) \(Debian: "
    done
    world ninja cc
    fake cmake 'echo "cmake version 3.22.1"'
    packages build
    [ $code = 1 ] || fail "an old cmake: $code"
    has 'cmake is 3\.22\.1; 3\.25 or later is needed'
}

# A prefix that may not be written to is refused before anything is built, with what to do.
case_install_without_permission() {
    local user=()
    [ "$(id -u)" != 0 ] || user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    ! "${user[@]}" env -u MAKEFLAGS -u MAKELEVEL make -s -C "$source_dir" install PREFIX=/usr/lib/cobre >"$work/log" 2>&1 || fail "/usr/lib may be written to"
    [ "$(grep -v '^make: ' "$work/log")" = "$(sed -n 1p "$work/log")" ] || fail "more was done: $(cat "$work/log")"
    has '^/usr/lib cannot be written to\. .*make install PREFIX='
    "$source_dir/cmake/may_write.sh" "$work/new/folder" || fail "a folder of ours"
    printf '/usr/lib/os-release\n' >"$work/manifest.txt"
    chmod 755 "$work"
    ! "${user[@]}" cmake -DMANIFEST="$work/manifest.txt" -P "$source_dir/cmake/uninstall.cmake" >"$work/log" 2>&1 || fail "it says that it removed all"
    has '1 of 1 files cannot be removed'
    [ -e "$work/manifest.txt" ] && [ -e /usr/lib/os-release ] || fail "nothing was removed, and the list is gone"
    ! cmake -DMANIFEST="$work/none.txt" -P "$source_dir/cmake/uninstall.cmake" >"$work/log" 2>&1 || fail "nothing was installed"
    has 'Nothing was installed from this build'
}

case_targets() {
    env -u MAKEFLAGS make -n -C "$source_dir" all check uninstall deb >"$work/log" 2>&1 || fail "make"
    has 'ctest'
    has 'cpack'
}

# packages_of SECTION: as packages.txt names them.
packages_of() { awk -v part="$1:" '/^##/ { in_part = $2 == part } /^[^#]/ && in_part { print $1 }' "$source_dir/packages.txt" | sort; }

# There is no Docker here: what can be wrong without it is looked at. What is copied from a stage is made there; all is Debian 12.
case_dockerfile() {
    local file=$source_dir/Dockerfile
    sed -e ':a; /\\$/ { N; s/\\\n */ /; ta }' "$file" | grep -v '^#' >"$work/log" # one instruction per line
    [ "$(grep -c '^FROM debian:12-slim' "$work/log")" = "$(grep -c '^FROM' "$work/log")" ] || fail "not Debian 12"
    grep -m1 'apt-get install' "$work/log" | sed 's/.*--no-install-recommends//; s/&&.*//' | xargs -n1 | sort >"$work/image"
    diff "$work/image" <(packages_of build) || fail "the packages of the image (<) and of packages.txt (>) differ"
    has '^RUN make deb PACKAGES=no$'
    has '^COPY --from=build /cobre/build/release/deb/\*\.deb /tmp/deb/$'
    local package
    for package in $(grep -oP '/tmp/deb/\K[a-z0-9-]+(?=_\*\.deb)' "$work/log"); do
        grep -q "^for package in .*\b$package\b" "$source_dir/tests/install/deb.sh" || fail "there is no package $package"
    done
}

# docs/building.md says of each preset which backends it has: as CMakePresets.json does.
case_presets() {
    python3 - "$source_dir" <<'END' >"$work/log" 2>&1 || fail "docs/building.md and CMakePresets.json differ"
import json, pathlib, re, sys
source = pathlib.Path(sys.argv[1])
presets = {p["name"]: p["cacheVariables"] for p in json.loads((source / "CMakePresets.json").read_text())["configurePresets"]}
rows = re.findall(r"^\| `(\w+)` \|[^|]*\| (local[^|]*) \|", (source / "docs/building.md").read_text(), re.M)
wrong = {name for name, _ in rows} ^ (set(presets) - {"base"})
for name, cell in rows:
    backends = ["local"] + [b for b in ("shm", "tcp", "mpi") if presets[name].get("COBRE_" + b.upper()) != "OFF"]
    if cell != ", ".join(backends):
        wrong.add(f"{name}: {cell}, not {', '.join(backends)}")
sys.exit(", ".join(wrong) or 0)
END
}

"case_$2"
