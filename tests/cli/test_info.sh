#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_info.sh COBRE HELPERS: cobre info and cobre clean.
# They look at all of /dev/shm: where that can be done, this test has one of its own.
if [ -z "${COBRE_TEST_OWN_SHM-}" ] && unshare -m true 2>/dev/null; then
    export COBRE_TEST_OWN_SHM=1
    exec unshare -m bash -c 'mount -t tmpfs -o size=256m tmpfs /dev/shm && exec "$0" "$@"' "$0" "$@"
fi
. "$(dirname "$0")/../kit/lib.sh"

case_info() {
    cobre info
    code_is 0
    out_has "backends in this build: local"
    out_has "uses: local (no launcher has started this process)"
    for backend in mpi tcp shm local; do
        grep -qE "^[* ] $backend +[^ ]" "$scratch/out" || fail "nothing about $backend"
    done
    grep -qE '^cores: [1-9][0-9]* usable, [1-9][0-9]* online$' "$scratch/out" || fail "no cores"
    grep -qE '^/dev/shm: .* free of ' "$scratch/out" || fail "no /dev/shm"
    grep -qE 'can be reserved: [0-9]' "$scratch/out" || fail "no memory"
}

case_info_json() {
    cobre info --json
    code_is 0
    json_holds "$scratch/out" 'docs[0]["chosen"] == "local" and docs[0]["error"] is None'
    json_keys "$scratch/out" 'docs[0]' version chosen why error backends parts solvers cores memory shm reservable_bytes limits \
        warnings
    json_keys "$scratch/out" 'docs[0]["backends"][0]' name built_in chosen why
    json_keys "$scratch/out" 'docs[0]["cores"]' usable online control_group
    json_keys "$scratch/out" 'docs[0]["memory"]' available_bytes total_bytes control_group_bytes
    json_keys "$scratch/out" 'docs[0]["limits"]' open_files most_open_files file_size_bytes address_space_bytes locked_memory_bytes
    json_keys "$scratch/out" 'docs[0]["parts"][0]' name problem
    json_keys "$scratch/out" 'docs[0]["shm"]' directory free_bytes total_bytes
    json_holds "$scratch/out" 'type(docs[0]["reservable_bytes"]) is int'
}

case_info_in_a_rank() {
    cobre run -n 2 "$cobre" info
    code_is 0
    [ "$(grep -c 'uses: shm' "$scratch/out")" = 2 ] || fail "$(cat "$scratch/out")"
}

case_info_says_why() {
    COBRE_COMM_BACKEND=local cobre info
    out_has "uses: local (COBRE_COMM_BACKEND asks for it)"
    with "$ENV_SHM_NAME=/x" "$ENV_SHM_RANK=0" "$ENV_SHM_SIZE=2" cobre info
    out_has "uses: shm ($ENV_SHM_NAME is set)"
}

# A limit that will hurt is named, with what to do; what is enough is not.
case_info_warns() {
    [ -n "${COBRE_TEST_OWN_SHM-}" ] || { skip "no /dev/shm of our own" && return; }
    (ulimit -n 100; ulimit -f 100000; ulimit -v 64000000; cobre info --json)
    json_holds "$scratch/out" 'docs[0]["limits"]["open_files"] == 100'
    json_holds "$scratch/out" '[w["remedy"] for w in docs[0]["warnings"]][1:] == ["ulimit -f unlimited", "ulimit -v unlimited"]'
    json_holds "$scratch/out" '"only 100 files" in docs[0]["warnings"][0]["what"]'
    cobre info
    lacks "/dev/shm has only" "$scratch/out"
    mount -t tmpfs -o size=32m tmpfs /dev/shm
    cobre info
    umount /dev/shm
    code_is 0
    out_has "warning: /dev/shm has only 32.0 MiB"
    out_has "what to do: enlarge it: docker run --shm-size=1g"
}

# The name of a variable that nothing reads is probably a slip. No other gives a warning.
case_info_unknown_variables() {
    COBRE_TCP_TIMEOUT=5 COBRE_shm_NAME=/x COBRE_BACKEND=tcp COBRE_HOME=/opt COBRE_EMPTY= COBRE_TEST_X=1 cobre info
    code_is 0
    out_has "warning: COBRE_TCP_TIMEOUT is set, but is no variable of cobre; did you mean COBRE_TCP_TIMEOUT_SECS?"
    out_has "warning: COBRE_shm_NAME is set, but is no variable of cobre; did you mean COBRE_SHM_NAME?"
    out_has "warning: COBRE_BACKEND is set, but is no variable of cobre; did you mean COBRE_COMM_BACKEND?"
    grep -qx "warning: COBRE_HOME is set, but is no variable of cobre" "$scratch/out" || fail "$(cat "$scratch/out")"
    lacks COBRE_EMPTY "$scratch/out"
    lacks COBRE_TEST "$scratch/out"
    local name
    for name in ${!ENV_*}; do
        with "${!name}=1" cobre info
        lacks "is no variable" "$scratch/out"
    done
    cobre run -n 2 "$cobre" info
    lacks "is no variable" "$scratch/out"
    COBRE_SHM_TIMEOUT=5 COBRE_HOME=/opt cobre run -n 2 true
    code_is 0
    [ "$(cat "$scratch/err")" = "cobre run: COBRE_SHM_TIMEOUT is set, but is no variable of cobre; \
did you mean COBRE_SHM_TIMEOUT_SECS?" ] || fail "$(cat "$scratch/err")"
}

case_info_without_solvers() {
    "$cobre" train --help 2>&1 | grep -q "has no trainer" && return
    COBRE_LP_PATH=/nowhere cobre info
    code_is 0
    out_has "planner: no LP solver can be used: install a plugin"
}

case_info_when_the_choice_fails() {
    COBRE_COMM_BACKEND=pigeon cobre info
    code_is 0
    out_has "fails: "
    out_has "suggestion: "
    COBRE_COMM_BACKEND=$(printf 'x"\\\377\001') cobre info --json
    code_is 0
    json_holds "$scratch/out" 'docs[0]["chosen"] is None and docs[0]["error"]["kind"] == "InvalidBackend"'
    json_keys "$scratch/out" 'docs[0]["error"]' kind message context suggestion
    with "$ENV_SHM_NAME=$(printf '/a"\377\n')" cobre info --json
    code_is 0
    json_holds "$scratch/out" 'len(docs) == 1'
}

case_info_bad_options() {
    cobre info --xml
    code_is 2
    err_has "cobre info: there is no option --xml"
    cobre info -json
    code_is 2
    err_has "cobre info: there is no option -json; did you mean --json?"
    cobre info -j
    code_is 2
    err_has "cobre info: there is no option -j"
    lacks "did you mean" "$scratch/err"
    cobre info now
    code_is 2
    cobre clean --force
    code_is 2
    err_has "cobre clean: "
    cobre clean all
    code_is 2
}

case_output_that_cannot_be_written() {
    for json in "" --json; do
        env "$mark" "$cobre" info $json >/dev/full 2>"$scratch/err"
        code=$?
        code_is 1
        err_has "No space left"
    done
}

case_clean_nothing() {
    cobre clean
    code_is 0
    [ -z "${COBRE_TEST_OWN_SHM-}" ] || out_is "nothing to clean"
}

# A job that is killed while it forms, with nobody left to remove its name.
case_clean_stale() {
    local name=/cobre-test-clean-$$ pid
    env "$mark" COBRE_COMM_BACKEND=shm $ENV_SHM_NAME=$name $ENV_SHM_RANK=0 $ENV_SHM_SIZE=2 "$helpers/rank" &
    pid=$!
    wait_for exists "/dev/shm$name" || fail "no segment"
    cobre clean
    code_is 0
    exists "/dev/shm$name" || fail "the segment of a live job was removed"
    kill -9 $pid
    wait $pid 2>/dev/null
    echo "not ours" >"/dev/shm/cobre-foreign-$$"
    cobre clean --dry-run
    code_is 0
    out_has "would remove /dev/shm$name"
    exists "/dev/shm$name" || fail "--dry-run removed it"
    [ -z "${COBRE_TEST_OWN_SHM-}" ] || [ "$(ls /dev/shm | wc -l)" = 2 ] || fail "--dry-run left $(ls /dev/shm)"
    cobre clean
    code_is 0
    out_has "removed /dev/shm$name"
    gone "/dev/shm$name" || fail "it is still there"
    exists "/dev/shm/cobre-foreign-$$" || fail "a file that is not cobre's was removed"
    rm -f "/dev/shm/cobre-foreign-$$"
    cobre clean
    [ -z "${COBRE_TEST_OWN_SHM-}" ] || out_is "nothing to clean"
}

# What may not be removed is not promised either. Needs a user to be, and a /dev/shm of our own.
case_clean_not_allowed() {
    local nobody="setpriv --reuid 65534 --regid 65534 --clear-groups" name=/cobre-test-clean-$$ pid option
    [ -n "${COBRE_TEST_OWN_SHM-}" ] && $nobody "$cobre" --version >/dev/null 2>&1 || return 0
    $nobody env "$mark" COBRE_COMM_BACKEND=shm COBRE_SHM_NAME=$name COBRE_SHM_RANK=0 COBRE_SHM_SIZE=2 "$helpers/rank" &
    pid=$!
    wait_for exists "/dev/shm$name" || fail "no segment"
    kill -9 $pid
    wait $pid 2>/dev/null
    chmod 1755 /dev/shm
    for option in --dry-run ""; do
        $nobody env "$mark" "$cobre" clean $option >"$scratch/out" 2>"$scratch/err"
        code=$?
        code_is 1
        err_has "/dev/shm$name: Permission denied"
        lacks remove "$scratch/out"
    done
    rm -f "/dev/shm$name"
    chmod 1777 /dev/shm
}

run_cases "${@:3}"
