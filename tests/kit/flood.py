# SPDX-License-Identifier: Apache-2.0
"""flood.py HOST PORT COUNT [UID]: opens connections to a job's port, says a good hello on each, and then nothing; prints "flooded" and
holds them until it is killed. Its own ports are below those that tests listen at (20000) and those that the system gives away."""

import contextlib
import os
import resource
import signal
import socket
import struct
import sys

host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
hello = b"cobretcp" + struct.pack(">HBBB3xIIHxxI", 3, 1, 8, 1, 1, 3, 0, os.getpid()) + os.urandom(32) + bytes(16)
resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, max(count + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
if len(sys.argv) > 4:  # as another user
    os.setgid(int(sys.argv[4]))
    os.setuid(int(sys.argv[4]))
own_ports = iter(range(2000, 20000))


def connect():
    """A connection from the next port that is free."""
    while True:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one whose last connection has just ended is free
        try:
            connection.bind((b"", next(own_ports)))  # bytes: another user may not see Python's files any more
        except OSError:
            connection.close()
            continue
        connection.connect((host.encode(), port))
        return connection


held = []
for _ in range(count):
    held.append(connect())
    with contextlib.suppress(OSError):  # it may have been pushed out already
        held[-1].send(hello)
print("flooded", flush=True)
signal.pause()
