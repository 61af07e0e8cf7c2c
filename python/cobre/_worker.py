# SPDX-License-Identifier: Apache-2.0
"""A worker of launch(): one rank, in a process of its own. _launch.py says what its descriptors are for.

All workers start at once and compete for the cores, so every import counts: `_pickle` and `_signal` are used here instead of
pickle and signal, which load regular expressions and enums.
"""

import os
import sys

importing_main = False  # is the program's script being run, to have its functions?


def without_job(environment):
    """The environment without what says which rank this is. Time limits stay."""
    job = ("COBRE_SHM_", "COBRE_TCP_", "COBRE_RUN_", "COBRE_COMM_BACKEND")
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith(job) or name.endswith("_TIMEOUT_SECS")
    }


def main(index, request, answer, lifeline, listener=None):
    """All that a worker does. The other arguments are descriptors."""
    os.set_inheritable(answer, False)
    _end_with(lifeline)
    if listener is not None:
        file = os.fstat(listener)
        os.environ["COBRE_RUN_LISTEN_FD"] = f"{listener}:{file.st_dev}:{file.st_ino}"
    try:
        _work(index, request, answer)
    except SystemExit:
        raise
    except BaseException as error:
        _report(error, answer)  # first; then the exception goes, and this rank leaves the job
        status = 1
    else:
        status = 0
    sys.exit(status)


def main_forked(environment, index, descriptors):
    """The same in a child of multiprocessing's server, which is not as a new process."""
    os.setpgid(0, 0)
    os.environ.clear()
    os.environ.update(environment)
    main(index, *(descriptor.detach() for descriptor in descriptors))


def _open_again(descriptor, flags=0):
    """The file of an inherited descriptor with a position and an owner of our own: the other workers have it, too."""
    own = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | flags)
    os.close(descriptor)
    return own


def _end_with(lifeline):
    """Let the kernel kill this process group when nobody holds the pipe's other end any more, as the parent does."""
    from _signal import SIGKILL
    from fcntl import F_GETFL, F_SETFL, F_SETOWN, F_SETSIG, fcntl

    own = _open_again(lifeline, os.O_NONBLOCK)
    fcntl(own, F_SETOWN, -os.getpgrp())
    fcntl(own, F_SETSIG, SIGKILL)
    fcntl(own, F_SETFL, fcntl(own, F_GETFL) | os.O_ASYNC)
    try:
        os.read(own, 1)  # nothing is ever written to it
        os.killpg(0, SIGKILL)  # so the parent went before the kernel was asked
    except BlockingIOError:
        pass


def _work(index, request, answer):
    from _pickle import load

    with open(_open_again(request), "rb") as file:
        sys.argv[:], program, all_results = load(file)
        if program:
            _import_main(*program)
        function, args = load(file)
    from ._comm import Comm

    with Comm() as comm:
        kept = without_job(os.environ)
        for name in [name for name in os.environ if name not in kept]:
            del os.environ[name]  # a program that is started from here is not this rank
        result = function(comm, *args)
    try:
        _write(answer, b"R", result if index == 0 or all_results else None)
    except Exception as error:
        raise TypeError(f"the result of {function!r} cannot be sent to the parent: {error}") from error


def _import_main(module, path):
    """Run the program's script under another name, so that what `if __name__ == "__main__"` guards is left out."""
    global importing_main
    if sys.modules["__main__"].__name__ == "__mp_main__":
        return  # multiprocessing has done so
    main = sys.modules["__mp_main__"] = type(sys)("__mp_main__")
    importing_main = True
    if module:
        from runpy import run_module

        main.__dict__.update(run_module(module, run_name="__mp_main__", alter_sys=True))
    else:
        main.__file__ = path
        with open(path, "rb") as file:
            exec(compile(file.read(), path, "exec"), main.__dict__)
    importing_main = False
    sys.modules["__main__"] = sys.modules["__mp_main__"] = main


def _pickler():
    """cloudpickle, if the request came by it, or the function uses it: then classes of a notebook find their way back."""
    import _pickle

    return sys.modules.get("cloudpickle") or _pickle


def _write(answer, kind, message):
    """The first byte says what follows. It is written last: a worker that dies before has said nothing."""
    with open(answer, "wb", closefd=False) as file:
        file.seek(1)
        _pickler().dump(message, file, 5)
    os.pwrite(answer, kind, 0)


def _report(error, answer):
    """Send the exception's pickle or None, what it is in words, its traceback, and the rank that it blames."""
    from traceback import format_exception, format_exception_only

    try:
        data = _pickler().dumps(error, 5)
    except Exception:
        data = None
    words = "".join(format_exception_only(error)).strip()
    _write(answer, b"E", (data, words, "".join(format_exception(error)), _culprit(error)))


def _culprit(error):
    from ._errors import CollectiveError

    seen = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, CollectiveError):
            return error.culprit
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None
