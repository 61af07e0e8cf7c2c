# SPDX-License-Identifier: Apache-2.0
"""What the tests share: programs of one or more ranks, each rank a process.

Most checks are in the programs ranks_*.py, because they need several ranks and because starting interpreters takes time. A
program has its name in argv[1]; see kit.py."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
COBRE = os.environ.get("COBRE_COMMAND") or str(HERE.parents[1] / "build/default/cobre")
MPIS = os.environ.get("COBRE_TEST_MPIS", "openmpi mpich").split()
PATIENCE = 300  # seconds; only a test that hangs takes so long
PYTHON = [sys.executable, "-X", "dev", "-W", "error", "-B"]

LAUNCHERS = {
    "shm": lambda ranks: [COBRE, "run", "-n", str(ranks)],
    "tcp": lambda ranks: [COBRE, "run", "-n", str(ranks), "--backend", "tcp"],
    "openmpi": lambda ranks: ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)],
    "mpich": lambda ranks: ["mpirun.mpich", "-n", str(ranks)],
    "local": lambda ranks: [],
}


def start(command, **options):
    """The command, to its end: as one that subprocess.run gives, with what was printed as text."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COBRE_") or name.startswith("COBRE_MPI")}
    environment.update(PYTHONDONTWRITEBYTECODE="1", **options.pop("environment", {}))
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment, **options)


@pytest.fixture
def job():
    """job(program, name, where="local", ranks=1, fails=False): runs it; it must end well, or fail, or as it likes (None). Returns
    what it printed, and its exit code."""

    def run(program, name, where="local", ranks=1, fails=False, **options):
        if where in ("openmpi", "mpich") and where not in MPIS:
            pytest.skip(f"the build has no plugin for {where}")
        done = start([*LAUNCHERS[where](ranks), *PYTHON, str(HERE / program), name], **options)
        assert fails in (None, done.returncode != 0), f"{where}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run
