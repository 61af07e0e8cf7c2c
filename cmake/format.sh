#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# format.sh --check | --in-place: clang-format over all our C.
set -eu
cd "$(dirname "$0")/.."
case ${1-} in
--check) how='--dry-run -Werror' ;;
--in-place) how=-i ;;
*) echo "usage: $0 --check|--in-place" >&2; exit 2 ;;
esac
find include src python tests examples bench \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cpp' \) -print0 | xargs -0 clang-format $how
