#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# spdx.sh SOURCE_DIR: every source file says its licence in its first line, or in the one after #!.
cd "$1" || exit
bad=$(find src include python tests bench examples cmake CMakeLists.txt Makefile -type f ! -path '*/__pycache__/*' \
    ! -name '*.json' ! -name '*.md' ! -name '*.typed' ! -path 'python/licenses/*' ! -path 'tests/fuzz/found*.txt' ! -path 'tests/cases/*' -exec awk '
    FNR == 1 && /^#!/ { next }
    !seen[FILENAME]++ && !/^(\/\*|#) SPDX-License-Identifier: Apache-2\.0( \*\/)?$/ { print FILENAME }' {} +)
[ -z "$bad" ] || { printf 'no SPDX line: %s\n' $bad && exit 1; }
