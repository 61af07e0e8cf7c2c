# SPDX-License-Identifier: Apache-2.0
"""Regions: memory that the ranks of a node share."""

import pytest


@pytest.mark.parametrize("where, ranks", [("local", 1), ("shm", 3), ("tcp", 2), ("openmpi", 2), ("mpich", 2)])
def test_everything(job, where, ranks):
    job("ranks_region.py", "everything", where, ranks)


@pytest.mark.parametrize("where, ranks", [("local", 1), ("shm", 2), ("tcp", 2)])
def test_dropped(job, where, ranks):
    job("ranks_region.py", "dropped", where, ranks)
