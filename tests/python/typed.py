# SPDX-License-Identifier: Apache-2.0
"""What mypy in strict mode must take, with the types that it must find. test_types.py gives it to mypy; nobody runs it."""

from __future__ import annotations

import array

import cobre

with cobre.Comm() as comm:
    whole: int = comm.allreduce(comm.rank, "max")
    real: float = comm.allreduce(0.5)
    words: array.array[float] = comm.allreduce(array.array("d", [1.0]))
    out = bytearray(8)
    same: bytearray = comm.allreduce(memoryview(b"12345678"), out=out)
    gathered: memoryview = comm.allgatherv(memoryview(b"x"), [1] * comm.size)
    table: dict[str, int] = comm.broadcast_object({"a": 1}, root=0)
    tables: list[dict[str, int]] = comm.allgather_object(table)
    total: float = comm.exact_sum([0.1, 0.2]) + comm.exact_sum(x for x in words) + comm.exact_sum(3)
    part: cobre.Comm = comm.split_local()
    with comm.region(100, "f8") as region:
        shared: cobre.Region = region
        claimed: memoryview = region.claim(0, 10)
        comm.gather_into(region, words, counts=range(comm.size))
        region.seal()
        length: int = len(region)
    comm.barrier()

try:
    cobre.Comm("shm", name="/job", rank=0, size=2, join_timeout=1.5)
except cobre.CollectiveError as error:
    cause: str | None = error.cause
    culprit: int | None = error.culprit
except cobre.CobreError as other:
    print(other.kind, other.message, other.context["rank"], other.suggestion)



def work(comm: cobre.Comm, x: float) -> float:
    return comm.allreduce(x)


cobre.launch(work, num_workers=2, args=(1.0,), all_results=True)

problem = cobre.Problem("hydrothermal", sense="min", bound=0.0)
volume: cobre.State = problem.state("volume", initial=200, lower=0, upper=200)
levels: dict[str, cobre.State] = problem.state_family("level", ["a", "b"], initial={"a": 1.0, "b": 2.0}, lower=0)
stage: cobre.Node = problem.stage(discount=0.9)
thermal, hydro = stage.variables("thermal", "hydro", lower=0, cost=50)
inflow: cobre.Random = stage.random("inflow", [0, 50.0], probabilities=[0.5, 0.5])
price, wind = stage.randoms(["price", "wind"], [(1, 2), (3, 4)])
flow = stage.family("flow", [("a", "b")], lower=0, upper={("a", "b"): 5 * wind})
across: cobre.Expression = flow["a", "b"]
balance: cobre.Constraint = volume.out == volume.in_ - hydro + inflow
stage.add(balance, name="balance")
stage.add(sum(flow.values()) + thermal / 2 <= 150)
stage.between(0, volume.out - 2 * levels["a"].out, 5)
stage.minimise(price * thermal + 3)
stages: list[list[cobre.Node]] = problem.markov([[[0.5, 0.5]]])
problem.edge(problem.root, stage, probability=0.5)
problem.scenario([(stage, {inflow: 3})])
problem.write("x.sof.json")
bound: float = problem.train(iterations=3).bound

cobre.Problem(sense="maximum")  # type: ignore[arg-type]
stage.add(thermal + hydro)  # type: ignore[arg-type]
wrong = comm.allreduce(1.0, "product")  # type: ignore[call-overload]
missing = comm.rang  # type: ignore[attr-defined]
