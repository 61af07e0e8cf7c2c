# SPDX-License-Identifier: Apache-2.0
"""Regions, with any number of ranks on any backend."""

import copy
import ctypes
import gc
import pickle

import cobre
import numpy
from kit import raises, run


def views(comm):
    with comm.region(12, "i4") as region:
        assert type(region) is cobre.Region and len(region) == 12 and region.format == "i" and not region.sealed
        view = numpy.asarray(region)
        assert view.dtype == "i4" and view.shape == (12,)
        assert view.flags.writeable == comm.is_leader
        if comm.is_leader:
            view[:] = range(12)
        else:
            with raises(ValueError, "read-only"):
                view[0] = 1
            with raises(TypeError, "read-only"):
                comm.allreduce(numpy.zeros(12, "i4"), out=region)
        region.fence()
        assert view.tolist() == list(range(12))  # the same memory on all ranks of the node
        again = numpy.asarray(region)
        assert again.ctypes.data == view.ctypes.data
        assert memoryview(region).readonly != comm.is_leader and memoryview(region).format == "i"
        assert comm.allreduce(region, "max").tolist() == list(range(12))  # a region is a buffer as any other
        assert comm.allreduce(memoryview(region)).tolist() == [i * comm.size for i in range(12)]
        # Each writes a part.
        del view, again
        region.fence()
        part = 12 // comm.node_size
        mine = region.claim(comm.node_rank * part, part)
        assert type(mine) is memoryview and not mine.readonly and mine.format == "i"
        mine[:] = memoryview(numpy.full(part, comm.node_rank + 100, "i4"))
        with raises(BufferError, "can write"):
            region.seal()
        mine.release()
        region.seal()
        assert region.sealed and memoryview(region).readonly and not numpy.asarray(region).flags.writeable
        for rank in range(comm.node_size):
            assert region.__class__ is cobre.Region and memoryview(region)[rank * part] == rank + 100
        with raises(cobre.ArgumentError, "sealed"):
            region.claim(0, 1)
        with raises(TypeError):
            ctypes.c_int.from_buffer(region)
        with raises(cobre.ArgumentError, "sealed"):
            comm.gather_into(region, numpy.zeros(0, "i4"), [0] * comm.size)
        region.seal()


def types(comm):
    for names in (("u1", "uint8", "B", numpy.uint8), ("i4", "i", numpy.dtype("i4")), ("u4", "uint32"), ("i8", int, "int", "l", "q"),
                  ("u8", "Q", numpy.uint64), ("f4", "f", "single"), ("f8", "d", float, "float", numpy.float64, "<f8")):
        for name in names:
            with comm.region(3, name) as region:
                assert numpy.asarray(region).dtype == numpy.dtype(names[0])
    with comm.region(3) as region:
        assert region.format == "d"
    for name in ("c16", ">f8", "i2", "", "nonsense", None, 3, object(), numpy.bool_, [], {}, str):
        with raises(ValueError, "dtype"):
            comm.region(3, name)


def gathers(comm):
    n, r = comm.size, comm.rank
    with comm.region(n * (n + 1) // 2 + 2, "f8") as region:
        comm.gather_into(region, numpy.full(r + 1, r, "f8"))
        view = numpy.asarray(region)
        parts = [float(rank) for rank in range(n) for _ in range(rank + 1)] + [0.0, 0.0]
        assert view.tolist() == parts
        comm.gather_into(region, numpy.full(r + 1, r, "f8"), range(1, n + 1))
        assert view.tolist() == parts
        with raises(TypeError, "not a Region"):
            comm.gather_into(view, view)
        with raises(TypeError, "format"):
            comm.gather_into(region, numpy.zeros(1, "f4"))
        with raises(ValueError, "counts"):
            comm.gather_into(region, numpy.zeros(1), [])
        with cobre.Comm(backend="local") as other:
            with raises(ValueError, "another communicator"):
                other.gather_into(region, numpy.zeros(1))
    with raises(ValueError, "freed"):
        comm.gather_into(region, numpy.zeros(1))


def refusals(comm):
    with comm.region(4) as region:
        for first, count in ((0, 5), (5, 0), (2, 3), (2**62, 2**62), (2**63, 1), (2**64 - 1, 2)):
            with raises(cobre.ArgumentError, "outside"):
                region.claim(first, count)
        for first, count in ((-1, 1), (0, -1), (2**64, 1), (0, 2**70)):
            with raises(ValueError, "negative or too large"):
                region.claim(first, count)
        for wrong in ("0", 1.0, None, []):
            with raises(TypeError, "not an integer"):
                region.claim(wrong, 1)
            with raises(TypeError, "not an integer"):
                comm.region(wrong)
        assert len(region.claim(4, 0)) == 0 and len(region.claim(first=numpy.int64(1), count=numpy.int32(2))) == 2
        for operation in (pickle.dumps, copy.copy, copy.deepcopy):
            with raises(TypeError):
                operation(region)
        with raises(TypeError):
            type(region)()
        with raises(TypeError):
            type("Sub", (type(region),), {})
        with raises(AttributeError):
            region.sealed = True
        with raises(TypeError):
            region[0]
    for count in (-1, 2**64, 2**70):
        with raises(ValueError, "count"):
            comm.region(count)
    for count in (2**62, 2**63, 2**64 - 1):
        with raises(cobre.ArgumentError, "more than memory can hold"):
            comm.region(count)
    with raises(cobre.AllocationError):
        comm.region(2**56)
    with raises(MemoryError):
        comm.region(2**56)
    with comm.region(0) as nothing:
        assert numpy.asarray(nothing).shape == (0,)
    assert comm.allreduce(1) == comm.size


def lives(comm):
    """Views outlive their region and its communicator."""
    comm = comm.split_local()
    comm_rank = comm.rank
    first, second, third = comm.region(1000), comm.region(1000), comm.region(1000)
    view, part = numpy.asarray(first), second.claim(comm.rank, 1)
    if comm.is_leader:
        view[:] = 5
    part[0] = comm.rank
    first.fence()
    second.fence()
    # numpy.asarray of what is not there any more is an error, not an array of one object.
    first.free()
    first.free()
    assert view.sum() == 5000 and part[0] == comm.rank
    for call in (first.fence, first.seal, lambda: first.claim(0, 1), lambda: memoryview(first), lambda: numpy.asarray(first),
                 first.__enter__, lambda: numpy.array(first), lambda: comm.allreduce(first)):
        with raises(ValueError, "freed"):
            call()
    assert len(first) == 1000 and not first.sealed and "Region" in repr(first)
    comm.barrier()  # the leader writes into the view below
    del third  # its communicator frees it
    gc.collect()
    comm.free()  # which frees the second as well
    with raises(ValueError, "freed"):
        second.fence()
    second.free()
    del first, second, comm
    gc.collect()
    assert view.sum() >= 5000 and part[0] == comm_rank  # the leader may have gone on
    part[0] = 7
    assert part[0] == 7
    if view.flags.writeable:
        view[:] = 6
        assert view.sum() == 6000
    del view, part
    gc.collect()


def order(comm):
    """Regions may be freed in any order, as long as all ranks do the same; the communicator frees the rest as they were made."""
    comm = comm.split_local()
    regions = [comm.region(i) for i in range(6)]
    regions[3].free()
    regions[0].free()
    del regions[1]
    assert comm.allreduce(1) == comm.size
    comm.free()
    assert all(not part.sealed for part in regions)


def everything():
    comm = cobre.Comm()
    for check in (views, types, gathers, refusals, lives, order):
        check(comm)
    kept = comm.region(3)
    comm.free()
    assert not comm.is_open and len(kept) == 3


def dropped():
    """Everything goes without free(), on one rank after the other. Nobody waits for anybody."""
    comm = cobre.Comm()
    local = comm.split_local()
    region, other = comm.region(100), local.region(100)
    view = numpy.asarray(region)
    if comm.rank == 0 or comm.size == 1:
        del comm, local, region, other
        gc.collect()
        assert not view.any()
    else:
        with raises(cobre.CollectiveError, "left"):
            comm.barrier()
        if local.size > 1:
            with raises(cobre.CollectiveError, "left"):
                other.fence()
            with raises(cobre.CollectiveError):
                local.region(3)
        comm.free()
        local.free()


if __name__ == "__main__":
    run(globals())
