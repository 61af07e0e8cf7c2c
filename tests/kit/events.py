#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""events.py [NAME=VALUE...]: events of a training that nobody has made (docs/events.md), for tests of what shows them.

started=K    begins with an event `started`, after K iterations; without it there is none
first=A last=B   iterations
ranks=R stages=S
end=stop|error   how it ends; without it there is no end
name=TEXT out=FOLDER rules=JSON
"""
import json
import math
import socket
import sys

given = dict(argument.split("=", 1) for argument in sys.argv[1:])
ranks, stages = int(given.get("ranks", 2)), int(given.get("stages", 3))
first, last = int(given.get("first", 1)), int(given.get("last", 0))
PHASES = {"forward": 0.2, "backward": 0.5, "bound": 0.02, "communication": 0.05, "waiting": 0.1, "simulation": 0, "other": 0.03}


def say(event, seconds, **members):
    print(json.dumps({"event": event, "seconds": seconds, **members}))


def per_rank(took):
    """The last rank is the slowest."""
    shares = {name: [took * share * (1 + 0.1 * r) for r in range(ranks)] for name, share in PHASES.items()}
    return dict(shares, cpu=[0.8 * took] * ranks, solves=[300] * ranks, memory=[10**8 + 10**7 * r for r in range(ranks)],
                shared=[4 * 10**7] * ranks)


def iteration(k):
    bound, mean = 1000 - 500 / k, 1000 + 900 / k
    made = [k * ranks] * (stages - 1) + [0]
    kept = [m // 2 for m in made]
    say("iteration", 0.1 * k, iteration=k, bound=bound, mean=mean, deviation=50, window_mean=mean, window_half=300 / math.sqrt(k),
        window_passes=min(100, ranks * k), gap=(mean - bound) / mean, cuts=sum(made), solves=300 * ranks * k, ranks=per_rank(0.1),
        stages={"made": made, "kept": kept, "active": [m // 4 for m in made]},
        operations={"allreduce": {"calls": 12, "bytes": 96 * ranks, "seconds": 0.001},
                    "allgatherv": {"calls": stages, "bytes": 4096, "seconds": 0.004}})


if "started" in given:
    say("started", 0, format=1, date="2026-01-01T00:00:00Z", version="0", case="cases/here", name=given.get("name", "here"),
        sense="min", cost_unit="kR$", nodes=stages, stages=stages, states=1, ranks=ranks, backend="shm", forward_passes=ranks, seed=0,
        averse=False, rules=json.loads(given.get("rules", '{"iterations": "100"}')), iterations=int(given["started"]),
        out=given.get("out", "run"), host=socket.gethostname(), pid=1)
for number in range(first, last + 1):
    iteration(number)
if given.get("end") == "stop":
    say("finished", 0.1 * last, date="2026-01-01T00:00:00Z", stop="iteration limit", iterations=last, unfinished=False, converged=False,
        bound=1000 - 500 / max(1, last), proven=True, averse=False, window_mean=1000, window_half=1, window_passes=100, cuts=1, solves=1,
        lps_without_cut=0, solver="clp", seed=0, policy="run/policy.cobre", ranks=per_rank(1), overhead={"events": 0, "steering": 0})
if given.get("end") == "error":
    say("error", 0.1 * last, kind="solver", message="stage 2 has no solution", suggestion="look at its limits")
