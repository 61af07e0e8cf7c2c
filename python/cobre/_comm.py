"""Comm and Region: the C types, and what is easier in Python."""

import sys

from . import _cobre
from ._errors import make_error

Region = _cobre.Region

# What users call the element types: in C, in NumPy, in struct and array.
_TYPES = {}
for _name, *_others in (
    ("u8", "u1", "uint8", "B", "|u1"),
    ("i32", "i4", "int32", "i", "<i4"),
    ("u32", "u4", "uint32", "I", "<u4"),
    ("i64", "i8", "int64", "q", "l", "<i8", "int", int),
    ("u64", "uint64", "Q", "L", "<u8"),
    ("f32", "f4", "float32", "f", "<f4"),
    ("f64", "f8", "float64", "d", "<f8", "float", float),
):
    for _word in (_name, *_others):
        _TYPES[_word] = _name


def _type_name(dtype):
    """"f64" for any of: "f64", "f8", "float64", "d", float, numpy.float64, numpy.dtype("f8")."""
    name = _TYPES.get(dtype) if isinstance(dtype, (str, type)) else None
    if name is None and not isinstance(dtype, str):
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            name = _TYPES.get(numpy.dtype(dtype).str)
    if name is None:
        raise ValueError(f"dtype: {dtype!r} is none of u8, i32, u32, i64, u64, f32, f64 and their names in NumPy")
    return name


def make_result(like, count):
    """A new buffer of the kind of `like`, with its shape (count < 0), or with `count` elements along its first axis."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(like, numpy.ndarray):
        if count < 0:
            return numpy.empty_like(like, subok=False)
        row = like.shape[1:]
        size = 1
        for side in row:
            size *= side
        shape = (count // size, *row) if len(row) and size and count % size == 0 else count
        return numpy.empty(shape, like.dtype)
    view = memoryview(like)
    if count < 0:
        count = view.nbytes // view.itemsize
    array = sys.modules.get("array")
    if array is not None and isinstance(like, array.array):
        return array.array(like.typecode, bytes(count * view.itemsize))
    result = memoryview(bytearray(count * view.itemsize))
    return result if view.format == "B" else result.cast(view.format)


_cobre._use(make_error, make_result)


class _Leaver:
    """Leaves a job when it goes. A copy made by pickle has nothing to leave."""

    def __init__(self, handle=None):
        self._handle = handle

    def __reduce__(self):
        return _Leaver, ()


class Comm(_cobre.Comm):
    """A communicator: this process is one of `size` ranks, which call the same methods in the same order.

    Without arguments the environment says which rank this is, as set by `cobre run`, by the launcher of an MPI, or by hand (see
    cobre(7)). With arguments the environment does not matter:

        Comm(backend="local")
        Comm(backend="shm", name="/my-job", rank=0, size=4)
        Comm(backend="tcp", coordinator="host0", port=29500, token="secret", rank=0, size=4)

    `with Comm() as comm:` frees it at the end. After an exception it does not, because the others are elsewhere then: it leaves
    the job when the exception is over, and the others' calls fail with "peer left".
    """

    def __init__(
        self,
        backend=None,
        *,
        name=None,
        rank=None,
        size=None,
        coordinator=None,
        port=None,
        token=None,
        bind=None,
        open=False,
        check=False,
        plugin=None,
        join_timeout=0.0,
        stall=0.0,
    ):
        explicit = (backend, name, rank, size, coordinator, port, token, bind, plugin)
        environment = all(value is None for value in explicit) and not open and not check
        for what, number, most in (("rank", rank, 2**31), ("size", size, 2**31), ("port", port, 65535)):
            if number is not None and not 0 <= number <= most:
                raise ValueError(f"{what}: {number} is not from 0 to {most}")
        self._open(environment, backend or "auto", rank or 0, size or 0, name, coordinator, bind, token, port or 0, open, check, plugin,
                   join_timeout, stall)

    def __enter__(self):
        if not self.is_open:
            raise ValueError("this communicator was freed")
        return self

    def __exit__(self, kind, error, trace):
        if error is None:
            self.free()
        elif self.is_open:
            leaver = _Leaver(self._give_up())
            try:
                error._cobre_leaves_with = leaver
            except AttributeError:
                pass  # then it leaves now

    def __repr__(self):
        if not self.is_open:
            return "<cobre.Comm, freed>"
        return f"<cobre.Comm: rank {self.rank} of {self.size}, {self.backend}>"

    def __reduce__(self):
        raise TypeError("a communicator cannot be pickled: each rank opens its own")

    def region(self, count, dtype="f8"):
        """Memory for `count` elements that the ranks of a node share, zeroed. Collective.

        numpy.asarray(region) is a view of it: for writing on the node's leader, for reading on the others.
        """
        return self._region(count, _type_name(dtype))

    def exact_sum(self, values):
        """The correctly rounded sum of all values of all ranks: the same bits however they are split. Collective."""
        if isinstance(values, (int, float)):
            values = (values,)
        try:
            view = memoryview(values)
        except TypeError:
            view = None
        if view is None or view.format != "d":
            from array import array

            values = array("d", values)
        return self._exact_sum(values)

    def broadcast_object(self, obj, root=0):
        """What obj is on root, on every rank. Any object that pickle can handle; large buffers travel as they are."""
        from ._objects import broadcast

        return broadcast(self, obj, root)

    def allgather_object(self, obj):
        """A list with the obj of each rank, in rank order."""
        from ._objects import allgather

        return allgather(self, obj)

    def abort(self, text, code=1):
        """Tell the other ranks why, and end this process."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass  # there may be none
        self._abort(code, str(text))
