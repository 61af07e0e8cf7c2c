# SPDX-License-Identifier: Apache-2.0
"""What the programs share that the tests start as ranks."""

import sys
import time


class raises:
    """with raises(kind, text): what happens inside raises an exception of that kind, which says so.

    A class, because a generator with contextlib keeps the exception in a cycle."""

    def __init__(self, kind, text=""):
        self.kind, self.text = kind, text

    def __enter__(self):
        pass

    def __exit__(self, kind, error, trace):
        if error is None:
            raise AssertionError(f"no {self.kind}")
        if not isinstance(error, self.kind) or isinstance(error, SystemError):
            return False
        assert not self.text or self.text in str(error), f"{self.text!r} is not in {error!r}"
        return True


def free_port():
    """Outside the range that the system gives to outgoing connections, of which other tests make thousands."""
    import random
    import socket

    while True:
        port = random.randrange(20000, 32000)
        try:
            socket.create_server(("", port)).close()
        except OSError:
            continue
        return port


def wait_until_inside(region):
    """Until a thread is inside a call on the region's communicator."""
    while True:
        try:
            region.claim(0, 1)
            time.sleep(0.001)
        except RuntimeError:
            return


def run(programs):
    """The function that argv[1] names."""
    programs[sys.argv[1]]()
