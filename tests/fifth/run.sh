#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh SOURCE_DIR: what does a fifth backend cost? A copy of the tree gets one: its folder and one line. Then it must be
# in the library, in the command, and in the conformance suite.
. "$(dirname "$0")/../kit/copied_tree.sh"
line='    X(ECHO, echo, __VA_ARGS__)   /* itself */                                                                          \'

mkdir "$tree"
cp -r "$source_dir"/{CMakeLists.txt,cmake,examples,include,man,src,tests} "$tree"
cp -r "$tree/tests/fifth/echo" "$tree/src/backends/echo"
sed -i "/^    X(MPI, mpi/i\\${line//\\/\\\\}" "$tree/include/cobre/comm.h"
[ "$(diff -r "$source_dir/include" "$tree/include" | grep -c '^[<>]')" = 1 ] || fail "the list of backends has no line for it"

cmake -S "$tree" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DCOBRE_MPI=OFF -DCOBRE_SDDP=OFF -DCOBRE_PYTHON=OFF -DCOBRE_SUITES=conformance \
    >"$work/log" 2>&1 && cmake --build "$build" -j2 --target runner rank hello cobre-cli >"$work/log" 2>&1 ||
    { cat "$work/log" && fail "it is not built"; }

env -u COBRE_COMM_BACKEND ctest --test-dir "$build" -R '^test_echo_' -j2 --no-tests=error --output-on-failure >"$work/log" 2>&1 ||
    { cat "$work/log" && fail "it does not conform"; }
grep '% tests passed' "$work/log"

cobre=$build/cobre hello=$build/examples/hello
says 'by echo' env COBRE_ECHO_WORD=hi "$build/tests/helpers/rank" hello
says 'echo: the process exits' env COBRE_ECHO_WORD=hi "$build/tests/helpers/rank" exit=0
says 'COBRE_ECHO_WORD is set' env COBRE_ECHO_WORD=hi "$cobre" info
says 'the echo backend needs COBRE_ECHO_WORD' env COBRE_COMM_BACKEND=echo "$hello"
says 'hello-1' "$cobre" run -n 2 --backend echo printenv COBRE_ECHO_WORD
says 'rank 0 of 1 (echo)' "$cobre" run -n 2 --backend echo "$hello"
says 'choose one of: auto, local, shm, tcp, echo' env COBRE_COMM_BACKEND=mpi "$hello"
