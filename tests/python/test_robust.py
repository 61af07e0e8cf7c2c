# SPDX-License-Identifier: Apache-2.0
"""No call, in any order, with any argument, may crash the interpreter."""

import pytest


@pytest.mark.parametrize("where, ranks", [("local", 1), ("shm", 2), ("tcp", 2), ("mpich", 1)])
def test_after_free(job, where, ranks):
    job("ranks_robust.py", "after_free", where, ranks)


@pytest.mark.parametrize("where, ranks", [("local", 1), ("shm", 2), ("tcp", 2)])
def test_in_a_child(job, where, ranks):
    job("ranks_robust.py", "in_a_child", where, ranks)


@pytest.mark.parametrize("where", ["shm", "tcp", "openmpi", "mpich"])
def test_two_threads(job, where):
    job("ranks_robust.py", "two_threads", where, 2)


@pytest.mark.parametrize("where, ranks", [("local", 1), ("shm", 2)])
def test_interpreters(job, where, ranks):
    job("ranks_robust.py", "interpreters", where, ranks)


def test_handlers(job):
    job("ranks_robust.py", "handlers", "shm", 2)


@pytest.mark.parametrize("where, ranks", [("local", 1), ("shm", 2), ("tcp", 2)])
def test_at_exit(job, where, ranks):
    assert job("ranks_robust.py", "at_exit", where, ranks).stderr == ""


@pytest.mark.parametrize("name", ["evil_arguments", "fuzz", "leaks"])
def test_alone(job, name):
    job("ranks_robust.py", name)


@pytest.mark.parametrize("where", ["shm", "tcp"])
def test_daemon(job, where):
    job("ranks_robust.py", "daemon", where, 2)
