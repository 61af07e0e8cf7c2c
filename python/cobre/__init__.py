# SPDX-License-Identifier: Apache-2.0
"""Collective communication and node-shared memory for numerical programs, and a planner by SDDP that runs on them.

    import cobre, numpy

    with cobre.Comm() as comm:                     # who this rank is comes from the environment
        part = numpy.arange(comm.rank, 1000, comm.size, dtype="f8")
        total = comm.allreduce(part.sum())         # the same bits on every rank
        everything = comm.allgatherv(part)

One process without a launcher is a job of one rank. `cobre run -n 4 python3 script.py` starts four, an mpirun does so too, and
`cobre.launch(function, num_workers=4)` runs a function in four new processes from within a program.

    training = cobre.train("cases/brazil3", num_workers=4, iterations=100)
    simulation = training.simulate(trajectories=1000)
    print(training.bound, simulation.mean)
"""

from __future__ import annotations

from ._comm import Comm, Region
from ._cobre import version as _version
from ._errors import (
    AllocationError,
    ArgumentError,
    CaseError,
    CobreError,
    CollectiveError,
    CommunicatorError,
    ConvergenceError,
    FileError,
    Issue,
    OpenError,
    PolicyError,
    SolverError,
    WorkerError,
)

TYPE_CHECKING = False  # typing takes time to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ._plan import (
        Case,
        Comparison,
        Decision,
        Policy,
        Progress,
        Series,
        Simulation,
        Training,
        Validation,
        Worker,
        compare,
        load,
        load_policy,
        report,
        simulate,
        train,
        validate,
    )
    from ._problem import Constraint, Expression, Node, Problem, Random, State, Variable
    from ._tables import Table

__version__ = _version()
__all__ = [
    "AllocationError",
    "ArgumentError",
    "Case",
    "CaseError",
    "CobreError",
    "CollectiveError",
    "Comm",
    "CommunicatorError",
    "Comparison",
    "Constraint",
    "ConvergenceError",
    "Decision",
    "Expression",
    "FileError",
    "Issue",
    "Node",
    "OpenError",
    "Policy",
    "PolicyError",
    "Problem",
    "Progress",
    "Random",
    "Region",
    "Series",
    "Simulation",
    "SolverError",
    "State",
    "Table",
    "Training",
    "Validation",
    "Variable",
    "Worker",
    "WorkerError",
    "compare",
    "launch",
    "load",
    "load_policy",
    "report",
    "simulate",
    "train",
    "validate",
]

_PROBLEM = ("Constraint", "Expression", "Node", "Problem", "Random", "State", "Variable")

if not TYPE_CHECKING:  # a checker of types shall know the names

    def __getattr__(name):
        """What belongs to the planner is loaded when it is first used."""
        if name not in __all__:
            raise AttributeError(f"module 'cobre' has no attribute {name!r}")
        from importlib import import_module

        module = "_problem" if name in _PROBLEM else "_tables" if name == "Table" else "_plan"
        found = globals()[name] = getattr(import_module("." + module, __name__), name)
        return found


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))


def launch(
    function: Callable[..., Any],
    num_workers: int | None = None,
    backend: str = "auto",
    args: Iterable[Any] = (),
    *,
    all_results: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Run function(comm, *args) in new processes, one per rank, and return what rank 0 returned.

    num_workers: how many; without it one per usable core.
    backend: "auto", "shm", "tcp" or "local" (one worker). auto takes tcp if COBRE_TCP_COORDINATOR is set: then worker i is rank
        COBRE_TCP_RANK + i (default 0) of COBRE_TCP_SIZE (default num_workers), and launches on several machines form one job.
        Each returns what the first of its own workers returned. Else auto takes shm.
    all_results: return a list of what each worker returned.
    start_method: "spawn" starts new interpreters; "forkserver" copies a process that multiprocessing keeps for this.

    A worker that fails ends the others and gives WorkerError. A script calls launch() under `if __name__ == "__main__":` if it
    defines the function itself, because the workers run the script once more. Functions of notebooks need cloudpickle.
    """
    from ._launch import launch as run  # here: a program that does not need it does not load it

    return run(function, num_workers, backend, args, all_results=all_results, start_method=start_method)
