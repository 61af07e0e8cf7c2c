#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The memory of a training with 1, 2 and 4 ranks: cuts and openings are there once a host, whatever the number of ranks.

    memory.py COBRE PROGRAM        COBRE: the command; PROGRAM: memory.c

PSS counts a page that k processes have mapped as 1/k in each, so the sum over the ranks is what the job takes. Cuts and
openings are in regions: mappings of the job's file in /dev/shm, behind the part that collectives use. Exit code 1: they
take more with more ranks, or less than they must. Or a large case takes more: on four ranks than on one, as a text while it is
read, by LPs that are not in use.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "bench"))
import production  # noqa: E402

RANKS = (1, 2, 4)
PLANTS, STAGES, OUTCOMES = 50, 15, 60  # openings: 0.35 MB
ITERATIONS, PASSES = 1, 4  # cuts: 1.4 MB
PAGES = 64 * 1024  # bytes that may differ: the end of a block, the head of a region


def write_case(folder, stages=STAGES, outcomes=OUTCOMES):
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
        json.dump({"units": "energy", "time_unit": "month", "stages": stages, "subsystems": ["main"]}, file)
    table("hydros.csv", [("hydro", "subsystem", "storage_max", "storage_initial", "turbine_max"),
                         *((plant, "main", 300, 150, 120) for plant in plants)])
    table("thermals.csv", [("thermal", "subsystem", "max", "cost"),
                           *((f"t{cost}", "main", 25 * PLANTS, cost) for cost in (10, 19, 27))])
    table("deficits.csv", [("tier", "cost"), (1, 500)])
    table("load.csv", [("main",), (100 * PLANTS,)])
    table("inflows.csv", [("stage", *plants), (1, *(60 for _ in plants)),
                          *((stage, *inflows()) for stage in range(2, stages + 1) for _ in range(outcomes))])


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


def read_peak(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM:"))


def measure(cobre, program, case, ranks, iterations=ITERATIONS, passes=PASSES):
    """Iterations 0: of the case alone."""
    command = [str(word) for word in (cobre, "run", "-n", ranks, "--backend", "shm", program, case, iterations, passes)]
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
    peak = max(map(read_peak, pids))  # that of rank 0, which reads
    job.communicate()
    if job.returncode:
        sys.exit(f"{ranks} ranks: code {job.returncode}")
    cuts, cut_bytes, opening_bytes = map(int, lines[0][1:])
    return {"ranks": ranks, "cuts": cuts, "cut_bytes": cut_bytes, "opening_bytes": opening_bytes, "pss": total,
            "regions": regions, "slots": slots, "private_a_rank": private // ranks, "peak": peak}


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


def check_large_case(cobre, program):
    """What the case adds to the memory of a tiny one."""
    tiny = os.path.join(HERE, "..", "..", "cases", "toy")
    with tempfile.TemporaryDirectory(prefix="cobre-memory.") as case:
        production.write_case(case)
        one, four = (measure(cobre, program, case, ranks, 0)["pss"] - measure(cobre, program, tiny, ranks, 0)["pss"]
                     for ranks in (1, 4))
    print(f"a large case: {one / 1e6:.1f} MB on one rank, {four / 1e6:.1f} MB on four")
    if four > 1.1 * one:
        sys.exit("it takes more than 1.1 times as much on four ranks")


def check_text_and_lps(cobre, program):
    with tempfile.TemporaryDirectory(prefix="cobre-memory.") as folder:
        case, text = os.path.join(folder, "case"), os.path.join(folder, "case.sof.json")
        production.write_case(case, stages=12, openings=2)
        subprocess.run([cobre, "validate", case, "--write", text], check=True, stdout=subprocess.DEVNULL)
        size, peak = os.path.getsize(text), measure(cobre, program, text, 1, 0)["peak"]
        private = measure(cobre, program, case, 1, 1, 1)["private_a_rank"]
    print(f"StochOptFormat of {size / 1e6:.1f} MB: at most {peak / 1e6:.1f} MB; 12 LPs of 2,000 columns: {private / 1e6:.1f} MB")
    if peak > 4 * size:
        sys.exit("reading the text takes more than 4 times its size")
    solvers = json.loads(subprocess.run([cobre, "info", "--json"], check=True, stdout=subprocess.PIPE).stdout)["solvers"]
    if private > 20e6 and any(solver["name"] == "clp" and solver["version"] for solver in solvers):
        sys.exit("LPs that are not in use keep their factors")


def main():
    parser = argparse.ArgumentParser(description="memory of a training, by number of ranks")
    parser.add_argument("cobre")
    parser.add_argument("program")
    options = parser.parse_args()
    rows = measure_all(options.cobre, options.program)
    print_table(rows)
    check(rows)
    check_large_case(options.cobre, options.program)
    check_text_and_lps(options.cobre, options.program)


if __name__ == "__main__":
    main()
