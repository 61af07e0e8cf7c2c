# SPDX-License-Identifier: Apache-2.0
"""How results look in a notebook, and progress on a terminal."""

from __future__ import annotations

import sys
from html import escape
from itertools import count

from . import _cobre

TYPE_CHECKING = False  # typing takes time to import
if TYPE_CHECKING:
    from typing import Any

_MOST_ROWS = 20


def in_notebook() -> bool:
    """Is this a kernel of Jupyter, which shows HTML?"""
    shell = sys.modules.get("IPython")
    own = shell.get_ipython() if shell is not None else None
    return own is not None and hasattr(own, "kernel")


class Line:
    """Progress as one line that is drawn again and again: in a notebook, or on a terminal."""

    def __init__(self) -> None:
        self._display: Any = None
        self._drawn = 0.0

    def __call__(self, progress: Any) -> None:
        if progress.iteration > 1 and progress.seconds < self._drawn + 0.2:
            self._last = progress
            return
        self._drawn = progress.seconds
        self._draw(progress)

    def _draw(self, progress: Any) -> None:
        self._last = None
        gap = "" if progress.gap != progress.gap else f"   gap {100 * progress.gap:.3g} %"
        text = f"iteration {progress.iteration}   bound {progress.bound:.8g}{gap}   {progress.seconds:.1f} s"
        if in_notebook():
            from IPython.display import HTML, display  # type: ignore[import]

            shown = HTML(f"<pre>{escape(text)}</pre>")
            if self._display is None:
                self._display = display(shown, display_id=True)
            else:
                self._display.update(shown)
        else:
            sys.stderr.write("\r\x1b[K" + text)
            sys.stderr.flush()
            self._display = True

    def close(self) -> None:
        if getattr(self, "_last", None) is not None:
            self._draw(self._last)
        if self._display is True:
            sys.stderr.write("\n")


def progress_of(given: Any) -> Any:
    """The callable that progress= means: None is a line in notebooks, and nothing elsewhere."""
    if given is True or given is None and in_notebook():
        return Line()
    if given is None or given is False:
        return None
    if not callable(given):
        raise TypeError(f"progress: {given!r} cannot be called")
    return given


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else escape(str(value))


def table_html(table: Any) -> str:
    names = table.names
    rows = [row for _, row in zip(range(_MOST_ROWS), table)]
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{_number(row[name])}</td>" for name in names) + "</tr>" for row in rows)
    more = f"<p>{len(table) - len(rows)} more rows</p>" if len(table) > len(rows) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def decision_html(decision: Any) -> str:
    units = decision.facts.get("units", {})
    parts = [f"<p>{escape(repr(decision)[1:-1])}</p>"]
    for kind, elements in decision.facts.get("decision", {}).items():
        keys: dict[str, None] = {}
        for figures in elements.values():
            keys |= {key: None for key, value in figures.items() if isinstance(value, (int, float))}
        head = "".join(f"<th>{escape(key)}<br>{escape(units.get(key, ''))}</th>" for key in keys)
        body = "".join(
            f"<tr><th>{escape(name)}</th>" + "".join(f"<td>{_number(figures.get(key, ''))}</td>" for key in keys) + "</tr>"
            for name, figures in elements.items()
        )
        parts.append(f"<table><thead><tr><th>{escape(kind)}</th>{head}</tr></thead><tbody>{body}</tbody></table>")
    return "".join(parts)


_names = count()


def _with_own_names(svg: str) -> str:
    """The same picture with names that no other picture on the page has."""
    prefix = f"cobre{next(_names)}-"
    return svg.replace(' id="', f' id="{prefix}').replace("url(#", f"url(#{prefix}").replace('href="#', f'href="#{prefix}')


def result_html(result: Any) -> str:
    """A sentence, and the charts of the report."""
    from ._plan import _folders

    with _folders([result]) as folders:
        charts = _cobre.charts(folders)
    cards = "".join(f'<div style="display:inline-block;margin:4px">{_with_own_names(svg)}</div>' for _, _, svg in charts)
    return f"<p>{escape(repr(result)[1:-1])}</p>{cards}"
