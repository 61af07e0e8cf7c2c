# SPDX-License-Identifier: Apache-2.0
"""What a training takes as its cuts become many: CPU time per LP, and memory. trainer.py runs it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..", "tests")
sys.path.append(os.path.join(TESTS, "sddp"))

from memory import write_case  # noqa: E402

STAGES, OUTCOMES = 6, 8
WINDOW = 25  # iterations: before the one that is named


def write_states(folder):
    """50 reservoirs, one state each."""
    write_case(folder, STAGES, OUTCOMES)


def write_cascades(folder):
    """150 hydros in cascades with PAR inflows, 218 states, LPs of 805 rows."""
    shutil.copytree(os.path.join(TESTS, "cases", "hydros150"), folder, dirs_exist_ok=True)
    path = os.path.join(folder, "case.json")
    with open(path) as file:
        case = json.load(file)
    case["stages"] = STAGES
    case["inflow"]["openings"] = OUTCOMES
    with open(path, "w") as file:
        json.dump(case, file)


def train(options, folder, iterations):
    """The events of its iterations."""
    out = os.path.join(folder, "run")
    subprocess.run([options.cobre, "train", os.path.join(folder, "case"), "--iterations", str(iterations), "--quiet", "--out", out],
                   check=True)
    with open(os.path.join(out, "events.jsonl")) as file:
        events = [json.loads(line) for line in file]
    return [event for event in events if event["event"] == "iteration"]


def look(events, iteration):
    """What an LP took there, and what there was."""
    window = events[max(0, iteration - WINDOW):iteration]
    cpu, solves = (sum(sum(event["per_rank"][name]) for event in window) for name in ("cpu", "solves"))
    last = window[-1]
    return {"iteration": iteration, "ms": 1000 * cpu / solves, "cuts": last["cuts"], "memory": sum(last["per_rank"]["memory"]),
            "active": sum(last["per_stage"]["active"])}


def by_cuts(options):
    """Each case from its first cuts to many."""
    found = {}
    for name, write, points in (("50 states", write_states, (50, 200) if options.quick else (50, 500, 1000, 2000)),
                                ("218 states", write_cascades, (25, 60) if options.quick else (50, 200, 500))):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "case"))
            write(os.path.join(folder, "case"))
            events = train(options, folder, points[-1])
        rows = [look(events, point) for point in points]
        cpu = sum(sum(event["per_rank"]["cpu"]) for event in events)
        found[name] = {"rows": rows, "cpu": cpu, "growth": rows[-1]["ms"] / rows[0]["ms"]}
        print(f"\n{name}, {STAGES} stages of {OUTCOMES} outcomes, 1 forward pass, {points[-1]} iterations: {cpu:.1f} s of CPU time")
        print("  iteration   cuts   in the LPs   CPU time per LP   memory")
        for row in rows:
            print(f"  {row['iteration']:9} {row['cuts']:6} {row['active']:12} {row['ms']:14.2f} ms {row['memory'] / 1e6:5.1f} MB")
    return found
