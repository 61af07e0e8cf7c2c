# SPDX-License-Identifier: Apache-2.0
"""Studies: cases, policies, trainings and simulations, as the command line makes them.

A case and a policy live on a communicator of one rank, which belongs to the case. Several workers are ranks of another one, for as
long as a call takes: this process is rank 0, the others are new processes, and the problem is shared with them.
"""

from __future__ import annotations

import json
import os

from . import _cobre
from ._comm import Comm, whole
from ._launch import open_memory as _open_memory
from ._launch import take_part
from ._errors import CaseError, CobreError, CollectiveError, Issue, WorkerError
from ._notebook import progress_of
from ._tables import Table, from_rows, read_table

if not hasattr(_cobre, "load"):
    raise ImportError("this cobre was built without the planner, which needs libjansson-dev, zlib1g-dev and librandom123-dev")

TYPE_CHECKING = False  # typing takes time to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Union, overload

    from ._problem import Problem

    Path = Union[str, os.PathLike[str]]
    CaseLike = Union[Path, "Case", Problem]

# ---- Options


def _text(value: Any) -> str:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if hasattr(value, "items"):
        return ",".join(f"{name}={_text(one)}" for name, one in value.items())
    if isinstance(value, (tuple, list)):
        return ",".join(map(_text, value))
    if isinstance(value, float) or hasattr(value, "dtype"):
        return repr(float(value)) if not float(value).is_integer() else repr(int(value))
    return str(value)


def _pairs(command: str, given: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Options as the tables of the command line name them; a flag has no text."""
    known = {name: values for name, values, *_ in _cobre.options(command)}
    pairs: list[tuple[str, str | None]] = []
    for word, value in given.items():
        name = word.replace("_", "-")
        if name not in known:
            from difflib import get_close_matches

            close = get_close_matches(name, known, 1)
            hint = f"; did you mean {close[0].replace('-', '_')}?" if close else f"; there are {', '.join(known)}".replace("-", "_")
            raise TypeError(f"{command}() has no option {word!r}{hint}")
        if value is None or value is False:
            continue
        if known[name] == "" and value is not True:
            raise TypeError(f"{word}: {value!r} is not a bool")
        if known[name] != "" and value is True:
            raise TypeError(f"{word}: it needs a value, {known[name]}")
        pairs.append((name, _text(value) if known[name] else None))
    return pairs


def _option_help(command: str) -> str:
    lines = []
    for name, values, help, default in _cobre.options(command):
        head = name.replace("-", "_") + ("=" + values if values else "=True")
        lines.append(f"        {head}: {help}" + (f" ({default})" if default else ""))
    return "\n".join(lines)


# ---- Cases


class Case:
    """A case that was read and checked: cobre.load() makes it. It can be given wherever a case is asked for."""

    def __init__(self, problem: Any, comm: Comm, path: str, warnings: list[Issue]) -> None:
        self._problem = problem
        self._comm = comm
        self.path = path
        self.warnings = warnings
        facts = problem.describe()
        self.name: str = facts["name"]
        self.contents: str = facts["contents"]
        self.maximises: bool = facts["maximises"]
        self.averse: bool = facts["averse"]
        self.has_noise_model: bool = facts["has_noise_model"]
        self.cost_unit: str = facts["cost_unit"]
        self.time_unit: str = facts["time_unit"]
        self.initial: dict[str, float] = dict(facts["states"])
        self.states: list[str] = list(self.initial)
        self.nodes: list[str] = [node[0] for node in facts["nodes"]]
        self.stages: int = len({node[1] for node in facts["nodes"]})
        self.dates: list[str] = [node[2] for node in facts["nodes"]]

    def train(self, *args: Any, **options: Any) -> Training:
        result: Training = train(self, *args, **options)
        return result

    def simulate(self, policy: PolicyLike, **options: Any) -> Simulation:
        result: Simulation = simulate(self, policy, **options)
        return result

    def write(self, path: Path) -> None:
        """As a StochOptFormat file, *.sof.json."""
        self._problem.write(os.fspath(path))

    def __repr__(self) -> str:
        return f"<cobre.Case {self.name!r}: {self.stages} stages, {len(self.nodes)} nodes, {len(self.states)} states>"


def load(case: CaseLike, *, scenarios: Path | None = None) -> Case:
    """Read and check a case: the folder of a hydrothermal case, or a StochOptFormat file (*.sof.json, *.sof.json.gz).

    scenarios: a table of scenarios to simulate. A case with errors raises CaseError, which has all of them. Warnings are in
    .warnings of what is returned.
    """
    if isinstance(case, Case):
        return case
    if not isinstance(case, (str, os.PathLike)):
        if hasattr(case, "_as_case"):
            made: Case = case._as_case()
            return made
        raise TypeError(f"case: {case!r} is no path, no Case and no Problem")
    path, comm = os.fspath(case), Comm(backend="local")
    issues: list[Any] = []
    problem = _cobre.load(comm, path, None if scenarios is None else os.fspath(scenarios), issues)
    if problem is None:
        raise CaseError.of(path, [Issue(*issue) for issue in issues])
    return Case(problem, comm, path, [Issue(*issue) for issue in issues])


class Validation:
    """What validate() found. It is true if the case can be trained."""

    def __init__(self, issues: list[Issue], case: Case | None) -> None:
        self.issues = issues
        self.errors = [issue for issue in issues if not issue.warning]
        self.warnings = [issue for issue in issues if issue.warning]
        self.case = case

    def __bool__(self) -> bool:
        return not self.errors

    def __repr__(self) -> str:
        return f"<cobre.Validation: {len(self.errors)} errors, {len(self.warnings)} warnings>"

    def __str__(self) -> str:
        return "\n".join(map(str, self.issues)) or "no errors"


def validate(case: CaseLike, **options: Any) -> Validation:
    """Find every error of a case, and warnings. It raises nothing for them."""
    pairs = _pairs("validate", options)
    scenarios = next((text for name, text in pairs if name == "scenarios"), None)
    try:
        loaded = load(case, scenarios=scenarios)
    except CaseError as error:
        return Validation(error.issues, None)
    issues: list[Any] = []
    _cobre.validate(loaded._problem, [pair for pair in pairs if pair[0] != "scenarios"], issues)
    return Validation(loaded.warnings + [Issue(*issue) for issue in issues], loaded)


# ---- Policies


class Policy:
    """A trained policy: its cuts, and what they were trained for. train() makes it, load_policy() reads it."""

    def __init__(self, policy: Any, case: Case | None, path: str | None) -> None:
        self._policy = policy
        self._case = case
        self.path = path
        facts = policy.describe()
        self.name: str = facts["name"]
        self.bound: float = facts["bound"]
        self.iterations: int = facts["iterations"]
        self.cut_count: int = facts["cut_count"]
        self.seed: int = facts["seed"]
        self.solver: str = facts["solver"]
        self.solver_version: str = facts["solver_version"]
        self.maximises: bool = facts["maximises"]
        self.averse: bool = facts["averse"]
        self.proven: bool = facts["proven"]
        self.difference: str | None = facts["difference"]
        self.states: list[str] = facts["states"]
        self.nodes: list[str] = facts["nodes"]
        self.stages: list[int] = facts["stages"]

    def cuts(self) -> Table:
        """The cuts: node, stage, outcome (-1: none), iteration, intercept, and a slope for each state, by its name."""
        from array import array

        count, states = self.cut_count, len(self.states)
        node, outcome, iteration = (array("q", bytes(8 * count)) for _ in range(3))
        intercept, slopes = array("d", bytes(8 * count)), array("d", bytes(8 * count * states))
        self._policy.cuts(node, outcome, iteration, intercept, slopes)
        names = [self.nodes[index] for index in node]
        stages = array("q", [self.stages[index] for index in node])
        found = {"node": names, "stage": stages, "outcome": outcome, "iteration": iteration, "intercept": intercept}
        return Table(found | {name: slopes[i::states] for i, name in enumerate(self.states)})

    def save(self, path: Path) -> None:
        self._policy.save(os.fspath(path))
        self.path = os.fspath(path)

    def _for(self, case: CaseLike | None) -> Policy:
        """The same policy with its case: the one given, or the one that its run folder names."""
        if case is None and self._case is not None:
            return self
        wanted = load(case) if case is not None else _recorded_case(self.path)
        if wanted is self._case:
            return self
        with _file_of(self) as path:
            return Policy(_cobre.load_policy(wanted._problem, path), wanted, self.path)

    def decide(
        self,
        stage: int | None = None,
        *,
        date: str | None = None,
        node: str | None = None,
        state: Mapping[str, Any] | str | None = None,
        inflow: Mapping[str, Any] | str | None = None,
        solver: str | None = None,
        case: CaseLike | None = None,
    ) -> Decision:
        """What the policy decides at a stage: the first one, or that of `stage`, `date` or `node`.

        state: what comes in, {"Furnas": "40%", "Serra Alta": 2300}; what is not named is as the case begins. inflow: of the stage,
        likewise; what is not named is the mean. case: needed if the policy was read, and its run folder does not name it.
        """
        own = self._for(case)
        given = {"stage": stage, "date": date, "node": node, "state": state}
        pairs = [(name, _text(value)) for name, value in given.items() if value is not None]
        pairs += [(name, _text(value)) for name, value in (("inflow", inflow), ("solver", solver)) if value is not None]
        return Decision(json.loads(own._policy.decide(pairs, os.devnull)))

    def simulate(self, *, case: CaseLike | None = None, **options: Any) -> Simulation:
        own = self._for(case)
        assert own._case is not None
        result: Simulation = simulate(own._case, own, **options)
        return result

    def __repr__(self) -> str:
        return f"<cobre.Policy of {self.name!r}: {self.iterations} iterations, {self.cut_count} cuts, bound {self.bound:.8g}>"


if TYPE_CHECKING:
    PolicyLike = Union[Path, Policy, "Training"]


def _recorded_case(path: str | None) -> Case:
    """The case that summary.csv beside a policy names."""
    summary = os.path.join(os.path.dirname(path or ""), "summary.csv")
    try:
        with open(summary, encoding="utf-8") as file:
            facts = dict(line.rstrip("\n").split(",", 1) for line in file)
    except (OSError, ValueError):
        facts = {}
    where = facts.get("case", "").strip('"')
    if not where or not os.path.exists(where):
        raise ValueError("case: this policy was read without its case; give the case, too")
    return load(where)


class _file_of:
    """The path of a policy's file, for as long as `with` lasts; one in memory is saved to a file without a name."""

    def __init__(self, policy: Policy | None) -> None:
        self._policy = policy
        self._fd = -1

    def __enter__(self) -> Any:
        if self._policy is None:  # another rank has it
            return None
        if self._policy.path is not None and os.path.exists(self._policy.path):
            return self._policy.path
        self._fd = _open_memory("cobre-policy")  # type: ignore[no-untyped-call]
        path = f"/proc/self/fd/{self._fd}"
        self._policy._policy.save(path)
        return path

    def __exit__(self, *error: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)


def load_policy(path: PolicyLike, case: CaseLike | None = None) -> Policy:
    """Read a policy: a file *.cobre, or the folder of a run. Without its case it can be looked at; decide() needs the case."""
    if isinstance(path, Training):
        path = path.policy
    if isinstance(path, Policy):
        return path._for(case) if case is not None else path
    file = os.fspath(path)
    if os.path.isdir(file):
        file = os.path.join(file, "policy.cobre")
    loaded = None if case is None else load(case)
    return Policy(_cobre.load_policy(None if loaded is None else loaded._problem, file), loaded, file)


class Decision:
    """What a policy decides at one stage: the members of `cobre decide --json` as attributes, and all of them in .facts.

    decision.of("hydro", "Furnas") has the figures of an element; .units says what they are in.
    """

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["facts"][name]
        except KeyError:
            raise AttributeError(f"a decision has no {name!r}; it has {', '.join(self.__dict__.get('facts', {}))}") from None

    def of(self, type: str, element: str) -> dict[str, Any]:
        found: dict[str, Any] = self.facts["decision"][type][element]
        return found

    def __repr__(self) -> str:
        return f"<cobre.Decision: stage {self.facts.get('stage')}, cost {self.facts.get('cost')}, future cost {self.facts.get('future_cost')}>"

    def _repr_html_(self) -> str:
        from ._notebook import decision_html

        return decision_html(self)


# ---- Training


class Progress:
    """One iteration, as progress callbacks get it. worker_id is the rank that tells it: 0."""

    __slots__ = ("iteration", "bound", "mean", "deviation", "window_mean", "window_half", "gap", "cuts", "solves", "seconds", "times",
                 "worker_id")  # fmt: skip
    iteration: int
    bound: float
    mean: float
    deviation: float
    window_mean: float
    window_half: float
    gap: float
    cuts: int
    solves: int
    seconds: float
    times: dict[str, list[float]]
    worker_id: int

    def __init__(self, event: dict[str, Any]) -> None:
        for name in self.__slots__[:10]:
            value = event.get(name)
            setattr(self, name, float("nan") if value is None else value)
        self.times = event.get("per_rank", {})
        self.worker_id = 0

    def __repr__(self) -> str:
        return f"<iteration {self.iteration}: bound {self.bound:.8g}, gap {self.gap:.3g}, {self.seconds:.1f} s>"


class Worker:
    """What one rank has done: rank, backend, seconds by the wall clock, and LPs."""

    __slots__ = ("rank", "backend", "seconds", "solves")

    def __init__(self, rank: int, backend: str, seconds: float, solves: int) -> None:
        self.rank, self.backend, self.seconds, self.solves = rank, backend, seconds, solves

    def __repr__(self) -> str:
        return f"<worker {self.rank}, {self.backend}: {self.seconds:.1f} s, {self.solves} LPs>"


_PHASES = ("forward", "backward", "bound", "communication", "waiting", "simulation", "other")
_TRACE = ["iteration", "bound", "mean", "deviation", "window_mean", "window_half", "window_passes", "gap", "cuts", "solves", "seconds"]


class Training:
    """A training: its policy, its bounds, and how it went. train() returns it."""

    def __init__(self, policy: Policy, events: list[dict[str, Any]], folder: str | None) -> None:
        self.policy = policy
        self.folder = folder
        self.events = events
        started = _last(events, "started")
        finished = _last(events, "finished")
        iterations = [event for event in events if event["event"] == "iteration"]
        self.trace = from_rows(iterations, _TRACE)
        self.warnings: list[str] = [event["message"] for event in events if event["event"] == "warning"]
        self.bound: float = policy.bound
        self.iterations: int = policy.iterations
        self.stop: str = finished.get("stop", "failed")
        self.converged: bool = finished.get("converged", False)
        self.seconds: float = (finished or (iterations[-1] if iterations else {})).get("seconds", 0.0)
        self.solves: int = (finished or (iterations[-1] if iterations else {})).get("solves", 0)
        self.cost_unit: str = started.get("cost_unit", "")
        self.backend: str = started.get("backend", "local")
        self.workers: list[Worker] | None = _workers(started, finished) if started.get("ranks", 1) > 1 else None

    def to_pandas(self) -> Any:
        """The trace, a row per iteration, as a pandas.DataFrame with the iteration as its index."""
        return self.trace.to_pandas().set_index("iteration")

    def to_xarray(self) -> Any:
        """The trace as an xarray.Dataset along the iterations."""
        return self.to_pandas().to_xarray()

    def simulate(self, **options: Any) -> Simulation:
        return self.policy.simulate(**options)

    def decide(self, *args: Any, **options: Any) -> Decision:
        return self.policy.decide(*args, **options)

    def _files(self, folder: str) -> None:
        """Writes what a report needs."""
        lines = [json.dumps(event) for event in self.events]
        _cobre.write_training(folder, lines)
        self.policy._policy.save(os.path.join(folder, "policy.cobre"))

    def __repr__(self) -> str:
        return f"<cobre.Training: {self.iterations} iterations, {self.stop}, bound {self.bound:.8g} {self.cost_unit}>".replace(" >", ">")

    def _repr_html_(self) -> str:
        from ._notebook import result_html

        return result_html(self)


def _last(events: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next((event for event in reversed(events) if event["event"] == kind), {})


def _workers(started: dict[str, Any], finished: dict[str, Any]) -> list[Worker]:
    effort = finished.get("per_rank", {})
    seconds = [sum(times) for times in zip(*(effort.get(phase, []) for phase in _PHASES))]
    return [Worker(rank, started["backend"], took, effort["solves"][rank]) for rank, took in enumerate(seconds)]


def _follow_training(comm: Comm, *rest: Any) -> None:
    """What ranks other than 0 do."""
    _cobre.train(comm, None, *rest, [], None)  # type: ignore[call-arg]


def _follow_simulation(comm: Comm, *rest: Any) -> None:
    _cobre.simulate(comm, None, None, *rest, None)  # type: ignore[call-arg]


def _ranks(num_workers: Any, comm: Comm | None) -> int:
    count = whole("num_workers", num_workers, 1, 2**31) or 1
    if comm is not None and count > 1:
        raise ValueError("num_workers: the communicator says how many there are")
    return count


def _on_ranks(here: Any, follow: Any, rest: Any, case: Case | None, count: int, backend: str, comm: Comm | None) -> Any:
    """here(comm) on this rank, and follow(comm, *rest) on the others, if they are not started yet."""
    if comm is not None:
        return here(comm)
    if count == 1 and backend in ("auto", "local"):
        assert case is not None
        return here(case._comm)
    return take_part(follow, count, backend, rest, here)  # type: ignore[no-untyped-call]


def _attach(error: BaseException, result: Any) -> None:
    """What was made before the error."""
    try:
        error.result = result()  # type: ignore[attr-defined]
    except Exception:
        pass  # there is nothing, or the exception takes no attributes


class _Listener:
    """Takes the events of a training, in their order; true: it shall stop."""

    def __init__(self, progress: Any) -> None:
        self.events: list[dict[str, Any]] = []
        self._progress = progress

    def __call__(self, line: str) -> bool:
        event = json.loads(line)
        self.events.append(event)
        return event["event"] == "iteration" and self._progress is not None and self._progress(Progress(event)) is False

    def close(self) -> None:
        if hasattr(self._progress, "close"):
            self._progress.close()


if TYPE_CHECKING:

    @overload
    def train(
        case: CaseLike,
        num_workers: int = 1,
        backend: str = "auto",
        out: Path | None = None,
        progress: Callable[[Progress], Any] | bool | None = None,
        *,
        comm: None = None,
        force: bool = False,
        grace: float = 25.0,
        **options: Any,
    ) -> Training: ...
    @overload
    def train(
        case: CaseLike | None,
        num_workers: int = 1,
        backend: str = "auto",
        out: Path | None = None,
        progress: Callable[[Progress], Any] | bool | None = None,
        *,
        comm: Comm,
        force: bool = False,
        grace: float = 25.0,
        **options: Any,
    ) -> Training | None: ...


def train(
    case: CaseLike | None,
    num_workers: int = 1,
    backend: str = "auto",
    out: Path | None = None,
    progress: Callable[[Progress], Any] | bool | None = None,
    *,
    comm: Comm | None = None,
    force: bool = False,
    grace: float = 25.0,
    **options: Any,
) -> Training | None:
    """Train a policy for a case by SDDP, as `cobre train` does, to the same bits.

    case: a path, a Case, or a Problem.
    num_workers: ranks. One is this process; more are new processes beside it, and this one is rank 0.
    backend: how they talk: "auto" (shared memory), "shm" or "tcp".
    out: a folder for the results, with exactly the files of `cobre train --out`. None: nothing is written. A folder that holds a
        run is refused, unless force is true.
    progress: called after each iteration with its figures; if it returns False, training stops then. True shows a line.
    comm: train on the ranks of this communicator instead. Each of them makes this call; rank 0's case counts, and the others get None.
    grace: seconds that an iteration may still take when Ctrl-C, or an exception of `progress`, ends the training.

    Ctrl-C and exceptions of `progress` stop it after the iteration. What was trained is in .result of the exception.

    Options are those of the command line, with _ for -:

{options}
    """
    from contextlib import ExitStack

    count = _ranks(num_workers, comm)
    listener = _Listener(progress_of(progress))
    loaded = load(case) if comm is None or comm.rank == 0 else None  # type: ignore[arg-type]
    folder = None if out is None else os.fspath(out)
    warnings = [] if loaded is None else [(str(issue), issue.suggestion) for issue in loaded.warnings]
    with ExitStack() as files:
        memory = _open_memory("cobre-checkpoint")  # type: ignore[no-untyped-call]
        files.callback(os.close, memory)
        files.callback(listener.close)
        checkpoint = f"/proc/self/fd/{memory}"
        for name in {"resume", "warm_start"} & set(options):
            if isinstance(options[name], (Policy, Training)):
                options[name] = files.enter_context(_file_of(load_policy(options[name])))
        rest = ("" if loaded is None else loaded.path, _pairs("train", options), folder, force, checkpoint, float(grace))

        def train_here(ranks: Comm) -> Any:
            return _cobre.train(ranks, None if loaded is None else loaded._problem, *rest, warnings, listener)

        def result(policy: Any = None) -> Training | None:
            """Of the policy, or of what is in the folder or the checkpoint."""
            file = checkpoint if folder is None else os.path.join(folder, "policy.cobre")
            if loaded is None or policy is None and not (os.path.exists(file) and os.path.getsize(file)):
                return None
            policy = policy or _cobre.load_policy(loaded._problem, file)
            return Training(Policy(policy, loaded, None if folder is None else file), listener.events, folder)

        try:
            policy, exception = _on_ranks(train_here, _follow_training, rest, loaded, count, backend, comm)
            if exception is not None:
                raise exception
            made = result(policy)
        except BaseException as error:
            _attach(error, result)
            raise
    return made


train.__doc__ = (train.__doc__ or "").replace("{options}", _option_help("train"))


# ---- Simulation


class Series:
    """What a simulation has of one kind: numbers by trajectory, stage and, where it has them, load block and element."""

    def __init__(self, name: str, unit: str, description: str, dims: tuple[str, ...], coords: dict[str, list[str]], values: Any) -> None:
        self.name, self.unit, self.description = name, unit, description
        self.dims, self.coords = dims, coords
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy

        return numpy.asarray(self.values, dtype)

    def __repr__(self) -> str:
        return f"<{self.name} [{self.unit}] by {', '.join(self.dims)}>"


class Simulation:
    """A simulation: simulate() returns it.

    mean, half (of the 95 % interval), deviation, minimum, maximum: of the cost. costs: a row per trajectory. statistics: what
    statistics.csv has. With tables="all", simulation["storage"] has the numbers of all trajectories, as an array.
    """

    def __init__(self, facts: dict[str, Any], folder: str | None) -> None:
        self.folder = folder
        self.trajectories: int = facts["trajectories"]
        self.mean: float = facts["mean"]
        self.deviation: float = facts["deviation"]
        self.half: float = facts["half"]
        self.minimum: float = facts["minimum"]
        self.maximum: float = facts["maximum"]
        self.bound: float = facts["bound"]
        self.gap: float = facts["gap"]
        self.sampling: str = facts["sampling"]
        self.notes: list[str] = facts["notes"]
        self.cost_unit: str = facts["cost_unit"]
        self._texts: dict[str, str] = facts["texts"]
        self.costs = read_table(self._texts["costs.csv"])
        self._statistics: Table | None = None
        self._cells = facts["cells"]
        self._variables: dict[str, Series] | None = None

    @property
    def statistics(self) -> Table:
        """Means, percentiles and so on, by stage, element and subsystem: the columns of statistics.csv."""
        if self._statistics is None:
            self._statistics = read_table(self._texts["statistics.csv"])
        return self._statistics

    @property
    def variables(self) -> dict[str, Series]:
        """By their names; empty unless tables were asked for."""
        if self._variables is None:
            self._variables = _series(self._cells)
        return self._variables

    def __getitem__(self, name: str) -> Series:
        if name in self.variables:
            return self.variables[name]
        if not self.variables:
            raise KeyError(f'{name!r}: the numbers of all trajectories are kept on request: simulate(..., tables="all")')
        raise KeyError(f"there is no {name!r}; there are {', '.join(self.variables)}")

    def to_pandas(self) -> Any:
        """The statistics, as a pandas.DataFrame."""
        return self.statistics.to_pandas()

    def to_xarray(self) -> Any:
        """All variables as an xarray.Dataset, without a copy. tables="all" must have been asked for."""
        import xarray

        if not self.variables:
            raise ValueError('the numbers of all trajectories are kept on request: simulate(..., tables="all")')
        coords: dict[str, Any] = {}
        data = {}
        for name, its in self.variables.items():
            coords |= its.coords
            data[name] = (its.dims, its.values, {"units": its.unit, "long_name": its.description})
        return xarray.Dataset(data, coords)

    def _files(self, folder: str) -> None:
        for name, text in self._texts.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)

    def __repr__(self) -> str:
        return f"<cobre.Simulation: {self.trajectories} trajectories, mean {self.mean:.8g} +- {self.half:.3g} {self.cost_unit}>"

    def _repr_html_(self) -> str:
        from ._notebook import result_html

        return result_html(self)


def _series(cells: Any) -> dict[str, Series]:
    """Views of the block of numbers that the library has made: [trajectory][step][cell]."""
    if cells is None:
        return {}
    block, trajectories, steps, count, stages, blocks, parts = cells
    whole: Any
    try:
        import numpy

        whole = numpy.asarray(block).reshape(trajectories, steps, count)
    except ImportError:
        whole = memoryview(block).cast("B").cast("f", (trajectories, steps, count))
    found = {}
    for name, unit, description, axis, elements, by_block, first in parts:
        dims, shape, coords = ["trajectory", "stage"], [trajectories, steps], {"stage": stages}
        if by_block:
            dims.append("block")
            shape.append(len(blocks))
            coords["block"] = blocks
        if axis:
            dims.append(axis)
            shape.append(len(elements))
            coords[axis] = elements
        size = 1
        for side in shape[2:]:
            size *= side
        values = whole
        if not isinstance(whole, memoryview):
            values = whole[:, :, first : first + size].reshape(shape)
            values.flags.writeable = False
        found[name] = Series(name, unit, description, tuple(dims), coords, values)
    return found


if TYPE_CHECKING:

    @overload
    def simulate(
        case: CaseLike,
        policy: PolicyLike,
        num_workers: int = 1,
        backend: str = "auto",
        out: Path | None = None,
        *,
        comm: None = None,
        **options: Any,
    ) -> Simulation: ...
    @overload
    def simulate(
        case: CaseLike | None,
        policy: PolicyLike | None,
        num_workers: int = 1,
        backend: str = "auto",
        out: Path | None = None,
        *,
        comm: Comm,
        **options: Any,
    ) -> Simulation | None: ...


def simulate(
    case: CaseLike | None,
    policy: PolicyLike | None = None,
    num_workers: int = 1,
    backend: str = "auto",
    out: Path | None = None,
    *,
    comm: Comm | None = None,
    **options: Any,
) -> Simulation | None:
    """Simulate a policy, as `cobre simulate` does, to the same bits.

    policy: a Policy, a Training, a file *.cobre, or the folder of a run.
    num_workers, backend, comm: as in train().
    out: a folder for the tables, with exactly the files of `cobre simulate --out`. None: nothing is written.

    tables="all" also keeps the numbers of all trajectories in memory: simulation["storage"], simulation.to_xarray().

    Options are those of the command line, with _ for -:

{options}
    """
    pairs = _pairs("simulate", options)
    count = _ranks(num_workers, comm)
    leads = comm is None or comm.rank == 0
    if leads and policy is None:
        raise TypeError("policy: it is missing")
    loaded = load(case, scenarios=options.get("scenarios")) if leads else None  # type: ignore[arg-type]
    own = load_policy(policy, loaded) if leads and policy is not None else None
    folder = None if out is None else os.fspath(out)
    notes: list[str] = []
    with _file_of(own) as file:
        rest = (file, own.path if own is not None else None, pairs, folder)

        def simulate_here(ranks: Comm) -> Any:
            problem = None if loaded is None else loaded._problem
            return _cobre.simulate(ranks, problem, None if own is None else own._policy, *rest, notes.append)

        facts = _on_ranks(simulate_here, _follow_simulation, rest, loaded, count, backend, comm)
    if loaded is None:
        return None
    facts, exception = facts
    facts |= {"notes": notes, "cost_unit": loaded.cost_unit}
    if exception is not None:
        exception.result = Simulation(facts, folder)
        raise exception
    return Simulation(facts, folder)


simulate.__doc__ = (simulate.__doc__ or "").replace("{options}", _option_help("simulate"))


# ---- Comparisons and reports


class _folders:
    """Folders of runs, for as long as `with` lasts. Results that were not written get a temporary one."""

    def __init__(self, runs: Sequence[Any]) -> None:
        self._runs = runs
        self._temporary: list[Any] = []

    def __enter__(self) -> list[str]:
        return [self._folder(i, run) for i, run in enumerate(self._runs)]

    def _folder(self, i: int, run: Any) -> str:
        if isinstance(run, (str, os.PathLike)):
            return str(os.fspath(run))
        if isinstance(run, Policy) and run.path is not None:
            return run.path
        if getattr(run, "folder", None) is not None:
            return str(run.folder)
        from tempfile import TemporaryDirectory

        own = TemporaryDirectory(prefix="cobre-")
        self._temporary.append(own)
        folder = os.path.join(own.name, f"run{i + 1}")
        os.mkdir(folder)
        for one in run if isinstance(run, (tuple, list)) else [run]:
            if not hasattr(one, "_files"):
                raise TypeError(f"{one!r} is no run: give a folder, a Training, a Simulation, or a tuple of both")
            one._files(folder)
        return folder

    def __exit__(self, *error: object) -> None:
        for own in self._temporary:
            own.cleanup()


class Comparison:
    """Runs side by side: sentences, notes and rows, as `cobre compare --json` has them."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.runs: list[dict[str, Any]] = facts["runs"]
        self.rows: list[dict[str, Any]] = facts["rows"]
        self.notes: list[str] = facts["notes"]

    @property
    def words(self) -> list[str]:
        """How each run compares with the first."""
        return [run["words"] for run in self.runs if run.get("words")]

    def to_pandas(self) -> Any:
        """A row for each figure and run."""
        import pandas  # type: ignore[import]

        rows = []
        for row in self.rows:
            head = {key: value for key, value in row.items() if not isinstance(value, (list, dict))}
            for run, figure in zip(self.runs, row["runs"]):
                rows.append(head | {"run": run["name"]} | figure)
        return pandas.DataFrame(rows)

    def __repr__(self) -> str:
        return "\n".join([f"<cobre.Comparison of {len(self.runs)} runs>", *self.words, *self.notes])


def compare(*runs: Any, by: str = "subsystem", kind: str | None = None) -> Comparison:
    """Compare 2 to 8 runs: folders, policy files, Trainings, Simulations, or tuples (training, simulation).

    by: "subsystem", "element" or "stage". kind: only this one, such as "marginal_cost".
    """
    with _folders(runs) as folders:
        return Comparison(json.loads(_cobre.compare(folders, by, kind)))


def report(*runs: Any, out: Path = "report.html") -> str:
    """Write a page about one run, or 2 to 6 side by side, in one file without scripts. Returns its path."""
    path = os.fspath(out)
    with _folders(runs) as folders:
        _cobre.report(folders, path)
    return path
