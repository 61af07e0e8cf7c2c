# SPDX-License-Identifier: Apache-2.0
"""Studies from Python: the same bits as the command line, results in memory, errors, and what is left behind: nothing."""

import gc
import json
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import threading

import cobre
import numpy
import pytest
from conftest import COBRE

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
    result = cobre.train(BRAZIL3, workers, backend, "py", **options)
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
    assert os.listdir() == []


def test_every_option_of_the_command_line():
    for name, call in [("train", cobre.train), ("simulate", cobre.simulate)]:
        text = command(name, "--help")
        own = {"json", "quiet", "watch", "log", "require", "backend", "out", "policy", "force", "grace"}
        options = [line.split()[0].lstrip("-").rstrip(",") for line in text.splitlines() if line.startswith("  --")]
        for option in set(options) - own:
            assert option.replace("-", "_") + "=" in call.__doc__, option


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
    }.items():
        with pytest.raises(TypeError, match=words.replace("?", r"\?")):
            call()
    with pytest.raises(ValueError, match="iterations: x: not a whole number"):
        cobre.train(TOY, iterations="x")
    with pytest.raises(cobre.PolicyError):
        pathlib.Path("p.cobre").write_bytes(b"nothing")
        cobre.load_policy("p.cobre")
    with pytest.raises(cobre.SolverError):
        cobre.train(TOY, solver="nobody")
    cobre.train(TOY, iterations=1, out="run")
    with pytest.raises(cobre.FileError, match="holds a finished run"):
        cobre.train(TOY, 2, iterations=1, out="run")
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


def test_results_for_pandas_and_xarray():
    training = cobre.train(BRAZIL3, iterations=10)
    simulation = training.simulate(trajectories=20, tables="all")
    frame = training.to_pandas()
    assert list(frame.index) == list(range(1, 11)) and frame["bound"].iloc[-1] == training.bound
    assert training.to_xarray()["bound"].sizes == {"iteration": 10}
    table = simulation.to_pandas()
    assert {"kind", "mean", "p5"} <= set(table.columns)
    data = simulation.to_xarray()
    assert data["storage"].sizes == {"trajectory": 20, "stage": 3, "hydro": 4} and data["storage"].attrs["units"]
    # The numbers are where the library has put them.
    assert numpy.shares_memory(data["storage"].values, numpy.asarray(simulation._cells[0]))
    assert numpy.shares_memory(training.trace.to_pandas()["bound"].to_numpy(), numpy.asarray(training.trace["bound"]))
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
    first = cobre.train(BRAZIL3, iterations=10)
    second = cobre.train(BRAZIL3, iterations=10, cvar=(0.2, 0.5))
    runs = [(each, each.simulate(trajectories=50)) for each in [first, second]]
    found = cobre.compare(*runs)
    assert len(found.runs) == 2 and found.words and {"kind", "run", "value"} <= set(found.to_pandas().columns)
    assert cobre.report(*runs, out="two.html") == "two.html" and "<svg" in pathlib.Path("two.html").read_text()
    for result in [first, runs[0][1]]:
        html = result._repr_html_() + result._repr_html_()  # twice on one page: names stay apart
        names = re.findall(' id="([^"]+)"', html)
        assert html.count("<svg") >= 2 and len(set(names)) == len(names)
        assert set(re.findall(r"url\(#([^)]+)\)", html)) <= set(names)
    assert "<table" in first.trace._repr_html_() and "<table" in first.decide()._repr_html_()
    assert os.listdir() == ["two.html"]


def test_resume_and_warm_start_from_memory():
    half = cobre.train(BRAZIL3, iterations=5)
    whole = cobre.train(BRAZIL3, iterations=10, resume=half)
    assert whole.bound == cobre.train(BRAZIL3, iterations=10).bound and whole.trace["iteration"][0] == 6
    assert cobre.train(BRAZIL3, 2, iterations=1, warm_start=half.policy).bound >= half.bound


def test_threads_train_side_by_side():
    bounds = []
    threads = [threading.Thread(target=lambda: bounds.append(cobre.train(BRAZIL3, 2, iterations=5).bound)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bounds[0] == bounds[1] == cobre.train(BRAZIL3, iterations=5).bound
