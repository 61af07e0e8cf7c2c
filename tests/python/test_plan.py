# SPDX-License-Identifier: Apache-2.0
"""Studies from Python: the same bits as the command line, results in memory, errors, and what is left behind: nothing."""

import copy
import gc
import inspect
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import cobre
import numpy
import pytest
from cobre import _cobre
from conftest import COBRE, PATIENCE

CASES = pathlib.Path(__file__).parents[2] / "cases"
BRAZIL3 = str(CASES / "brazil3")
TOY = str(CASES / "toy")


def command(*words):
    done = subprocess.run([COBRE, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def nothing_left(tmp_path, monkeypatch):
    """In an empty folder; neither files nor descriptors, shared memory or children stay."""
    monkeypatch.chdir(tmp_path)
    gc.collect()
    before = os.listdir("/proc/self/fd")
    yield
    gc.collect()  # an exception keeps its communicator
    assert len(os.listdir("/proc/self/fd")) <= len(before)
    assert not [name for name in os.listdir("/dev/shm") if name.startswith(f"cobre-{os.getpid()}")]
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        assert file.read() == ""


@pytest.mark.parametrize("workers, backend", [(1, "auto"), (2, "auto"), (4, "shm"), (2, "tcp")])
def test_folder_of_the_command_line(tmp_path, workers, backend):
    options = {"iterations": 8, "forward_passes": 4, "seed": 7}
    result = cobre.train(BRAZIL3, workers, backend, "py", checkpoint_every=3, **options)
    command("train", BRAZIL3, "--iterations", 8, "--forward-passes", 4, "--seed", 7, "--out", "cli", "--quiet")
    assert sorted(os.listdir("py")) == sorted(os.listdir("cli"))
    for name in ["policy.cobre", "run.json"]:
        assert pathlib.Path("py", name).read_bytes() == pathlib.Path("cli", name).read_bytes()
    assert result.folder == "py" and result.policy.path == "py/policy.cobre"
    in_memory = cobre.train(BRAZIL3, workers, backend, **options)
    assert in_memory.folder is None and in_memory.bound == result.bound == result.trace["bound"][-1]
    in_memory.policy.save("memory.cobre")
    assert pathlib.Path("memory.cobre").read_bytes() == pathlib.Path("cli/policy.cobre").read_bytes()
    if workers == 1:
        assert result.workers is None
    else:
        assert [worker.rank for worker in result.workers] == list(range(workers))
        assert sum(worker.solves for worker in result.workers) == result.solves
        assert all(worker.backend == result.backend and worker.seconds > 0 for worker in result.workers)


def test_nothing_is_written():
    cobre.train(TOY, 2, iterations=3).simulate(trajectories=10, tables="all")
    problem = cobre.Problem()
    problem.stage().between(2, problem.nodes[0].variable("x", upper=1), 3)
    for workers in (1, 2):
        with pytest.raises(cobre.SolverError, match="infeasible"):
            problem.train(workers, iterations=1)
    assert os.listdir() == []


COMMANDS = {
    "train": cobre.train,
    "simulate": cobre.simulate,
    "validate": cobre.validate,
    "decide": cobre.Policy.decide,
    "compare": cobre.compare,
    "report": cobre.report,
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_the_command_line(name):
    """It is there under the same name, or the exception says what takes its place."""
    call = COMMANDS[name]
    lines = [line.split() for line in command(name, "--help").splitlines() if line.startswith("  -")]
    names = {line[0].strip("-,").replace("-", "_") for line in lines} - {"h", "policy"}  # which is the object itself
    table = {row[0].replace("-", "_") for row in _cobre.options(name)}
    here = set(inspect.signature(call).parameters) | table
    for option in names - here:
        with pytest.raises(TypeError, match=f"has no option '{option}': [a-z]"):
            call(None, **{option: True})
    assert len(names & here) >= 1 and names - here <= {"n", "json", "watch"}
    if name in ("train", "simulate", "validate"):
        assert all(f"        {option}=" in call.__doc__ for option in table)


def test_log():
    """The lines of the command line, but for times and for what to type next."""

    def lines(path):
        text = re.sub(r" *\d+  0:00:\d\d|[\d.]+ s$", "TIME", pathlib.Path(path).read_text(), flags=re.M)
        return [line for line in text.splitlines() if not line.startswith("next ")]

    command("train", BRAZIL3, "-n", 2, "--iterations", 4, "--out", "run", "--quiet", "--log", "cli.log")
    for _ in range(2):
        cobre.train(BRAZIL3, 2, iterations=4, out="run", force=True, log="py.log")
    assert lines("py.log") == 2 * lines("cli.log") and len(lines("cli.log")) > 10
    cobre.train(TOY, iterations=1, log="memory.log")
    assert "policy    in memory (" in pathlib.Path("memory.log").read_text()
    with pytest.raises(cobre.FileError, match="log: .*No such file"):
        cobre.train(TOY, iterations=1, log="nowhere/x.log")
    with pytest.warns(RuntimeWarning, match="log: the file could not be written"):
        cobre.train(TOY, iterations=1, log="/dev/full")


def test_convergence_is_required():
    with pytest.raises(cobre.ConvergenceError, match="it has not converged: iteration limit") as caught:
        cobre.train(TOY, iterations=2, gap=True, window=1000, require="converged", log="run.log")
    assert caught.value.result.iterations == 2 and not caught.value.result.converged
    assert "it has not converged" in pathlib.Path("run.log").read_text()
    assert cobre.train(TOY, stall=2, require="converged").converged
    with pytest.raises(ValueError, match="require: give a rule that finds it, too"):
        cobre.train(TOY, iterations=2, require="converged")


def test_validation_of_a_table():
    pathlib.Path("case").mkdir()
    for file in pathlib.Path(TOY).iterdir():
        pathlib.Path("case", file.name).write_bytes(file.read_bytes())
    path = pathlib.Path("case/thermals.csv")
    path.write_text(path.read_text().replace("\n", ",x\n", 1))
    assert not cobre.validate("case", write="x.sof.json") and not os.path.exists("x.sof.json")
    found = cobre.validate("case", table="hydros.csv")
    assert found and found.elsewhere >= 1 and found.issues == []
    found = cobre.validate("case", table="thermals.csv")
    assert not found and found.elsewhere == 0 and all("thermals.csv" in issue.file for issue in found.errors)
    with pytest.raises(ValueError, match="has no table 'nothing.csv'"):
        cobre.validate("case", table="nothing.csv")
    assert cobre.validate(TOY, write="x.sof.json") and cobre.load("x.sof.json").states == cobre.load(TOY).states


def test_progress_is_told_in_order_and_stops():
    seen = []
    result = cobre.train(BRAZIL3, 2, iterations=50, progress=lambda now: seen.append(now) or now.iteration < 5)
    assert [now.iteration for now in seen] == [1, 2, 3, 4, 5] and result.iterations == 5 and result.stop == "asked to stop"
    assert all(now.worker_id == 0 and now.bound <= result.bound and now.seconds > 0 and len(now.times["forward"]) == 2 for now in seen)
    other = cobre.train(BRAZIL3, iterations=5)
    assert other.bound == result.bound


def test_exception_of_progress_keeps_what_was_trained():
    def fail(now):
        if now.iteration == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        cobre.train(BRAZIL3, 2, iterations=50, progress=fail)
    assert caught.value.result.iterations == 3


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_what_was_trained(workers):
    def interrupt(now):
        if now.iteration == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        cobre.train(BRAZIL3, workers, iterations=100000, progress=interrupt)
    assert 2 <= caught.value.result.iterations < 100000


def of_job(mark):
    """The processes whose environment has it."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = pathlib.Path("/proc", process, "environ").read_bytes()
        except OSError:
            continue
        if f"TEST_MARK={mark}".encode() in environment.split(b"\0"):
            found.append(int(process))
    return found


def ends_by_sigterm(program, to_all=False):
    """What the program prints, and its exit code. It prints a line when it shall get the signal, or all its processes shall."""
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    command = [sys.executable, "-c", "import cobre, os, signal, sys\nsys.argv.append('" + BRAZIL3 + "')\n" + program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"TEST_MARK": mark}) as process:
        try:
            assert process.stdout.readline() == "now\n"
            for one in of_job(mark) if to_all else [process.pid]:
                os.kill(one, signal.SIGTERM)
            printed, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    end = time.monotonic() + PATIENCE
    while of_job(mark):  # workers that are told by the kernel to end
        assert time.monotonic() < end, "a worker is left"
        time.sleep(0.01)
    assert not [name for name in os.listdir("/dev/shm") if str(process.pid) in name]
    return printed, process.returncode


@pytest.mark.parametrize("workers, to_all", [(1, False), (2, False), (2, True)])
def test_sigterm_saves_what_was_trained(workers, to_all):
    program = f"""
def tell(now):
    if now.iteration == 3:
        print("now", flush=True)
cobre.train(sys.argv[-1], {workers}, out="run", iterations=10**9, progress=tell)
"""
    assert ends_by_sigterm(program, to_all) == ("", -signal.SIGTERM)
    assert cobre.load_policy("run").iterations >= 3 and cobre.load_policy("run").decide().cost > 0
    assert "asked to stop" in pathlib.Path("run/summary.csv").read_text() and not [name for name in os.listdir("run") if name[0] == "."]
    half = cobre.load_policy("run").iterations
    assert cobre.train(BRAZIL3, resume="run", out="run", iterations=half + 1).iterations == half + 1


def test_sigterm_of_a_program_that_handles_it():
    """A handler that raises ends the training; what the handler does otherwise is the program's matter."""
    program = """
def tell(now):
    if now.iteration == 3:
        print("now", flush=True)
    return not noted
noted = []
signal.signal(signal.SIGTERM, HANDLER)
try:
    result = cobre.train(sys.argv[-1], 2, out="run", force=True, iterations=10**9, progress=tell)
    print(signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL, result.stop)
except SystemExit as error:
    print(error.result.iterations >= 3)
    raise
"""
    assert ends_by_sigterm(program.replace("HANDLER", "lambda *_: sys.exit(7)"), True) == ("True\n", 7)
    assert cobre.load_policy("run").iterations >= 3
    assert ends_by_sigterm(program.replace("HANDLER", "lambda *_: noted.append(1)"), True) == ("True asked to stop\n", 0)


def test_sigterm_without_a_folder():
    """There is nothing to save: it ends at once, with its workers."""
    program = """
def tell(now):
    if now.iteration == 3:
        print("now", flush=True)
        signal.pause()
cobre.train(sys.argv[-1], 2, iterations=10**9, progress=tell)
"""
    assert ends_by_sigterm(program) == ("", -signal.SIGTERM)


@pytest.mark.parametrize("out", [None, "run"])
def test_dead_worker(out):
    def kill(now):
        if now.iteration == 3:
            with open(f"/proc/self/task/{os.getpid()}/children") as file:
                os.kill(int(file.read().split()[0]), signal.SIGKILL)

    with pytest.raises(cobre.WorkerError) as caught:
        cobre.train(BRAZIL3, 2, iterations=100000, progress=kill, out=out)
    assert caught.value.rank == 1 and caught.value.exit_code == -9
    result = caught.value.result
    assert result.iterations >= 3 and result.policy.bound <= 790000 and result.policy.decide().cost > 0


def test_ranks_of_a_communicator():
    program = """
import cobre, sys
with cobre.Comm() as comm:
    training = cobre.train(sys.argv[1], comm=comm, iterations=5)
    simulation = cobre.simulate(sys.argv[1], training, comm=comm, trajectories=20)
    assert (training is None) == (comm.rank > 0) == (simulation is None)
    if comm.rank == 0:
        print(repr(training.bound), repr(simulation.mean), len(training.workers))
"""
    bound, mean, workers = command("run", "-n", 2, sys.executable, "-c", program, BRAZIL3).split()
    training = cobre.train(BRAZIL3, iterations=5)
    assert float(bound) == training.bound and int(workers) == 2
    assert float(mean) == training.simulate(trajectories=20).mean


def test_errors_of_cases(tmp_path):
    pathlib.Path("case").mkdir()
    for file in pathlib.Path(TOY).iterdir():
        pathlib.Path("case", file.name).write_bytes(file.read_bytes())
    path = pathlib.Path("case/hydros.csv")
    path.write_text(path.read_text().replace("lake", "lake,x", 1))
    with pytest.raises(cobre.CaseError) as caught:
        cobre.load("case")
    assert caught.value.issues and all(issue.file and issue.message for issue in caught.value.issues)
    assert any(issue.line > 0 and "hydros.csv" in issue.file for issue in caught.value.issues)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value) and len(copy.issues) == len(caught.value.issues)
    found = cobre.validate("case")
    assert not found and [str(issue) for issue in found.errors] == [str(issue) for issue in caught.value.issues if not issue.warning]
    assert cobre.validate(TOY) and cobre.validate(TOY).case.name.startswith("Toy")


def test_errors_of_arguments():
    for words, call in {
        "did you mean iterations?": lambda: cobre.train(TOY, iteration=5),
        "multi_cut: 3 is not a bool": lambda: cobre.train(TOY, multi_cut=3),
        "iterations: it needs a value": lambda: cobre.train(TOY, iterations=True),
        "is no path, no Case and no Problem": lambda: cobre.train(7),
        "cannot be called": lambda: cobre.train(TOY, progress=3),
        "quiet and progress: give one": lambda: cobre.train(TOY, progress=True, quiet=True),
        "out: b'x' is no path": lambda: cobre.train(TOY, out=b"x"),
        "policy: 3 is no path, no Policy": lambda: cobre.simulate(TOY, 3),
        "state: 3 is no mapping": lambda: cobre.simulate(TOY, "p", state=3),
        "is neither a number nor a text": lambda: cobre.train(TOY, iterations=object()),
        "resume: 3 is no path": lambda: cobre.train(TOY, resume=3),
        "is no run: give a folder": lambda: cobre.compare((), ()),
    }.items():
        with pytest.raises(TypeError, match=words.replace("?", r"\?")):
            call()
    for words, call in {
        "iterations: x: not a whole number": lambda: cobre.train(TOY, iterations="x"),
        "checkpoint_every: give out=DIR": lambda: cobre.train(TOY, checkpoint_every=1),
        "accept_other_case: it says": lambda: cobre.train(TOY, accept_other_case=True),
        "require: 'all' is not": lambda: cobre.train(TOY, require="all"),
        "stage, date and node: give one": lambda: cobre.train(TOY, iterations=1).decide(1, node="2"),
        "by: year: must be element or stage": lambda: cobre.compare("a", "b", by="year"),
        "num_workers: 5000 is not from 1 to 4096": lambda: cobre.train(TOY, 5000),
        "grace: nan is not a number of seconds": lambda: cobre.train(TOY, grace=float("nan")),
        "out: the path is empty": lambda: cobre.train(TOY, out=""),
        "netcdf: give out=DIR": lambda: cobre.simulate(TOY, "p", netcdf=True),
        "scenarios: this problem was built": lambda: cobre.load(cobre.Problem(), scenarios="x.csv"),
    }.items():
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(cobre.PolicyError):
        pathlib.Path("p.cobre").write_bytes(b"nothing")
        cobre.load_policy("p.cobre")
    with pytest.raises(cobre.SolverError):
        cobre.train(TOY, solver="nobody")
    training = cobre.train(TOY, iterations=1)
    with pytest.raises(cobre.PolicyError, match="^the policy: this policy belongs to another problem"):
        cobre.simulate(BRAZIL3, training)
    with pytest.raises(KeyError, match="there is no 'sea'; there are lake"):
        training.decide(state={}).of("hydro", "sea")
    with pytest.raises(cobre.ArgumentError, match="cannot be 1e\\+300"):
        training.decide(state={"lake": 1e300})
    cobre.train(TOY, iterations=1, out="run")
    with pytest.raises(cobre.FileError, match="holds a finished run") as caught:
        cobre.train(TOY, 2, iterations=1, out="run")
    assert caught.value.result is None  # that run is another one
    cobre.train(TOY, 2, iterations=1, out="run", force=True)


def test_simulation_as_the_command_line(tmp_path):
    cobre.train(BRAZIL3, iterations=10, out="run")
    command("simulate", BRAZIL3, "--policy", "run/policy.cobre", "--trajectories", 50, "--tables", "all", "--out", "cli")
    for workers in [1, 2]:
        result = cobre.simulate(BRAZIL3, "run", workers, trajectories=50, tables="all", out=f"py{workers}")
        assert sorted(os.listdir(f"py{workers}")) == sorted(os.listdir("cli"))
        for name in os.listdir("cli"):
            assert pathlib.Path(f"py{workers}", name).read_bytes() == pathlib.Path("cli", name).read_bytes(), name
    memory = cobre.simulate(BRAZIL3, "run", 2, trajectories=50, tables="all")
    assert memory.mean == result.mean and memory.gap == result.gap
    states = memory["storage"]
    assert states.dims == ("trajectory", "stage", "hydro") and numpy.asarray(states).shape == (50, 3, 4)
    # Every number of states.csv is that of the array.
    rows = [line.split(",") for line in pathlib.Path("cli/states.csv").read_text().splitlines()]
    names = rows[0]
    for row in (dict(zip(names, row)) for row in rows[1:]):
        if row["kind"] == "storage":
            at = states.coords["hydro"].index(row["element"])
            value = states.values[int(row["trajectory"]) - 1, int(row["step"]) - 1, at]
            assert numpy.isclose(float(row["out"]), value, rtol=1e-6), row
    assert float(memory.costs["cost"][7]) == float(pathlib.Path("cli/costs.csv").read_text().splitlines()[8].split(",")[2])


def test_scenarios_of_a_table():
    """Also for a case that is loaded already, as that of a training is."""
    training = cobre.train(BRAZIL3, iterations=5)
    names = [name[len("storage[") : -1] for name in training.policy.states]
    rows = [",".join([scenario, str(stage)] + [inflow] * len(names)) for scenario, inflow in (("dry", "100"), ("wet", "30000")) for stage in (1, 2, 3)]
    pathlib.Path("mine.csv").write_text("\n".join([",".join(["scenario", "stage", *names]), *rows, ""]))
    costs = list(training.simulate(scenarios="mine.csv").costs["cost"])
    assert len(costs) == 2 and costs[0] > costs[1]
    assert list(cobre.simulate(BRAZIL3, training, 2, scenarios="mine.csv").costs["cost"]) == costs


def test_results_for_pandas_and_xarray():
    training = cobre.train(BRAZIL3, iterations=10)
    simulation = training.simulate(trajectories=1000, tables="all")
    frame = training.to_pandas()
    assert list(frame.index) == list(range(1, 11)) and frame["bound"].iloc[-1] == training.bound
    assert training.to_xarray()["bound"].sizes == {"iteration": 10}
    table = simulation.to_pandas()
    assert {"kind", "mean", "p5"} <= set(table.columns)
    data = simulation.to_xarray()
    assert data["storage"].sizes == {"trajectory": 1000, "stage": 3, "hydro": 4} and data["storage"].attrs["units"]
    # The numbers are where the library has put them.
    block = numpy.asarray(simulation._cells[0])
    for name in simulation.variables:
        assert numpy.shares_memory(data[name].values, block) and numpy.shares_memory(numpy.asarray(simulation[name]), block), name
    assert numpy.shares_memory(training.trace.to_pandas()["bound"].to_numpy(), numpy.asarray(training.trace["bound"]))
    tracemalloc.start()
    simulation.to_xarray()
    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < block.nbytes / 4
    with pytest.raises(KeyError, match="tables"):
        training.simulate(trajectories=2)["storage"]


def test_decide_as_the_command_line():
    training = cobre.train(BRAZIL3, iterations=10, out="run")
    said = json.loads(command("decide", BRAZIL3, "--policy", "run/policy.cobre", "--stage", 2, "--state", "SE=50%", "--json"))
    for policy in [training.policy, cobre.load_policy("run"), cobre.load_policy("run/policy.cobre", BRAZIL3)]:
        decision = policy.decide(2, state={"SE": "50%"})
        assert decision.cost == said["cost"] and decision.decision == said["decision"]
        assert decision.of("hydro", "SE") == said["decision"]["hydro"]["SE"]
    with pytest.raises(ValueError, match="give the case"):
        training.policy.save("alone.cobre")
        cobre.load_policy("alone.cobre").decide()


def test_comparisons_reports_and_charts():
    first = cobre.train(BRAZIL3, iterations=numpy.int64(10))
    second = cobre.train(BRAZIL3, iterations=10, cvar=numpy.array([0.2, 0.5]))
    runs = [(each, each.simulate(trajectories=50)) for each in [first, second]]
    found = cobre.compare(*runs)
    assert len(found.runs) == 2 and found.words and {"kind", "run", "value"} <= set(found.to_pandas().columns)
    assert found.notes == []  # files of temporary folders are no matter of the user's
    assert len(cobre.compare(*runs, by="stage", kind="storage", csv="rows.csv").rows) * 2 + 1 == len(open("rows.csv").readlines())
    assert cobre.report(*runs, out="two.html") == "two.html" and "<svg" in pathlib.Path("two.html").read_text()
    for result in [first, runs[0][1]]:
        html = result._repr_html_() + result._repr_html_()  # twice on one page: names stay apart
        names = re.findall(' id="([^"]+)"', html)
        assert html.count("<svg") >= 2 and len(set(names)) == len(names)
        assert set(re.findall(r"url\(#([^)]+)\)", html)) <= set(names)
    assert "<table" in first.trace._repr_html_() and "<table" in first.decide()._repr_html_()
    assert sorted(os.listdir()) == ["rows.csv", "two.html"]
    assert (cobre.report(first), cobre.report(*runs)) == ("report.html", "compare.html")


def test_resume_and_warm_start_from_memory():
    half = cobre.train(BRAZIL3, iterations=5)
    whole = cobre.train(BRAZIL3, iterations=10, resume=half)
    assert whole.bound == cobre.train(BRAZIL3, iterations=10).bound and whole.trace["iteration"][0] == 6
    assert cobre.train(BRAZIL3, 2, iterations=1, warm_start=half.policy).bound >= half.bound
    os.mkdir("run")
    half.policy.save("run/policy.cobre")
    assert cobre.train(BRAZIL3, iterations=10, resume="run").bound == whole.bound


def test_a_case_is_used_by_one_call_at_a_time():
    case = cobre.load(TOY)
    with pytest.raises(RuntimeError, match="this case is being trained or simulated"):
        cobre.train(case, iterations=2, progress=lambda now: cobre.train(case, iterations=1))


def test_threads_decide_with_one_policy():
    training = cobre.train(BRAZIL3, iterations=5)
    alone = [training.decide(state={"SE": f"{share}%"}).cost for share in range(1, 101)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda share: training.decide(state={"SE": f"{share}%"}).cost, range(1, 101))) == alone
        list(pool.map(lambda number: training.policy.save(f"{number}.cobre"), range(50)))


def test_decisions_beside_long_calls():
    """A long call waits for decisions, and refuses them while it runs."""
    training = cobre.train(BRAZIL3, iterations=5)
    begun, over, refused = threading.Event(), threading.Event(), []

    def decide():
        while not over.is_set():
            try:
                training.decide()
                begun.set()
            except RuntimeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=decide) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert begun.wait(PATIENCE)
        means = {training.simulate(trajectories=100).mean for _ in range(5)}
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert len(means) == 1 and all("this case is being trained or simulated" in text for text in refused)
    with ThreadPoolExecutor(1) as pool, pytest.raises(RuntimeError, match="load it once more"):
        cobre.train(training.policy._case, iterations=2, progress=lambda now: pool.submit(training.decide).result())


def test_decisions_in_the_child_of_a_fork():
    """Also if another thread was in a call."""
    training = cobre.train(BRAZIL3, iterations=5)
    cost = training.decide(state={"SE": "30%"}).cost

    def fork_and_decide(now):
        child = os.fork()
        if child == 0:
            found = None
            try:
                found = training.decide(state={"SE": "30%"}).cost
            finally:
                os._exit(0 if found == cost else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    codes = []
    with ThreadPoolExecutor(1) as pool:
        cobre.train(training.policy._case, iterations=1, progress=lambda now: pool.submit(fork_and_decide, now).result())
    assert codes == [0]


def test_threads_train_side_by_side():
    bounds = []
    threads = [threading.Thread(target=lambda: bounds.append(cobre.train(BRAZIL3, 2, iterations=5).bound)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bounds[0] == bounds[1] == cobre.train(BRAZIL3, iterations=5).bound


def test_an_object_stays_what_it_was(tmp_path):
    """Whatever becomes of its file and its folder."""
    folder = tmp_path / "run"
    good = cobre.train(BRAZIL3, iterations=12, out=folder)
    mean = good.simulate(trajectories=20).mean
    cobre.train(BRAZIL3, iterations=1, out=folder, force=True)
    assert good.simulate(trajectories=20, num_workers=2).mean == mean
    assert cobre.load_policy(good, BRAZIL3).iterations == 12
    assert cobre.train(BRAZIL3, resume=good, iterations=13).iterations == 13
    assert "12" in cobre.report(good, out=tmp_path / "12.html") and "svg" in good._repr_html_()
    shutil.rmtree(folder)
    assert good.simulate(trajectories=20, num_workers=2).mean == mean and "svg" in good._repr_html_()


def made_of(comm, training):
    """By a rank of launch(), or any process."""
    simulation = training.simulate(trajectories=20, tables="all")
    return training.decide(2).cost, simulation, os.getcwd()


def test_results_in_other_processes(monkeypatch):
    """As pickles, wherever those processes are."""
    shutil.copytree(BRAZIL3, "case")
    training = cobre.train("case", iterations=5, out="run")
    os.mkdir("elsewhere")
    monkeypatch.chdir("elsewhere")
    cost, simulation, here = made_of(None, training)
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        forked = pool.submit(made_of, None, training).result(PATIENCE)
    for other_cost, other, there in (forked, cobre.launch(made_of, 1, args=(training,))):
        assert (other_cost, other.mean, there) == (cost, simulation.mean, here)
        assert numpy.array_equal(other["storage"].values, simulation["storage"].values)
        assert other.to_xarray().sizes == simulation.to_xarray().sizes


def test_results_by_cloudpickle():
    cloudpickle = pytest.importorskip("cloudpickle")
    training = cobre.train(TOY, iterations=2)
    assert pickle.loads(cloudpickle.dumps(lambda: training.decide().facts))() == training.decide().facts


def test_copies_of_results():
    training = cobre.train(BRAZIL3, iterations=5, out="run")
    for twin in (pickle.loads(pickle.dumps(training)), copy.deepcopy(training)):
        assert repr(twin) == repr(training) and twin.trace["bound"] == training.trace["bound"]
        assert cobre.train(BRAZIL3, resume=twin, iterations=6).iterations == 6
        assert cobre.simulate(BRAZIL3, twin, 2, trajectories=20).mean == training.simulate(trajectories=20).mean
        cobre.train(twin.policy._case, iterations=1, progress=lambda now: training.decide() and None)  # its case is its own
    alone = cobre.load_policy("run/policy.cobre")
    assert pickle.loads(pickle.dumps(alone)).decide().cost == training.decide().cost  # its folder names the case
    twin = pickle.loads(pickle.dumps(cobre.validate(TOY)))
    assert twin and twin.case.states == cobre.load(TOY).states

    def fail(now):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        cobre.train(TOY, iterations=3, progress=fail)
    assert pickle.loads(pickle.dumps(caught.value)).result.iterations == 1


def test_pickle_of_a_case_that_changed():
    shutil.copytree(TOY, "case")
    data = pickle.dumps(cobre.train("case", iterations=2))
    table = pathlib.Path("case/thermals.csv")
    table.write_text(table.read_text().replace("0,80,50", "0,80,51"))
    with pytest.raises(cobre.PolicyError, match="case: the case has changed since this was pickled"):
        pickle.loads(data)
    shutil.rmtree("case")
    shutil.copytree(BRAZIL3, "case")
    with pytest.raises(cobre.PolicyError, match="^the policy: this policy belongs to another problem"):
        pickle.loads(data)
    shutil.rmtree("case")
    with pytest.raises(cobre.CaseError, match="case: cannot be read"):
        pickle.loads(data)


def test_a_policy_simulates_another_case(tmp_path):
    """Without a file of its own."""
    shutil.copytree(BRAZIL3, tmp_path / "other")
    table = tmp_path / "other/deficits.csv"
    table.write_text(table.read_text().replace(",1142.8", ",1200"))
    training = cobre.train(BRAZIL3, iterations=5)
    one, two = (cobre.simulate(tmp_path / "other", training, trajectories=20, num_workers=count) for count in (1, 2))
    assert one.mean == two.mean and one.workers is None
    assert [worker.rank for worker in two.workers] == [0, 1] and sum(worker.solves for worker in two.workers) == 60


def test_progress_stops_on_any_number_of_workers():
    """Rank 0 may have nothing to do when it is asked."""
    for count in (2, 3, 4):
        for _ in range(3):
            training = cobre.train(BRAZIL3, num_workers=count, iterations=40, progress=lambda now: now.iteration < 4)
            assert (training.iterations, training.stop) == (4, "asked to stop")


def test_an_exception_of_progress_ends_it_in_order():
    def fail(now):
        if now.iteration == 3:
            raise KeyError("mine")

    for count in (2, 4):
        with pytest.raises(KeyError) as info:
            cobre.train(BRAZIL3, num_workers=count, iterations=40, progress=fail)
        assert info.value.result.iterations == 3 and len(info.value.result.workers) == count


def test_numpy_says_no():
    assert cobre.train(BRAZIL3, iterations=20, multi_cut=numpy.True_, progress=lambda now: numpy.bool_(now.iteration < 2)).iterations == 2
