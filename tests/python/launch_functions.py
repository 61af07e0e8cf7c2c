# SPDX-License-Identifier: Apache-2.0
"""What the workers of test_launch.py run. This module imports little: each worker does so, too."""

import atexit
import os
import signal
import sys
import time


def who(comm, *args):
    return comm.rank, comm.size, comm.backend, comm.allreduce(1), args


def nothing(comm):
    pass


def rank(comm):
    return comm.rank


def wait_for_ever():
    while True:
        time.sleep(60)


def fail(comm, which, how, others="barrier"):
    """Rank `which` fails, one way or the other; the others wait for it or do something else."""
    comm.barrier()
    if comm.rank == which:
        how()
    elif others == "barrier":
        comm.barrier()
    elif others == "sleep":
        wait_for_ever()
    elif others == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        wait_for_ever()
    return "well"


class Argued(Exception):
    """Cannot be unpickled: its arguments are not those of __init__."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


class Closed(Exception):
    """Takes no attributes, as a frozen dataclass."""

    def __setattr__(self, name, value):
        raise AttributeError(name)

    def __reduce__(self):
        return Closed, self.args


class Exiting(Exception):
    """Ends the program that unpickles it."""

    def __reduce__(self):
        return sys.exit, ("unpickled",)


def raise_closed():
    raise Closed("to attributes")


def raise_exiting():
    raise Exiting("at once")


def raise_value_error():
    raise ValueError("a wrong value")


def raise_argued():
    raise Argued("one", "two")


def raise_local():
    class Local(Exception):
        pass

    raise Local("of a function")


def raise_first_end_last(comm):
    """Rank 1 raises and takes its time to end; the others end at once, and hide that they heard of it."""
    try:
        comm.barrier()
        if comm.rank == 1:
            atexit.register(time.sleep, 0.3)
            raise_value_error()
        comm.barrier()
    except Exception as error:
        if comm.rank != 1:
            raise RuntimeError("cannot go on") from error
        raise


def die_by(number):
    os.kill(os.getpid(), number)
    wait_for_ever()


def kill():
    die_by(signal.SIGKILL)


def crash():
    die_by(signal.SIGSEGV)


def exit_3():
    sys.exit(3)


def exit_0():
    sys.exit(0)


def exit_hard():
    os._exit(4)


def unpicklable(comm, which):
    return (lambda: 0) if comm.rank == which else comm.rank


def large(comm, size):
    return bytes([comm.rank]) * size


def surroundings(comm):
    said = {name for name in os.environ if name.startswith("COBRE_")}
    return sys.stdin.read(), os.getcwd(), said, os.getpgrp() == os.getpid(), sys.argv


def leave_child(comm):
    """A child that would stay."""
    return os.posix_spawn("/bin/sleep", ["sleep", "1000"], os.environ)


def nested(comm):
    import cobre

    return cobre.launch(who, 2) if comm.rank == 0 else None


def report_and_wait(comm, path):
    """Says its process and that of a child in a file; then holds the interpreter's lock for ever."""
    child = os.posix_spawn("/bin/sleep", ["sleep", "1000"], os.environ)
    comm.barrier()
    with open(f"{path}/new-{comm.rank}", "w") as file:
        file.write(f"{os.getpid()} {child}")
    os.rename(f"{path}/new-{comm.rank}", f"{path}/worker-{comm.rank}")
    if comm.rank == 0:
        wait_for_ever()
    sum(range(10**15))


def load_dying(which):
    if os.environ.get("COBRE_SHM_RANK") == str(which):
        limit = time.monotonic() + 30
        while time.monotonic() < limit and not os.path.exists("/dev/shm" + os.environ["COBRE_SHM_NAME"]):
            time.sleep(0.001)
        kill()
    return "loaded"


class DiesAtLoading:
    """An argument that kills one worker before it joins the job."""

    def __init__(self, which):
        self.which = which

    def __reduce__(self):
        return load_dying, (self.which,)
