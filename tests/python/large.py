# SPDX-License-Identifier: Apache-2.0
"""A large problem, for a test and for `make bench`."""

import time

import cobre


def build_large(nodes):
    """The seconds of this process that it takes."""
    begin = time.process_time()
    problem = cobre.Problem("large")
    volume = problem.state("volume", initial=100, lower=0, upper=200)
    for t in range(nodes):
        stage = problem.stage()
        x = stage.family("x", range(48), lower=0, upper=100)
        inflow = stage.random("inflow", range(10))
        stage.add(volume.out == volume.in_ + x[0] - x[1] + inflow)
        for i in range(19):
            stage.add(x[i] + 2 * x[i + 1] + 3.5 * x[i + 2] - x[i + 3] >= 4)
        stage.minimise(sum(3 * one for one in x.values()))
    made, issues = problem._finish()
    assert made is not None and not issues
    return time.process_time() - begin
