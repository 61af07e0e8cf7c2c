# SPDX-License-Identifier: Apache-2.0
"""Linear expressions: variables, random variables, states, and what operators make of them.

An expression is a row of numbers: columns, their coefficients, a constant, and its noise: (random variable, column or -1, factor)
each. It belongs to the node that has its variables; one of states alone, to their problem. A column may be there twice: the library
adds that up.
"""

from __future__ import annotations

from math import isfinite

TYPE_CHECKING = False  # typing takes time to import
if TYPE_CHECKING:
    from typing import Any, NoReturn, SupportsFloat, Union

    from ._problem import Node, Problem

    Number = SupportsFloat
    Linear = Union["Expression", SupportsFloat]
    Owner = Union[Node, Problem, None]

_EXACT = (float, int)
ONE = (1.0,)


def number_of(what: str, value: Any) -> float:
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, State):
        raise TypeError(f"{what}: the state {value.name} has two sides; write {value.name}.in_ or {value.name}.out")
    try:
        return float(value.__float__())
    except (AttributeError, TypeError):
        raise TypeError(f"{what}: {value!r} is not a number") from None


def finite(what: str, value: Any) -> float:
    number = number_of(what, value)
    if not isfinite(number):
        raise ValueError(f"{what}: {number} is not a finite number")
    return number


def terms_of(expression: Expression) -> list[tuple[float, str]]:
    """Its coefficients, and the names of what they stand at."""
    owner = expression._owner
    if owner is None:
        return []
    columns, randoms = owner._names()
    terms = [(value, columns[column]) for column, value in zip(expression._columns, expression._values)]
    for random, column, factor in expression._noise:
        terms.append((factor, randoms[random] if column < 0 else f"{randoms[random]} * {columns[column]}"))
    return terms


def _common_owner(one: Expression, other: Expression) -> Owner:
    """A state is its problem's, and at home in every node of it."""
    a, b = one._owner, other._owner
    if a is b or b is None or (a is not None and a.problem is b):
        return a
    if a is None or b.problem is a:
        return b
    raise ValueError(
        f"{terms_of(one)[0][1]} of {a} and {terms_of(other)[0][1]} of {b} are in one expression: only states connect nodes, "
        "and all belong to one problem"
    )


class Expression:
    """A linear expression of variables, with numbers or random variables as coefficients. It never changes."""

    __slots__ = ("_owner", "_columns", "_values", "_noise", "_constant")
    __array_ufunc__ = None  # so that NumPy's numbers leave the arithmetic to us

    def __init__(
        self,
        owner: Owner,
        columns: tuple[int, ...],
        values: tuple[float, ...],
        noise: tuple[tuple[int, int, float], ...],
        constant: float,
    ) -> None:
        self._owner = owner
        self._columns = columns
        self._values = values
        self._noise = noise
        self._constant = constant

    def __repr__(self) -> str:
        terms = [(f"{abs(value):g} " if abs(value) != 1 else "") + name for value, name in terms_of(self)]
        signs = [value < 0 for value, _name in terms_of(self)]
        if self._constant or not terms:
            terms.append(f"{abs(self._constant):g}")
            signs.append(self._constant < 0)
        text = " ".join(("- " if negative else "+ ") + term for negative, term in zip(signs, terms))
        return text[2:] if text.startswith("+ ") else "-" + text[2:]

    def __add__(self, other: Linear) -> Expression:
        if isinstance(other, Expression):
            return Expression(
                self._owner if self._owner is other._owner else _common_owner(self, other),
                self._columns + other._columns,
                self._values + other._values,
                self._noise + other._noise,
                self._constant + other._constant,
            )
        return Expression(self._owner, self._columns, self._values, self._noise, self._constant + self._beside(other))

    __radd__ = __add__

    def __neg__(self) -> Expression:
        return self._scaled(-1.0)

    def __pos__(self) -> Expression:
        return self

    def __sub__(self, other: Linear) -> Expression:
        if isinstance(other, Expression):
            return self + other._scaled(-1.0)
        return Expression(self._owner, self._columns, self._values, self._noise, self._constant - self._beside(other))

    def __rsub__(self, other: Linear) -> Expression:
        return -self + other

    def _beside(self, other: Any) -> float:
        """A number that stands in an operation with this."""
        if other.__class__ in _EXACT:
            return other  # type: ignore[no-any-return]
        return number_of(f"beside {self!r}", other)

    def _scaled(self, factor: float) -> Expression:
        return Expression(
            self._owner,
            self._columns,
            tuple([value * factor for value in self._values]),
            tuple([(random, column, value * factor) for random, column, value in self._noise]) if self._noise else (),
            self._constant * factor,
        )

    def __mul__(self, other: Linear) -> Expression:
        if other.__class__ in _EXACT:
            return self._scaled(other)  # type: ignore[arg-type]
        if not isinstance(other, Expression):
            return self._scaled(self._beside(other))
        if not other._columns and not other._noise:
            return self._scaled(other._constant)
        if not self._columns and not self._noise:
            return other._scaled(self._constant)
        return _product(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Number) -> Expression:
        if isinstance(other, Expression):
            raise TypeError(f"({self!r}) / ({other!r}): only a number may divide")
        number = self._beside(other)
        if number == 0:
            raise ZeroDivisionError(f"({self!r}) / 0")
        return self._scaled(1 / number)

    def __rtruediv__(self, other: object) -> NoReturn:
        raise TypeError(f"... / ({self!r}): only a number may divide")

    def __pow__(self, other: object) -> NoReturn:
        raise TypeError(f"({self!r}) ** {other!r}: a problem is linear")

    def __eq__(self, other: Linear) -> Constraint:  # type: ignore[override]
        return Constraint(self - other, "==")

    def __le__(self, other: Linear) -> Constraint:
        return Constraint(self - other, "<=")

    def __ge__(self, other: Linear) -> Constraint:
        return Constraint(self - other, ">=")

    def __ne__(self, other: object) -> NoReturn:
        raise TypeError(f"{self!r} != ...: constraints are ==, <= or >=; `is not` compares variables")

    __hash__ = object.__hash__


def _product(one: Expression, other: Expression) -> Expression:
    if one._noise and other._noise:
        raise ValueError(f"({one!r}) * ({other!r}): two random factors; make their product a random variable of its own")
    if one._columns and other._columns:
        raise ValueError(f"({one!r}) * ({other!r}): a product of variables; a problem is linear")
    factor, linear = (one, other) if one._noise else (other, one)
    if factor._columns or any(column >= 0 for _random, column, _value in factor._noise):
        raise ValueError(f"({one!r}) * ({other!r}): a product of variables; a problem is linear")
    noise = [(random, column, g * value) for random, _, g in factor._noise for column, value in zip(linear._columns, linear._values)]
    if linear._constant:
        noise += [(random, -1, g * linear._constant) for random, _, g in factor._noise]
    scaled = linear._scaled(factor._constant)
    keeps = factor._constant != 0
    return Expression(
        _common_owner(one, other), scaled._columns if keeps else (), scaled._values if keeps else (), tuple(noise), scaled._constant
    )


class Variable(Expression):
    """A variable of a node, or one side of a state."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return terms_of(self)[0][1]

    def _scaled(self, factor: float) -> Expression:
        return Expression(self._owner, self._columns, (factor,), (), 0.0)


class Random(Expression):
    """A random variable of a node: it is seen before the node decides."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return terms_of(self)[0][1]


class Constraint:
    """What ==, <= and >= make of expressions, for Node.add()."""

    __slots__ = ("_expression", "_sense")

    def __init__(self, expression: Expression, sense: str) -> None:
        self._expression = expression
        self._sense = sense

    def __repr__(self) -> str:
        return f"{self._expression!r} {self._sense} 0"

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"({self!r}) is a constraint, neither true nor false. For a <= x <= b write node.between(a, x, b); `is` compares variables"
        )


class State:
    """What a node leaves to the next: in_ is what comes into a node, out what leaves it; use both in any node."""

    __slots__ = ("name", "initial", "lower", "upper", "in_", "out")

    def __init__(self, name: str, initial: float, lower: float, upper: float, in_: Variable, out: Variable) -> None:
        self.name = name
        self.initial = initial
        self.lower = lower
        self.upper = upper
        self.in_ = in_
        self.out = out

    def __repr__(self) -> str:
        return f"<state {self.name}>"
