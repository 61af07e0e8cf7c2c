# SPDX-License-Identifier: Apache-2.0
"""docs/planning.ipynb: its code runs, and says what the notebook shows."""

import json
import os
import pathlib

import pytest

NOTEBOOK = pathlib.Path(__file__).parents[2] / "docs/planning.ipynb"


def texts(cell):
    """What a cell of the notebook has printed, and its result as text."""
    streams = "".join("".join(out["text"]) for out in cell["outputs"] if out["output_type"] == "stream")
    results = ["".join(out["data"]["text/plain"]) for out in cell["outputs"] if out["output_type"] == "execute_result"]
    return streams, results


def code_cells():
    return [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]


def test_code(monkeypatch, capsys):
    import matplotlib

    matplotlib.use("agg")
    monkeypatch.chdir(NOTEBOOK.parent)
    names = {}
    for cell in code_cells():
        lines = [line for line in "".join(cell["source"]).splitlines() if not line.startswith("%")]
        streams, results = texts(cell)
        capsys.readouterr()
        if results:
            exec("\n".join(lines[:-1]), names)
            value = eval(lines[-1], names)
            assert repr(value) == results[0] or "object at" in repr(value) or "Figure" in repr(value) or isinstance(value, list)
        else:
            exec("\n".join(lines), names)
        assert capsys.readouterr().out == streams


def test_kernel():
    """The same in a kernel of Jupyter: results draw themselves, and progress is a line."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    notebook = nbformat.read(NOTEBOOK, 4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    outputs = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
    shown = ["".join(out.data.get("text/html", "")) for out in outputs if out.output_type == "display_data"]
    assert any("iteration 40" in text and "bound" in text for text in shown)  # one line, drawn again: one output
    assert any("<svg" in "".join(out.get("data", {}).get("text/html", "")) for out in outputs)
