# SPDX-License-Identifier: Apache-2.0
"""cobre.launch: functions in new processes, their results, and every way in which they fail."""

import errno
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from multiprocessing import forkserver
from pathlib import Path

import pytest

import cobre
import launch_functions as functions
from kit import free_port

BUILD = Path(cobre.__file__).parents[2]
HERE = Path(__file__).parent
HANG = 300  # seconds; a limit for what would never end


def own_function(comm):
    return comm.allreduce(comm.rank)


def children():
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def names():
    return {name for name in os.listdir("/dev/shm") if name.startswith(f"cobre-{os.getpid()}-")}


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def await_true(condition):
    limit = time.monotonic() + HANG
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.005)


@pytest.fixture(autouse=True, scope="module")
def server():
    """multiprocessing's fork server stays until this process ends."""
    forkserver.ensure_running()


@pytest.fixture(autouse=True)
def nothing_left(server):
    """No test leaves a process, a name or a descriptor."""
    before = children(), set(os.listdir("/proc/self/fd"))
    yield
    after = children(), set(os.listdir("/proc/self/fd"))
    assert (before, names()) == (after, set())


@pytest.fixture(autouse=True)
def no_job(monkeypatch):
    for name in list(os.environ):
        if name.startswith("COBRE_") and name != "COBRE_MPI_PLUGIN":
            monkeypatch.delenv(name)


def environment(**more):
    path = os.pathsep.join([str(BUILD / "python"), str(HERE), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, **more}


def start(*command, **options):
    return subprocess.Popen(
        [str(word) for word in command],
        env=options.pop("env", environment()),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finish(process):
    out, err = process.communicate(timeout=HANG)
    return process.returncode, out, err


def write(path, text):
    path.write_text(textwrap.dedent(text))
    return path


# ---- Results


@pytest.mark.parametrize("start_method", ["spawn", "forkserver"])
@pytest.mark.parametrize("backend", ["auto", "shm", "tcp"])
def test_results(backend, start_method):
    used = "shm" if backend == "auto" else backend
    results = cobre.launch(
        functions.who, 3, backend, ("x", 2), all_results=True, start_method=start_method
    )
    assert results == [(rank, 3, used, 3, ("x", 2)) for rank in range(3)]


def test_rank_0_alone_answers():
    assert cobre.launch(functions.rank, num_workers=2) == 0
    assert cobre.launch(functions.unpicklable, 2, args=(1,)) == 0


def test_one_worker_is_local():
    assert cobre.launch(functions.who, 1) == (0, 1, "local", 1, ())
    assert cobre.launch(functions.who, 1, backend="local") == (0, 1, "local", 1, ())
    assert cobre.launch(functions.who, 1, backend="shm") == (0, 1, "shm", 1, ())


def test_one_worker_per_core():
    assert cobre.launch(functions.who)[1] == len(os.sched_getaffinity(0))


def test_function_of_a_test():
    assert cobre.launch(own_function, 2) == 1


def test_large_results_and_arguments():
    size = 50 << 20
    results = cobre.launch(functions.large, 2, args=(size,), all_results=True)
    assert [(len(result), result[-1]) for result in results] == [(size, 0), (size, 1)]
    assert len(cobre.launch(functions.who, 2, args=(results[1],))[4][0]) == size


def test_surroundings():
    stdin, directory, said, leads, argv = cobre.launch(functions.surroundings, 2)
    assert (stdin, directory, said, leads, argv) == ("", os.getcwd(), set(), True, sys.argv)


def test_launch_in_a_worker():
    assert cobre.launch(functions.nested, 2) == (0, 2, "shm", 2, ())


def in_threads(*functions_of_threads):
    results = []
    threads = [
        threading.Thread(target=lambda run=run: results.append(run())) for run in functions_of_threads
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_from_two_threads():
    results = in_threads(
        lambda: cobre.launch(functions.who, 2, args=("first",)), lambda: cobre.launch(functions.who, 2, args=("second",))
    )
    assert sorted(results) == [(0, 2, "shm", 2, (key,)) for key in ("first", "second")]


@pytest.mark.parametrize("start_method", ["spawn", "forkserver"])
def test_what_a_worker_started_ends(start_method):
    child = cobre.launch(functions.leave_child, 1, start_method=start_method)
    await_true(lambda: not is_alive(child))


def test_hundred_launches():
    """Whether they leave anything, nothing_left asks."""
    results = in_threads(*[lambda: [cobre.launch(functions.rank, 1) for _ in range(25)]] * 4)
    assert results == [[0] * 25] * 4


# ---- Arguments


@pytest.mark.parametrize(
    "error, words, options",
    [
        (ValueError, "'fork' copies one thread", {"start_method": "fork"}),
        (ValueError, "none of 'spawn', 'forkserver'", {"start_method": "thread"}),
        (ValueError, "mpirun", {"backend": "mpi"}),
        (ValueError, "'local' is one process, not 2", {"backend": "local"}),
        (ValueError, "none of 'auto'", {"backend": "udp"}),
        (ValueError, "num_workers: 0 is not from 1", {"num_workers": 0}),
        (ValueError, "num_workers: -3 is not from 1", {"num_workers": -3}),
        (TypeError, "not an integer", {"num_workers": 2.0}),
        (TypeError, "not an integer", {"num_workers": "2"}),
        (TypeError, "not a tuple", {"args": "text"}),
        (TypeError, "not a tuple", {"args": 5}),
        (TypeError, "cannot be called", {"function": 7}),
        (TypeError, "cannot be sent to the workers: .*lock", {"args": (threading.Lock(),)}),
    ],
)
def test_wrong_arguments(error, words, options):
    with pytest.raises(error, match=words):
        cobre.launch(**{"function": functions.who, "num_workers": 2, **options})


# ---- Failures


@pytest.mark.parametrize("start_method", ["spawn", "forkserver"])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("others", ["barrier", "sleep"])
def test_raise(which, others, start_method):
    with pytest.raises(cobre.WorkerError) as caught:
        cobre.launch(
            functions.fail, 3, args=(which, functions.raise_value_error, others), start_method=start_method
        )
    error = caught.value
    assert (error.rank, error.exit_code) == (which, 1)
    assert type(error.inner) is ValueError and error.inner.args == ("a wrong value",)
    assert error.__cause__ is error.inner
    assert f"worker {which} raised ValueError: a wrong value" == str(error)
    text = str(error.inner.__cause__)
    assert 'launch_functions.py", line' in text and "raise_value_error" in text


def test_raise_over_tcp():
    with pytest.raises(cobre.WorkerError) as caught:
        cobre.launch(functions.fail, 3, "tcp", (2, functions.raise_value_error))
    assert caught.value.rank == 2 and type(caught.value.inner) is ValueError


@pytest.mark.parametrize("start_method", ["spawn", "forkserver"])
@pytest.mark.parametrize("how, code", [("kill", -9), ("crash", -11), ("exit_3", 3), ("exit_0", 0), ("exit_hard", 4)])
def test_end_without_an_answer(how, code, start_method):
    with pytest.raises(cobre.WorkerError) as caught:
        cobre.launch(functions.fail, 3, args=(1, getattr(functions, how)), start_method=start_method)
    assert (caught.value.rank, caught.value.exit_code, caught.value.inner) == (1, code, None)
    assert f"signal {-code}" in str(caught.value) if code < 0 else f"exit code {code} before" in str(caught.value)


def test_who_is_blamed():
    with pytest.raises(cobre.WorkerError) as caught:
        cobre.launch(functions.raise_first_end_last, 3)
    assert caught.value.rank == 1 and type(caught.value.inner) is ValueError


def test_deaf_workers_are_killed():
    begin = time.monotonic()
    with pytest.raises(cobre.WorkerError):
        cobre.launch(functions.fail, 2, args=(0, functions.raise_value_error, "deaf"))
    assert time.monotonic() - begin > 2  # it was asked first


def test_exception_without_attributes():
    with pytest.raises(cobre.WorkerError) as caught:
        cobre.launch(functions.fail, 2, args=(1, functions.raise_closed))
    inner = caught.value.inner
    assert type(inner) is functions.Closed and "raise_closed" in str(inner.__cause__)


@pytest.mark.parametrize(
    "how, words",
    [("raise_argued", "Argued: one and two"), ("raise_local", "Local: of a function"), ("raise_exiting", "Exiting: at once")],
)
def test_exception_that_cannot_travel(how, words):
    with pytest.raises(cobre.WorkerError) as caught:
        cobre.launch(functions.fail, 2, args=(1, getattr(functions, how)))
    inner = caught.value.inner
    assert type(inner) is RuntimeError and words in str(inner) and how in str(inner.__cause__)


def test_too_many_open_files(monkeypatch):
    """The second worker runs already when the parent has no descriptor left for it."""

    def open_process(pid):
        started.append(pid)
        if len(started) == 2:
            raise OSError(errno.EMFILE, "too many open files")
        return os.pidfd_open(pid)

    started = []
    monkeypatch.setattr("cobre._launch._open_process", open_process)
    with pytest.raises(OSError, match="too many open files"):
        cobre.launch(functions.who, 3)


@pytest.mark.parametrize("which, everything", [(0, False), (1, True)])
def test_result_that_cannot_travel(which, everything):
    with pytest.raises(cobre.WorkerError, match="cannot be sent to the parent") as caught:
        cobre.launch(functions.unpicklable, 2, args=(which,), all_results=everything)
    assert caught.value.rank == which and type(caught.value.inner) is TypeError


def test_death_while_the_job_forms():
    """Rank 0 has given the segment its name and waits; then nobody but the parent can remove it."""
    with pytest.raises(cobre.WorkerError) as caught:
        cobre.launch(functions.who, 2, args=(functions.DiesAtLoading(1),))
    assert (caught.value.rank, caught.value.exit_code, caught.value.inner) == (1, -9, None)


def test_open_fails(monkeypatch):
    monkeypatch.setenv("COBRE_SHM_TIMEOUT_SECS", "soon")
    with pytest.raises(cobre.WorkerError, match="COBRE_SHM_TIMEOUT_SECS") as caught:
        cobre.launch(functions.who, 2)
    assert type(caught.value.inner) is cobre.OpenError


# ---- Signals


WAITING = """
    import cobre, sys, launch_functions
    if __name__ == "__main__":
        cobre.launch(launch_functions.report_and_wait, 2, args=(sys.argv[1],), start_method=sys.argv[2])
"""


@pytest.mark.parametrize("start_method", ["spawn", "forkserver"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_signal_to_the_parent(tmp_path, number, start_method):
    parent = start(sys.executable, write(tmp_path / "script.py", WAITING), tmp_path, start_method)
    said = [tmp_path / f"worker-{rank}" for rank in range(2)]
    await_true(lambda: all(path.exists() for path in said) or parent.poll() is not None)
    pids = [int(pid) for path in said for pid in path.read_text().split()]
    try:
        assert len(pids) == 4 and all(map(is_alive, pids))
        parent.send_signal(number)
        code, _, err = finish(parent)
        assert code == -number and ("KeyboardInterrupt" in err or number != signal.SIGINT)
        assert number != signal.SIGINT or not any(map(is_alive, pids[::2]))  # the workers; their children die soon
        await_true(lambda: not any(map(is_alive, pids)))
    finally:
        for pid in filter(is_alive, pids):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("start_method", ["spawn", "forkserver"])
def test_many_interrupts(start_method):
    """Whenever they come, also while the workers of an interrupted launch end."""

    def handle(number, frame):
        while frame and frame.f_code is not cobre.launch.__code__:
            frame = frame.f_back
        if frame:
            raise KeyboardInterrupt

    def interrupt():
        while not over.wait(next(pauses)):
            os.kill(os.getpid(), signal.SIGINT)

    over = threading.Event()
    pauses = itertools.cycle([0.001, 0.0005, 0.02, 0.0001, 0.0001, 0.1, 0.003, 0.0003, 0.05])
    thread = threading.Thread(target=interrupt)
    before = signal.signal(signal.SIGINT, handle)
    try:
        thread.start()
        interrupts = 0
        end = time.monotonic() + 1
        while time.monotonic() < end:
            try:
                cobre.launch(functions.who, 2, start_method=start_method)
            except KeyboardInterrupt:
                interrupts += 1
        assert interrupts > 1
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGINT, before)


# ---- Programs


SCRIPT = """
    import cobre, sys

    class Box(Exception):
        def __init__(self, value):
            super().__init__(value)
            self.value = value

    def work(comm, box):
        box.value += comm.allreduce(1)
        if comm.rank == 1 and box.value > 50:
            raise box
        return box, sys.argv[1:], __debug__, __name__

    def main():
        box, *others = cobre.launch(work, 2, args=(Box(40),))
        assert type(box) is Box
        print(box.value, *others)
        try:
            cobre.launch(work, 2, args=(Box(50),))
        except cobre.WorkerError as error:
            assert type(error.inner) is Box
            print(error)

    if __name__ == "__main__":
        main()
"""
SAYS = "42 ['a', 'b'] {} __mp_main__\nworker 1 raised Box: 50\n"


def test_script(tmp_path):
    script = write(tmp_path / "script.py", SCRIPT)
    assert finish(start(sys.executable, script, "a", "b")) == (0, SAYS.format(True), "")


def test_interpreter_options(tmp_path):
    script = write(tmp_path / "script.py", SCRIPT)
    assert finish(start(sys.executable, "-O", script, "a", "b")) == (0, SAYS.format(False), "")


def test_interpreter_that_stays(tmp_path):
    """PYTHONINSPECT is for the program, not for its workers."""
    script = write(tmp_path / "script.py", SCRIPT)
    assert finish(start(sys.executable, script, "a", "b", env=environment(PYTHONINSPECT="1"))) == (0, SAYS.format(True), "")


def test_module(tmp_path):
    (tmp_path / "package").mkdir()
    write(tmp_path / "package" / "__init__.py", "")
    for name, command in (("program", "package.program"), ("__main__", "package")):
        write(tmp_path / "package" / f"{name}.py", SCRIPT)
        run = start(sys.executable, "-m", command, "a", "b", cwd=tmp_path)
        assert finish(run) == (0, SAYS.format(True), "")


@pytest.mark.parametrize("start_method", ["spawn", "forkserver"])
def test_script_without_guard(tmp_path, start_method):
    script = f"""
        import cobre
        def work(comm):
            return comm.rank
        cobre.launch(work, 2, start_method={start_method!r})
    """
    code, out, err = finish(start(sys.executable, write(tmp_path / "script.py", script)))
    assert code == 1 and "WorkerError" in err
    assert """if __name__ == "__main__":""" in err.replace("'", '"')


def test_uncaught_error_shows_the_worker(tmp_path):
    script = """
        import cobre, launch_functions
        cobre.launch(launch_functions.fail, 2, args=(1, launch_functions.raise_value_error))
    """
    code, out, err = finish(start(sys.executable, write(tmp_path / "script.py", script)))
    assert code == 1 and err.count("raise_value_error()") == 0 and "in raise_value_error" in err
    assert err.rstrip().endswith("cobre.WorkerError: worker 1 raised ValueError: a wrong value")


def cells(tmp_path, hide, text):
    """Runs text as a notebook does: in a __main__ that has no file."""
    notebook = f"""
        import sys, types
        if {hide}:
            sys.modules["cloudpickle"] = None
        cells = sys.modules["__main__"] = types.ModuleType("__main__")
        exec({textwrap.dedent(text)!r}, cells.__dict__)
    """
    return finish(start(sys.executable, write(tmp_path / "kernel.py", notebook)))


CELL = """
import cobre
class Point:
    def __init__(self, x):
        self.x = x
def double(point):
    return Point(2 * point.x)
def work(comm, point):
    return double(point)
result = cobre.launch(work, 2, args=(Point(21),))
print(result.x, type(result) is Point)
class Own(Exception):
    pass
def fail(comm):
    if comm.rank == 0:
        raise Own("of a cell")
try:
    cobre.launch(fail, 2)
except cobre.WorkerError as error:
    print(type(error.inner) is Own, error)
"""


def test_notebook(tmp_path):
    pytest.importorskip("cloudpickle")
    assert cells(tmp_path, False, CELL) == (0, "42 True\nTrue worker 0 raised Own: of a cell\n", "")


def test_notebook_without_cloudpickle(tmp_path):
    code, out, err = cells(tmp_path, True, CELL)
    assert code == 1 and "notebook" in err and "install cloudpickle" in err


def test_lambda():
    pytest.importorskip("cloudpickle")
    offset = 7
    assert cobre.launch(lambda comm: comm.allreduce(comm.rank) + offset, 2) == 8


def test_lambda_without_cloudpickle(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(TypeError, match="lambda.* install cloudpickle"):
        cobre.launch(lambda comm: 0, 2)


@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_without_standard_streams(tmp_path, backend):
    """The lowest descriptors are free in a daemon."""
    script = """
        import os, sys
        for descriptor in range(3):
            os.close(descriptor)
        import cobre, launch_functions
        result = cobre.launch(launch_functions.who, 2, sys.argv[2])
        open(sys.argv[1], "w").write(repr(result))
    """
    assert finish(start(sys.executable, write(tmp_path / "script.py", script), tmp_path / "said", backend)) == (0, "", "")
    assert (tmp_path / "said").read_text() == f"(0, 2, '{backend}', 2, ())"


def test_children_of_nobody():
    """Who ignores SIGCHLD gets no exit codes."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert cobre.launch(functions.who, 2) == (0, 2, "shm", 2, ())
        with pytest.raises(cobre.WorkerError) as caught:
            cobre.launch(functions.fail, 2, args=(1, functions.raise_value_error))
        assert caught.value.rank == 1 and type(caught.value.inner) is ValueError
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_interpreter_for_an_older_system(monkeypatch):
    monkeypatch.delattr(os, "pidfd_open")
    monkeypatch.delattr(os, "memfd_create")
    assert cobre.launch(functions.who, 2) == (0, 2, "shm", 2, ())


# ---- Several machines


def test_tcp_by_the_environment(monkeypatch):
    for name, value in (("COORDINATOR", "127.0.0.1"), ("PORT", str(free_port())), ("TOKEN", "secret")):
        monkeypatch.setenv(f"COBRE_TCP_{name}", value)
    assert cobre.launch(functions.who, 2, all_results=True) == [(rank, 2, "tcp", 2, ()) for rank in range(2)]
    assert cobre.launch(functions.who, 1) == (0, 1, "local", 1, ())
    assert cobre.launch(functions.who, 2, "shm")[2] == "shm"
    monkeypatch.setenv("COBRE_TCP_RANK", "1")
    with pytest.raises(ValueError, match="ranks 1 to 2 do not fit into COBRE_TCP_SIZE=2"):
        cobre.launch(functions.who, 2)
    monkeypatch.setenv("COBRE_TCP_SIZE", "many")
    with pytest.raises(ValueError, match="COBRE_TCP_SIZE is 'many'"):
        cobre.launch(functions.who, 2)


def test_two_launches_are_one_job(tmp_path):
    script = """
        import cobre, launch_functions, sys
        print(cobre.launch(launch_functions.who, int(sys.argv[1]), all_results=True))
    """
    path = write(tmp_path / "script.py", script)
    job = {"COORDINATOR": "127.0.0.1", "PORT": str(free_port()), "TOKEN": "secret", "SIZE": "3"}
    job = {f"COBRE_TCP_{name}": value for name, value in job.items()}
    runs = [
        start(sys.executable, path, count, env=environment(**job, COBRE_TCP_RANK=first))
        for first, count in (("0", 2), ("2", 1))
    ]
    expected = [(rank, 3, "tcp", 3, ()) for rank in range(3)]
    assert [finish(run) for run in runs] == [(0, f"{expected[:2]}\n", ""), (0, f"{expected[2:]}\n", "")]


# ---- Other launchers


RAISING = """
    import cobre
    with cobre.Comm() as comm:
        assert comm.size == 3
        comm.barrier()
        if comm.rank == 1:
            raise ValueError("only rank 1")
        comm.barrier()
"""


def tracebacks(err):
    return [line for line in err.splitlines() if "Error: " in line]


@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_cobre_run(tmp_path, backend):
    command = BUILD / "cobre"
    if not command.exists():
        pytest.skip("no launcher beside the package")
    script = write(tmp_path / "script.py", RAISING)
    code, out, err = finish(start(command, "run", "-n", 3, "--backend", backend, sys.executable, script))
    assert code == 1 and tracebacks(err)[0] == "ValueError: only rank 1"
    assert "rank 1 of 3" in err and "failed first" in err


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_mpirun(tmp_path, mpi):
    plugin, mpirun = BUILD / f"libcobre-mpi-{mpi}.so", Path(f"/usr/bin/mpirun.{mpi}")
    if not plugin.exists() or not mpirun.exists():
        pytest.skip(f"no {mpi} here")
    more = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "TMPDIR": str(tmp_path)}
    more |= {"OMPI_MCA_rmaps_base_oversubscribe": "1", "COBRE_MPI_PLUGIN": str(plugin)}
    script = write(tmp_path / "script.py", RAISING)
    code, out, err = finish(start(mpirun, "-n", 3, sys.executable, script, env=environment(**more)))
    assert code != 0 and tracebacks(err)[0] == "ValueError: only rank 1"
