#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py BEFORE AFTER: two builds of the command `cobre`, measured in turn with `cobre bench`.

Every row is the median over the rounds of the ratio AFTER / BEFORE; above 1 is slower. A machine that other programs share
drifts, so that only neighbours in time are compared, and who goes first alternates."""
import argparse
import json
import os
import statistics
import subprocess
import sys

SETTINGS = {
    "shm-2": ["run", "-n", "2"],
    "shm-4": ["run", "-n", "4"],
    "shm-8": ["run", "-n", "8"],
    "tcp-2": ["run", "-n", "2", "--backend", "tcp"],
    "tcp-4": ["run", "-n", "4", "--backend", "tcp"],
    "openmpi-2": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2"],
    "mpich-2": ["mpirun.mpich", "-n", "2"],
}


def measure(cobre, setting, options):
    words = SETTINGS[setting]
    start = [cobre] + words if words[0] == "run" else words
    output = subprocess.run(start + [cobre, "bench", "--json"] + options, check=True, capture_output=True, text=True).stdout
    results = json.loads(output)["results"]
    return {(row["operation"], row["bytes"]): row["median_us"] for row in results}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--settings", default=",".join(SETTINGS), help="some of " + ", ".join(SETTINGS))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--limit", type=float, default=1.05, help="a row above it makes the exit code 1")
    arguments, options = parser.parse_known_args()  # the rest is for cobre bench: --operations, --sizes, --seconds
    builds = [os.path.abspath(arguments.before), os.path.abspath(arguments.after)]
    slower = 0
    print(f"{'setting':10} {'operation':18} {'bytes':>9} {'before us':>10} {'ratio':>6} {'middle half':>12}")
    for setting in arguments.settings.split(","):
        times = {}
        for turn in range(arguments.rounds):
            for which in (0, 1) if turn % 2 == 0 else (1, 0):
                for row, time in measure(builds[which], setting, options).items():
                    times.setdefault(row, ([], []))[which].append(time)
        for (operation, size), (before, after) in times.items():
            ratios = sorted(b / a for a, b in zip(before, after))
            ratio, part = statistics.median(ratios), len(ratios) // 4
            slow = ratio > arguments.limit
            slower += slow
            spread = f"{ratios[part]:.2f}-{ratios[-1 - part]:.2f}"
            print(f"{setting:10} {operation:18} {size:9} {statistics.median(before):10.2f} {ratio:6.3f} {spread:>12}"
                  f"{'  slower' if slow else ''}", flush=True)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
