#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_refused.sh COBRE HELPERS: one rank lacks memory for a moment (HELPERS/starved): what all ranks hear of it.
. "$(dirname "$0")/../kit/lib.sh"

refused() { # BACKEND RANKS
    has_backend "$1" || { echo "no $1 in this build" && exit 77; }
    cobre run -n "$2" --backend "$1" "$helpers/starved" refused=region refused=split refused=seal barrier
    code_is 0
}

case_local() { refused local 1; }
case_shm() { refused shm 3; }
case_tcp() { refused tcp 3; }

run_cases "${@:3}"
