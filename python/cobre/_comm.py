# SPDX-License-Identifier: Apache-2.0
"""Comm and Region: the C types, and what is easier in Python."""

from __future__ import annotations

import sys

from . import _cobre
from ._errors import make_error

TYPE_CHECKING = False  # typing takes time to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType
    from typing import Any, NoReturn, TypeVar

    T = TypeVar("T")
    Self = TypeVar("Self", bound="Comm")

Region = _cobre.Region

# The letter of each element type in struct and array, and what NumPy calls it.
_TYPES: dict[str | type, str] = {int: "q", float: "d"}
for _names in (
    "B u1 uint8 |u1",
    "i i4 int32 <i4",
    "I u4 uint32 <u4",
    "q i8 int64 <i8 l int",
    "Q u8 uint64 <u8 L",
    "f f4 float32 <f4",
    "d f8 float64 <f8 float",
):
    _TYPES.update(dict.fromkeys(_names.split(), _names.split()[0]))


def _letter(dtype: Any) -> str:
    """"d" for any of: "d", "f8", "float64", float, numpy.float64, numpy.dtype("f8")."""
    name = _TYPES.get(dtype) if isinstance(dtype, (str, type)) else None
    if name is None and dtype is not None:
        numpy = sys.modules.get("numpy")
        try:
            name = _TYPES.get(numpy.dtype(dtype).str) if numpy is not None else None
        except TypeError:
            pass  # not one of NumPy's either
    if name is None:
        raise ValueError(f"dtype: {dtype!r} is none of u1, i4, u4, i8, u8, f4, f8, nor another name of these")
    return name


def make_result(like: Any, format: str, count: int) -> Any:
    """A new buffer of the kind of `like`, with its shape (count < 0), or with `count` elements, in rows as long as its own."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(like, (numpy.ndarray, numpy.generic)):
        if count < 0:
            return numpy.empty(like.shape, like.dtype)
        row = like.shape[1:]
        size = 1
        for side in row:
            size *= side
        return numpy.empty((count // size, *row) if size and count % size == 0 else count, like.dtype)
    view = memoryview(like)
    shape = view.shape or () if count < 0 else (count,)
    if count < 0:
        count = len(view) if view.ndim == 1 else view.nbytes // view.itemsize
    size = count * view.itemsize
    array = sys.modules.get("array")
    if array is not None and isinstance(like, array.array):
        return array.array(like.typecode, bytes(view.itemsize)) * count
    if isinstance(like, (bytes, bytearray)):
        return bytearray(size)
    try:
        return memoryview(bytearray(size)).cast(format, shape)
    except (TypeError, ValueError):  # it knows elements of single letters only, and no empty shapes
        return memoryview(bytearray(size))


_cobre._use(make_error, make_result)


# What each backend needs from its caller, and what else it takes. None: all comes from the environment.
_ARGUMENTS: dict[str | None, tuple[str, str]] = {
    None: ("", ""),
    "auto": ("", "name rank size coordinator port token bind open check plugin"),
    "local": ("", "rank size"),
    "shm": ("name rank size", ""),
    "tcp": ("rank size", "coordinator port token bind open"),
    "mpi": ("", "check plugin"),
}


def _check_arguments(backend: object, given: dict[str, object]) -> None:
    if backend is not None and not isinstance(backend, str):
        raise TypeError(f"backend: {backend!r} is not a str")
    if backend not in _ARGUMENTS:
        raise ValueError(f"backend: there is no {backend!r}; there are auto, local, shm, tcp and mpi")
    for what in ("name", "coordinator", "token", "bind", "plugin"):
        if not isinstance(given.get(what, "-"), str):
            raise TypeError(f"{what}: {given[what]!r} is not a str")
        if given.get(what) == "":
            raise ValueError(f"{what}: it is empty")
    needed, others = _ARGUMENTS[backend]
    for what in needed.split():
        if what not in given:
            raise TypeError(f"{what}: backend={backend!r} needs it")
    for what in given:
        if what not in needed.split() and what not in others.split():
            why = f"backend={backend!r} has no such argument" if backend else "it needs backend=..., or comes from the environment"
            raise TypeError(f"{what}: {why}")


MOST_RANKS = 4096  # that one machine starts, as in `cobre run`


def whole(what: str, number: Any, least: int, most: int) -> int | None:
    if number is None:
        return None
    try:
        number = number.__index__()
    except AttributeError:
        raise TypeError(f"{what}: {number!r} is not an integer") from None
    if not least <= number <= most:
        raise ValueError(f"{what}: {number} is not from {least} to {most}")
    return int(number)


class _Leaver:
    """An exception that ended the work of a rank has one: the rank is in its job as long as the exception is there.

    earlier: the _Leaver of another communicator that the same exception has ended before, or None.
    """

    __slots__ = ("keeps", "earlier")

    def __init__(self, keeps: object, earlier: _Leaver | None) -> None:
        self.keeps = keeps
        self.earlier = earlier

    def __reduce__(self) -> Any:
        return type(None), ()  # the exception can be pickled; what it keeps stays here


class Comm(_cobre.Comm):
    """A communicator: this process is one of `size` ranks, which call the same methods in the same order.

    Without arguments the environment says which rank this is, as set by `cobre run`, by the launcher of an MPI, or by hand (see
    cobre(7)). With arguments the environment does not matter:

        Comm(backend="local")
        Comm(backend="shm", name="/my-job", rank=0, size=4)
        Comm(backend="tcp", coordinator="host0", port=29500, token="secret", rank=0, size=4)

    join_timeout: the longest wait for the other ranks to join, in seconds; 60 if it is 0. stall: how long a rank may stay away
    from a collective before that is an error; 0 for ever.

    `with Comm() as comm:` frees it at the end. After an exception it does not, because the others are elsewhere then: it leaves
    the job when nothing refers to the exception any more, and the others' calls fail with "peer left". So a traceback is printed
    before those of the others.

    A call waits until all ranks have made it. Under an MPI broadcast and allgatherv wait only for the ranks that send
    something; barrier waits for all everywhere.

    A communicator takes one call at a time, from any thread; a second one is a RuntimeError. Ctrl-C ends a call that waits,
    and with it the communicator.
    """

    def __init__(
        self,
        backend: str | None = None,
        *,
        name: str | None = None,
        rank: int | None = None,
        size: int | None = None,
        coordinator: str | None = None,
        port: int | None = None,
        token: str | None = None,
        bind: str | None = None,
        open: bool = False,
        check: bool = False,
        plugin: str | None = None,
        join_timeout: float = 0.0,
        stall: float = 0.0,
    ) -> None:
        given: dict[str, object] = {
            "name": name,
            "rank": rank,
            "size": size,
            "coordinator": coordinator,
            "port": port,
            "token": token,
            "bind": bind,
            "open": open or None,
            "check": check or None,
            "plugin": plugin,
        }
        _check_arguments(backend, {what: value for what, value in given.items() if value is not None})
        rank = whole("rank", rank, 0, 2**31)
        size = whole("size", size, 1, 2**31)
        port = whole("port", port, 1, 65535)
        if rank is not None and size is not None and rank >= size:
            raise ValueError(f"rank: {rank} is not one of {size} ranks, which go from 0 to {size - 1}")
        if backend == "local" and size not in (None, 1):
            raise ValueError(f"size: {size}, but the local backend has one rank")
        for what, seconds in (("join_timeout", join_timeout), ("stall", stall)):
            if not 0 <= seconds < float("inf"):
                raise ValueError(f"{what}: {seconds} is not a number of seconds")
        self._open((backend is None, backend or "auto", rank or 0, size or 0, name, coordinator, bind, token, port or 0, open,
                    check, plugin, join_timeout, stall))

    def __enter__(self: Self) -> Self:
        self._check()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.free()
        elif self.is_open:
            leaver = _Leaver(self._give_up(), getattr(error, "_cobre_leaver", None))
            try:
                error._cobre_leaver = leaver  # type: ignore[attr-defined]
            except Exception:
                pass  # it does not take attributes: then this rank leaves now

    def __repr__(self) -> str:
        if not self.is_open:
            return "<cobre.Comm: not open>"
        return f"<cobre.Comm: rank {self.rank} of {self.size}, {self.backend}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a communicator cannot be pickled or copied: each rank opens its own")

    def region(self, count: int, dtype: Any = "f8") -> Region:
        """Memory for `count` elements that the ranks of a node share, zeroed. Collective.

        numpy.asarray(region) is a view of it: for writing on the node's leader, for reading on the others. dtype: u1, i4, u4,
        i8, u8, f4 or f8, by any name that NumPy has for these; NumPy itself is not needed.
        """
        return self._region(count, _letter(dtype))

    def exact_sum(self, values: float | Iterable[float]) -> float:
        """The correctly rounded sum of all values of all ranks: the same bits however they are split. Collective.

        values: a number, a buffer, or anything that gives numbers. Those that are not float64 are converted first.
        """
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(values, (numpy.ndarray, numpy.generic)):
            return self._exact_sum(values.astype("f8", order="C", casting="same_kind", copy=False))
        if isinstance(values, (int, float)):
            values = (values,)
        try:
            ready = memoryview(values).format in ("d", "<d")  # type: ignore[arg-type]
        except TypeError:
            ready = False
        if not ready:
            from array import array

            values = array("d", iter(values))
        return self._exact_sum(values)

    def broadcast_object(self, obj: T, root: int = 0) -> T:
        """What obj is on root, on every rank. Any object that pickle can handle; large buffers travel as they are.

        If root cannot pickle it, root raises what pickle raised, and the others pickle.PicklingError.
        """
        from ._objects import broadcast

        return broadcast(self, obj, root)

    def allgather_object(self, obj: T) -> list[T]:
        """A list with the obj of each rank, in rank order. Errors as in broadcast_object."""
        from ._objects import allgather

        return allgather(self, obj)

    def abort(self, text: object, code: int = 1) -> NoReturn:
        """Tell the other ranks why, and end this process with that exit code, 1 to 255."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass  # there may be none
        self._abort(code, str(text).encode(errors="backslashreplace").decode().replace("\0", "\\0"))
