#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# may_write.sh FOLDER: may it be made, or written to? Otherwise says what to do, before anything is installed.
set -eu
folder=$1
while [ ! -e "$folder" ]; do
    folder=$(dirname "$folder")
done
[ -d "$folder" ] && [ -w "$folder" ] && exit 0
echo "$folder cannot be written to. Install as root, or into a folder of yours: make install PREFIX=\$HOME/.local" >&2
exit 1
