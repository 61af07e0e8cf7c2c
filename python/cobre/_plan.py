# SPDX-License-Identifier: Apache-2.0
"""Studies: cases, policies, trainings and simulations, as the command line makes them.

A case and a policy live on a communicator of one rank, which belongs to the case. Several workers are ranks of another one, for as
long as a call takes: this process is rank 0, the others are new processes, and the problem is shared with them.
"""

from __future__ import annotations

import json
import os
from signal import SIG_DFL, SIG_IGN, SIGTERM, getsignal, raise_signal, signal

from . import _cobre
from ._comm import MOST_RANKS, Comm, whole
from ._launch import open_memory as _open_memory
from ._launch import take_part
from ._errors import CaseError, CobreError, ConvergenceError, FileError, Issue, PolicyError
from ._notebook import progress_of
from ._tables import Table, from_rows, read_table

if not hasattr(_cobre, "load"):
    raise ImportError("this cobre was built without the planner, which needs libjansson-dev, zlib1g-dev and librandom123-dev")

TYPE_CHECKING = False  # typing takes time to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import IO, Any, Literal, Union, overload

    from ._problem import Problem

    Path = Union[str, os.PathLike[str]]
    CaseLike = Union[Path, "Case", Problem]

# ---- Options


def _path(what: str, path: Any) -> str:
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise TypeError(f"{what}: {path!r} is no path")
    if not text:
        raise ValueError(f"{what}: the path is empty")
    return text


def _optional_path(what: str, path: Any) -> str | None:
    return None if path is None else _path(what, path)


def _plain_bool(value: Any) -> Any:
    """NumPy's truth values as Python's; others as they are."""
    return bool(value) if getattr(getattr(value, "dtype", None), "kind", None) == "b" else value


def _name(name: str) -> str:
    """In quotes if it has anything in it that means something where names and values are listed."""
    plain = name == name.strip() and not set(name) & set(',="[]')
    return name if plain else '"' + name.replace('"', '""') + '"'


def _text(what: str, value: Any) -> str:
    """A value as one writes it on the command line."""
    if isinstance(value, (str, os.PathLike)):
        return str(os.fspath(value))
    if hasattr(value, "items"):
        return ",".join(f"{_name(str(name))}={_text(what, one)}" for name, one in value.items())
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
    if isinstance(value, (tuple, list)):
        return ",".join(_text(what, one) for one in value)
    if hasattr(value, "__index__"):
        return str(value.__index__())
    if not hasattr(value, "__float__"):
        raise TypeError(f"{what}: {value!r} is neither a number nor a text")
    number = float(value)
    return repr(int(number)) if number.is_integer() and abs(number) < 2**64 else repr(number)


# What the command line has, and programs get otherwise.
_INSTEAD = {
    "json": "results are objects: .events of a training, .facts of a decision or a comparison are what --json prints",
    "watch": "give out=DIR and look at it with `cobre watch DIR`; progress=True shows a line",
    "n": "it is called num_workers",
    "quiet": "nothing is printed",
}


def _check_names(command: str, given: Mapping[str, Any]) -> dict[str, str]:
    """What each option of the command line takes; a flag takes "". All of those that are given are there."""
    known = {name.replace("-", "_"): values for name, values, *_ in _cobre.options(command)}
    for name in given:
        if name in known:
            continue
        if name in _INSTEAD:
            raise TypeError(f"{command}() has no option {name!r}: {_INSTEAD[name]}")
        from difflib import get_close_matches

        close = get_close_matches(name, known, 1)
        others = f"; there are {', '.join(known)}" if known else ""
        raise TypeError(f"{command}() has no option {name!r}" + (f"; did you mean {close[0]}?" if close else others))
    return known


def _pairs(command: str, given: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Options as the tables of the command line name them; a flag has no text."""
    known = _check_names(command, given)
    pairs: list[tuple[str, str | None]] = []
    for name, value in given.items():
        value = _plain_bool(value)
        if value is None or value is False:
            continue
        if name in ("state", "inflow") and not isinstance(value, (str, os.PathLike)):
            if not hasattr(value, "items"):
                raise TypeError(f"{name}: {value!r} is no mapping of names to values")
            if len(value) == 0:
                continue
        if known[name] == "" and value is not True:
            raise TypeError(f"{name}: {value!r} is not a bool")
        if known[name] != "" and value is True:
            raise TypeError(f"{name}: it needs a value, {known[name]}")
        pairs.append((name.replace("_", "-"), _text(name, value) if known[name] else None))
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

    def __init__(self, problem: Any, comm: Comm, path: str, warnings: list[Issue], source: tuple[str, str | None] | Problem) -> None:
        self._problem = problem
        self._comm = comm
        self._source = source  # the files that it was read from, or what it was built by
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
        self._problem.write(_path("path", path))

    def __reduce__(self) -> Any:
        """It is loaded again, where its pickle is."""
        if not isinstance(self._source, tuple) and not self._source._still_is(self._problem):
            raise TypeError(
                f"the problem {self.name!r} was changed after this was made of it, which can no longer be pickled or copied: do that "
                "first, or change a copy.deepcopy() of the problem"
            )
        return _load_again, (self._source,)

    def __repr__(self) -> str:
        return f"<cobre.Case {self.name!r}: {self.stages} stages, {len(self.nodes)} nodes, {len(self.states)} states>"


def load(case: CaseLike, *, scenarios: Path | None = None) -> Case:
    """Read and check a case: the folder of a hydrothermal case, or a StochOptFormat file (*.sof.json, *.sof.json.gz).

    scenarios: a table of scenarios to simulate. A case with errors raises CaseError, which has all of them. Warnings are in
    .warnings of what is returned.
    """
    table = _optional_path("scenarios", scenarios)
    if isinstance(case, Case) and (table is None or case.path):
        if table is None:
            return case
        case = case.path
    if not isinstance(case, (str, os.PathLike)):
        if table is not None:
            raise ValueError("scenarios: this problem was built in Python; add them by problem.scenario()")
        if hasattr(case, "_as_case"):
            made: Case = case._as_case()
            return made
        raise TypeError(f"case: {case!r} is no path, no Case and no Problem")
    path, comm = _path("case", case), Comm(backend="local")
    issues: list[Any] = []
    problem = _cobre.load(comm, path, table, issues)
    if problem is None:
        raise CaseError.of(path, [Issue(*issue) for issue in issues])
    source = (os.path.abspath(path), table and os.path.abspath(table))
    return Case(problem, comm, path, [Issue(*issue) for issue in issues], source)


def _load_again(source: tuple[str, str | None] | Problem) -> Case:
    return load(source[0], scenarios=source[1]) if isinstance(source, tuple) else load(source)


class Validation:
    """What validate() found. It is true if the case can be trained; with table=, if that table has no errors.

    elsewhere: how many errors there are in other files, if only one was asked about.
    """

    def __init__(self, issues: list[Issue], case: Case | None, elsewhere: int = 0) -> None:
        self.issues = issues
        self.errors = [issue for issue in issues if not issue.warning]
        self.warnings = [issue for issue in issues if issue.warning]
        self.elsewhere = elsewhere
        self.case = case

    def __bool__(self) -> bool:
        return not self.errors

    def __repr__(self) -> str:
        return f"<cobre.Validation: {len(self.errors)} errors, {len(self.warnings)} warnings>"

    def __str__(self) -> str:
        return "\n".join(map(str, self.issues)) or "no errors"


def _of_table(found: Validation, table: str) -> Validation:
    """What is about this table; errors of case.json keep tables from being read."""

    def counts(issue: Issue) -> bool:
        file = os.path.basename(issue.file)
        return file == table or not issue.warning and file == "case.json"

    others = [issue for issue in found.errors if not counts(issue)]
    return Validation([issue for issue in found.issues if counts(issue)], found.case, sum(1 + issue.more for issue in others))


def _validate(case: CaseLike, pairs: list[tuple[str, str | None]]) -> Validation:
    scenarios = next((text for name, text in pairs if name == "scenarios"), None)
    try:
        loaded = load(case, scenarios=scenarios)
    except CaseError as error:
        return Validation(error.issues, None)
    issues: list[Any] = []
    _cobre.validate(loaded._problem, [pair for pair in pairs if pair[0] != "scenarios"], issues)
    return Validation(loaded.warnings + [Issue(*issue) for issue in issues], loaded)


def validate(case: CaseLike, *, table: str | None = None, write: Path | None = None, **options: Any) -> Validation:
    """Find every error of a case, and warnings. It raises nothing for them.

    table: only what is wrong with this table of the case, "hydros.csv", and with case.json.
    write: a file, *.sof.json, for the case, if it is valid.

    Options are those of the command line, with _ for -:

{options}
    """
    pairs = _pairs("validate", options)
    if table is not None:
        if not isinstance(case, (str, os.PathLike)) or not os.path.isfile(os.path.join(case, table)) or os.path.dirname(table):
            raise ValueError(f"table: {case!r} has no table {table!r}; give the name of one, such as hydros.csv")
    found = _validate(case, pairs)
    if write is not None and found and found.case is not None:
        found.case.write(write)
    return found if table is None else _of_table(found, table)


validate.__doc__ = (validate.__doc__ or "").replace("{options}", _option_help("validate"))


# ---- Policies


class _Kept:
    """A file that was read or written; false if it is another one by now."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._facts = self._look()

    def _look(self) -> tuple[int, int, int, int] | None:
        try:
            facts = os.stat(self.path)
        except OSError:
            return None
        return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns

    def __bool__(self) -> bool:
        return self._facts is not None and self._look() == self._facts


class Policy:
    """A trained policy: its cuts, and what they were trained for. train() makes it, load_policy() reads it."""

    def __init__(self, policy: Any, case: Case | None, path: str | None, origin: Policy | None = None) -> None:
        self._policy = policy
        self._case = case
        self._origin = origin  # with another case
        self._file = None if path is None else _Kept(path)
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
        """Write it to a file, *.cobre."""
        file = _path("path", path)
        self._policy.save(file)
        self.path = file
        self._file = _Kept(file)

    def _files(self, folder: str) -> None:
        self._policy.save(os.path.join(folder, "policy.cobre"))

    def __getstate__(self) -> dict[str, Any]:
        with _file_of(self) as path, open(path, "rb") as file:
            return {**self.__dict__, "_policy": file.read()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        with _memory_file() as path:
            with open(path, "wb") as file:
                file.write(state["_policy"])
            self._policy = _cobre.load_policy(None if self._case is None else self._case._problem, path)
        if self._case is not None and self._policy.describe()["difference"] != self.difference:
            place = self._case.path
            raise PolicyError(
                "InvalidPolicy", f"{place}: the case has changed since this was pickled", {"file": place},
                "give its files their old contents, or keep the policy by save() and load_policy()",
            )  # fmt: skip

    def _for(self, case: CaseLike | None) -> Policy:
        """The same policy with its case: the one given, or the one that its run folder names."""
        if case is None and self._case is not None:
            return self
        wanted = load(case) if case is not None else _recorded_case(self.path)
        if wanted is self._case:
            return self
        with _file_of(self) as path:
            return Policy(_cobre.load_policy(wanted._problem, path), wanted, self.path, self)

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
        **options: Any,
    ) -> Decision:
        """What the policy decides at a stage: the first one, or that of `stage`, `date` or `node`.

        state: what comes in, {"Furnas": "40%", "Serra Alta": 2300}; what is not named is as the case begins. inflow: of the stage,
        likewise; what is not named is the mean. case: needed if the policy was read, and its run folder does not name it.
        """
        given = {"stage": stage, "date": date, "node": node, "state": state, "inflow": inflow, "solver": solver}
        pairs = _pairs("decide", given | options)
        own = self._for(case)
        return Decision(json.loads(own._policy.decide(pairs, os.devnull)))

    def simulate(self, *, case: CaseLike | None = None, **options: Any) -> Simulation:
        """As cobre.simulate(), of this policy and its case."""
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


class _memory_file:
    """The path of a file without a name, for as long as `with` lasts."""

    def __init__(self) -> None:
        self._fd = -1

    def __enter__(self) -> Any:
        self._fd = _open_memory("cobre-policy")  # type: ignore[no-untyped-call]
        return f"/proc/self/fd/{self._fd}"

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            if isinstance(error, CobreError):  # nobody knows this file
                error.message = error.message.replace(f"/proc/self/fd/{self._fd}", "the policy")


class _file_of(_memory_file):
    """The same of a policy's file; one in memory is saved."""

    def __init__(self, policy: Policy | None) -> None:
        super().__init__()
        self._policy = policy

    def __enter__(self) -> Any:
        if self._policy is None:  # nobody reads it, or another rank has it
            return None
        own = self._policy
        while (own._case is None or own.difference is not None) and own._origin is not None:
            own = own._origin
        if own._case is None or own.difference is not None:  # the library saves only what belongs to its case
            if not own._file:
                raise FileError("FileFailed", f"{own.path}: the file of this policy has changed", {"file": own.path}, "read it again")
            return own._file.path
        path = super().__enter__()
        try:
            own._policy.save(path)
        except BaseException as error:
            self.__exit__(None, error, None)
            raise
        return path


def _policy_file(what: str, path: Any) -> str:
    """A folder of a run has one."""
    file = _path(what, path)
    return os.path.join(file, "policy.cobre") if os.path.isdir(file) else file


def load_policy(path: PolicyLike, case: CaseLike | None = None) -> Policy:
    """Read a policy: a file *.cobre, or the folder of a run. Without its case it can be looked at; decide() needs the case."""
    if isinstance(path, Training):
        path = path.policy
    if isinstance(path, Policy):
        return path._for(case) if case is not None else path
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"policy: {path!r} is no path, no Policy and no Training")
    file = _policy_file("policy", path)
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
        types = self.facts["decision"]
        for key, among in ((type, types), (element, types.get(type, ()))):
            if key not in among:
                raise KeyError(f"there is no {key!r}; there are {', '.join(among)}")
        found: dict[str, Any] = types[type][element]
        return found

    def __repr__(self) -> str:
        cost, future = (self.facts[name] if self.facts.get(name) is not None else float("nan") for name in ("cost", "future_cost"))
        return f"<cobre.Decision: stage {self.facts.get('stage')}, cost {cost:.8g}, future cost {future:.8g}>"

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
        self._kept = None if folder is None else _Kept(os.path.join(folder, "policy.cobre"))
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
        self.workers: list[Worker] | None = _workers(started, finished, iterations) if started.get("ranks", 1) > 1 else None

    def to_pandas(self) -> Any:
        """The trace, a row per iteration, as a pandas.DataFrame with the iteration as its index."""
        return self.trace.to_pandas().set_index("iteration")

    def to_xarray(self) -> Any:
        """The trace as an xarray.Dataset along the iterations."""
        return self.to_pandas().to_xarray()

    def simulate(self, **options: Any) -> Simulation:
        """As cobre.simulate(), of this policy and its case."""
        return self.policy.simulate(**options)

    def decide(self, *args: Any, **options: Any) -> Decision:
        """As policy.decide()."""
        return self.policy.decide(*args, **options)

    def _files(self, folder: str) -> None:
        """Writes what a report needs."""
        lines = [json.dumps(event) for event in self.events]
        _cobre.write_training(folder, lines)
        self.policy._files(folder)

    def __repr__(self) -> str:
        return f"<cobre.Training: {self.iterations} iterations, {self.stop}, bound {self.bound:.8g} {self.cost_unit}>".replace(" >", ">")

    def _repr_html_(self) -> str:
        from ._notebook import result_html

        return result_html(self)


def _last(events: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next((event for event in reversed(events) if event["event"] == kind), {})


def _workers(started: dict[str, Any], finished: dict[str, Any], iterations: list[dict[str, Any]]) -> list[Worker]:
    """From the totals; of a training that failed, from its iterations."""
    effort = finished.get("per_rank", {})
    if not effort and iterations:
        names = _PHASES + ("solves",)
        effort = {name: [sum(each) for each in zip(*(event["per_rank"][name] for event in iterations))] for name in names}
    seconds = [sum(times) for times in zip(*(effort.get(phase, []) for phase in _PHASES))]
    return [Worker(rank, started["backend"], took, effort["solves"][rank]) for rank, took in enumerate(seconds)]


def _follow_training(comm: Comm, *rest: Any) -> None:
    """What ranks other than 0 do. A signal that all processes of a job get is for rank 0, which ends the training in order."""
    signal(SIGTERM, SIG_IGN)
    _cobre.train(comm, None, *rest, -1, [], None)  # type: ignore[call-arg]


def _follow_simulation(comm: Comm, *rest: Any) -> None:
    _simulate_on(comm, None, None, *rest, None)


def _simulate_on(comm: Comm, *rest: Any) -> Any:
    """The simulation on this rank, with what each rank has done."""
    from array import array

    facts, exception, seconds, solves = _cobre.simulate(comm, *rest)
    work = comm.allgatherv(array("d", [seconds, solves]))
    if facts is not None:
        each = zip(work[::2], work[1::2])
        facts["workers"] = [Worker(rank, comm.backend, took, int(solved)) for rank, (took, solved) in enumerate(each)]
    return facts, exception


def _ranks(num_workers: Any, comm: Comm | None) -> int:
    count = whole("num_workers", num_workers, 1, MOST_RANKS) or 1
    if comm is not None and count > 1:
        raise ValueError("num_workers: the communicator says how many there are")
    return count


def _is_alone(count: int, backend: str, comm: Comm | None) -> bool:
    """The call needs no ranks but the one of the case."""
    return comm is None and count == 1 and backend in ("auto", "local")


def _on_ranks(here: Any, follow: Any, rest: Any, case: Case | None, count: int, backend: str, comm: Comm | None) -> Any:
    """here(comm) on this rank, and follow(comm, *rest) on the others, if they are not started yet."""
    if comm is not None:
        return here(comm)
    if _is_alone(count, backend, comm):
        assert case is not None
        return here(case._comm)
    return take_part(follow, count, backend, rest, here)  # type: ignore[no-untyped-call]


class _saved_at_sigterm:
    """Inside `with`, SIGTERM stops a training as Ctrl-C does, which saves it, and then ends the process. So it is in the main thread
    of a program that leaves this signal to the system."""

    def __init__(self, folder: str | None) -> None:
        self._saves = folder is not None
        self._asked = False

    def __enter__(self) -> None:
        try:
            self._saves = self._saves and getsignal(SIGTERM) == SIG_DFL and signal(SIGTERM, self._ask) == SIG_DFL
        except ValueError:  # not the main thread
            self._saves = False

    def _ask(self, *signal_and_frame: object) -> None:
        self._asked = True
        raise SystemExit(128 + SIGTERM)

    def __exit__(self, *error: object) -> None:
        if self._saves:
            signal(SIGTERM, SIG_DFL)
        if self._asked:
            raise_signal(SIGTERM)


def _seconds(what: str, given: Any) -> float:
    seconds = float(given) if hasattr(given, "__float__") else -1.0
    if not seconds >= 0:
        raise ValueError(f"{what}: {given!r} is not a number of seconds")
    return seconds


def _attach(error: BaseException, result: Any) -> None:
    """What was made before the error; None if there is nothing."""
    try:
        error.result = None  # type: ignore[attr-defined]
        error.result = result()  # type: ignore[attr-defined]
    except Exception:
        pass  # the exception takes no attributes


def _open_log(path: Path, warnings: list[Issue]) -> IO[str]:
    """For appending, with the warnings about the case in it."""
    try:
        file = open(path, "a", encoding="utf-8", buffering=1)
    except OSError as error:
        name = str(os.fspath(path))
        raise FileError("FileFailed", f"log: {name}: {error.strerror}", {"file": name}, "give a file that can be written") from None
    for warning in warnings:
        file.write(f"cobre train: {warning}\n")
    return file


class _Listener:
    """Takes the events of a training, in their order; true: it shall stop."""

    def __init__(self, progress: Any) -> None:
        self.events: list[dict[str, Any]] = []
        self._progress = progress

    def __call__(self, line: str) -> bool:
        event = json.loads(line)
        self.events.append(event)
        return event["event"] == "iteration" and self._progress is not None and _plain_bool(self._progress(Progress(event))) is False

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
        log: Path | None = None,
        quiet: bool = False,
        require: Literal["converged"] | None = None,
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
        log: Path | None = None,
        quiet: bool = False,
        require: Literal["converged"] | None = None,
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
    log: Path | None = None,
    quiet: bool = False,
    require: Literal["converged"] | None = None,
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
    grace: seconds that an iteration may still take when Ctrl-C, SIGTERM or an exception of `progress` ends the training.
    log: a file to which the lines are appended that `cobre train` prints.
    quiet: no line of progress, in a notebook either.
    require: "converged" raises ConvergenceError unless a rule has found that it converged: stall, gap or simulation.

    Ctrl-C and exceptions of `progress` stop it after the iteration. What was trained is in .result of the exception. With out=DIR SIGTERM
    does so, too, and what was trained is saved before the process ends by it, unless the program handles SIGTERM itself.

    Options are those of the command line, with _ for -:

{options}
    """
    from contextlib import ExitStack

    count = _ranks(num_workers, comm)
    _check_names("train", options)
    patience = _seconds("grace", grace)
    if require not in (None, "converged"):
        raise ValueError(f'require: {require!r} is not "converged"')
    if quiet and progress:
        raise TypeError("quiet and progress: give one of them")
    if out is None and options.get("checkpoint_every") is not None:
        raise ValueError("checkpoint_every: give out=DIR, too: without a folder nothing is saved, and results stay in memory")
    listener = _Listener(progress_of(False if quiet else progress))
    loaded = load(case) if comm is None or comm.rank == 0 else None  # type: ignore[arg-type]
    folder = _optional_path("out", out)
    warnings = [] if loaded is None else [(str(issue), issue.suggestion) for issue in loaded.warnings]
    with ExitStack() as files:
        memory = _open_memory("cobre-checkpoint")  # type: ignore[no-untyped-call]
        files.callback(os.close, memory)
        files.callback(listener.close)
        checkpoint = f"/proc/self/fd/{memory}"
        for name in {"resume", "warm_start"} & set(options):
            if isinstance(options[name], (Policy, Training)):
                options[name] = files.enter_context(_file_of(load_policy(options[name])))
            elif options[name] is not None:
                options[name] = _policy_file(name, options[name])
        path = "" if loaded is None else loaded.path
        rest = (path, _pairs("train", options), folder, force, require is not None, checkpoint, patience)
        lines = None if log is None or loaded is None else files.enter_context(_open_log(log, loaded.warnings))

        def train_here(ranks: Comm) -> Any:
            problem = None if loaded is None else loaded._problem
            return _cobre.train(ranks, problem, *rest, -1 if lines is None else lines.fileno(), warnings, listener)

        def result(policy: Any = None) -> Training | None:
            """Of the policy, or of what is in the checkpoint, which also has what the folder could not take, or in the folder."""
            if loaded is None:
                return None
            places = [(checkpoint, None)] + ([] if folder is None else [(os.path.join(folder, "policy.cobre"), folder)])
            kept = folder
            for file, kept in places if policy is None and listener.events else []:  # without events the folder holds an older run
                try:
                    policy = _cobre.load_policy(loaded._problem, file)
                    break
                except CobreError:
                    pass  # there is none, or it is not whole
            if policy is None:
                return None
            path = None if kept is None else os.path.join(kept, "policy.cobre")
            return Training(Policy(policy, loaded, path), listener.events, kept)

        try:
            with _saved_at_sigterm(folder):
                policy, exception = _on_ranks(train_here, _follow_training, rest, loaded, count, backend, comm)
            if exception is not None:
                raise exception
            made = result(policy)
            if require is not None and made is not None and not made.converged:
                raise ConvergenceError.of(made)
        except BaseException as error:
            if getattr(error, "result", None) is None:
                _attach(error, result)
            if lines is not None:
                lines.write(f"cobre train: {error or type(error).__name__}\n")
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

    def _at(self, element: str) -> Series:
        """One element of the last axis. A view, by NumPy."""
        import numpy

        axis = self.dims[-1]
        values = numpy.asarray(self.values)[..., self.coords[axis].index(element)]
        coords = {dim: its for dim, its in self.coords.items() if dim != axis}
        return Series(element, self.unit, self.description, self.dims[:-1], coords, values)

    def __repr__(self) -> str:
        return f"<{self.name} [{self.unit}] by {', '.join(self.dims)}>"


class Simulation:
    """A simulation: simulate() returns it.

    mean, half (of the 95 % interval), deviation, minimum, maximum: of the cost. costs: a row per trajectory. statistics: what
    statistics.csv has. With tables="all", simulation["storage"] has the numbers of all trajectories, as an array.
    """

    def __init__(self, facts: dict[str, Any], folder: str | None) -> None:
        self.folder = folder
        self._kept = None if folder is None else _Kept(os.path.join(folder, "costs.csv"))
        self.workers: list[Worker] | None = facts["workers"] if len(facts["workers"]) > 1 else None
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
        for kind in ("value", "level", "outcome", "dual"):  # of a problem without labels: variables, states, noise, constraints
            its = self.variables.get(kind)
            if its is not None and name in its.coords[its.dims[-1]]:
                return its._at(name)
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

    def __getstate__(self) -> dict[str, Any]:
        from array import array

        cells = None
        if self._cells is not None:
            cells = (array("f"), *self._cells[1:])
            cells[0].frombytes(memoryview(self._cells[0]).cast("B"))
        return {**self.__dict__, "_cells": cells, "_variables": None}

    def _files(self, folder: str) -> None:
        for name, text in self._texts.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)

    def __repr__(self) -> str:
        return f"<cobre.Simulation: {self.trajectories} trajectories, mean {self.mean:.8g} +- {self.half:.3g} {self.cost_unit}>".replace(" >", ">")

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
    if out is None and options.get("netcdf"):
        raise ValueError("netcdf: give out=DIR, too: it is a file there; simulation.to_xarray() has the same in memory")
    loaded = load(case, scenarios=options.get("scenarios")) if leads else None  # type: ignore[arg-type]
    own = load_policy(policy, loaded) if leads and policy is not None else None
    folder = _optional_path("out", out)
    notes: list[str] = []
    with _file_of(None if _is_alone(count, backend, comm) else own) as file:  # only other ranks read it
        rest = (file, own.path if own is not None else None, pairs, folder)

        def simulate_here(ranks: Comm) -> Any:
            problem = None if loaded is None else loaded._problem
            return _simulate_on(ranks, problem, None if own is None else own._policy, *rest, notes.append)

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
        if isinstance(run, Policy) and run._file:
            return run._file.path
        if getattr(run, "_kept", None):
            return str(os.path.dirname(run._kept.path))
        parts = run if isinstance(run, (tuple, list)) and run else [run]
        for one in parts:
            if not hasattr(one, "_files"):
                raise TypeError(f"{one!r} is no run: give a folder, a Training, a Simulation, or a tuple of both")
        from tempfile import TemporaryDirectory

        own = TemporaryDirectory(prefix="cobre-")
        self._temporary.append(own)
        folder = os.path.join(own.name, f"run{i + 1}")
        os.mkdir(folder)
        for one in parts:
            one._files(folder)
        return folder

    @property
    def temporary(self) -> tuple[str, ...]:
        return tuple(own.name for own in self._temporary)

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


def compare(*runs: Any, by: str = "subsystem", kind: str | None = None, csv: Path | None = None, **options: Any) -> Comparison:
    """Compare 2 to 8 runs: folders, policy files, Trainings, Simulations, or tuples (training, simulation).

    by: "subsystem", "element" or "stage". kind: only this one, such as "marginal_cost". csv: a file for the rows, too.
    """
    pairs = _pairs("compare", {"by": None if by == "subsystem" else by, "kind": kind} | options)
    own = _folders(runs)
    with own as folders:
        facts = json.loads(_cobre.compare(folders, pairs, _optional_path("csv", csv)))
    # Files of a temporary folder belong together.
    facts["notes"] = [note for note in facts["notes"] if not note.startswith(own.temporary)]
    return Comparison(facts)


def report(*runs: Any, out: Path | None = None, **options: Any) -> str:
    """Write a page about one run, or 2 to 6 side by side, in one file without scripts. Returns its path.

    out: the file. Without it report.html in the folder of the run, or here if the run is in memory; of several runs compare.html here.
    """
    _pairs("report", options)
    with _folders(runs) as folders:
        kept = len(runs) == 1 and (isinstance(runs[0], (str, os.PathLike)) or bool(getattr(runs[0], "_kept", None)))
        usual = os.path.join(folders[0], "report.html") if kept else "report.html" if len(runs) == 1 else "compare.html"
        path = _optional_path("out", out) or usual
        _cobre.report(folders, path)
    return path
