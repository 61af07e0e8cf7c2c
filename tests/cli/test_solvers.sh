#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_solvers.sh COBRE HELPERS: LP solvers as plugins: what links them, which are found, which pair a job takes, and what
# happens where one is missing. `shaky` (tests/sddp/shaky.c) is GLPK that finds no optimum now and then.
. "$(dirname "$0")/../kit/lib.sh"
build=$(dirname "$cobre")
cases=$(realpath "$(dirname "$0")/../../cases")
lp=$build/tests/lp
cd "$scratch" || exit

# folder NAME PLUGIN...: a folder of these, as one that COBRE_LP_PATH names.
folder() {
    local name=$1 plugin
    shift
    mkdir -p "$name"
    for plugin in "$@"; do
        cp "$plugin" "$name"
    done
}

glpk=$build/libcobre-lp-glpk.so clp=$build/libcobre-lp-clp.so shaky=$lp/libcobre-lp-shaky.so
newer=$lp/newer/libcobre-lp-shaky.so liar=$build/tests/liar
for file in "$glpk" "$clp" "$shaky"; do
    exists "$file" || [ "${3-}" = --list ] || { echo "skipped: no $file" && exit 77; }
done

train=(train "$cases/brazil3" --iterations 12 --forward-passes 4 --seed 5)

case_nothing_links_a_solver() {
    local file
    for file in "$cobre" "$build/libcobre.so" "$build/libcobre-sddp.so"; do
        readelf -d "$file" >out || fail "no $file"
        ! grep -iE 'NEEDED.*(glpk|clp|coin)' out || fail "$file links a solver"
        ! ldd "$file" | grep -iE 'glpk|clp|coin' || fail "$file brings a solver"
    done
}

case_a_plugin_links_its_own_solver() {
    readelf -d "$glpk" >out
    grep -q 'NEEDED.*\[libglpk\.so' out || fail "the plugin of GLPK does not link it"
    ! grep -iE 'NEEDED.*(clp|coin|cobre)' out || fail "it links more"
    readelf -d "$clp" >out
    grep -q 'NEEDED.*\[libClp\.so' out || fail "the plugin of CLP does not link it"
    ! grep -iE 'NEEDED.*(glpk|cobre)' out || fail "it links more"
    for file in "$glpk" "$clp" "$shaky"; do
        [ "$(nm -D --defined-only "$file" | awk '{ print $3 }')" = cobre_lp_plugin ] || fail "$file exports more"
        ! nm -D --undefined-only "$file" | grep ' cobre_\| cb_' || fail "$file imports from cobre"
    done
}

# Whoever may write to the folder where a user works must not make cobre load a plugin.
case_nothing_is_loaded_from_the_current_folder() {
    folder here "$shaky"
    cd here || exit
    LD_LIBRARY_PATH=: cobre info
    code_is 0
    ! grep shaky out || fail "a plugin of the current folder was loaded"
    cd ..
}

case_info() {
    cobre info
    code_is 0
    grep -qE '^  glpk  [0-9.]+, licence GPL-3\.0-or-later \(/.*/libcobre-lp-glpk\.so\)$' out || fail "no GLPK"
    grep -qE '^  clp   [0-9.]+, licence Apache-2\.0 AND EPL-1\.0 \(/.*/libcobre-lp-clp\.so\)$' out || fail "no CLP"
    cobre info --json
    json_keys out 'docs[0]["solvers"][0]' name version license file problem
    json_holds out '[s["name"] for s in docs[0]["solvers"] if s["name"] != "highs"] == ["clp", "glpk"]'
    lacks "LP solver clp" out
}

# One that is not found is named, with what brings it.
case_info_names_what_is_missing() {
    local -x COBRE_LP_PATH=$PWD/single
    folder single "$clp"
    cobre info
    code_is 0
    out_has "LP solver glpk: there is no libcobre-lp-glpk.so (package: cobre-lp-glpk)"
    out_has "LP solver highs: "
    lacks "LP solver clp" out
    cobre info --json
    json_holds out '[p["name"] for p in docs[0]["parts"] if "solver" in p["name"]] == ["LP solver glpk", "LP solver highs"]'
}

# A new solver is a new file. It is found, listed, taken when it is asked for, and named in the policy.
case_one_more_solver() {
    local -x COBRE_LP_PATH=$PWD/three
    folder three "$glpk" "$clp" "$shaky"
    echo no plugin >three/libcobre-lp-.so
    echo no plugin >three/libcobre-lp-notes.txt
    cobre info --json
    json_holds out '[s["name"] for s in docs[0]["solvers"]] == ["clp", "glpk", "shaky"]'
    json_holds out 'docs[0]["solvers"][2]["version"] == "1.0"'
    cobre "${train[@]}" --out usual
    cobre policy usual/policy.cobre --json
    json_holds out '(docs[0]["solver"], docs[0]["fallback"]) == ("glpk", "clp")'
    cobre "${train[@]}" --out shaken --solver shaky
    code_is 0
    cobre policy shaken/policy.cobre
    out_has "solver    shaky 1.0, and where it finds no optimum glpk "
}

# Where the solver finds no optimum the other one takes over: training ends well, near the same bound, with the same bits on
# any number of ranks. Without another one it fails.
case_fall_back() {
    local ranks other
    folder alone "$shaky"
    with COBRE_LP_PATH=$PWD/alone cobre "${train[@]}" --solver shaky --out alone-out
    code_is 1
    err_has "the LP is stopped by numerical trouble after 4 tries of shaky"
    err_has "cobre train:   written to "
    cobre "${train[@]}" --solver glpk --out plain
    code_is 0
    for other in glpk clp; do
        folder with_$other "$shaky" "$build/libcobre-lp-$other.so"
        for ranks in 1 2 3; do
            with COBRE_LP_PATH="$PWD/with_$other" cobre "${train[@]}" -n $ranks --solver shaky --out $other.$ranks
            code_is 0
            cmp $other.1/policy.cobre $other.$ranks/policy.cobre || fail "$other: other bits on $ranks ranks"
        done
        paste -d, <(tail -n 1 plain/training.csv | cut -d, -f2) <(tail -n 1 $other.1/training.csv | cut -d, -f2) >bounds
        awk -F, '{ d = ($1 - $2) / $1; exit !(d < 1e-3 && d > -1e-3) }' bounds || fail "bounds: $(cat bounds)"
        with COBRE_LP_PATH="$PWD/with_$other" cobre "${train[@]}" --solver shaky --iterations 6 --out half --force
        with COBRE_LP_PATH="$PWD/with_$other" cobre "${train[@]}" --solver shaky --resume half/policy.cobre --out whole --force
        cmp $other.1/policy.cobre whole/policy.cobre || fail "$other: other bits after a break"
    done
    # Here the solver finds no bounds of the nodes' own costs either.
    with COBRE_LP_PATH="$PWD/alone" cobre train "$cases/gas.sof.json" --solver shaky --out gas
    code_is 1
    err_has "its own LP is stopped by numerical trouble"
    with COBRE_LP_PATH="$PWD/with_clp" cobre train "$cases/gas.sof.json" -n 2 --iterations 8 --forward-passes 3 --solver shaky --out gas
    code_is 0
    grep -q '^8,21\.354' gas/training.csv || fail "$(tail -n 1 gas/training.csv)"
    for ranks in 1 2; do
        with COBRE_LP_PATH="$PWD/with_clp" cobre simulate "$cases/brazil3" -n $ranks --policy clp.1/policy.cobre \
            --trajectories 40 --out simulated.$ranks
        code_is 0
    done
    diff -r simulated.1 simulated.2 || fail "the simulations differ"
}

# However wrong its dual values are, a training ends, stays below the optimum and has the same bits on any number of ranks.
case_a_solver_that_lies() {
    local ranks lie cuts
    local -x COBRE_LP_PATH=$liar COBRE_TEST_LIE
    for lie in 1e-4 0.2; do
        COBRE_TEST_LIE=$lie
        for cuts in "" --multi-cut; do
            for ranks in 1 3; do
                cobre train "$cases/brazil3" --iterations 3 --forward-passes 3 $cuts -n $ranks --solver liar \
                    --out "$lie$cuts.$ranks"
                code_is 0
                cmp "$lie$cuts.1/policy.cobre" "$lie$cuts.$ranks/policy.cobre" || fail "$lie $cuts: other bits on $ranks ranks"
            done
            awk -F, 'NR > 1 && $2 > 782309.1877977113 * (1 + 1e-9) { exit 1 }' "$lie$cuts.1/training.csv" ||
                fail "$lie $cuts: above the optimum: $(cut -d, -f2 "$lie$cuts.1/training.csv" | tr '\n' ' ')"
        done
    done
}

# in_job RANK FOLDER ARGUMENT...: two ranks, of which this one has its solvers from there.
in_job() {
    local rank=$1 path=$2
    shift 2
    # shellcheck disable=SC2016
    cobre run -n 2 sh -c '[ "$COBRE_RUN_RANK" != "$0" ] || export COBRE_LP_PATH="$1"; shift; exec "$@"' \
        "$rank" "$path" "$cobre" "$@"
}

case_a_rank_without_the_solver() {
    folder empty
    in_job 1 "$PWD/empty" "${train[@]}" --out none
    code_is 1
    err_has "rank 1: rank 0 uses the LP solver glpk "
    err_has "there is no libcobre-lp-glpk.so in $PWD/empty"
    gone none/training.csv || fail "it has trained"
    in_job 0 "$PWD/empty" "${train[@]}" --out none
    code_is 1
    err_has "there is no LP solver here: there is no libcobre-lp-*.so in $PWD/empty"
    err_has "libglpk40"
    folder lonely "$glpk"
    in_job 1 "$PWD/lonely" "${train[@]}" --out none
    code_is 1
    err_has "rank 1: rank 0 uses the LP solver clp "
    in_job 0 "$PWD/lonely" "${train[@]}" --out one
    code_is 0
    cobre policy one/policy.cobre --json
    json_holds out '(docs[0]["solver"], docs[0]["fallback"], docs[0]["fallback_version"]) == ("glpk", None, None)'
}

case_a_rank_with_another_version() {
    local -x COBRE_LP_PATH=$PWD/older
    folder older "$shaky" "$glpk"
    folder newer "$newer" "$glpk"
    in_job 1 "$PWD/newer" "${train[@]}" --solver shaky --out none
    code_is 1
    err_has "rank 1: rank 0 uses the LP solver shaky 1.0, but the version here is 2.0"
    err_has "install version 1.0 of shaky"
}

# --resume needs the same pair; a simulation does, too, unless it asks for a solver.
case_the_pair_of_a_policy() {
    folder older "$shaky" "$glpk"
    folder newer "$newer" "$glpk"
    folder lonely "$glpk"
    with COBRE_LP_PATH="$PWD/older" cobre "${train[@]}" --solver shaky --out first
    code_is 0
    for where in newer lonely; do
        with COBRE_LP_PATH="$PWD/$where" cobre train "$cases/brazil3" --iterations 20 --forward-passes 4 --seed 5 \
            --resume first/policy.cobre --out next
        code_is 1
        err_has "first/policy.cobre was trained with the LP solver shaky 1.0, "
        err_has "--warm-start"
        with COBRE_LP_PATH="$PWD/$where" cobre simulate "$cases/brazil3" --policy first/policy.cobre --out sim
        code_is 1
        err_has "the policy was trained with the LP solver shaky 1.0, "
        err_has "--solver"
        with COBRE_LP_PATH="$PWD/$where" cobre policy first/policy.cobre
        code_is 0
        out_has "solver    shaky 1.0"
    done
    with COBRE_LP_PATH="$PWD/lonely" cobre simulate "$cases/brazil3" --policy first/policy.cobre --solver glpk --out sim
    code_is 0
    with COBRE_LP_PATH="$PWD/lonely" cobre train "$cases/brazil3" --iterations 2 --warm-start first/policy.cobre --out next
    code_is 0
}

# A plugin that is there and cannot be loaded is no secret: its reason is told.
case_a_broken_plugin() {
    local -x COBRE_LP_PATH=$PWD/broken
    folder broken "$glpk"
    echo "no library" >broken/libcobre-lp-clp.so
    cobre info
    code_is 0
    grep -qE '^  clp   cannot be used: .*(invalid ELF header|file too short)' out || fail "$(cat out)"
    cobre info --json
    json_holds out 'docs[0]["solvers"][0]["version"] is None and "clp" in docs[0]["solvers"][0]["problem"]'
    cobre "${train[@]}" --solver clp --out none
    code_is 1
    err_has 'the LP solver "clp" cannot be used: '
    err_has "use glpk"
    cobre "${train[@]}" --out one
    code_is 0
    cp "$glpk" broken/libcobre-lp-pencil.so
    cobre "${train[@]}" --solver pencil --out none
    code_is 1
    err_has "it calls itself glpk"
    rm broken/libcobre-lp-glpk.so
    cobre "${train[@]}" --out none
    code_is 1
    err_has "there is no LP solver here: clp: "
}

run_cases "${@:3}"
