# SPDX-License-Identifier: Apache-2.0
"""Problem: a policy graph of linear programs, written in Python.

A node keeps the arrays of its whole linear program. They go to the library's builder in two calls per node when somebody trains,
simulates or writes; so the whole is checked once, by the library. What can be seen where it is written is checked here.
"""

from __future__ import annotations

import os
from array import array
from math import inf, isfinite, sqrt

from . import _cobre
from ._comm import Comm, whole
from ._errors import CaseError, Issue
from ._linear import ONE, Constraint, Expression, Random, State, Variable, finite, number_of, terms_of

TYPE_CHECKING = False  # typing takes time to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Literal, TypeVar, Union

    from ._linear import Linear, Number
    from ._plan import Case, Path, Simulation, Training

    Key = TypeVar("Key")
    Bound = Union[Expression, Number, None]

# As in sddp.h: cobre_sddp_noise_target.
_ROW, _ROW_LOWER, _ROW_UPPER, _COLUMN_LOWER, _COLUMN_UPPER, _COST, _CONSTANT, _ENTRY = range(8)

# As in sddp.h: cobre_sddp_part.
_STATE, _COLUMN, _LABELLED_ROW, _RANDOM = range(4)

_SLACK = 1e-6  # of probabilities that shall add up to 1, as in the library
_MOST_OUTCOMES = 1_000_000
_EXACT = (float, int)


def _of_key(values: Any, key: Any, what: str) -> Any:
    """Of a family: one number for all, or a mapping by key."""
    if not hasattr(values, "keys"):
        return values
    try:
        return values[key]
    except KeyError:
        raise ValueError(f"{what}: there is none for {key!r}") from None


def _member(name: str, key: Any) -> str:
    return f"{name}[{'/'.join(map(str, key)) if isinstance(key, tuple) else key}]"


def _probabilities(what: str, given: Iterable[Number] | None, count: int) -> array[float]:
    if count == 0:
        raise ValueError(f"{what}: there are no outcomes")
    if given is None:
        return array("d", [1 / count]) * count
    result = array("d", [number_of(f"{what}: a probability", one) for one in given])
    if len(result) != count:
        raise ValueError(f"{what}: {len(result)} probabilities for {count} outcomes")
    for one in result:
        if not 0 <= one <= 1:
            raise ValueError(f"{what}: {one} is no probability")
    if abs(sum(result) - 1) > _SLACK:
        raise ValueError(f"{what}: the probabilities add up to {sum(result):.9g}, not to 1")
    return result


def _factor(what: str, correlation: Iterable[Iterable[Number]] | None, order: int) -> array[float]:
    """The lower triangle whose product with its transpose is the matrix, by rows; without a matrix, of independent variables."""
    unit = [[float(i == j) for j in range(order)] for i in range(order)]
    matrix = unit if correlation is None else [[finite(f"{what}: a correlation", one) for one in row] for row in correlation]
    if len(matrix) != order or any(len(row) != order for row in matrix):
        raise ValueError(f"{what}: the correlations are not {order} rows of {order} numbers")
    factor = array("d", bytes(8 * order * order))
    for i in range(order):
        for j in range(i + 1):
            rest = matrix[i][j] - sum(factor[i * order + k] * factor[j * order + k] for k in range(j))
            root = sqrt(max(rest, 0.0)) if i == j else factor[j * order + j]
            factor[i * order + j] = root if i == j else rest / root if root > _SLACK else 0.0
            wrong = matrix[i][i] != 1 or rest < -_SLACK if i == j else root <= _SLACK and abs(rest) > _SLACK
            if wrong or abs(matrix[i][j] - matrix[j][i]) > _SLACK:
                raise ValueError(f"{what}: this is no matrix of correlations: they are symmetric, 1 on the diagonal, and go together")
    return factor


class Root:
    """Where a policy graph begins."""

    __slots__ = ("_edges", "_total")
    name = "root"

    def __init__(self) -> None:
        self._edges: dict[int, tuple[float, float]] = {}  # to the node of an index: probability, discount
        self._total = 0.0  # probability

    def __repr__(self) -> str:
        return "the root"


def _label_text(what: str, text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{what}: {text!r} is not a str")
    if set(text) & set(',"\r\n'):
        raise ValueError(f"{what}: {text!r} has a comma, a quote or the end of a line in it")
    return text


class Node:
    """A linear program of the policy graph: problem.stage() and problem.node() make one."""

    __slots__ = (
        "problem", "name", "index", "_stage", "_bound", "_date", "_columns", "_lower", "_upper", "_cost", "_rows", "_row_lower",
        "_row_upper", "_counts", "_entry_columns", "_entry_values", "_constant", "_randoms", "_groups", "_noise", "_edges", "_total",
        "_cvar", "_cuts", "_model", "_duration", "_shares",
    )  # fmt: skip

    def __init__(self, problem: Problem, name: str, stage: int, bound: float | None, date: str | None) -> None:
        self.problem = problem
        self.name = name
        self.index = len(problem.nodes)
        self._stage = stage
        self._bound = bound
        self._date = date
        self._columns = problem._state_columns.copy()
        self._lower = problem._state_lower[:]
        self._upper = problem._state_upper[:]
        self._cost = array("d", bytes(8 * len(self._columns)))
        self._rows: dict[str | int, int] = {}  # the name, or the number of a row without one
        self._row_lower = array("d")
        self._row_upper = array("d")
        self._counts = array("i")  # entries of each row
        self._entry_columns = array("i")
        self._entry_values = array("d")
        self._constant = 0.0
        self._randoms: dict[str, int] = {}
        self._groups: list[tuple[int, array[float], array[float]]] = []  # joint ones: how many, probabilities, values
        self._noise: list[tuple[int, int, int, float, int]] = []  # target, index, column, factor, random
        self._edges: dict[int, tuple[float, float]] = {}  # as of Root
        self._total = 0.0
        self._cvar: tuple[float, float] | None = None
        self._cuts: list[tuple[float, array[float]]] = []
        self._model: tuple[int, bool, array[float], array[float]] | None = None  # as Builder.model takes it
        self._duration = 0.0
        self._shares = array("d")

    def __repr__(self) -> str:
        return f"node {self.name}"

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def variable(self, name: str, lower: Bound = None, upper: Bound = None, cost: Linear = 0.0) -> Variable:
        """A variable of this node, without bounds if none are given. Bounds and the cost of a unit may be random."""
        columns = self._columns
        column = len(columns)
        if not isinstance(name, str):
            raise TypeError(f"{self}: the name {name!r} is not a str")
        if columns.setdefault(name, column) != column:
            raise ValueError(f"{self}: there is a variable or state {name} already")
        self.problem._made = None
        try:
            low = float(lower) if lower.__class__ in _EXACT else self._bound_of(name, lower, -inf, _COLUMN_LOWER)  # type: ignore[arg-type]
            high = float(upper) if upper.__class__ in _EXACT else self._bound_of(name, upper, inf, _COLUMN_UPPER)  # type: ignore[arg-type]
            if not low <= high or low == inf or high == -inf:
                raise ValueError(f"{self}, variable {name}: nothing lies between the bounds {low:g} and {high:g}")
            if isinstance(cost, Expression):
                each = self._random_number(f"{self}, variable {name}: the cost", cost)
                self._noise += [(_COST, column, 0, factor, random) for random, _, factor in each._noise]
                cost = each._constant
            elif cost.__class__ is not float or cost:
                cost = finite(f"{self}, variable {name}: the cost", cost)
            self._cost.append(cost)  # type: ignore[arg-type]
        except BaseException:
            del columns[name]
            self._noise = [term for term in self._noise if term[0] not in (_COLUMN_LOWER, _COLUMN_UPPER, _COST) or term[1] != column]
            raise
        self._lower.append(low)
        self._upper.append(high)
        return Variable(self, (column,), ONE, (), 0.0)

    def variables(self, *names: str, lower: Bound = None, upper: Bound = None, cost: Linear = 0.0) -> list[Variable]:
        """Several variables, in the order of their names."""
        return [self.variable(name, lower, upper, cost) for name in names]

    def family(
        self,
        name: str,
        keys: Iterable[Key],
        lower: Bound | Mapping[Key, Any] = None,
        upper: Bound | Mapping[Key, Any] = None,
        cost: Linear | Mapping[Key, Any] = 0.0,
    ) -> dict[Key, Variable]:
        """A variable name[key] for each key. Bounds and costs may be mappings, too."""
        if not any(hasattr(given, "keys") for given in (lower, upper, cost)):
            return {key: self.variable(_member(name, key), lower, upper, cost) for key in keys}  # type: ignore[arg-type]
        return {
            key: self.variable(_member(name, key), _of_key(lower, key, name), _of_key(upper, key, name), _of_key(cost, key, name))
            for key in keys
        }

    def random(self, name: str, values: Iterable[Number], probabilities: Iterable[Number] | None = None) -> Random:
        """A random variable with these values, equally likely if there are no probabilities. It is independent of the others."""
        return self._joint([name], [(value,) for value in values], probabilities)[0]

    def randoms(
        self, names: Iterable[str], outcomes: Iterable[Iterable[Number]], probabilities: Iterable[Number] | None = None
    ) -> list[Random]:
        """Random variables that depend on each other. Each outcome has a value for each of them."""
        return self._joint(list(names), [tuple(outcome) for outcome in outcomes], probabilities)

    def _joint(self, names: list[str], outcomes: list[tuple[Any, ...]], probabilities: Iterable[Number] | None) -> list[Random]:
        what = f"{self}, random variable {', '.join(map(str, names))}"
        weights = _probabilities(what, probabilities, len(outcomes))
        values = array("d")
        for outcome in outcomes:
            if len(outcome) != len(names):
                raise ValueError(f"{what}: the outcome {outcome} has {len(outcome)} values")
            values.extend([finite(what, value) for value in outcome])
        count = len(outcomes)
        for _width, others, _values in self._groups:
            count *= len(others)
        if count > _MOST_OUTCOMES:
            raise ValueError(f"{what}: independent random variables make {count} outcomes; give a sample of joint ones to randoms()")
        if self._model is not None:
            raise ValueError(f"{what}: normals() of this node has made others already; a node has a model or a table")
        made = self._name_randoms(what, names)
        self._groups.append((len(names), weights, values))
        return made

    def normals(
        self,
        names: Iterable[str],
        deviations: Iterable[Number],
        correlation: Iterable[Iterable[Number]] | None = None,
        *,
        openings: int = 20,
        lognormal: bool = False,
    ) -> list[Random]:
        """Random variables with a model: normal, with these deviations, a mean of 0 and these correlations; without, independent.

        lognormal: the exponential of that, with a median of 1. So an inflow is 80 + w, or 80 * w. openings: outcomes that are drawn for a
        training, all equally likely; simulate(..., sampling="out-of-sample") draws new ones. They are all the randoms of the node.
        """
        kept = list(names)
        what = f"{self}, random variable {', '.join(map(str, kept))}"
        if self._randoms:
            raise ValueError(f"{what}: this node has random variables already; a node has a model or a table")
        widths = array("d", [finite(f"{what}: a deviation", one) for one in deviations])
        if len(widths) != len(kept) or not kept or min(widths) < 0:
            raise ValueError(f"{what}: there is not a deviation of at least 0 for each name")
        count = whole("openings", openings, 1, _MOST_OUTCOMES) or 1
        model = (count, bool(lognormal), widths, _factor(what, correlation, len(kept)))
        made = self._name_randoms(what, kept)
        self._model = model
        return made

    def _name_randoms(self, what: str, names: list[str]) -> list[Random]:
        for i, name in enumerate(names):
            if not isinstance(name, str):
                raise TypeError(f"{what}: the name {name!r} is not a str")
            if name in self._randoms or name in names[:i]:
                raise ValueError(f"{self}: there is a random variable {name} already")
        first = len(self._randoms)
        for name in names:
            self._randoms[name] = len(self._randoms)
        self.problem._made = None
        return [Random(self, (), (), ((first + i, -1, 1.0),), 0.0) for i in range(len(names))]

    def add(self, constraint: Constraint | bool, name: str | None = None) -> None:
        """A constraint of this node: node.add(x + y == 3)."""
        if not isinstance(constraint, Constraint):  # bool: what a type checker takes sum(...) <= 4 for
            raise TypeError(f"{self}: add() takes a constraint, such as x + y <= 3, not {constraint!r}")
        sense = constraint._sense
        self._add_row(constraint._expression, 0.0 if sense != "<=" else -inf, 0.0 if sense != ">=" else inf, name)

    def between(self, lower: Number, expression: Expression, upper: Number, name: str | None = None) -> None:
        """The constraint lower <= expression <= upper."""
        if not isinstance(expression, Expression):
            raise TypeError(f"{self}: between() takes an expression in the middle, not {expression!r}")
        what = f"{self}: between()"
        if not number_of(what, lower) <= number_of(what, upper):
            raise ValueError(f"{what}: nothing lies between {lower} and {upper}")
        self._add_row(expression, number_of(what, lower), number_of(what, upper), name)

    def _add_row(self, expression: Expression, lower: float, upper: float, name: str | None) -> None:
        if expression._owner is not self:
            self._take(expression)
        constant = expression._constant
        columns = expression._columns
        values = expression._values
        if not isfinite(sum(values) + constant):
            self._refuse_numbers(expression)
        if name is not None and not isinstance(name, str):
            raise TypeError(f"{self}: the name {name!r} of a constraint is not a str")
        rows = self._rows
        row = len(rows)
        if rows.setdefault(row if name is None else name, row) != row:
            raise ValueError(f"{self}: there is a constraint {name} already")
        try:
            if expression._noise:
                self._add_noise(expression, row)
            elif not columns:
                raise ValueError(f"{self}: a constraint without variables: {expression!r}")
            self._entry_columns.extend(columns)
        except BaseException:
            del rows[row if name is None else name]
            raise
        self._entry_values.extend(values)
        self._counts.append(len(columns))
        self._row_lower.append(lower - constant)
        self._row_upper.append(upper - constant)
        self.problem._made = None

    def _add_noise(self, expression: Expression, row: int) -> None:
        if not expression._columns and all(column < 0 for _random, column, _factor in expression._noise):
            raise ValueError(f"{self}: a constraint without variables: {expression!r}")
        for random, column, factor in expression._noise:
            if column < 0:
                self._noise.append((_ROW, row, 0, -factor, random))  # it goes to the other side
            else:
                self._noise.append((_ENTRY, row, column, factor, random))

    def minimise(self, cost: Linear) -> None:
        """Add to what this node costs. Only in a problem of sense "min"."""
        if self.problem.sense != "min":
            raise ValueError(f"{self}: the problem maximises; use maximise()")
        self._add_objective(cost)

    def maximise(self, gain: Linear) -> None:
        """Add to what this node earns. Only in a problem of sense "max"."""
        if self.problem.sense != "max":
            raise ValueError(f'{self}: the problem minimises; use minimise(), or Problem(..., sense="max")')
        self._add_objective(gain)

    def _add_objective(self, expression: Linear) -> None:
        self.problem._made = None
        if not isinstance(expression, Expression):
            self._constant += finite(f"{self}, objective", expression)
            return
        if expression._owner is not self:
            self._take(expression)
        if not isfinite(sum(expression._values) + expression._constant):
            self._refuse_numbers(expression)
        cost = self._cost
        for column, value in zip(expression._columns, expression._values):
            cost[column] += value
        self._constant += expression._constant
        for random, column, factor in expression._noise:
            self._noise.append((_CONSTANT if column < 0 else _COST, max(column, 0), 0, factor, random))

    def cvar(self, tail: float, mean: float = 0.0) -> None:
        """How this node sees what comes after it: mean * the mean + (1 - mean) * the mean of the worst share `tail`."""
        if not (0 < tail <= 1 and 0 <= mean <= 1):
            raise ValueError(f"{self}: cvar: tail {tail} must be above 0, mean {mean} at least 0, and both at most 1")
        self._cvar = (float(mean), float(tail))
        self.problem._made = None

    def terminal_cut(self, intercept: Number, slopes: Mapping[State, Number]) -> None:
        """What comes after this last node costs at least intercept + the sum of slope * state (earns at most, in one that maximises)."""
        states = list(self.problem._states.values())
        for state in slopes:
            if not any(state is own for own in states):
                raise ValueError(f"{self}: terminal_cut: {state!r} is no state of this problem")
        what = f"{self}: terminal_cut"
        self._cuts.append((finite(what, intercept), array("d", [finite(what, slopes.get(state, 0.0)) for state in states])))
        self.problem._made = None

    # What follows is for this package.

    def _names(self) -> tuple[list[str], list[str]]:
        states = self.problem._names()[0]
        return states + list(self._columns)[len(states) :], list(self._randoms)

    def _take(self, expression: Expression) -> None:
        """An expression that has no variable of this node may have states of its problem."""
        if expression._owner is not None and expression._owner is not self.problem:
            raise ValueError(
                f"{self}: {terms_of(expression)[0][1]} belongs to {expression._owner}, not here: only states connect nodes, and all "
                "belong to one problem"
            )

    def _refuse_numbers(self, expression: Expression) -> None:
        for value, name in [*terms_of(expression), (expression._constant, "the constant")]:
            if not isfinite(value):
                raise ValueError(f"{self}: {value} at {name} is not a finite number")

    def _random_number(self, what: str, expression: Expression) -> Expression:
        if expression._owner is not self:
            self._take(expression)
        if expression._columns or any(column >= 0 for _random, column, _factor in expression._noise):
            raise ValueError(f"{what}: {expression!r} has variables in it; make it a constraint or a part of the objective")
        return expression

    def _bound_of(self, name: str, bound: Bound, without: float, target: int) -> float:
        if bound is None:
            return without
        if not isinstance(bound, Expression):
            return number_of(f"{self}, variable {name}: the bound", bound)
        number = self._random_number(f"{self}, variable {name}: the bound", bound)
        self._noise += [(target, len(self._columns) - 1, 0, factor, random) for random, _, factor in number._noise]
        return number._constant

    def _outcomes(self) -> tuple[array[float], array[float]]:
        """Of all random variables: independent ones in all combinations."""
        _width, probabilities, values = self._groups[0]
        for width, others, more in self._groups[1:]:
            size = len(values) // len(probabilities)
            joined = array("d")
            for k in range(len(probabilities)):
                for j in range(len(others)):
                    joined += values[k * size : (k + 1) * size] + more[j * width : (j + 1) * width]
            probabilities = array("d", [p * q for p in probabilities for q in others])
            values = joined
        return probabilities, values

    def _check_states(self) -> None:
        """A state that a node with successors leaves alone would be anything."""
        used = set(self._entry_columns)
        used.update(column if target == _ENTRY else index for target, index, column, *_ in self._noise if target in (_COST, _ENTRY))
        for s, state in enumerate(self.problem._states.values()):
            out = 2 * s + 1
            if out not in used and not self._cost[out] and state.lower != state.upper:
                raise ValueError(
                    f"{self}: nothing says what {state.name} becomes; add an equation, such as {state.name}.out == {state.name}.in_"
                )

    def _give(self, builder: _cobre.Builder) -> None:
        if self._edges:
            self._check_states()
        rows = [name if isinstance(name, str) else None for name in self._rows]
        builder.node(
            self.name, self._stage, self._constant, self._columns, rows, self._lower, self._upper, self._cost, self._row_lower,
            self._row_upper, self._counts, self._entry_columns, self._entry_values,
        )  # fmt: skip
        if self._model is not None:
            builder.noise(self.index, self._randoms, self._noise, array("d"), array("d"))
            builder.model(self.index, *self._model)
        elif self._randoms:
            builder.noise(self.index, self._randoms, self._noise, *self._outcomes())
        if self._duration:
            builder.duration(self.index, self._duration, self._shares)
        if self._cvar is not None:
            builder.risk(self.index, *self._cvar)
        bound = self.problem.bound if self._bound is None else self._bound
        if bound is not None:
            builder.value_bound(self.index, bound)
        if self._date is not None:
            builder.date(self.index, self._date)
        for intercept, slopes in self._cuts:
            builder.terminal_cut(self.index, intercept, slopes)


def _part_of(problem: Problem, thing: Any) -> tuple[int, str]:
    if isinstance(thing, str):
        return _LABELLED_ROW, thing
    if isinstance(thing, State) and any(thing is own for own in problem._states.values()):
        return _STATE, thing.name
    if isinstance(thing, (Variable, Random)) and isinstance(thing._owner, Node) and thing._owner.problem is problem:
        return _COLUMN if isinstance(thing, Variable) else _RANDOM, thing.name
    raise TypeError(f"label: {thing!r} is no state, variable or random variable of this problem, and no name of a constraint")


class Problem:
    """A multistage stochastic linear program, written in Python: a graph of nodes, and states that go from node to node.

        problem = cobre.Problem("hydrothermal")
        volume = problem.state("volume", initial=200, lower=0, upper=200)
        for cost in (50, 100, 150):
            stage = problem.stage()
            thermal, hydro, spill = stage.variables("thermal", "hydro", "spill", lower=0)
            inflow = stage.random("inflow", [0, 50, 100])
            stage.add(volume.out == volume.in_ - hydro - spill + inflow)
            stage.add(thermal + hydro == 150)
            stage.minimise(cost * thermal)
        training = problem.train(iterations=50)

    sense: "min" or "max". bound: the least that the future can cost at any node, or the most that it can earn; without it a training
    finds one.

    For reports and tables: cost_unit, "k$"; time_unit, "h", of durations; blocks, the names of load blocks. opening_seed: of the outcomes
    that are drawn for normals().
    """

    def __init__(
        self,
        name: str = "problem",
        sense: Literal["min", "max"] = "min",
        bound: float | None = None,
        *,
        cost_unit: str = "",
        time_unit: str = "",
        blocks: Iterable[str] = (),
        opening_seed: int = 0,
    ) -> None:
        if sense not in ("min", "max"):
            raise ValueError(f'sense: {sense!r} is neither "min" nor "max"')
        self._units = (_label_text("time_unit", time_unit), _label_text("cost_unit", cost_unit))
        self._blocks = [_label_text("blocks", one) for one in blocks]
        self._seed = whole("opening_seed", opening_seed, 0, 2**64 - 1) or 0
        self._labels: list[tuple[int, str, str, str, str, str, str, str, float, float, bool]] = []  # as Builder.label takes them
        self.name = name
        self.sense = sense
        self.bound = None if bound is None else finite("bound", bound)
        self.root = Root()
        self.nodes: list[Node] = []
        self._node_names: set[str] = set()
        self._states: dict[str, State] = {}
        self._state_columns: dict[str, int] = {}  # those that each node begins with
        self._state_lower = array("d")
        self._state_upper = array("d")
        self._last: Node | Root = self.root  # of stage()
        self._scenarios: list[list[tuple[Node, dict[int, float]]]] = []
        self._made: tuple[tuple[Any, ...], _cobre.Problem | None, list[_cobre._Issue]] | None = None  # with what it depends on besides

        self._cased: Case | None = None

    def __repr__(self) -> str:
        return f"<cobre.Problem {self.name}: {len(self._states)} states, {len(self.nodes)} nodes>"

    def state(self, name: str, initial: Number, lower: Number | None = None, upper: Number | None = None) -> State:
        """A state, with its value at the start, and bounds of what a node may leave of it. States come before the first node."""
        if not isinstance(name, str):
            raise TypeError(f"the name {name!r} of a state is not a str")
        if self.nodes:
            raise ValueError(f"state {name}: it comes after the first node; all states come first")
        head, bracket, key = name.partition("[")
        incoming = f"{head}_in{bracket}{key}"
        if name in self._state_columns or incoming in self._state_columns:
            raise ValueError(f"state {name}: there is one already")
        start = finite(f"state {name}: the initial value", initial)
        low = -inf if lower is None else number_of(f"state {name}: the bound", lower)
        high = inf if upper is None else number_of(f"state {name}: the bound", upper)
        if not low <= high:
            raise ValueError(f"state {name}: nothing lies between the bounds {low} and {high}")
        column = len(self._state_columns)
        self._state_columns[incoming] = column
        self._state_columns[name] = column + 1
        self._state_lower.extend((min(low, start), low))
        self._state_upper.extend((max(high, start), high))
        self._made = None
        sides = [Variable(self, (column + side,), ONE, (), 0.0) for side in (0, 1)]
        self._states[name] = State(name, start, low, high, *sides)
        return self._states[name]

    def state_family(
        self,
        name: str,
        keys: Iterable[Key],
        initial: Number | Mapping[Key, Any],
        lower: Number | Mapping[Key, Any] | None = None,
        upper: Number | Mapping[Key, Any] | None = None,
    ) -> dict[Key, State]:
        """A state name[key] for each key. Numbers may be mappings, too."""
        return {
            key: self.state(_member(name, key), _of_key(initial, key, name), _of_key(lower, key, name), _of_key(upper, key, name))
            for key in keys
        }

    def stage(
        self,
        name: str | None = None,
        *,
        probability: float = 1.0,
        discount: float = 1.0,
        bound: float | None = None,
        date: str | None = None,
        duration: Number = 0.0,
        shares: Mapping[str, Number] | None = None,
    ) -> Node:
        """The next node of a linear graph: it follows the one that stage() made before, or the root."""
        before = self._last
        node = self.node(name, bound=bound, date=date, duration=duration, shares=shares)
        try:
            self.edge(before, node, probability, discount)
        except BaseException:
            self._node_names.remove(self.nodes.pop().name)
            raise
        self._last = node
        return node

    def node(
        self,
        name: str | None = None,
        stage: int | None = None,
        *,
        bound: float | None = None,
        date: str | None = None,
        duration: Number = 0.0,
        shares: Mapping[str, Number] | None = None,
    ) -> Node:
        """A node without edges. stage: its number in reports, from 1; without it the distance from the root. date: "2027-03-01".

        duration: in the unit of time. shares: of it, that each load block has: {"peak": 0.25, "low": 0.75}.
        """
        if name is None:
            number = len(self.nodes) + 1
            while str(number) in self._node_names:
                number += 1
            name = str(number)
        if not isinstance(name, str):
            raise TypeError(f"the name {name!r} of a node is not a str")
        if name in self._node_names:
            raise ValueError(f"there is a node {name} already")
        if stage is not None and not stage >= 1:
            raise ValueError(f"node {name}: stage {stage} is not at least 1")
        node = Node(self, name, stage or 0, None if bound is None else finite(f"node {name}: bound", bound), date)
        node._duration = finite(f"node {name}: duration", duration)
        if node._duration < 0 or (shares is not None and not node._duration):
            raise ValueError(f"node {name}: the duration {duration} is not above 0")
        node._shares = self._shares_of(f"node {name}: shares", shares)
        self._node_names.add(name)
        self.nodes.append(node)
        self._made = None
        return node

    def _shares_of(self, what: str, shares: Mapping[str, Number] | None) -> array[float]:
        if shares is None:
            return array("d")
        if list(sorted(shares)) != sorted(self._blocks):
            raise ValueError(f"{what}: they are of {', '.join(shares) or 'nothing'}, but the blocks are {', '.join(self._blocks) or 'none'}")
        return _probabilities(what, [shares[block] for block in self._blocks], len(self._blocks))

    def label(
        self,
        thing: State | Variable | Random | str,
        *,
        kind: str | None = None,
        element: str | None = None,
        unit: str = "",
        type: str = "",
        subsystem: str = "",
        block: str = "",
        factor: Number = 1.0,
        energy: Number = 0.0,
        detail: bool = False,
    ) -> None:
        """What the numbers of something mean, in tables, reports and decisions: of a state, a variable or a random variable, in all
        nodes that have one of this name; or of the dual of a constraint, by its name.

        kind, element: "generation", "coal"; without them those of the name, generation[coal]. unit: "MW". type: what the element is,
        "thermal". subsystem: where it is. block: the load block. factor: what a number is multiplied with to be in this unit. energy: what one
        unit of a store is worth as energy. detail: it is left out of statistics.
        """
        part, name = _part_of(self, thing)
        head, bracket, key = name.partition("[")
        named = bracket and key.endswith("]") and head
        texts = {
            "kind": (head if named else "") if kind is None else kind,
            "element": (key[:-1] if named else name) if element is None else element,
            "block": block,
            "unit": unit,
            "type": type,
            "subsystem": subsystem,
        }
        what = f"label of {name}"
        if block and block not in self._blocks:
            raise ValueError(f"{what}: there is no block {block}; there are {', '.join(self._blocks) or 'none'}")
        kept = [_label_text(f"{what}: {key}", text) for key, text in texts.items()]
        numbers = (finite(f"{what}: factor", factor), finite(f"{what}: energy", energy))
        if any(label[:2] == (part, name) for label in self._labels):
            raise ValueError(f"{what}: there is one already")
        self._labels.append((part, name, *kept, *numbers, bool(detail)))  # type: ignore[arg-type]
        self._made = None

    def edge(self, start: Node | Root, end: Node, probability: float = 1.0, discount: float = 1.0) -> None:
        """From a node, or problem.root, to a node. discount: what a cost at `end` is worth at `start`.

        What the probabilities of a node's edges lack of 1 is the probability that everything ends there.
        """
        if not isinstance(end, Node) or end.problem is not self:
            raise ValueError(f"edge to {end!r}: it is no node of this problem")
        if start is not self.root and (not isinstance(start, Node) or start.problem is not self):
            raise ValueError(f"edge from {start!r}: it is neither a node of this problem nor problem.root")
        what = f"edge from {start} to {end}"
        if end.index in start._edges:
            raise ValueError(f"{what}: there is one already")
        probability = number_of(what, probability)
        discount = number_of(what, discount)
        if not 0 <= probability <= 1:
            raise ValueError(f"{what}: {probability} is no probability")
        if not 0 < discount <= 1:
            raise ValueError(f"{what}: the discount {discount} is not above 0 and at most 1")
        total = start._total + probability
        if total > 1 + _SLACK:
            raise ValueError(f"{what}: the probabilities of the edges from there add up to {total:.9g}, more than 1")
        start._edges[end.index] = (probability, discount)
        start._total = total
        self._made = None

    def markov(self, transitions: Iterable[Iterable[Iterable[Number]]]) -> list[list[Node]]:
        """The nodes of a Markov chain, by stages: markov([[[1.0]], [[0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]]]).

        transitions: a matrix for each stage, with a row for each node of the stage before (the first has one, for the root), and in it
        a probability for each node of the stage. Node 2 of stage 3 is called "3-2".
        """
        stages: list[list[Node]] = []
        before: list[Any] = [self.root]
        matrices = [[[finite("markov", one) for one in row] for row in matrix] for matrix in transitions]
        rows = 1
        for t, matrix in enumerate(matrices, 1):  # all of them before the first node is made
            width = len(matrix[0]) if matrix else 0
            if len(matrix) != rows or not width or any(len(row) != width for row in matrix):
                raise ValueError(f"markov: the matrix of stage {t} has not {rows} rows of equal length")
            for row in matrix:
                if min(row) < 0 or sum(row) > 1 + _SLACK:
                    raise ValueError(f"markov: stage {t}: {row} are not probabilities that add up to at most 1")
            rows = width
        for t, matrix in enumerate(matrices, 1):
            width = len(matrix[0])
            nodes = [self.node(f"{t}-{i + 1}", t) for i in range(width)]
            for start, row in zip(before, matrix):
                for end, probability in zip(nodes, row):
                    if probability != 0:
                        self.edge(start, end, probability)
            stages.append(nodes)
            before = nodes
        return stages

    def scenario(self, steps: Iterable[tuple[Node, Mapping[Random, Number]]]) -> None:
        """A trajectory to simulate: nodes, and in each the values of its random variables."""
        kept = []
        for node, values in steps:
            if not isinstance(node, Node) or node.problem is not self:
                raise ValueError(f"scenario: {node!r} is no node of this problem")
            own = {}
            for random, value in values.items():
                if not isinstance(random, Random) or random._owner is not node:
                    raise ValueError(f"scenario: {random!r} is no random variable of {node}")
                own[random._noise[0][0]] = finite(f"scenario, {node}, {random.name}", value)
            kept.append((node, own))
        self._scenarios.append(kept)
        self._made = None

    def train(self, *args: Any, **options: Any) -> Training:
        """As cobre.train(), of this problem."""
        from ._plan import train

        made: Training = train(self, *args, **options)
        return made

    def simulate(self, *args: Any, **options: Any) -> Simulation:
        """As cobre.simulate(), of this problem: problem.simulate(policy, ...)."""
        from ._plan import simulate

        made: Simulation = simulate(self, *args, **options)
        return made

    def write(self, path: Path) -> None:
        """Write it as a StochOptFormat file, NAME.sof.json: for `cobre train`, SDDP.jl and others."""
        self._as_case().write(path)

    @property
    def problem(self) -> Problem:
        """Itself: a state belongs to a problem as a variable to a node."""
        return self

    def _names(self) -> tuple[list[str], list[str]]:
        return [side for state in self._states.values() for side in (f"{state.name}.in_", f"{state.name}.out")], []

    def _finish(self, comm: Comm | None = None) -> tuple[_cobre.Problem | None, list[_cobre._Issue]]:
        """The problem in the library, and warnings; or None and the errors. It is built again if anything has changed."""
        if comm is None:
            comm = self._made[0][0] if self._made is not None and self._made[0][-1] == os.getpid() else Comm(backend="local")
        key = (comm, self.name, self.sense, self.bound, os.getpid())  # the child of a fork has its own
        if self._made is None or self._made[0] != key:
            issues: list[_cobre._Issue] = []
            try:
                made = self._build().finish(comm, issues)
            except ValueError as error:  # what the library cannot know, because it is written in Python
                made, issues = None, [("", 0, "", str(error), "", False, 0)]
            self._made = (key, made, issues)
        return self._made[1:]

    def _as_case(self) -> Case:
        """What train() and others take; the same one until something changes."""
        from ._plan import Case

        made, given = self._finish()
        if made is None:
            raise CaseError.of("", [Issue(*issue) for issue in given])
        if self._cased is None or self._cased._problem is not made:
            assert self._made is not None
            self._cased = Case(made, self._made[0][0], "", [Issue(*issue) for issue in given], self)
        return self._cased

    def _still_is(self, made: _cobre.Problem) -> bool:
        """Has nothing changed since that was made?"""
        return self._made is not None and self._made[1] is made and self._made[0][1:4] == (self.name, self.sense, self.bound)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None, "_cased": None}  # what the library has made stays in its process

    def _build(self) -> _cobre.Builder:
        builder = _cobre.Builder(self.name, self.sense == "max")
        builder.units(*self._units, self._blocks)
        builder.opening_seed(self._seed)
        for label in self._labels:
            builder.label(*label)
        for state in self._states.values():
            builder.state(state.name, state.initial)
        for node in self.nodes:
            node._give(builder)
        starts: list[Node | Root] = [self.root, *self.nodes]
        for start in starts:
            for end, (probability, discount) in start._edges.items():
                builder.edge(start.index if isinstance(start, Node) else -1, end, probability, discount)
        for steps in self._scenarios:
            builder.scenario([self._step(node, values) for node, values in steps])
        return builder

    def _step(self, node: Node, values: dict[int, float]) -> tuple[int, int, array[float]]:
        for name, random in node._randoms.items():
            if random not in values:
                raise ValueError(f"scenario: there is no value of {name} in {node}")
        return node.index, len(values), array("d", [values[random] for random in sorted(values)])


for _public in (Constraint, Expression, Node, Problem, Random, State):
    _public.__module__ = "cobre"  # which a traceback shows
