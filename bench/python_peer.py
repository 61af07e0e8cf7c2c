# SPDX-License-Identifier: Apache-2.0
"""A rank of Python that measures what it is told to, as main.c does in C: `python_peer.py cobre|mpi4py DIRECTORY`, started by python.py.

The functions below are for launch() and for multiprocessing; their workers import this file."""

import os
import sys
from functools import partial
from time import perf_counter

BATCH_SECONDS = 100e-6


class Cobre:
    def __init__(self):
        import cobre

        self.comm = cobre.Comm()
        self.rank, self.size, self.gather = self.comm.rank, self.comm.size, self.comm.allgather_object

    def calls(self, x, y, z, counts):
        return {"allreduce": partial(self.comm.allreduce, x, "sum", y), "allgatherv": partial(self.comm.allgatherv, x, counts, z)}


class Mpi4py:
    def __init__(self):
        from mpi4py import MPI

        self.comm = MPI.COMM_WORLD
        self.rank, self.size, self.gather = self.comm.Get_rank(), self.comm.Get_size(), self.comm.allgather

    def calls(self, x, y, z, counts):
        return {"allreduce": partial(self.comm.Allreduce, x, y), "allgatherv": partial(self.comm.Allgatherv, x, [z, counts])}


def prepare(peer, operation, size):
    """The call, and a function that says whether it did the right thing."""
    import numpy

    count = size // 8 // (1 if operation == "allreduce" else peer.size)
    x, y, z = (numpy.zeros(count * times) for times in (1, 1, peer.size))
    x[:] = numpy.arange(count) + peer.rank
    counts = [count] * peer.size
    parts = [numpy.arange(count) + rank for rank in range(peer.size)]
    wanted, got = (sum(parts), y) if operation == "allreduce" else (numpy.concatenate(parts), z)
    return peer.calls(x, y, z, counts)[operation], lambda: bool((got == wanted).all())


def measure(peer, operation, size, seconds):
    call, is_right = prepare(peer, operation, size)
    peer.gather(None)
    begin = perf_counter()
    for _ in range(50):
        call()
    once = max(peer.gather((perf_counter() - begin) / 50))
    right = is_right()
    batch = max(1, int(BATCH_SECONDS / once))
    samples = []
    for _ in range(max(5, min(1000, int(seconds / once / batch)))):
        begin = perf_counter()
        for _ in range(batch):
            call()
        samples.append((perf_counter() - begin) / batch)
    slowest = [max(each) for each in zip(*peer.gather(samples))]
    return all(peer.gather(right and is_right())), batch, slowest


def serve(peer, directory):
    answers = open(os.path.join(directory, "out"), "w", buffering=1) if peer.rank == 0 else None
    with open(os.path.join(directory, str(peer.rank))) as commands:
        if answers:
            print("ready", file=answers)
        for line in commands:
            _number, operation, size, _buffers, seconds = line.split()
            right, batch, samples = measure(peer, operation, int(size), float(seconds))
            if answers:
                print("right" if right else "wrong", batch, *(f"{sample:.4g}" for sample in samples), file=answers)


def nothing(comm):
    return comm.size


def own_bytes():
    """This process's share of the memory: a page of N processes counts for one N-th in each."""
    with open("/proc/self/smaps_rollup") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("Pss:"))


def hold_region(comm, count):
    """The bytes of all workers that read one table."""
    import numpy

    with comm.region(count, "f8") as region:
        if comm.is_leader:
            numpy.asarray(region)[:] = 1
        region.seal()
        assert numpy.asarray(region).sum() == count
        comm.barrier()
        held = own_bytes()
        comm.barrier()
    return comm.allreduce(held)


def hold_copy(table, barrier, results):
    assert table.sum() == len(table)
    barrier.wait()
    held = own_bytes()
    barrier.wait()
    results.put(held)


def main():
    peer = {"cobre": Cobre, "mpi4py": Mpi4py}[sys.argv[1]]()
    if peer.size == 1:
        sys.exit("this is one rank: the launcher is not that of the MPI")
    serve(peer, sys.argv[2])


if __name__ == "__main__":
    main()
