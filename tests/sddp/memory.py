#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The memory of a training with 1, 2 and 4 ranks: cuts and openings are there once a host, whatever the number of ranks.

    memory.py COBRE PROGRAM        COBRE: the command; PROGRAM: memory.c

PSS counts a page that k processes have mapped as 1/k in each, so the sum over the ranks is what the job takes. Cuts and
openings are in regions: mappings of the job's file in /dev/shm, behind the part that collectives use. Exit code 1: they
take more with more ranks, or less than they must.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

RANKS = (1, 2, 4)
PLANTS, STAGES, OUTCOMES = 50, 15, 60  # openings: 0.35 MB
ITERATIONS, PASSES = 1, 4  # cuts: 1.4 MB
PAGES = 64 * 1024  # bytes that may differ: the end of a block, the head of a region


def write_case(folder):
    """Independent reservoirs, one for each state, that serve one load together with some thermal plants."""
    draw = random.Random(1)
    plants = [f"p{number}" for number in range(PLANTS)]

    def table(name, rows):
        with open(os.path.join(folder, name), "w") as file:
            file.writelines(",".join(map(str, row)) + "\n" for row in rows)

    def inflows():
        wet = draw.lognormvariate(0, 0.4)
        return [round(55 * wet * draw.lognormvariate(0, 0.3), 3) for _ in plants]

    with open(os.path.join(folder, "case.json"), "w") as file:
        json.dump({"units": "energy", "time_unit": "month", "stages": STAGES, "subsystems": ["main"]}, file)
    table("hydros.csv", [("hydro", "subsystem", "storage_max", "storage_initial", "turbine_max"),
                         *((plant, "main", 300, 150, 120) for plant in plants)])
    table("thermals.csv", [("thermal", "subsystem", "max", "cost"),
                           *((f"t{cost}", "main", 25 * PLANTS, cost) for cost in (10, 19, 27))])
    table("deficits.csv", [("tier", "cost"), (1, 500)])
    table("load.csv", [("main",), (100 * PLANTS,)])
    table("inflows.csv", [("stage", *plants), (1, *(60 for _ in plants)),
                          *((stage, *inflows()) for stage in range(2, STAGES + 1) for _ in range(OUTCOMES))])


def mappings(pid):
    """(offset in the file, file, figures in bytes) of each mapping of a process."""
    found = []
    with open(f"/proc/{pid}/smaps") as file:
        for line in file:
            words = line.split()
            if not words[0].endswith(":"):
                found.append((int(words[2], 16), " ".join(words[5:]), {}))
            elif words[-1] == "kB":
                found[-1][2][words[0][:-1]] = 1024 * int(words[1])
    return found


def measure(cobre, program, case, ranks):
    command = [cobre, "run", "-n", str(ranks), "--backend", "shm", program, case, str(ITERATIONS), str(PASSES)]
    job = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    lines = [job.stdout.readline().split() for _ in range(ranks)]
    if not all(lines):
        sys.exit(f"{ranks} ranks: the job ended early, code {job.wait()}")
    pids = [int(line[0]) for line in lines]
    total = regions = slots = private = 0
    for offset, name, figures in (mapping for pid in pids for mapping in mappings(pid)):
        total += figures["Pss"]
        if not name.startswith("/dev/shm/"):
            private += figures["Private_Clean"] + figures["Private_Dirty"]
        elif offset:
            regions += figures["Pss"]
        else:
            slots += figures["Pss"]
    job.communicate()
    if job.returncode:
        sys.exit(f"{ranks} ranks: code {job.returncode}")
    cuts, cut_bytes, opening_bytes = map(int, lines[0][1:])
    return {"ranks": ranks, "cuts": cuts, "cut_bytes": cut_bytes, "opening_bytes": opening_bytes, "pss": total,
            "regions": regions, "slots": slots, "private_a_rank": private // ranks}


def print_table(rows):
    first = rows[0]
    print(f"{first['cuts']} cuts ({first['cut_bytes'] / 1e6:.2f} MB), openings {first['opening_bytes'] / 1e6:.2f} MB; "
          "all ranks together, in MB:")
    print(f"{'ranks':>5} {'total PSS':>10} {'cuts and openings':>18} {'slots':>6} {'private, each rank':>19}")
    for row in rows:
        print(f"{row['ranks']:5} {row['pss'] / 1e6:10.2f} {row['regions'] / 1e6:18.2f} {row['slots'] / 1e6:6.2f} "
              f"{row['private_a_rank'] / 1e6:19.2f}")


def measure_all(cobre, program):
    with tempfile.TemporaryDirectory(prefix="cobre-memory.") as case:
        write_case(case)
        return [measure(cobre, program, case, ranks) for ranks in RANKS]


def check(rows):
    least = rows[0]["cut_bytes"] + rows[0]["opening_bytes"]
    for row in rows:
        if row["regions"] < least or abs(row["regions"] - rows[0]["regions"]) > PAGES:
            sys.exit(f"{row['ranks']} ranks: {row['regions']} bytes of cuts and openings; with 1: {rows[0]['regions']}; "
                     f"they have {least}")


def main():
    parser = argparse.ArgumentParser(description="memory of a training, by number of ranks")
    parser.add_argument("cobre")
    parser.add_argument("program")
    options = parser.parse_args()
    rows = measure_all(options.cobre, options.program)
    print_table(rows)
    check(rows)


if __name__ == "__main__":
    main()
