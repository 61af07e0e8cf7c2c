#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_links.sh COBRE HELPERS RUNNER: one program with no MPI in it runs plainly and under every MPI.
. "$(dirname "$0")/lib.sh"
runner=$3
examples=$plugins/examples

case_nothing_links_mpi() {
    local file
    for file in "$cobre" "$plugins/libcobre.so" "$examples/hello" "$examples/shared_table" "$runner" "$helpers/rank"; do
        readelf -d "$file" >"$scratch/out" || fail "no $file"
        ! grep -iE 'NEEDED.*(mpi|pmi|open-rte|open-pal)' "$scratch/out" || fail "$file links an MPI"
        ! ldd "$file" | grep -iE 'mpi|open-rte|open-pal' || fail "$file brings an MPI"
    done
}

case_plugins_link_one_mpi_and_nothing_of_cobre() {
    readelf -d "$plugins/libcobre-mpi-openmpi.so" >"$scratch/out"
    grep -q 'NEEDED.*\[libmpi\.so' "$scratch/out" || fail "the plugin of Open MPI does not link it"
    ! grep -E 'NEEDED.*(libmpich|libcobre)' "$scratch/out" || fail "it links more"
    readelf -d "$plugins/libcobre-mpi-mpich.so" >"$scratch/out"
    grep -q 'NEEDED.*\[libmpich\.so' "$scratch/out" || fail "the plugin of MPICH does not link it"
    ! grep -E 'NEEDED.*(libmpi\.so|libcobre)' "$scratch/out" || fail "it links more"
    for mpi in openmpi mpich; do
        plugin=$plugins/libcobre-mpi-$mpi.so
        [ "$(nm -D --defined-only "$plugin" | wc -l)" = 1 ] || fail "$mpi exports more than one name"
        ! nm -D --undefined-only "$plugin" | grep ' cobre_\| cb_' || fail "$mpi imports from cobre"
    done
}

case_the_same_program_everywhere() {
    cobre run -n 2 "$helpers/rank" hello barrier
    out_count "of 2 by shm" 2
    "$helpers/rank" hello barrier >"$scratch/out" 2>"$scratch/err"
    out_is "rank 0 of 1 by local"
    for mpi in openmpi mpich; do
        launch 2 "$helpers/rank" hello barrier
        code_is 0
        out_count "of 2 by mpi" 2
        err_lacks cobre
        launch 2 "$examples/shared_table"
        code_is 0
        cp "$scratch/out" "$scratch/table.$mpi"
    done
    cobre run -n 2 "$examples/shared_table"
    for mpi in openmpi mpich; do
        [ "$(sort "$scratch/out")" = "$(sort "$scratch/table.$mpi")" ] || fail "$mpi: $(cat "$scratch/table.$mpi")"
    done
}

case_info_says_which_plugin() {
    cobre info
    code_is 0
    out_has "a program started here uses: local"
    there='openmpi \(Open MPI .*libcobre-mpi-openmpi\.so\), mpich \(MPICH .*libcobre-mpi-mpich\.so\)'
    grep -qE "^  mpi .*plugins here: $there" "$scratch/out" || fail "$(cat "$scratch/out")"
    for mpi in openmpi mpich; do
        [ $mpi = openmpi ] && title="Open MPI v" || title="MPICH Version: "
        launch 1 "$cobre" info
        code_is 0
        out_has "a program started here uses: mpi"
        grep -qE "^\* mpi .*plugin $mpi \(${title}[0-9.]+.*, .*/libcobre-mpi-$mpi\.so\)" "$scratch/out" ||
            fail "$(cat "$scratch/out")"
        launch 1 "$cobre" info --json
        code_is 0
        json_holds "$scratch/out" "docs[0]['chosen'] == 'mpi' and [True for b in docs[0]['backends']
            if b['name'] == 'mpi' and b['built_in'] and b['chosen'] and 'plugin $mpi ($title' in b['why']]"
    done
}

run_cases "${@:4}"
