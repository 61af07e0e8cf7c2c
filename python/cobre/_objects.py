"""Objects of any kind as buffers: pickle, with large buffers out of band.

An object is some parts: its pickle, and then the buffers that the pickle refers to (protocol 5). The ranks learn the sizes of
all parts first; then each buffer goes from its owner's memory to where the others keep it, without a copy in between."""

import pickle
from array import array


def _dump(obj):
    buffers = []
    data = pickle.dumps(obj, protocol=5, buffer_callback=buffers.append)
    return [memoryview(data)] + [buffer.raw() for buffer in buffers]


def _load(parts):
    return pickle.loads(parts[0], buffers=parts[1:])


def _receive(comm, sizes, root):
    return [comm.broadcast(bytearray(size), root) if size else bytearray() for size in sizes]


def broadcast(comm, obj, root):
    if not 0 <= root < comm.size:
        comm.broadcast(bytearray(1), root)  # says what is wrong
    parts = _dump(obj) if comm.rank == root else []
    count = comm.broadcast(array("Q", [len(parts)]), root)[0]
    sizes = comm.broadcast(array("Q", [part.nbytes for part in parts] or [0] * count), root)
    if comm.rank != root:
        return _load(_receive(comm, sizes, root))
    for part in parts:
        if part.nbytes:
            comm.broadcast(part, root)
    return obj


def allgather(comm, obj):
    parts = _dump(obj)
    counts = comm.allgatherv(array("Q", [len(parts)]), [1] * comm.size)
    sizes = comm.allgatherv(array("Q", [part.nbytes for part in parts]), counts)
    firsts = [sum(counts[:rank]) for rank in range(comm.size)]
    pickles = comm.allgatherv(parts[0], [sizes[first] for first in firsts])
    result, at = [], 0
    for rank in range(comm.size):
        own = sizes[firsts[rank] : firsts[rank] + counts[rank]]
        data = pickles[at : at + own[0]]
        at += own[0]
        if rank == comm.rank:
            for part in parts[1:]:
                if part.nbytes:
                    comm.broadcast(part, rank)
            result.append(obj)
        else:
            result.append(_load([data] + _receive(comm, own[1:], rank)))
    return result
