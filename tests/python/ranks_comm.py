# SPDX-License-Identifier: Apache-2.0
"""Communicators, with any number of ranks on any backend."""

import array
import copy
import ctypes
import math
import pickle

import cobre
import numpy
from kit import raises, run

TYPES = ["u1", "i4", "u4", "i8", "u8", "f4", "f8"]


def who_is_who(comm):
    assert 0 <= comm.rank < comm.size and 0 <= comm.node_rank < comm.node_size <= comm.size
    assert comm.backend in ("local", "shm", "tcp", "mpi") and comm.is_leader == (comm.node_rank == 0)
    assert comm.is_open and repr(comm) == f"<cobre.Comm: rank {comm.rank} of {comm.size}, {comm.backend}>"
    ranks = comm.allgatherv(numpy.array([comm.rank]))
    assert ranks.tolist() == list(range(comm.size))


def numbers(comm):
    n = comm.size
    assert comm.allreduce(comm.rank) == n * (n - 1) // 2
    assert comm.allreduce(comm.rank + 0.5) == sum(r + 0.5 for r in range(n))
    assert comm.allreduce(comm.rank, "max") == n - 1 and comm.allreduce(comm.rank, op="min") == 0
    assert comm.allreduce(True) == n and type(comm.allreduce(True)) is int
    assert comm.allreduce(-(2**63), "min") == -(2**63)
    for kind in (numpy.float32, numpy.int64, numpy.uint8, numpy.float64):
        assert comm.allreduce(kind(3)) == 3 * n
    assert type(comm.allreduce(numpy.float32(3))) is numpy.float32
    assert comm.allreduce(numpy.array(2.5)) == 2.5 * n
    assert comm.allreduce(ctypes.c_int32(7), "max") == 7
    with raises(OverflowError, "64 bits"):
        comm.allreduce(2**63)


def elements(comm):
    n, r = comm.size, comm.rank
    for name in TYPES:
        mine = numpy.arange(5).astype(name) + numpy.dtype(name).type(r)
        total = comm.allreduce(mine)
        assert total.dtype == mine.dtype and total is not mine
        assert total.tolist() == [n * i + n * (n - 1) // 2 for i in range(5)]
        assert comm.allreduce(mine, "max").tolist() == [i + n - 1 for i in range(5)]
        assert comm.allreduce(mine, "min").tolist() == list(range(5))
        assert comm.allgatherv(mine).reshape(n, 5)[:, 0].tolist() == list(range(n))
        letter = {"u1": "B", "i4": "i", "u4": "I", "i8": "l", "u8": "L", "f4": "f", "f8": "d"}[name]
        words = array.array(letter, [r + 1, 2])
        assert comm.allreduce(words) == array.array(letter, [n * (n + 1) // 2, 2 * n])
        view = comm.allreduce(memoryview(words))
        assert view.format == letter and view.tolist() == [n * (n + 1) // 2, 2 * n]
    native = (ctypes.c_double * 2)(r, 1)
    assert comm.allreduce(native).tolist() == [n * (n - 1) / 2, n]
    assert comm.allreduce(bytes([1, 2])) == bytearray([n, 2 * n])


def shapes(comm):
    n, r = comm.size, comm.rank
    square = numpy.full((2, 3), r, "f8")
    assert comm.allreduce(square).shape == (2, 3)
    rows = comm.allgatherv(numpy.full((r + 1, 3), r, "i4"))
    assert rows.shape == (n * (n + 1) // 2, 3) and rows[-1].tolist() == [n - 1] * 3
    assert comm.allgatherv(numpy.full((2, 3), r), [6] * n).shape == (2 * n, 3)
    assert comm.allgatherv(numpy.zeros((0, 3))).shape == (0, 3)
    assert comm.allgatherv(numpy.zeros(0)).shape == (0,)
    assert comm.allgatherv(numpy.float64(r)).tolist() == list(range(n))
    assert comm.broadcast(numpy.zeros((0, 2))).shape == (0, 2)
    plane = memoryview(bytearray(32)).cast("d", [2, 2])
    assert comm.allreduce(plane).shape == (2, 2)
    part = numpy.arange(r, dtype="f8")  # of another length on each rank, none on rank 0
    parts = [float(i) for rank in range(n) for i in range(rank)]
    assert comm.allgatherv(part).tolist() == parts
    assert comm.allgatherv(part, range(n)).tolist() == parts
    assert comm.allgatherv(part, numpy.arange(n)).tolist() == parts
    assert comm.allgatherv(part, counts=None).tolist() == parts
    with raises(cobre.ArgumentError, "nothing to reduce"):
        comm.allreduce(numpy.zeros(0))


class Either(ctypes.Union):
    _fields_ = [("number", ctypes.c_float)]


def as_bytes(comm):
    """Elements that no reduction knows are carried, not reduced."""
    for name in (">f8", "i1", "i2", "?", "c16", "f2", "g", "S3", "U2", [("Ox", "i4"), ("b", ">f8")]):
        mine = numpy.zeros(3, name)
        raw = mine.view("u1")
        raw[:] = comm.rank + 1
        gathered = comm.allgatherv(mine)
        assert gathered.dtype == mine.dtype and gathered.shape == (3 * comm.size,)
        assert gathered.view("u1")[-1] == comm.size
        assert comm.allgatherv(mine, [3] * comm.size).tobytes() == gathered.tobytes()
        comm.broadcast(mine, root=comm.size - 1)
        assert (raw == comm.size).all()
        with raises(TypeError, "cannot reduce"):
            comm.allreduce(mine)
    assert comm.allgatherv(memoryview(numpy.zeros(2, ">i4"))).nbytes == 8 * comm.size
    either = (Either * 2)()
    with raises(TypeError, "cannot reduce"):
        comm.allreduce(either, out=either)
    assert comm.allgatherv(array.array("h", [comm.rank])).tolist() == list(range(comm.size))
    comm.broadcast(numpy.zeros(3, "V0"))
    with raises(cobre.ArgumentError):  # elements without bytes
        comm.allgatherv(numpy.zeros(3, "V0"), [3] * comm.size)


def places(comm):
    """Results go where the caller says, and are not copied."""
    n, r = comm.size, comm.rank
    send, out = numpy.full(4, r, "f8"), numpy.zeros(4)
    assert comm.allreduce(send, "sum", out) is out and out[0] == n * (n - 1) / 2
    assert comm.allreduce(send, out=memoryview(send)).tolist() == out.tolist()  # in place
    assert (send == out).all()
    whole = numpy.full(n, -1, "i8")
    whole[r] = r
    assert comm.allgatherv(whole[r : r + 1], [1] * n, whole) is whole and whole.tolist() == list(range(n))
    where = numpy.zeros(8, "f8")
    address = where.ctypes.data
    assert comm.broadcast(where) is where and where.ctypes.data == address
    more = numpy.full(n + 2, 7.0)
    comm.allgatherv(numpy.array([float(r)]), out=more)
    assert more.tolist() == [*map(float, range(n)), 7.0, 7.0]
    if r == 0:
        assert comm.broadcast(b"abc", root=0) == b"abc"  # root's may be read-only
    else:
        assert comm.broadcast(bytearray(3), root=0) == b"abc"


def refusals(comm):
    """Wrong arguments: this rank has not entered, and the communicator works on."""
    a = numpy.arange(10.0)
    frozen = a.copy()
    frozen.flags.writeable = False
    for call in (comm.allreduce, comm.allgatherv, comm.broadcast):
        with raises(TypeError, "C-contiguous"):
            call(a[::2])
        with raises(TypeError, "C-contiguous"):
            call(a.reshape(2, 5).T)
        with raises(TypeError, "multiples of their size"):
            call(numpy.frombuffer(bytearray(17), "f8", 2, 1))
        for wrong in ("text", None, [1.0], object(), 1j, {}):
            with raises(TypeError, "has no buffer"):
                call(wrong)
        for pointers in (numpy.zeros(2, "O"), (ctypes.c_char_p * 2)(), (ctypes.py_object * 2)(), (ctypes.c_void_p * 2)()):
            with raises(TypeError, "objects or pointers"):
                call(pointers)
        with raises(TypeError, "needs the argument"):
            call()
        with raises(TypeError, "no argument 'foo'"):
            call(a, foo=1)
        with raises(TypeError, "two values"):
            call(a, **{"buf" if call == comm.broadcast else "send": a})
        with raises(TypeError, "at most"):
            call(a, 1, 2, 3, 4)
        with raises(ValueError):
            call(numpy.zeros(2, "M8[s]"))
    for out in (frozen, bytes(80), memoryview(bytes(80)).cast("d")):
        with raises(TypeError, "read-only"):
            comm.allreduce(a, out=out)
    for call in (comm.allreduce, comm.allgatherv):
        with raises(TypeError, "format"):
            call(a, out=numpy.zeros(10, "f4"))
        with raises(TypeError, "C-contiguous"):
            call(a, out=numpy.zeros(20)[::2])
    with raises(TypeError, "format"):
        comm.allreduce(numpy.zeros(3, "u1"), out=numpy.zeros(3, "i1"))
    with raises(cobre.ArgumentError, "overlap"):
        comm.allreduce(a[:9], out=a[1:])
    with raises(cobre.ArgumentError):
        comm.allreduce(a, out=numpy.zeros(11))
    with raises(TypeError, "has no buffer"):
        comm.allreduce(3, out=a)
    for op in ("SUM", "prod", 3, None, b"sum", ["sum"]):
        with raises(ValueError, "op:"):
            comm.allreduce(a, op)
    for root in (-1, 2**64, 2**70):
        with raises(ValueError, "root"):
            comm.broadcast(a, root)
    with raises(cobre.ArgumentError, "root"):
        comm.broadcast(a, comm.size)
    for root in ("0", 0.0, [], numpy.float64(0)):
        with raises(TypeError, "root"):
            comm.broadcast(a, root)
        with raises(TypeError):
            comm.broadcast_object(1, root)
    with raises(ValueError, "root"):
        comm.broadcast_object(1, comm.size)
    for counts in ([], [10] * (comm.size + 1), "", ()):
        with raises(ValueError, "counts: has"):
            comm.allgatherv(a, counts)
    for counts in ([-1] * comm.size, [2**64] * comm.size, [2**62] * comm.size):
        with raises((ValueError, MemoryError)):
            comm.allgatherv(a, counts)
        with raises(ValueError):
            comm.allgatherv(numpy.zeros(3, "c16"), counts)
    for counts in (3, "a" * comm.size, [1.0] * comm.size, [None] * comm.size, object()):
        with raises(TypeError):
            comm.allgatherv(a, counts)
    with raises(cobre.ArgumentError):
        comm.allgatherv(a, [9] * comm.size)
    with raises(cobre.ArgumentError):
        comm.allgatherv(a, [10] * comm.size, numpy.zeros(10 * comm.size - 1))
    for wrong in ("text", 1j, None, ["a"], object()):
        with raises(TypeError):
            comm.exact_sum(wrong)
    with raises(TypeError):
        comm.exact_sum(numpy.zeros(2, "c16"))
    for name in ("rank", "backend", "is_open", "free"):
        with raises(AttributeError):
            delattr(comm, name)
    with raises(AttributeError):
        comm.rank = 3
    for operation in (pickle.dumps, copy.copy, copy.deepcopy):
        with raises(TypeError, "each rank opens its own"):
            operation(comm)
    with raises(RuntimeError, "open already"):
        comm.__init__()
    assert comm.allreduce(1) == comm.size


def exact_sums(comm):
    mine = [1e100, 1.0, -1e100] if comm.rank == 0 else [2.0**-60]
    truth = math.fsum([1.0] + [2.0**-60] * (comm.size - 1))
    for values in (mine, tuple(mine), iter(mine), (x for x in mine), array.array("d", mine), numpy.array(mine), memoryview(array.array("d", mine))):
        assert comm.exact_sum(values) == truth
    assert comm.exact_sum(0.1) == math.fsum([0.1] * comm.size)
    assert comm.exact_sum(3) == 3 * comm.size == comm.exact_sum([3])
    assert comm.exact_sum(numpy.float32([[0.5, 1], [1, 1]])) == 3.5 * comm.size
    assert comm.exact_sum(numpy.arange(10)[::2]) == 20 * comm.size
    assert comm.exact_sum(numpy.zeros(2, ">f8")) == 0 and comm.exact_sum([]) == 0
    assert comm.exact_sum(b"ab") == (97 + 98) * comm.size
    assert math.isnan(comm.exact_sum([math.inf, -math.inf]))


class Stubborn:
    def __reduce__(self):
        raise RuntimeError("not today")


class Speechless(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class Silent:
    def __reduce__(self):
        raise Speechless


class Traitor:
    """Can be pickled, but not unpickled."""

    def __reduce__(self):
        return int, ("no number",)


def objects(comm):
    n, r, last = comm.size, comm.rank, comm.size - 1
    big = numpy.arange(300_000.0) + r
    tree = {"rank": r, "big": big, "strided": big[::7], "fortran": numpy.asfortranarray(big[:6].reshape(2, 3)), "empty": numpy.zeros(0),
            "text": "ä", "bytes": bytearray(b"x" * 100), "none": None}
    for root in {0, last}:
        got = comm.broadcast_object(tree, root)
        assert got["rank"] == root and (got["big"] == numpy.arange(300_000.0) + root).all() and got["text"] == "ä"
        assert (got["strided"] == got["big"][::7]).all() and (got["fortran"] == got["big"][:6].reshape(2, 3)).all()
        assert (got is tree) == (r == root) and got["big"].flags.writeable
    every = comm.allgather_object(tree)
    assert [one["rank"] for one in every] == list(range(n)) and every[r] is tree
    assert all((one["big"] == numpy.arange(300_000.0) + rank).all() for rank, one in enumerate(every))
    assert comm.allgather_object(None) == [None] * n
    assert comm.allgather_object(b"x" * r) == [b"x" * rank for rank in range(n)]
    assert comm.broadcast_object(cobre.CobreError("a", "b", {}, "c")).kind == "a"
    # A rank that cannot pickle: it says why, the others hear of it, and all go on.
    for call in (comm.broadcast_object, comm.allgather_object):
        with raises(RuntimeError, "not today") if r == 0 else raises(pickle.PicklingError, "rank 0 could not pickle its object: RuntimeError: not today"):
            call(Stubborn() if r == 0 else big)
        with raises(Speechless) if r == 0 else raises(pickle.PicklingError, "rank 0 could not pickle its object: Speechless"):
            call(Silent() if r == 0 else big)
        with raises(Exception, "pickle"):
            call(lambda: 1)
    # One that cannot unpickle: only it fails.
    if r == 0:
        assert comm.broadcast_object(Traitor()) is not None
    else:
        with raises(ValueError, "no number"):
            comm.broadcast_object(None)
    assert comm.allreduce(1) == n


def splitting(comm):
    local = comm.split_local()
    assert type(local) is type(comm) and local.size == comm.node_size and local.rank == comm.node_rank
    assert local.allreduce(1) == local.size
    with local as same:
        assert same is local
    assert not local.is_open and comm.is_open


def closing(comm):
    comm.free()
    comm.free()
    assert not comm.is_open and repr(comm) == "<cobre.Comm: not open>"
    with raises(cobre.CommunicatorError, "not open"):
        comm.rank
    with raises(cobre.CommunicatorError, "not open"):
        with comm:
            pass


def everything():
    comm = cobre.Comm()
    for check in (who_is_who, numbers, elements, shapes, as_bytes, places, refusals, exact_sums, objects, splitting, closing):
        check(comm)
    with cobre.Comm(backend="local") as alone:
        assert alone.size == 1
    assert not alone.is_open


if __name__ == "__main__":
    run(globals())
