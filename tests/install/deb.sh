#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deb.sh BUILD_DIR: makes the Debian packages, installs them, uses what is there, and removes them. In a mount namespace of its own,
# where /usr, /var and /etc are overlays: the system's dpkg with all that it knows, and nothing stays.
set -euo pipefail

build=$1
here=$(realpath "$(dirname "$0")")
if [ -z "${COBRE_TEST_OVERLAY-}" ]; then
    export COBRE_TEST_OVERLAY=$(mktemp -d)
    trap 'rmdir "$COBRE_TEST_OVERLAY"' EXIT
    unshare -m true 2>/dev/null || { echo "skipped: no mount namespaces"; exit 77; }
    unshare -m "$0" "$@"
    exit
fi
work=$COBRE_TEST_OVERLAY
mount -t tmpfs tmpfs "$work"
cd "$work"

fail() {
    cat log >&2 || true
    echo "FAIL: $*" >&2
    exit 1
}

for folder in usr var etc; do
    mkdir $folder $folder.work
    mount -t overlay overlay -o "lowerdir=/$folder,upperdir=$work/$folder,workdir=$work/$folder.work" /$folder 2>log ||
        { echo "skipped: no overlays" && exit 77; }
done

# ---- What they are ----

# Not compressed: half of the time.
cpack --config "$build/CPackConfig.cmake" -B "$work/deb" -D CPACK_DEBIAN_COMPRESSION_TYPE=none >log 2>&1 || fail "cpack"
packages=$(cd deb && ls *.deb | sed 's/_.*//')
for package in libcobre0 libcobre-dev cobre cobre-lp-clp cobre-lp-glpk cobre-mpi-openmpi cobre-mpi-mpich python3-cobre; do
    grep -qx $package <<<"$packages" || fail "there is no package $package"
done
depends() { # depends PACKAGE PATTERN
    dpkg-deb -f deb/"$1"_*.deb Depends >log
    grep -qE "(^|, )$2( |,|$)" log || fail "$1 does not depend on $2"
}
depends libcobre0 libsodium23
depends libcobre-dev 'libcobre0 \(= 0\.[0-9.]+-1\)'
depends cobre libjansson4
depends cobre-lp-clp coinor-libclp1
depends cobre-lp-glpk libglpk40
depends cobre-mpi-openmpi libopenmpi3
depends cobre-mpi-mpich libmpich12
depends python3-cobre 'python3 \(>= 3\.11\)'
if dpkg-deb -f deb/cobre_*.deb Depends | grep -qE 'glpk|clp|mpi'; then
    fail "the command depends on a plugin's library"
fi

# ---- Installed, as apt would ----

[ ! -e /usr/bin/cobre ] || { echo "skipped: cobre is installed here" && exit 77; }
quick=(dpkg --force-unsafe-io --no-triggers)
"${quick[@]}" -i deb/*.deb >log 2>&1 || fail "dpkg -i"
cobre train /usr/share/cobre/cases/toy -n 2 --iterations 20 --out out >log 2>&1 && grep -q "^bound *2625" log || fail "cobre train"
cobre info >log 2>&1 && grep -q "(/usr/lib/libcobre-lp-clp.so)" log && grep -q "(/usr/lib/libcobre-lp-glpk.so)" log || fail "LP solvers"
grep -q "/usr/lib/libcobre-mpi-openmpi.so.*/usr/lib/libcobre-mpi-mpich.so" log || fail "plugins of MPIs"
cp "$here/program.c" .
gcc program.c -o program $(pkg-config --cflags --libs cobre) 2>log || fail "pkg-config"
[ "$(cobre run -n 2 ./program | grep -o 'rank.*' | sort)" = $'rank 0 of 2\nrank 1 of 2' ] || fail "a program"
/usr/bin/python3 -B -c 'import cobre; print(cobre.__file__, cobre.Comm().size)' >log 2>&1 &&
    grep -qx '/usr/lib/python3/dist-packages/cobre/__init__.py 1' log || fail "the Python package"
[ "$(/usr/bin/python3 -B -m cobre --version)" = "$(cobre --version)" ] || fail "python3 -m cobre"
for package in $packages; do
    grep -q '^License: ' /usr/share/doc/$package/copyright || fail "$package has no licence"
done
grep -q '^License: GPL-3.0-or-later$' /usr/share/doc/cobre-lp-glpk/copyright || fail "the licence of GLPK's plugin"
grep -q '^License: Apache-2.0$' /usr/share/doc/cobre/copyright || fail "the licence of the command"
[ -e /usr/share/man/man1/cobre-train.1.gz ] || fail "man pages"
! readelf -d /usr/bin/cobre /usr/lib/libcobre*.so* | grep -E 'RPATH|RUNPATH' || fail "there is an rpath"

# ---- Removed ----

! dpkg -r libcobre0 >log 2>&1 || fail "libcobre0 could be removed below libcobre-dev"
"${quick[@]}" -P $packages >log 2>&1 || fail "dpkg -P"
find usr etc -name '*cobre*' >log # what was changed there
[ ! -s log ] || fail "files were left behind"
! dpkg -l $packages 2>/dev/null | grep '^[^Dup|+]' || fail "packages were left behind"
echo "Debian packages: installed, used and removed"
