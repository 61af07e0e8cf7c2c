#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_hidden.sh COBRE HELPERS none: the same program on a machine that has no MPI any more.
# In a mount namespace of its own the folder of libraries is replaced by one with links to all but those of the MPIs.
. "$(dirname "$0")/lib.sh"

if [ -z "${COBRE_TEST_HIDDEN-}" ]; then
    unshare -m true 2>/dev/null || { echo "skipped: a mount namespace is not allowed here" && exit 77; }
    library=$(ldd "$plugins"/libcobre-mpi-*.so | sed -n 's/.*libmpi[a-z]*\.so.* => \(.*\) (.*/\1/p' | head -1)
    folder=$(realpath "$(dirname "$library")")
    mkdir "$scratch/real" "$scratch/links"
    find "$folder" -mindepth 1 -maxdepth 1 -printf '%f\n' |
        grep -vE '^(libmpi|libopen-(rte|pal)|openmpi|mpich|pmix)' | sed "s|^|$scratch/real/|" |
        xargs ln -s -t "$scratch/links"
    hide='mount --bind "$1" "$2/real" && mount --bind "$2/links" "$1" && exec "${@:3}"'
    COBRE_TEST_HIDDEN=1 unshare -m bash -c "$hide" hide "$folder" "$scratch" "$0" "$@"
    exit
fi

case_it_is_hidden() {
    ldd "$plugins"/libcobre-mpi-*.so | grep -E 'libmpi(ch)?\.so.*not found' >/dev/null || fail "an MPI is still here"
    ! mpirun.openmpi --version >/dev/null 2>&1 || fail "Open MPI still works"
}

case_all_else_runs() {
    "$helpers/rank" hello barrier >"$scratch/out" 2>"$scratch/err"
    out_is "rank 0 of 1 by local"
    cobre run -n 2 "$helpers/rank" hello barrier
    code_is 0
    out_count "of 2 by shm" 2
    "$plugins/examples/hello" >"$scratch/out" 2>"$scratch/err" || fail "$(cat "$scratch/err")"
}

case_info_says_what_is_missing() {
    cobre info
    code_is 0
    out_has "plugins here: none"
    OMPI_COMM_WORLD_SIZE=2 cobre info
    code_is 0
    grep -qE '^\* mpi .*libmpi.*cannot open shared object file' "$scratch/out" || fail "$(cat "$scratch/out")"
    PMI_SIZE=2 cobre info --json
    code_is 0
    grep -q '"why": .*libmpich.*cannot open shared object file' "$scratch/out" || fail "$(cat "$scratch/out")"
}

case_a_rank_says_which_package() {
    OMPI_COMM_WORLD_SIZE=2 "$helpers/rank" hello barrier >"$scratch/out" 2>"$scratch/err"
    code=$?
    code_is 3
    err_has "InitializationFailed: the mpi plugin openmpi cannot be loaded"
    err_has "install Open MPI (Debian: libopenmpi"
    PMI_SIZE=2 "$helpers/rank" hello barrier >"$scratch/out" 2>"$scratch/err"
    code=$?
    code_is 3
    err_has "InitializationFailed: the mpi plugin mpich cannot be loaded"
    err_has "install MPICH (Debian: libmpich"
    COBRE_COMM_BACKEND=mpi "$helpers/rank" hello barrier >"$scratch/out" 2>"$scratch/err"
    code=$?
    code_is 3
    err_has "InitializationFailed"
}

run_cases "${@:4}"
