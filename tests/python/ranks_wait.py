# SPDX-License-Identifier: Apache-2.0
"""Opening, waiting, and what it costs. NumPy is not imported unless a program needs it."""

import array
import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import cobre
from kit import free_port, raises, run, wait_until_inside


def without_numpy():
    comm = cobre.Comm()
    assert comm.allreduce(array.array("d", [1])) == array.array("d", [1]) and comm.allreduce(2) == 2
    assert comm.exact_sum([1, 2]) == comm.exact_sum(array.array("f", [1, 2])) == comm.exact_sum((ctypes.c_double * 2)(1, 2)) == 3
    assert comm.allgatherv(bytearray(3)) == bytearray(3) and comm.broadcast_object([1]) == [1]
    for name in ("d", "f8", "float64", float):
        assert memoryview(comm.region(3, name)).format == "d"
    with raises(ValueError, "dtype"):
        comm.region(3, "c16")
    assert "numpy" not in sys.modules
    code = "import sys, cobre; sys.exit({*sys.modules} & {'json', 'pickle', 'subprocess', 'socket', 'multiprocessing', 'typing'} or 0)"
    subprocess.run([sys.executable, "-c", code], check=True)  # an import of cobre is quick


def from_arguments():
    """Two processes, by arguments alone. With an argument it is rank 1."""
    backend = os.environ["BACKEND"]
    rank = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    if backend == "tcp":
        how = dict(coordinator="127.0.0.1", port=int(os.environ.get("PORT") or free_port()), token="secret", bind="127.0.0.1")
    else:
        how = dict(name=os.environ.get("NAME", f"/cobre-test-{os.getpid()}"))
    if rank == 0:
        environment = dict(os.environ, PORT=str(how.get("port")), NAME=str(how.get("name")))
        other = subprocess.Popen([sys.executable, "-B", __file__, "from_arguments", "1"], env=environment)
    with cobre.Comm(backend=backend, rank=rank, size=2, join_timeout=200, stall=200, **how) as comm:
        assert comm.size == 2 and comm.rank == rank and comm.backend == ("tcp" if backend == "tcp" else "shm")
        assert comm.allgather_object(rank) == [0, 1]
    if rank == 0:
        assert other.wait() == 0


class Alarm:
    """Sends this process a signal soon after start(), but not before it is inside a call on the region's communicator; took() is
    how long ago that was."""

    def __init__(self, number=signal.SIGINT, region=None):
        self.number, self.region = number, region
        self.start = threading.Timer(0.05, self.send).start

    def send(self):
        if self.region:
            wait_until_inside(self.region)
        self.at = time.monotonic()
        os.kill(os.getpid(), self.number)

    def took(self):
        return time.monotonic() - self.at


def interrupt():
    comm = cobre.Comm()
    region = comm.region(1)
    local = comm.backend == "shm" and comm.split_local()
    region_of_local = local and local.region(1)
    if comm.rank == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGUSR2])
    pid = comm.broadcast_object(os.getpid(), 0)
    if comm.rank == 1:
        # A handler that only looks runs while the call waits, and so do other threads. Rank 0 comes when it has run.
        seen = []
        signal.signal(signal.SIGUSR1, lambda *_: seen.append(comm.size))
        Alarm(signal.SIGUSR1, region).start()
        threading.Thread(target=lambda: (wait_for(seen), os.kill(pid, signal.SIGUSR1))).start()
        comm.barrier()
        assert seen == [2]
        alarm = Alarm(signal.SIGINT, region)
        with raises(KeyboardInterrupt):
            alarm.start()
            comm.barrier()
        print(alarm.took(), flush=True)
        with raises(cobre.CollectiveError, "interrupted"):  # it is broken now
            comm.barrier()
        if local:  # any exception of a handler ends a call
            signal.signal(signal.SIGALRM, lambda *_: 1 // 0)
            with raises(ZeroDivisionError):
                Alarm(signal.SIGALRM, region_of_local).start()
                local.allreduce(1.0)
        print("done", flush=True)
        os.kill(pid, signal.SIGUSR2)
    else:
        signal.sigwait([signal.SIGUSR1])
        comm.barrier()
        signal.sigwait([signal.SIGUSR2])
        if comm.backend != "mpi":
            with raises(cobre.CollectiveError):
                comm.barrier()  # rank 1 had entered it: this one may be complete here
                comm.barrier()
            if local:
                with raises(cobre.CollectiveError):
                    local.allreduce(1.0)
                    local.allreduce(1.0)
    if comm.backend == "mpi":
        os._exit(0)  # a broken MPI job does not end by itself


def wait_for(list):
    while not list:
        time.sleep(0.001)


def interrupt_open():
    for how in (
        dict(backend="shm", name=f"/cobre-test-{os.getpid()}", rank=0, size=2),
        dict(backend="tcp", port=free_port(), rank=0, size=2),
        dict(backend="tcp", coordinator="127.0.0.1", port=free_port(), rank=1, size=2),
    ):
        alarm = Alarm()
        with raises(KeyboardInterrupt):
            alarm.start()
            cobre.Comm(**how)
        print(alarm.took())


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def large_objects():
    """An array of 100 MB takes 100 MB more where it is received, and nothing where it is sent."""
    import numpy

    with cobre.Comm() as comm:
        table = numpy.full(100 << 17, 1.0) if comm.rank == 0 else None
        before = peak()
        got = comm.broadcast_object(table, 0)
        more = peak() - before
        assert got[-1] == 1.0
        assert more < (20 if comm.rank == 0 else 130), more
        del got, table
        mine = numpy.full(50 << 17, comm.rank + 1.0)
        before = peak()
        both = comm.allgather_object(mine)
        assert both[1][-1] == 2.0 and peak() - before < 70


if __name__ == "__main__":
    run(globals())
