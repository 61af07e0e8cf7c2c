# SPDX-License-Identifier: Apache-2.0
"""Objects of any kind as buffers: pickle, with large buffers out of band.

An object is some parts: its pickle, and then the buffers that the pickle refers to (protocol 5). The ranks learn the sizes of
all parts first; then each buffer goes from its owner's memory to where the others keep it, without a copy in between. A rank
that cannot pickle its object sends a Failure in its place, so that nobody waits for it. Nothing is unpickled before all calls
are over: what that raises leaves the communicator in step."""

from __future__ import annotations

import pickle
from array import array
from operator import index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeVar

    from ._comm import Comm

    T = TypeVar("T")


class Failure:
    def __init__(self, rank: int, error: Exception) -> None:
        try:
            why = f"{type(error).__name__}: {error}"
        except Exception:  # of its __str__
            why = type(error).__name__
        self.text = f"rank {rank} could not pickle its object: {why}"


def _dump(rank: int, obj: object) -> tuple[list[memoryview], Exception | None]:
    """The parts of obj, or those of a Failure, and its reason."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        data = pickle.dumps(obj, protocol=5, buffer_callback=buffers.append)
        return [memoryview(data)] + [buffer.raw() for buffer in buffers], None
    except Exception as error:
        return [memoryview(pickle.dumps(Failure(rank, error)))], error


def _load(parts: list[Any]) -> Any:
    found = pickle.loads(parts[0], buffers=parts[1:])
    if isinstance(found, Failure):
        raise pickle.PicklingError(found.text)
    return found


def _receive(comm: Comm, sizes: Sequence[int], root: int) -> list[bytearray]:
    return [comm.broadcast(bytearray(size), root) if size else bytearray() for size in sizes]


def _send(comm: Comm, parts: list[memoryview]) -> None:
    for part in parts:
        if part.nbytes:
            comm.broadcast(part, comm.rank)


def broadcast(comm: Comm, obj: T, root: int) -> T:
    root = index(root)
    if not 0 <= root < comm.size:
        comm.broadcast(bytearray(1), root)  # says what is wrong
    parts, error = _dump(root, obj) if comm.rank == root else ([], None)
    count = comm.broadcast(array("Q", [len(parts)]), root)[0]
    sizes = comm.broadcast(array("Q", [part.nbytes for part in parts] or [0] * count), root)
    if comm.rank != root:
        received: T = _load(_receive(comm, sizes, root))
        return received
    _send(comm, parts)
    if error is not None:
        raise error
    return obj


def allgather(comm: Comm, obj: T) -> list[T]:
    parts, error = _dump(comm.rank, obj)
    counts = comm.allgatherv(array("Q", [len(parts)]), [1] * comm.size)
    sizes = comm.allgatherv(array("Q", [part.nbytes for part in parts]), counts)
    firsts = [sum(counts[:rank]) for rank in range(comm.size)]
    pickles = comm.allgatherv(parts[0], [sizes[first] for first in firsts])
    received: list[list[Any]] = []
    at = 0
    for rank, first in enumerate(firsts):
        data = pickles[at : at + sizes[first]]
        at += sizes[first]
        if rank == comm.rank:
            _send(comm, parts[1:])
            received.append([])
        else:
            received.append([data, *_receive(comm, sizes[first + 1 : first + counts[rank]], rank)])
    if error is not None:
        raise error
    return [obj if rank == comm.rank else _load(received[rank]) for rank in range(comm.size)]
