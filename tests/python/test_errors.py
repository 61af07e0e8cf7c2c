# SPDX-License-Identifier: Apache-2.0
"""Errors: their classes, what they say, and what the others see of one."""

import pathlib
import pickle

import cobre
import pytest
from cobre._errors import make_error

FAMILIES = {
    "CollectiveFailed": cobre.CollectiveError,
    "InvalidBufferSize": cobre.ArgumentError,
    "InvalidRoot": cobre.ArgumentError,
    "InvalidArgument": cobre.ArgumentError,
    "InvalidCommunicator": cobre.CommunicatorError,
    "AllocationFailed": cobre.AllocationError,
    "BackendNotAvailable": cobre.OpenError,
    "InvalidBackend": cobre.OpenError,
    "InitializationFailed": cobre.OpenError,
    "MissingConfiguration": cobre.OpenError,
    "SomethingNew": cobre.CobreError,
}


@pytest.mark.parametrize("kind", FAMILIES)
def test_families(kind):
    error = make_error('{"kind": "%s", "message": "m", "context": {"rank": 1, "culprit": 2}, "suggestion": "s"}' % kind)
    assert type(error) is FAMILIES[kind] and isinstance(error, cobre.CobreError)
    assert (error.kind, error.message, error.context, error.suggestion) == (kind, "m", {"rank": 1, "culprit": 2}, "s")
    assert str(error) == "m (s)"
    same = pickle.loads(pickle.dumps(error))
    assert type(same) is type(error) and vars(same) == vars(error)
    assert type(error).__module__ == "cobre" and type(error).__doc__


def test_python_families():
    assert issubclass(cobre.ArgumentError, ValueError) and issubclass(cobre.AllocationError, MemoryError)


def test_every_kind_of_the_library():
    """The table knows each status of comm.h, but for those of planning, which cannot happen here."""
    header = (pathlib.Path(__file__).parents[2] / "include/cobre/comm.h").read_text()
    kinds = header.split("COBRE_COMMUNICATION_STATUS_MAP(X)")[1].split("#define COBRE_PLANNING_STATUS_MAP(X)")[0]
    names = [line.split('"')[1] for line in kinds.splitlines() if '"' in line]
    assert set(names) == set(FAMILIES) - {"SomethingNew"}


def test_context():
    with cobre.Comm(backend="local") as comm:
        with pytest.raises(cobre.ArgumentError) as caught:
            comm.broadcast(bytearray(1), 5)
    assert caught.value.kind == "InvalidRoot" and caught.value.context["operation"] == "broadcast"
    with pytest.raises(cobre.OpenError) as caught:
        cobre.Comm(backend="mpi", plugin="/nowhere.so")
    assert caught.value.kind and caught.value.message and caught.value.suggestion


@pytest.mark.parametrize("where", ["shm", "tcp"])
@pytest.mark.parametrize("name", ["left", "killed", "aborted", "mismatch", "stalled"])
def test_causes(job, where, name):
    fails = {"killed": True, "aborted": True}.get(name, False)
    done = job("ranks_errors.py", name, where, 2, fails=fails)
    assert "Traceback" not in done.stderr
    if name == "aborted":
        assert done.returncode == 7


@pytest.mark.parametrize("where", ["shm", "tcp", "openmpi", "mpich"])
def test_traceback_first(job, where):
    """One rank raises: the job ends, and its traceback is the first."""
    done = job("ranks_errors.py", "raises_inside", where, 3 if where == "shm" else 2, fails=True)
    first = done.stderr.index("LookupError: this rank is lost")
    assert "peer left" not in done.stderr[:first] and " left" not in done.stderr[:first]
    if where in ("shm", "tcp"):
        assert "cobre.CollectiveError" in done.stderr[first:] and done.returncode == 1
        assert "rank 1 of" in done.stderr


def test_caught(job):
    job("ranks_errors.py", "caught", "shm", 2)


def test_exit(job):
    assert job("ranks_errors.py", "exits", "shm", 2, fails=True).returncode == 3
