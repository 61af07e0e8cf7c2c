# SPDX-License-Identifier: Apache-2.0
"""Tables: columns of numbers and texts, with what turns them into those of pandas and xarray."""

from __future__ import annotations

from array import array

TYPE_CHECKING = False  # typing takes time to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Table:
    """Columns by name: numbers in array.array, which numpy.asarray takes without a copy, and texts in lists.

    table["bound"] is a column, table.names are their names, len(table) counts rows, and iterating gives rows as dicts.
    """

    __slots__ = ("_columns",)

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = columns

    @property
    def names(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, name: str) -> Any:
        try:
            return self._columns[name]
        except KeyError:
            raise KeyError(f"there is no column {name!r}; there are {', '.join(self._columns)}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __len__(self) -> int:
        return max(map(len, self._columns.values()), default=0)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in zip(*self._columns.values()):
            yield dict(zip(self._columns, row))

    def where(self, **values: Any) -> Table:
        """The rows in which these columns have these values: where(kind="storage", stage=3)."""
        rows = [i for i in range(len(self)) if all(self[name][i] == value for name, value in values.items())]
        return Table({name: _pick(column, rows) for name, column in self._columns.items()})

    def to_pandas(self) -> Any:
        """A pandas.DataFrame. Columns of numbers are not copied."""
        import numpy
        import pandas  # type: ignore[import]

        columns = {name: numpy.asarray(c) if isinstance(c, array) else c for name, c in self._columns.items()}
        return pandas.DataFrame(columns, copy=False)

    def __repr__(self) -> str:
        return f"<cobre.Table: {len(self)} rows of {', '.join(self._columns)}>"

    def _repr_html_(self) -> str:
        from ._notebook import table_html

        return table_html(self)


def _pick(column: Any, rows: list[int]) -> Any:
    picked = [column[i] for i in rows]
    return array(column.typecode, picked) if isinstance(column, array) else picked


def _column(values: list[str]) -> Any:
    """Numbers, if all of them are; an empty field is no number then."""
    try:
        return array("q", map(int, values))
    except (ValueError, OverflowError):
        pass
    try:
        if any(values):
            return array("d", [float(value) if value else float("nan") for value in values])
    except ValueError:
        pass
    return values


def read_table(text: str) -> Table:
    """A table of the library, as text of CSV."""
    lines = text.rstrip("\n").split("\n")
    if '"' in text:  # a name has a comma in it
        from csv import reader

        names, *fields = reader(lines)
    else:
        names, *fields = (line.split(",") for line in lines)
    columns = [list(values) for values in zip(*fields)] if fields else [[] for _ in names]
    return Table({name: _column(values) for name, values in zip(names, columns)})


def from_rows(rows: list[dict[str, Any]], names: list[str]) -> Table:
    """Of dicts: whole numbers stay whole; what is missing is no number."""
    columns: dict[str, Any] = {}
    for name in names:
        values = [row.get(name) for row in rows]
        whole = all(isinstance(value, int) for value in values)
        columns[name] = array("q" if whole else "d", [float("nan") if value is None else value for value in values])
    return Table(columns)
