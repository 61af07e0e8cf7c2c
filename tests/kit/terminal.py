# SPDX-License-Identifier: Apache-2.0
"""terminal.py COLUMNS [TEXT ACTION]... -- COMMAND...: runs a command on a terminal, and exits with its code.

When the command has written TEXT, after what the ACTION before it answered, the action follows: `type x` (^C is typed as such),
`kill N` (rank N of the command), `columns N` (the terminal gets another width), or `wait`. What came goes to the file `raw`; what
would stand on a terminal of any height to `screen`. It fails when a text does not come within 300 seconds."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

split = sys.argv.index("--")
columns, script, command = int(sys.argv[1]), sys.argv[2:split], sys.argv[split + 1 :]
events = list(zip(script[::2], script[1::2]))


def set_columns(number):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, number, 0, 0))


def ranks():
    with open(f"/proc/{child}/task/{child}/children") as file:
        children = file.read().split()
    return [int(pid) for pid in children if b"\0--rank\0" in open(f"/proc/{pid}/cmdline", "rb").read()]


def act(action):
    name, _, value = action.partition(" ")
    if name == "type":
        os.write(terminal, value.replace("^C", "\x03").encode())
    elif name == "kill":
        os.kill(ranks()[int(value)], signal.SIGKILL)
    elif name == "columns":
        set_columns(int(value))
    else:
        assert name == "wait", action


def screen_of(raw):
    """Knows what cobre may write: lines, carriage returns, and the sequence that clears the rest of a line."""
    lines, column = [[]], 0
    for token in re.findall(r"\x1b\[K|.", raw.replace("^C", ""), re.DOTALL):
        if token == "\x1b[K":
            del lines[-1][column:]
        elif token == "\n":
            lines.append([])
            column = 0
        elif token == "\r":
            column = 0
        else:
            lines[-1][column : column + 1] = [token]
            column += 1
    return "\n".join("".join(line) for line in lines)


ready, go = os.pipe()
child, terminal = pty.fork()
if child == 0:
    os.read(ready, 1)  # the width must be there before
    os.execvp(command[0], command)
set_columns(columns)
os.write(go, b"x")
raw, seen, deadline = b"", 0, time.monotonic() + 300
while True:
    if not select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
        print("the terminal waits in vain for", events[:1] or "the end", file=sys.stderr)
        os.kill(child, signal.SIGKILL)
        break
    try:
        data = os.read(terminal, 65536)
    except OSError:  # nobody has it open any more
        break
    raw += data
    while events and (at := raw.find(events[0][0].encode(), seen)) >= 0:
        seen = at + len(events[0][0])
        act(events.pop(0)[1])
text = raw.decode().replace("\r\n", "\n")
with open("raw", "w", newline="") as file:
    file.write(text)
with open("screen", "w") as file:
    file.write(screen_of(text))
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.exit(1 if events else code if code >= 0 else 128 - code)
