# SPDX-License-Identifier: Apache-2.0
"""What the other ranks see when one fails."""

import os
import pickle
import signal
import sys

import cobre
from kit import raises, run


def fails_with(comm, cause, culprit, *texts):
    try:
        comm.barrier()
        comm.barrier()
    except cobre.CollectiveError as error:
        assert error.kind == "CollectiveFailed" and error.cause == cause and error.culprit == culprit, error.context
        assert error.context["cause"] == cause and error.context["rank"] == comm.rank
        assert all(text in str(error) for text in texts), error
        assert error.message in str(error) and error.suggestion in str(error) and error.suggestion
    else:
        raise AssertionError("no error")
    assert comm.is_open and comm.size == 2
    comm.free()


def left():
    comm = cobre.Comm()
    if comm.rank == 0:
        comm.barrier()  # the other rank is in, too
        comm.free()
    else:
        fails_with(comm, "peer left", 0, "left")


def killed():
    comm = cobre.Comm()
    if comm.rank == 0:
        comm.barrier()
        os.kill(os.getpid(), signal.SIGKILL)
    fails_with(comm, "peer died", 0, "died")


def aborted():
    comm = cobre.Comm()
    if comm.rank == 0:
        for code in (0, 256, -1, 2**80):
            with raises(ValueError, f"code: {code} is not from 1 to 255"):
                comm.abort("nothing", code)
        comm.barrier()
        comm.abort("the tank \udc80 is empty\0", 7)
    fails_with(comm, "aborted", 0, "the tank", "is empty")


def mismatch():
    comm = cobre.Comm()
    with raises(cobre.CollectiveError, "allreduce"):
        if comm.rank == 0:
            comm.allreduce(1.0)
        else:
            comm.allreduce(1)
    with raises(cobre.CollectiveError):
        comm.barrier()
    comm.free()


def stalled():
    comm = cobre.Comm(stall=0.2)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    pid = comm.broadcast_object(os.getpid())
    if comm.rank == 0:
        signal.sigwait([signal.SIGUSR1])
        os._exit(0)
    fails_with(comm, "stalled", 0, "stall")
    os.kill(pid, signal.SIGUSR1)


def raises_inside():
    """Rank 1 raises inside two `with`. Its traceback comes first, then the others hear that it left."""
    with cobre.Comm() as comm:
        local = comm.split_local()
        with local, comm.region(10) as region:
            comm.barrier()
            if comm.rank == 1:
                raise LookupError("this rank is lost")
            comm.barrier()


class Odd(Exception):
    __slots__ = ()

    def __setattr__(self, name, value):
        raise TypeError("no attributes, please")


def caught():
    """A rank that catches its exception leaves when the exception is over; one that keeps it stays."""
    comm = cobre.Comm()
    for kind in (ValueError, Odd):
        inner = comm.split_local()
        try:
            with inner as same:
                if comm.rank == 1:
                    raise kind("here")
                with raises(cobre.CollectiveError, "left"):
                    same.barrier()
        except kind as error:
            assert not inner.is_open
            with raises(cobre.CommunicatorError):
                inner.barrier()
            with raises(cobre.CommunicatorError):
                inner.rank
            inner.free()
            if kind is ValueError:
                with raises(RuntimeError, "open already"):  # until the exception is over
                    inner.__init__("local")
                assert pickle.loads(pickle.dumps(error)).args == ("here",)
        if comm.rank == 1:
            inner.__init__("local")  # a second life
            assert inner.is_open and inner.allreduce(1) == 1
            inner.free()
    assert comm.allreduce(1) == comm.size
    comm.free()


def exits():
    """sys.exit inside `with`, and Ctrl-C: the same as any exception."""
    with cobre.Comm() as comm:
        if comm.rank == 1:
            sys.exit(3)
        comm.barrier()


if __name__ == "__main__":
    run(globals())
