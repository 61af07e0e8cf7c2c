"""python -m cobre: the command `cobre` of this package."""

import os
import sys

from ._command import path


def main():
    command = path()
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
