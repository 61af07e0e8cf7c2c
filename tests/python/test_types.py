# SPDX-License-Identifier: Apache-2.0
"""Type stubs: mypy in strict mode, where it is there."""

import os
import pathlib
import subprocess
import sys

import cobre
import pytest

HERE = pathlib.Path(__file__).parent
PACKAGE = pathlib.Path(cobre.__file__).parent


def test_strict():
    """What users write, the examples, and the package's own face."""
    pytest.importorskip("mypy")
    files = [HERE / "typed.py", *sorted((HERE.parents[1] / "examples").rglob("*.py"))]
    files += [PACKAGE / name for name in ("_comm.py", "_errors.py", "_linear.py", "_notebook.py", "_objects.py", "_plan.py", "_problem.py", "_tables.py", "_cobre.pyi")]
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "--follow-imports", "silent", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
    assert done.returncode == 0, done.stdout + done.stderr


def test_marked():
    assert (PACKAGE / "py.typed").exists()
