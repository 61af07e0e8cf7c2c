#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh SOURCE_DIR: installs into a temporary place and uses what is there as a stranger would: a C and a C++ program,
# by pkg-config and by CMake, shared and static, alone and under `cobre run`; and one that trains.
set -euo pipefail

source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

# must_fail WHAT COMMAND...: with the output shown when it does not.
must_fail() {
    local what=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        cat "$work/log"
        fail "$what"
    fi
}

# ---- Install: PREFIX and DESTDIR, through the front door ----

# The build that `make test` has made already: that of users has the same flags but for debugging information, and no tests.
env -u MAKEFLAGS -u MAKELEVEL make -C "$source_dir" install PRESET=default PREFIX=/opt/cobre DESTDIR="$work/stage" \
    >"$work/log" 2>&1 || { cat "$work/log"; fail "make install"; }
prefix=$work/stage/opt/cobre
for file in bin/cobre include/cobre/comm.h lib/libcobre.a lib/libcobre.so lib/libcobre.so.0 lib/pkgconfig/cobre.pc \
    lib/cmake/cobre/cobre-config.cmake share/man/man1/cobre.1 share/man/man1/cobre-run.1 share/man/man1/cobre-info.1 \
    share/man/man7/cobre.7 share/doc/cobre/LICENSE share/doc/cobre/NOTICE lib/libcobre-lp-glpk.so lib/libcobre-lp-clp.so include/cobre/sddp.h lib/libcobre-sddp.so lib/libcobre-sddp.so.0 lib/pkgconfig/cobre-sddp.pc \
    share/man/man1/cobre-train.1 share/man/man1/cobre-simulate.1 share/man/man1/cobre-report.1 share/cobre/cases/toy/case.json \
    share/cobre/docs/case.schema.json share/cobre/docs/events.schema.json share/cobre/docs/watch.md share/cobre/docs/mcp.md share/cobre/docs/case-format.md share/cobre/docs/results.md share/cobre/docs/tutorial.md \
    share/cobre/docs/backends/mpi.md share/cobre/docs/slurm.md share/bash-completion/completions/cobre share/zsh/site-functions/_cobre share/man/man3/cobre_comm_open.3; do
    [ -e "$prefix/$file" ] || fail "$file is not installed"
done
if grep -rIl -e "$source_dir" "$work/stage"; then
    fail "the files above name the source directory"
fi
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
export PATH=$prefix/bin:$PATH

# ---- The libraries' faces ----

face() { # face LIBRARY HEADER: exports what the header declares, and nothing else
    local library=$prefix/lib/$1.so exported declared
    readelf -d "$library" | grep -q "SONAME.*\[$1\.so\.0\]" || fail "$1: SONAME"
    exported=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort)
    declared=$(grep -oP '^COBRE_API [^(]*?\K\w+(?=\()' "$prefix/include/cobre/$2" | sort)
    [ "$(wc -l <<<"$declared")" -gt 20 ] || fail "$2 declares: $declared"
    diff - <<<"$exported" <(echo "$declared") || fail "$1: exported (<) and declared (>) functions differ"
}
face libcobre comm.h
face libcobre-sddp sddp.h
[ "$(pkg-config --modversion cobre)" = "$(cobre --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+')" ] || fail "versions differ"

# ---- The header, strictly ----

strict=(-pedantic-errors -Wall -Wextra -Wconversion -Wshadow -Wundef -Werror -fsyntax-only "-I$prefix/include")
c_compilers=("gcc -std=c11" "clang -std=c11")
cxx_compilers=("g++ -std=c++17" "clang++ -std=c++17")

# compile COMPILER STATEMENTS: of a function that has a communicator and buffers of several types.
compile() {
    local language=c
    [[ $1 == *++* ]] && language=c++
    $1 -x $language "${strict[@]}" - <<-END
	#include <cobre/sddp.h>
	#include <cobre/comm.h>
	struct unknown { int x; };
	cobre_status f(cobre_comm *comm, double *d, const double *cd, float *f32, long *l, unsigned long *ul, long long *ll,
	      unsigned long long *ull, unsigned char *u8, struct unknown *u, const size_t *n, cobre_region **region);
	cobre_status f(cobre_comm *comm, double *d, const double *cd, float *f32, long *l, unsigned long *ul, long long *ll,
	      unsigned long long *ull, unsigned char *u8, struct unknown *u, const size_t *n, cobre_region **region) {
	    (void)comm, (void)d, (void)cd, (void)f32, (void)l, (void)ul, (void)ll, (void)ull, (void)u8, (void)u, (void)n,
	        (void)region;
	    $2
	    return COBRE_OK;
	}
END
}

right=(
    'if (n) return cobre_allreduce_t(comm, cd, d, 1, COBRE_SUM);'
    'if (n) return cobre_allreduce_t(comm, d, d, 1, COBRE_SUM);'
    'if (n) return cobre_allreduce_t(comm, l, l, 1, COBRE_MIN);'
    'if (n) return cobre_allreduce_t(comm, ul, ul, 1, COBRE_MIN);'
    'if (n) return cobre_allreduce_t(comm, ll, ll, 1, COBRE_MAX);'
    'if (n) return cobre_allreduce_t(comm, ull, ull, 1, COBRE_MAX);'
    'if (n) return cobre_broadcast_t(comm, u8, 1, 0);'
    'if (n) return cobre_allgatherv_t(comm, cd, 1, d, 1, n, n);'
    'if (n) return cobre_region_create_t(comm, 1, float, 0, region);')
# What the compiler must say, and the statement. A const buffer that would be written to is the compiler's own affair.
wrong=(
    'send and recv point to different types|return cobre_allreduce_t(comm, f32, d, 1, COBRE_SUM);'
    '|return cobre_allreduce_t(comm, d, cd, 1, COBRE_SUM);'
    'not a pointer to an element type|return cobre_allreduce_t(comm, u, u, 1, COBRE_SUM);'
    'not a pointer to an element type|return cobre_broadcast_t(comm, u, 1, 0);'
    '|return cobre_broadcast_t(comm, cd, 1, 0);'
    'send and recv point to different types|return cobre_allgatherv_t(comm, f32, 1, d, 1, n, n);'
    'not a pointer to an element type|return cobre_region_create_t(comm, 1, struct unknown, 0, region);')
for compiler in "${c_compilers[@]}" "${cxx_compilers[@]}"; do
    compile "$compiler" "${right[*]}" || fail "$compiler: a statement above"
    for pair in "${wrong[@]}"; do
        statement=${pair#*|}
        must_fail "$compiler takes: $statement" compile "$compiler" "$statement"
        grep -q "${pair%%|*}" "$work/log" || fail "$compiler does not name the remedy: $statement"
    done
done

# ---- Programs, outside the tree ----

mkdir "$work/user"
cd "$work/user"
cp "$source_dir"/tests/install/{program.c,train.c,CMakeLists.txt} .
cp program.c program.cc
cp train.c train.cc

warnings=(-pedantic-errors -Wall -Wextra -Werror)
for language in c cc; do
    compiler=(gcc -std=c11)
    [ $language = cc ] && compiler=(g++ -std=c++17)
    "${compiler[@]}" "${warnings[@]}" program.$language -o pc-shared-$language $(pkg-config --cflags --libs cobre)
    "${compiler[@]}" "${warnings[@]}" -static program.$language -o pc-static-$language \
        $(pkg-config --static --cflags --libs cobre)
    "${compiler[@]}" "${warnings[@]}" train.$language -o pc-train-$language $(pkg-config --cflags --libs cobre-sddp)
done
cmake -S . -B . -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 && cmake --build . >>"$work/log" 2>&1 ||
    { cat "$work/log"; fail "find_package(cobre)"; }

for program in {pc-,}{shared,static}-{c,cc}; do
    linked=static
    if readelf -d $program | grep -q 'NEEDED.*libcobre\.so\.0'; then
        linked=shared
    fi
    [[ $program == *$linked* ]] || fail "$program: linked $linked"
    export LD_LIBRARY_PATH=$prefix/lib
    [[ $program == pc-shared* ]] || unset LD_LIBRARY_PATH
    ./$program | grep -q 'rank 0 of 1$' || fail "$program, alone"
    [ "$(cobre run -n 2 ./$program | grep -o 'rank.*' | sort)" = $'rank 0 of 2\nrank 1 of 2' ] ||
        fail "$program, as two ranks"
done

toy=$prefix/share/cobre/cases/toy
for program in {pc-,static-,}train-{c,cc}; do
    export LD_LIBRARY_PATH=$prefix/lib
    [[ $program == pc-* ]] || unset LD_LIBRARY_PATH
    [ "$(./$program "$toy")" = "ranks 1, bound 2625" ] || fail "$program, alone"
    [ "$(cobre run -n 2 ./$program "$toy")" = "ranks 2, bound 2625" ] || fail "$program, as two ranks"
done
unset LD_LIBRARY_PATH
! readelf -d static-train-c static-c | grep -q 'NEEDED.*libcobre' || fail "linked with a shared libcobre"

# A program that is linked statically finds the installed plugins; where there is none the folders are named.
export COBRE_COMM_BACKEND=mpi
env COBRE_MPI_PLUGIN=mpich ./static-c | grep -q 'rank 0 of 1$' || fail "static-c: MPICH's plugin"
must_fail "a plugin that there is not" env COBRE_MPI_PLUGIN=nothing ./static-c
grep -q "there is no libcobre-mpi-nothing.so in $PWD, .*$prefix/lib, .*/usr/lib" "$work/log" || { cat "$work/log"; fail "the folders"; }
unset COBRE_COMM_BACKEND
must_fail "training without solvers" env COBRE_LP_PATH=/nowhere ./static-train-c "$toy"
grep -q "libcobre-lp-.*in /nowhere" "$work/log" || { cat "$work/log"; fail "the folder of COBRE_LP_PATH"; }

[ "$(cobre info | grep -c "licence .*($prefix/lib/libcobre-lp-")" = 2 ] || { cobre info; fail "its LP solvers are not found"; }
cobre train "$toy" --iterations 20 --out "$work/out" >"$work/log"
grep -q "^bound *2625" "$work/log" || { cat "$work/log"; fail "cobre train"; }

# ---- And away ----

echo "a user's" >"$prefix/share/cobre/note.txt"
env -u MAKEFLAGS -u MAKELEVEL DESTDIR="$work/stage" make -C "$source_dir" uninstall PRESET=default >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "make uninstall"; }
[ "$(find "$work/stage" ! -type d)" = "$prefix/share/cobre/note.txt" ] || { find "$work/stage"; fail "make uninstall leaves files, or takes what is not its own"; }
[ ! -e "$prefix/include" ] && [ -d "$prefix/share/cobre" ] || fail "make uninstall: folders"
echo "installed libraries: all ways of use work"
