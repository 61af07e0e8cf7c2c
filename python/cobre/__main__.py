# SPDX-License-Identifier: Apache-2.0
"""python -m cobre: the command `cobre` of this package."""

import os
import sys


def find_command():
    """Its path: in the build tree above this package, else as the list of installed files says. None if it is not there."""
    import importlib.metadata

    site = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    candidates = [os.path.join(os.path.dirname(site), "cobre")]
    for package in importlib.metadata.distributions(name="cobre", path=[site]):
        candidates += [package.locate_file(file) for file in package.files or () if file.name == "cobre"]
    candidates.append(os.path.join(site, "bin", "cobre"))  # pip install --target
    return next((os.path.realpath(path) for path in candidates if os.path.isfile(path)), None)


def main():
    command = find_command()
    if command is None:
        sys.exit("python -m cobre: the command cobre is not installed with this package; install its wheel again")
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
