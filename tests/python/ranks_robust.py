# SPDX-License-Identifier: Apache-2.0
"""Calls that no program should make. None of them may crash the interpreter, hang, or leave what cannot be explained."""

import array
import atexit
import ctypes
import gc
import inspect
import itertools
import os
import signal
import sys
import threading
import time
import tracemalloc
import warnings

import cobre
import numpy
from cobre import _cobre
from kit import raises, run, wait_until_inside

ATTRIBUTES = ["rank", "size", "node_rank", "node_size", "is_leader", "backend"]


def calls(comm, region):
    """Each method with right arguments, by its name."""
    one = numpy.ones(1)
    return {
        "allgather_object": lambda: comm.allgather_object(1),
        "allgatherv": lambda: comm.allgatherv(one),
        "allreduce": lambda: comm.allreduce(one),
        "barrier": comm.barrier,
        "broadcast": lambda: comm.broadcast(one),
        "broadcast_object": lambda: comm.broadcast_object(1),
        "exact_sum": lambda: comm.exact_sum(one),
        "free": comm.free,
        "gather_into": lambda: comm.gather_into(region, one),
        "region": lambda: comm.region(3),
        "split_local": comm.split_local,
        "__enter__": comm.__enter__,
        "_region": lambda: comm._region(3, "d"),
        "_exact_sum": lambda: comm._exact_sum(one),
        "_check": comm._check,
    }


def region_calls(region):
    return {"fence": region.fence, "seal": region.seal, "claim": lambda: region.claim(0, 1), "free": region.free,
            "__enter__": region.__enter__, "__array__": region.__array__, "view": lambda: memoryview(region)}


def test_list_is_complete():
    """A new method must be tried here as well."""
    own = {name for cls in (cobre.Comm, _cobre.Comm) for name in vars(cls)}
    tried = {*calls(cobre.Comm("local"), None), *ATTRIBUTES, "is_open", "abort", "_abort", "_open", "_give_up", "__exit__"}
    assert {name for name in own - tried if not name.startswith("__")} == set(), own - tried
    for cls in (cobre.Comm, cobre.Region):
        assert cls.__doc__
        for name, method in inspect.getmembers(cls):
            if not name.startswith("_"):
                assert method.__doc__, name
                assert not callable(method) or "self" in inspect.signature(method).parameters, name


def refuses_everything(comm, region, kind, skip=()):
    for name, call in calls(comm, region).items():
        if name not in skip:
            with raises(kind):
                call()


def after_free():
    for make in (made_and_freed, lambda: (cobre.Comm.__new__(cobre.Comm), None), lambda: (_cobre.Comm(), None), lambda: (Careless(), None)):
        comm, region = make()
        if type(comm) is not _cobre.Comm:
            refuses_everything(comm, region, cobre.CommunicatorError, skip=["free", "gather_into"])
        for name in ATTRIBUTES:
            with raises(cobre.CommunicatorError):
                getattr(comm, name)
        with raises((cobre.CommunicatorError, TypeError)):
            comm.gather_into(region, numpy.ones(1))
        assert comm.free() is None and comm.is_open is False
        comm._give_up()
        repr(comm), str(comm), hash(comm), comm == comm, dir(comm)
        if region:
            for name, call in region_calls(region).items():
                if name != "free":
                    with raises(ValueError, "freed"):
                        call()
            assert region.free() is None
            repr(region), hash(region), len(region), region.sealed, region.format, dir(region)
    comm = cobre.Comm()
    comm.free()
    comm.__init__()  # a second life
    assert comm.allreduce(3) == 3 * comm.size
    test_list_is_complete()


def made_and_freed():
    comm = cobre.Comm("local")
    region = comm.region(3)
    comm.free()
    return comm, region


class Careless(cobre.Comm):
    def __init__(self):
        self.more = [self]  # a cycle


def in_a_child():
    """The child of a fork: every call is refused, views can be read, and the parent does not notice."""
    warnings.simplefilter("ignore")  # newer Pythons warn of a fork with threads
    comm = cobre.Comm()
    local = comm.split_local()
    region, view, part = local.region(1000), None, None
    view, part = numpy.asarray(region), region.claim(comm.rank, 1)
    part[0] = 5
    region.fence()
    for how in ("exit", "_exit", "with"):
        pid = os.fork()
        if pid == 0:
            child(comm, local, region, view, part, how)
        assert os.waitpid(pid, 0)[1] == 0
    assert comm.allreduce(1) == comm.size and local.allreduce(1) == local.size and part[0] == 5
    region.fence()
    del view, part
    region.free()
    comm.free()
    local.free()


def child(comm, local, region, view, part, how):
    try:
        refuses_everything(comm, region, (cobre.CommunicatorError, ValueError), skip=["__enter__", "_check"])
        for name, call in region_calls(region).items():
            if name not in ("claim", "__enter__", "view", "__array__"):
                with raises((cobre.CommunicatorError, BufferError)):
                    call()
        assert part[0] == 5 and view.sum() == 5.0 * local.size
        [getattr(comm, name) for name in ATTRIBUTES]
        if how == "with":
            with raises(cobre.CommunicatorError):
                with comm:
                    pass
            with raises(LookupError):
                with comm:
                    raise LookupError
        with cobre.Comm("local") as own:  # it can have its own
            assert own.allreduce(2) == 2
        del region, view, part, comm, local
        gc.collect()
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(1)
    if how == "_exit":
        os._exit(0)
    sys.exit(0)  # through the interpreter's end, with the parent's objects alive


def two_threads():
    """While one thread waits, calls of another are refused; what only looks is not."""
    comm = cobre.Comm()
    region = comm.region(10)
    other = comm.split_local()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    pids = comm.allgather_object(os.getpid())
    if comm.rank == 0:
        waits = threading.Thread(target=comm.barrier)
        waits.start()
        wait_until_inside(region)
        refuses_everything(comm, region, RuntimeError, skip=["__enter__", "_check"])
        for name in ("fence", "free", "claim", "seal"):
            with raises(RuntimeError, "one thread at a time"):
                region_calls(region)[name]()
        with raises(RuntimeError):
            comm.__init__()
        assert [getattr(comm, name) for name in ATTRIBUTES] and comm.is_open and len(memoryview(region)) == 10
        gc.collect()
        assert cobre.Comm("local").allreduce(1) == 1  # another communicator is free
        os.kill(pids[1], signal.SIGUSR1)
        waits.join()
    else:
        signal.sigwait([signal.SIGUSR1])
        comm.barrier()
    assert comm.allreduce(1) == comm.size
    storm()
    comm.free()
    other.free()


def storm():
    """Threads call whatever they like, on a communicator of one rank that others free and open."""
    alone = cobre.Comm("local")
    over = time.monotonic() + 0.3
    unexpected = []

    def thread(seed):
        order = numpy.random.default_rng(seed)
        region = None
        while time.monotonic() < over:
            todo = {**calls(alone, region), "open": lambda: alone.__init__("local"), "size": lambda: alone.size}
            if region:
                todo.update(region_calls(region))
            name = order.choice(list(todo))
            try:
                got = todo[name]()
                region = got if isinstance(got, cobre.Region) else region
            except (cobre.CobreError, RuntimeError, ValueError, TypeError, BufferError):
                pass
            except BaseException as error:
                unexpected.append(error)

    threads = [threading.Thread(target=thread, args=(seed,)) for seed in range(4)]
    [one.start() for one in threads]
    [one.join() for one in threads]
    assert not unexpected, unexpected


class Evil:
    """An integer that does something on the way."""

    def __init__(self, what, value=0):
        self.what, self.value = what, value

    def __index__(self):
        self.what()
        return self.value


def evil_arguments():
    def comm_with():
        comm = cobre.Comm("local")
        return comm, comm.region(3)

    for what in ("comm.free()", "region.free()", "comm._give_up()", "comm.free(); comm.__init__('local')", "gc.collect()", "1 // 0"):
        for call in ("comm.broadcast(one, evil)", "comm.allgatherv(one, [evil])", "comm.gather_into(region, one, [evil])", "region.claim(evil, evil)",
                     "comm.region(evil)", "comm.broadcast_object(1, evil)", "comm.allreduce(evil)"):
            comm, region = comm_with()
            one = numpy.ones(1)
            evil = Evil(lambda: exec(what, {"comm": comm, "region": region, "gc": gc}), 1 if "[" in call else 0)
            try:
                eval(call, {"comm": comm, "region": region, "one": one, "evil": evil})
            except (cobre.CobreError, ZeroDivisionError, TypeError, ValueError):
                pass


def weird_values(comm, region):
    released = memoryview(bytearray(8))
    released.release()
    freed = made_and_freed()
    return [None, True, -1, 0, 1, 2**45, 2**63, 2**64, 2**100, -(2**63), -(2**100), 0.5, float("nan"), float("inf"), 1j, "", "x", "sum", "\0", "\udc80",
            "x" * 10000, b"", b"abc", bytearray(8), [], [1], [None], (), {}, {1: 2}, set(), object(), int, lambda: 1, iter([1.0]), range(3), Exception("x"), ...,
            array.array("d", [1.0]), array.array("u", "a"), memoryview(b"12345678").cast("d"), memoryview(bytearray(8))[::2], released, ctypes.c_double(1), (ctypes.c_char * 3)(),
            numpy.ones(1), numpy.ones((2, 2))[:, 0], numpy.zeros(0), numpy.zeros((0, 5)), numpy.zeros(2, "O"), numpy.zeros(2, "M8[s]"), numpy.zeros(2, "V0"), numpy.float32(1), numpy.int16(1),
            numpy.ma.masked, numpy.zeros((1,) * 32), comm, region, *freed, Evil(lambda: None), Evil(lambda: 1 // 0)]


def fuzz():
    """Each method, with each of these values in each position, and with pairs of them."""
    comm = cobre.Comm("local")
    region = comm.region(1)
    weird = weird_values(comm, region)
    targets = [getattr(comm, name) for name in ("allgather_object", "allgatherv", "allreduce", "barrier", "broadcast", "broadcast_object", "exact_sum",
               "gather_into", "region", "split_local", "_region", "_exact_sum", "_check", "__reduce_ex__")]
    targets += [getattr(region, name) for name in ("claim", "fence", "__enter__", "__array__", "__reduce_ex__")]
    targets += [lambda *a: cobre.Comm(*a), cobre.CobreError, cobre.CollectiveError, cobre.WorkerError, memoryview, numpy.asarray, _cobre.version,
                _cobre.Region, lambda *a: cobre.Comm.__new__(cobre.Comm)._open(a), lambda *a: comm._abort("no code", *a), lambda *a: comm.abort("text", "no code", *a)]
    for name in inspect.signature(cobre.Comm).parameters:
        targets.append(lambda *a, name=name: cobre.Comm(**{"backend": "local", name: a[0]} if a else {}))
        targets.append(lambda *a, name=name: cobre.Comm(**{"backend": "shm", "name": f"/cobre-fuzz-{os.getpid()}", "rank": 0, "size": 1, name: a[0]} if a else {}))
    first = numpy.ones(1)
    for target in targets:
        for arguments in itertools.chain([()], ((x,) for x in weird), ((first, x) for x in weird), ((x, first) for x in weird), ((first, None, x) for x in weird),
                                         ((region, x) for x in weird), ((region, first, x) for x in weird), ((first, "sum", x) for x in weird)):
            attempt(target, arguments)
    order = numpy.random.default_rng(1)
    for _ in range(int(os.environ.get("ROUNDS", "3000"))):
        attempt(targets[order.integers(len(targets))], [weird[i] for i in order.integers(len(weird), size=order.integers(4))])
        if not comm.is_open:
            comm.__init__("local")
    for name in ("rank", "is_open", "_open", "free"):
        for value in weird:
            attempt(setattr, (comm, name, value))
        comm.__dict__.clear()
    assert comm.allreduce(1) == 1 and cobre.Comm("local").allreduce(1) == 1
    # What the C part is given by its Python part may be anything.
    for make in weird:
        _cobre._use(make, make)
        attempt(comm.broadcast, (first, 7))
        attempt(comm.allreduce, (first,))
    attempt(_cobre._use, ())


def attempt(target, arguments):
    try:
        target(*arguments)
    except SystemError as error:
        assert "null argument" not in str(error) and "returned a result with an exception set" not in str(error), (target, arguments)
    except Exception:
        pass


def handlers():
    """What a signal handler does while its own thread waits inside a call."""
    comm = cobre.Comm()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    pids = comm.allgather_object(os.getpid())

    def calls_more(held):
        for call in (held[0].barrier, held[0].free, held[1].free):
            with raises(RuntimeError, "one thread at a time"):
                call()
        with cobre.Comm("local") as other:
            assert other.allreduce(3) == 3

    def gives_up(held):
        held[0]._give_up()
        assert not held[0].is_open

    for what in (calls_more, gives_up, list.clear):  # the last: every other reference goes
        held = [comm.split_local()]
        held.append(held[0].region(3))
        if comm.rank == 0:
            done = threading.Event()
            signal.signal(signal.SIGUSR1, lambda *_: (what(held), gc.collect(), done.set()))

            def other_thread():
                wait_until_inside(held[1])
                os.kill(os.getpid(), signal.SIGUSR1)
                done.wait()
                os.kill(pids[1], signal.SIGUSR2)

            thread = threading.Thread(target=other_thread)
            thread.start()
            held[0].barrier()
            thread.join()
        else:
            signal.sigwait([signal.SIGUSR2])
            held[0].barrier()
        del held
        gc.collect()
    assert comm.allreduce(1) == comm.size
    comm.free()


def interpreters():
    import _xxsubinterpreters as sub

    program = """if True:
        import array, sys
        sys.path[:] = %r
        import cobre
        comm = cobre.Comm("local")
        region = comm.region(3)
        view = memoryview(region)
        cycle = [comm]
        cycle.append(cycle)
        one = array.array("d", [1.0])
        assert comm.allreduce(one) == comm.allgatherv(one) == comm.broadcast(one) == one and comm.allreduce(3) == 3
        assert comm.allgather_object("a") == ["a"] and comm.broadcast_object("a") == "a" and comm.exact_sum(one) == 1
        comm.barrier(), comm.gather_into(region, one), region.fence(), region.claim(1, 1).release()
        with comm.split_local() as part, part.region(3) as sealed:
            sealed.seal()
        try:
            comm.broadcast(bytearray(1), 7)
        except cobre.ArgumentError as error:
            assert error.kind == "InvalidRoot"
        keep = [comm, region, view] if %d else comm.free()
    """
    main = cobre.Comm("local")
    ids = []
    for i in range(6):
        ids.append(sub.create())
        sub.run_string(ids[-1], program % (sys.path, i % 2))
        if i % 3 == 0:
            sub.destroy(ids.pop())
        assert main.allreduce(2) == 2
    for id in ids[1:]:
        sub.destroy(id)  # the last ones go with the process
    job = cobre.Comm()  # from a thread as well
    threading.Thread(target=lambda: sub.run_string(ids[0], "comm.__init__('local') if not comm.is_open else None; comm.barrier()")).start()
    assert job.allreduce(1) == job.size


kept = []


class Last:
    """Uses its communicator when it goes."""

    def __init__(self, comm, region):
        self.comm, self.region, self.view, self.me = comm, region, numpy.asarray(region), self

    def __del__(self):
        for name, call in {**calls(self.comm, self.region), **region_calls(self.region)}.items():
            try:
                call()
            except Exception:
                pass


def at_exit():
    """The interpreter ends with objects alive everywhere."""
    comm = cobre.Comm()
    local = comm.split_local()
    alone = cobre.Comm("local")
    region = comm.region(100)
    kept.extend([comm, local, region, numpy.asarray(region), region.claim(0, 1), comm.region(3)])
    cycle = [cobre.Comm("local")]
    cycle.extend([cycle, cycle[0].region(3), memoryview(cycle[0].region(3))])
    kept.append(Last(alone, alone.region(3)))
    Last(cobre.Comm("local"), cobre.Comm("local").region(2))
    sys.modules["kept"] = [alone, alone.region(2)]
    cobre.launch.keeps = Last(cobre.Comm("local"), alone.region(2))
    one = cobre.Comm("local")
    atexit.register(one.free)
    atexit.register(lambda: one.allreduce(1.0))
    atexit.register(local.barrier)  # all ranks come here
    threading.Thread(target=threading.Event().wait, daemon=True).start()


def daemon():
    """A daemon thread waits inside a call for ever: the process ends all the same."""
    comm = cobre.Comm()
    local = comm.split_local()
    region = local.region(1)
    if comm.rank == 0:
        for waiting in (local.barrier, lambda: cobre.Comm("tcp", coordinator="127.0.0.1", port=1, rank=1, size=2)):
            threading.Thread(target=waiting, daemon=True).start()
        if local.size > 1:
            wait_until_inside(region)
        kept.append(local)
    comm.barrier()
    if local.size == 1 or comm.rank == 0:
        return
    with raises(cobre.CollectiveError):
        local.allreduce(1)


def leaks():
    """Ten thousand of each, and memory stays as it was."""
    comm = cobre.Comm("local")
    region = comm.region(8, "f8")
    small, out = numpy.ones(8), numpy.ones(8)
    words = array.array("d", [1.0])

    def refused(call, *arguments):
        def attempt():
            try:
                call(*arguments)
            except Exception:
                pass

        return attempt

    def cycle():
        with cobre.Comm("local") as inner, inner.region(4) as memory:
            memoryview(memory).release()

    def drop():
        cobre.Comm("local").region(4)

    def give_up():
        try:
            with cobre.Comm("local"):
                raise LookupError
        except LookupError:
            pass

    everything = [comm.barrier, lambda: comm.rank, lambda: comm.backend, lambda: comm.allreduce(3), lambda: comm.allreduce(0.5), lambda: comm.allreduce(small),
                  lambda: comm.allreduce(small, "max", out), lambda: comm.allreduce(words), lambda: comm.allreduce(numpy.float32(1)), lambda: comm.allgatherv(small),
                  lambda: comm.allgatherv(small, [8], out=out), lambda: comm.allgatherv(memoryview(words)), lambda: comm.broadcast(small), lambda: comm.gather_into(region, small, [8]),
                  lambda: comm.exact_sum(small), lambda: comm.broadcast_object(3), lambda: comm.allgather_object([3]), lambda: region.claim(0, 2), lambda: numpy.asarray(region),
                  region.fence, refused(comm.allreduce, "x"), refused(comm.allreduce, small[::2]), refused(comm.broadcast, small, 7), refused(comm.broadcast, small, "x"),
                  refused(comm.allgatherv, small, [1, 2]), refused(comm.allgatherv, small, ["x"]), refused(comm.allreduce, small, "sum", out[:3]), refused(comm.allreduce),
                  refused(region.claim, 0, 99), refused(comm.region, 2**60), refused(comm.allreduce, numpy.ones(2, "c16")), refused(comm.allreduce, small, "sum", b"12345678"),
                  cycle, drop, give_up, lambda: comm.split_local().free(), refused(cobre.Comm, "nothing"), refused(cobre.Comm, "shm")]
    for call in everything:
        for _ in range(200):
            call()
    rounds = int(os.environ.get("ROUNDS", "1000"))
    for index, call in enumerate(everything):
        gc.collect()
        tracemalloc.start()
        before, resident = tracemalloc.get_traced_memory()[0], heap()
        for _ in range(rounds):
            call()
        gc.collect()
        more, grown = tracemalloc.get_traced_memory()[0] - before, heap() - resident
        tracemalloc.stop()
        assert more < 8 * rounds and grown < 8 * rounds + 20000, (more, grown, call, index)


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


def heap():
    """Bytes that malloc has given out."""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = Mallinfo
    info = mallinfo()
    return info.uordblks + info.hblkhd


if __name__ == "__main__":
    run(globals())
