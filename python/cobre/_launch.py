# SPDX-License-Identifier: Apache-2.0
"""launch(): a function in many new processes, one per rank.

The parent starts the workers, waits for all of them and takes no part in the job. Three files connect it with them, which have no
name and which no other child inherits:

  request   one for all: what to do, as two pickles. The second, the function and its arguments, may need the program's script.
  answer    one for each: "R" and a pickled result, or "E" and a pickled description of an exception.
  lifeline  one pipe for all, whose writing end only the parent holds: the kernel kills the workers when it closes.

A worker has ended when its process has; then its answer is read. After a failure the others get a moment for their last words,
because most of them only report that a peer has left. The failure that they blame is the one to report.

Each worker leads a process group. So whatever it started ends with it, and Ctrl-C reaches the parent alone, which then stops
the workers.
"""

import os
import select
import sys
from _signal import SIGINT, SIGKILL, SIGTERM, getsignal, signal
from time import monotonic

from . import _worker
from ._comm import MOST_RANKS, whole
from ._errors import CollectiveError, OpenError, WorkerError

_LAST_WORDS = 0.5  # seconds from the first failure to SIGTERM
_TERM = 2.0  # from there to SIGKILL


class _WorkerTraceback(Exception):
    """The traceback of a worker's exception, as text."""

    def __init__(self, text):
        super().__init__(text)
        self.text = text

    def __str__(self):
        return f'\n"""\n{self.text}"""'


def launch(function, num_workers, backend, args, *, all_results, start_method):
    if _worker.importing_main:
        raise RuntimeError(
            "launch() was called while a worker runs this script to find its functions; put the call under "
            'if __name__ == "__main__":'
        )
    count = _check(function, num_workers, args, start_method)
    call, program = _pack(function, tuple(args))
    with _Patience() as patience:
        places = _Places(backend, count)
        job = _Job(_spawn if start_method == "spawn" else _fork_server, patience)
        try:
            try:
                job.write_request((sys.argv, program, all_results), call)
                del call  # it can be large
                for index in range(count):
                    job.start(places.first + index, index, places.environment(index), places.listener if index == 0 else None)
                job.wait(until_failure=True)
                if job.failed:
                    job.wait(_LAST_WORDS)
            finally:
                try:
                    job.end()
                finally:
                    places.clean()
            results = patience.call(job.results, all_results)
        finally:
            job.close()
    return results if all_results else results[0]


def _check(function, num_workers, args, start_method):
    if not callable(function):
        raise TypeError(f"function: {function!r} cannot be called")
    if isinstance(args, (str, bytes)) or not hasattr(args, "__iter__"):
        raise TypeError(f"args: {args!r} is not a tuple of arguments")
    if start_method == "fork":
        raise ValueError(
            "start_method: 'fork' copies one thread of this process and the locks that the others hold, and communicators that "
            "belong to the parent; use 'spawn' or 'forkserver'"
        )
    if start_method not in ("spawn", "forkserver"):
        raise ValueError(f"start_method: {start_method!r} is none of 'spawn', 'forkserver'")
    return whole("num_workers", num_workers, 1, MOST_RANKS) or len(os.sched_getaffinity(0))


class _Patience:
    """Holds back the handlers of Ctrl-C and SIGTERM, except in call(): they shall not come between the start or the end of a process
    and our note of it. This is for the main thread. Others run no signal handlers."""

    def __enter__(self):
        self._held, self._lets_in = [], False
        self._handlers = {number: getsignal(number) for number in (SIGINT, SIGTERM) if callable(getsignal(number))}
        try:
            for number in self._handlers:
                signal(number, self._handle)
        except ValueError:  # not the main thread
            self._handlers = {}
        return self

    def _handle(self, *signal_and_frame):
        self._held.append(signal_and_frame)
        if self._lets_in:
            self._deliver()

    def _deliver(self):
        lets_in, self._lets_in = self._lets_in, False  # no other while this one is raised
        while self._held:
            number, frame = self._held.pop(0)
            self._handlers[number](number, frame)
        self._lets_in = lets_in

    def call(self, function, *arguments):
        """function(*arguments), which these signals may end."""
        try:
            self._lets_in = True
            self._deliver()
            return function(*arguments)
        finally:
            self._lets_in = False

    def __exit__(self, *error):
        for number, handler in self._handlers.items():
            signal(number, handler)
        self._deliver()


def take_part(follow, count, backend, args, here):
    """here(comm) in this process, which is rank 0, while follow(comm, *args) runs in count - 1 new ones. Returns what here returns."""
    if os.environ.get("COBRE_TCP_COORDINATOR") and backend == "tcp":
        raise ValueError("backend: several hosts are a job that is started on each of them; open a Comm there, and pass it as comm=")
    call, _ = _pack(follow, args)
    with _Patience() as patience:
        places = _Places("shm" if backend == "auto" else backend, count)
        job = _Job(_spawn, patience)
        try:
            try:
                job.write_request((sys.argv, None, False), call)
                for rank in range(1, count):
                    job.start(rank, rank, places.environment(rank), None)
                result = patience.call(_be_first, places, job, here)
                job.wait(_LAST_WORDS)
            except BaseException as error:
                job.wait(_LAST_WORDS)
                if job.failed and isinstance(error, (CollectiveError, OpenError)):  # others fail on all ranks alike
                    raise job.error() from error
                raise
            finally:
                try:
                    job.end()
                finally:
                    places.clean()
        finally:
            job.close()
    return result


def _be_first(places, job, here):
    """This process joins as rank 0. If a worker ends before all have joined, it does not wait for it."""
    from . import _cobre

    _cobre.watch(job.running())
    try:
        comm = places.open()
    finally:
        _cobre.watch(())
    with comm:
        return here(comm)


# ---- Where the ranks find each other


class _Places:
    """The variables that tell each worker its rank."""

    def __init__(self, backend, count):
        self.first = 0  # rank of the first worker
        self.size = count
        self.listener = self.name = self._socket = None
        self.backend = self._choose(backend)
        self._base = _worker.without_job(os.environ)
        self._base["COBRE_COMM_BACKEND"] = self.backend
        self._base.pop("PYTHONINSPECT", None)  # a worker ends when its work does
        if count > self.size - self.first:
            raise ValueError(
                f"num_workers: ranks {self.first} to {self.first + count - 1} do not fit into COBRE_TCP_SIZE={self.size}"
            )
        if self.backend == "local" and count > 1:
            raise ValueError(f"backend: 'local' is one process, not {count}; use 'shm'")
        if self.backend == "shm":
            self.name = f"/cobre-{os.getpid()}-{os.urandom(8).hex()}"
            self._base["COBRE_SHM_NAME"] = self.name
        elif self.backend == "tcp" and os.environ.get("COBRE_TCP_COORDINATOR"):
            self._base |= {name: value for name, value in os.environ.items() if name.startswith("COBRE_TCP_")}
        elif self.backend == "tcp":
            self._listen()

    def _choose(self, backend):
        if backend in ("auto", "tcp") and os.environ.get("COBRE_TCP_COORDINATOR"):
            self.first = self._number("COBRE_TCP_RANK", 0)
            self.size = self._number("COBRE_TCP_SIZE", self.size)
            if backend == "auto" and self.size > 1:
                return "tcp"
        if backend == "auto":
            return "shm" if self.size > 1 else "local"
        if backend == "mpi":
            raise ValueError("backend: the processes of an MPI are started by its mpirun; run the whole program by that")
        if backend not in ("local", "shm", "tcp"):
            raise ValueError(f"backend: {backend!r} is none of 'auto', 'local', 'shm', 'tcp'")
        return backend

    @staticmethod
    def _number(name, default):
        text = os.environ.get(name) or str(default)
        if not (text.isascii() and text.isdigit()):
            raise ValueError(f"{name} is {text!r}, which is not a whole number")
        return int(text)

    def _listen(self):
        """On this machine only. Rank 0 inherits the socket, so that the port is known and taken before any rank starts."""
        import socket

        server = socket.socket()
        server.bind(("127.0.0.1", 0))  # rank 0 listens
        self._socket = socket.socket(fileno=_above_standard(server.detach()))
        self._socket.setblocking(False)
        self.listener = self._socket.fileno()
        self._base["COBRE_TCP_COORDINATOR"], port = self._socket.getsockname()
        self._base["COBRE_TCP_PORT"] = str(port)
        self._base["COBRE_TCP_TOKEN"] = os.urandom(32).hex()

    def environment(self, index):
        if self.backend == "local":
            return self._base
        prefix = f"COBRE_{self.backend.upper()}_"
        return self._base | {f"{prefix}RANK": str(self.first + index), f"{prefix}SIZE": str(self.size)}

    def open(self):
        """Rank 0 in this process."""
        from ._comm import Comm

        if self.backend == "shm":
            return Comm("shm", name=self.name, rank=0, size=self.size)
        if self.backend == "local":
            return Comm("local")
        before = dict(os.environ)  # the socket that listens already can be passed by the environment only
        file = os.fstat(self.listener)
        self._socket.detach()  # the library closes it
        self._socket = None
        own = self.environment(0) | {"COBRE_RUN_LISTEN_FD": f"{self.listener}:{file.st_dev}:{file.st_ino}"}
        os.environ.update({name: value for name, value in own.items() if name.startswith("COBRE_")})
        try:
            return Comm()
        finally:
            for name in [name for name in os.environ if name not in before]:
                del os.environ[name]
            os.environ.update(before)

    def clean(self):
        """After all workers: the name in /dev/shm is left if they were killed while they looked for each other."""
        if self._socket:
            self._socket.close()
        if self.name:
            try:
                os.unlink("/dev/shm" + self.name)
            except FileNotFoundError:
                pass


# ---- What they shall do


def _pack(function, args):
    """The pickle of a call, and the script that a worker must run to load it, or None."""
    from _pickle import dumps

    try:
        call = dumps((function, args), 5)
    except Exception as error:
        why = error
    else:
        if b"__main__" not in call:
            return call, None
        program = _find_program()
        if program:
            sys.modules.setdefault("__mp_main__", sys.modules["__main__"])  # the workers' name of it
            return call, program
        why = TypeError("it is defined in a notebook or an interactive session, where no other process finds it")
    try:
        from cloudpickle import dumps as dumps_by_value
    except ImportError:
        raise TypeError(
            f"{function!r} and its arguments cannot be sent to the workers: {why}; install cloudpickle, or define them in a "
            "module or at the top level of a script"
        ) from why
    try:
        return dumps_by_value((function, args), 5), None
    except Exception as error:
        raise TypeError(f"{function!r} and its arguments cannot be sent to the workers: {error}") from error


def _find_program():
    """What runs as __main__: (module, None), (None, path), or None if no other process can run it."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name != "__main__":
        return spec.name, None
    path = getattr(main, "__file__", None)
    return (None, os.path.abspath(path)) if path and os.path.isfile(path) else None


# ---- Processes


def _descriptor(call, *arguments):
    """What a call returns that the os module may lack: many interpreters are built for older systems than they run on."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = getattr(libc, call)(*arguments)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor


def open_memory(name):
    """A file without a name."""
    return os.memfd_create(name) if hasattr(os, "memfd_create") else _descriptor("memfd_create", name.encode(), 1)


def _open_process(pid):
    """A descriptor that is readable when the process has ended."""
    return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else _descriptor("syscall", 434, pid, 0)


def _above_standard(descriptor):
    """The same file as 3 or more. If this process has no stdin, stdout or stderr, a worker would take a lower one for it."""
    if descriptor >= 3:
        return descriptor
    from fcntl import F_DUPFD_CLOEXEC, fcntl

    try:
        return fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(descriptor)


def _interpreter():
    """The command of an interpreter that behaves as this one, up to -c."""
    if not sys.executable:
        raise RuntimeError("sys.executable is not set: there is no interpreter to start workers with")
    letters = {"optimize": "O", "dont_write_bytecode": "B", "no_site": "S", "bytes_warning": "b", "verbose": "v"}
    letters |= {"isolated": "I"} if sys.flags.isolated else {"ignore_environment": "E", "no_user_site": "s", "safe_path": "P"}
    command = [sys.executable]
    command += ["-" + letter * getattr(sys.flags, name) for name, letter in letters.items() if getattr(sys.flags, name)]
    command += ["-W" + option for option in sys.warnoptions]
    command += ["-X" + (name if value is True else f"{name}={value}") for name, value in sys._xoptions.items()]
    return command


class _Worker:
    """A worker that was started: `ended` is readable when its process has ended."""

    def __init__(self, rank, answer, pid, ended):
        self.rank = rank
        self._answer = answer
        self._pid = pid
        self.ended = ended

    def signal(self, number):
        for kill in (os.killpg, os.kill):  # its group, if it has one already
            try:
                return kill(self._pid, number)
            except ProcessLookupError:
                pass

    def end(self):
        """Take its exit code. What it has started and left ends, too: as long as there is such a process the group is its own."""
        try:
            os.killpg(self._pid, SIGKILL)
        except ProcessLookupError:
            pass
        self.kind = os.pread(self._answer, 1, 0)
        self.exit_code = self._reap()

    def load(self):
        from _pickle import load

        with open(self._answer, "rb", closefd=False) as file:
            file.seek(1)
            return load(file)


class _Spawned(_Worker):
    def __init__(self, rank, answer, pid):
        super().__init__(rank, answer, pid, _open_process(pid))

    def _reap(self):
        os.close(self.ended)
        try:
            return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        except ChildProcessError:  # the program ignores SIGCHLD, or waits for children that are not its own
            return 0 if self.kind == b"R" else 1


class _Forked(_Worker):
    def __init__(self, rank, answer, process):
        super().__init__(rank, answer, process.pid, process.sentinel)
        self._process = process

    def _reap(self):
        self._process.join()
        code = self._process.exitcode
        self._process.close()
        return code


def _spawn(rank, index, environment, descriptors):
    code = f"import sys; sys.path[:] = {[entry for entry in sys.path if isinstance(entry, str)]!r}; "
    code += f"from cobre._worker import main; main({index}, {', '.join(map(str, descriptors))})"
    actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    actions += [(os.POSIX_SPAWN_DUP2, descriptor, descriptor) for descriptor in descriptors]  # lets it be inherited
    command = [*_interpreter(), "-c", code]
    pid = os.posix_spawn(command[0], command, environment, file_actions=actions, setpgroup=0)
    try:
        return _Spawned(rank, descriptors[1], pid)
    except OSError:  # there are too many open files
        os.kill(pid, SIGKILL)
        os.waitpid(pid, 0)
        raise


def _fork_server(rank, index, environment, descriptors):
    from multiprocessing import get_context
    from multiprocessing.reduction import DupFd

    class Duplicates:
        """Descriptors that are duplicated while the process starts; before, that is refused."""

        def __reduce__(self):
            return tuple, ([DupFd(descriptor) for descriptor in descriptors],)

    process = get_context("forkserver").Process(target=_worker.main_forked, args=(environment, index, Duplicates()))
    process.start()
    return _Forked(rank, descriptors[1], process)


class _Job:
    """The workers, and the files that connect them with this process."""

    def __init__(self, start, patience):
        self._start = start
        self._patience = patience
        self._descriptors = []
        self._running = {}  # by the descriptor that tells of their end
        self._ending = self._killed = False
        self.workers = []
        self.failed = []  # in the order of their ends, without those that failed because they were stopped
        self._request = self._own(open_memory("cobre-request"))
        self._lifeline, writer = map(self._own, os.pipe())

    def _own(self, descriptor):
        descriptor = _above_standard(descriptor)
        self._descriptors.append(descriptor)
        return descriptor

    def write_request(self, header, call):
        from _pickle import dump

        with open(self._request, "wb", closefd=False) as file:
            dump(header, file, 5)
            file.write(call)

    def start(self, rank, index, environment, listener):
        answer = self._own(open_memory(f"cobre-answer-{rank}"))
        descriptors = [self._request, answer, self._lifeline] + ([] if listener is None else [listener])
        worker = self._start(rank, index, environment, descriptors)
        self.workers.append(worker)
        self._running[worker.ended] = worker

    def wait(self, seconds=None, until_failure=False):
        """Until all have ended, or the time is over, or one has failed."""
        deadline = None if seconds is None else monotonic() + seconds
        poll = select.poll()
        for descriptor in self._running:
            poll.register(descriptor, select.POLLIN)
        while self._running and not (until_failure and self.failed):
            left = None if deadline is None else max(0, deadline - monotonic()) * 1000
            ended = poll.poll() if self._killed else self._patience.call(poll.poll, left)
            if not ended:
                return
            for descriptor, _ in ended:
                poll.unregister(descriptor)
                worker = self._running.pop(descriptor)
                worker.end()
                good = worker.kind == b"R" and worker.exit_code == 0
                if worker.kind == b"E" or not good and not self._ending:
                    self.failed.append(worker)

    def end(self):
        """Stop those that still run."""
        self._ending = True
        try:
            self._signal(SIGTERM)
            self.wait(_TERM)
        finally:
            self._killed = True
            self._signal(SIGKILL)
            self.wait()

    def _signal(self, number):
        for worker in self._running.values():
            worker.signal(number)

    def close(self):
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()

    def results(self, of_all):
        if self.failed:
            raise self.error()
        return [worker.load() for worker in (self.workers if of_all else self.workers[:1])]

    def running(self):
        """Descriptors that become readable when a worker ends."""
        return tuple(self._running)

    def error(self):
        """The first failure, or the one that it blames: a rank's death is often heard of from the others first."""
        failed = {worker.rank: worker for worker in self.failed}
        worker = self.failed[0]
        while True:
            del failed[worker.rank]
            inner, culprit = self._explain(worker)
            if culprit not in failed:
                break
            worker = failed[culprit]
        error = WorkerError(worker.rank, worker.exit_code, inner)
        error.__cause__ = inner
        return error

    @staticmethod
    def _explain(worker):
        """The exception of a worker that failed, or None, and the rank that it blames, or None."""
        if worker.kind != b"E":
            return None, None
        from _pickle import loads

        data, words, text, culprit = worker.load()
        try:
            inner = loads(data) if data else None
        except (Exception, SystemExit):
            inner = None
        if not isinstance(inner, BaseException):
            inner = RuntimeError(f"{words} (this exception cannot be pickled)")
        BaseException.__setattr__(inner, "__cause__", _WorkerTraceback(text))  # its class may refuse
        return inner, culprit
