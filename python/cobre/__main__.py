# SPDX-License-Identifier: Apache-2.0
"""python -m cobre, and the script cobre: the command `cobre` of this package."""

import os
import sys


def find_command():
    """Its path: beside this file, where a wheel has it, else in the build tree above. None if it is not there."""
    folder = os.path.dirname(os.path.abspath(__file__))
    candidates = [os.path.join(folder, "cobre"), os.path.join(folder, "..", "..", "cobre")]
    return next((os.path.realpath(path) for path in candidates if os.path.isfile(path)), None)


def main():
    command = find_command()
    if command is None:
        sys.exit("cobre: this package was built without the command cobre, which needs jansson (Debian: libjansson-dev)")
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
