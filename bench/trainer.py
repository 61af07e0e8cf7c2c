#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a training takes, on the 60-stage Brazilian case: time outside the LP solver, ranks, memory. Which LP solver is
the fastest, there and on stages of 800 rows. And what a simulation and its tables take.

    trainer.py [--build DIRECTORY] [--quick] [--json FILE]

Each comparison is made in turns within one run; a ratio is the median over the turns.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from report import end_part

HERE = os.path.dirname(os.path.abspath(__file__))
CASE = os.path.join(HERE, "..", "cases", "brazil60")
LARGE = os.path.join(HERE, "..", "tests", "cases", "hydros150")


def run_beside(count, *command):
    """`count` of them at the same time; what each prints."""
    words = [str(word) for word in command]
    started = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    printed = [one.communicate()[0] for one in started]
    if any(one.returncode for one in started):
        sys.exit(f"{' '.join(words)}: codes {[one.returncode for one in started]}")
    return [json.loads(text) for text in printed]


def run(*command):
    return run_beside(1, *command)[0]


def outside_solver(options):
    """Which part of a training's time is not the LP solver's: cuts to look for, dual values to read, states to carry."""
    iterations, rounds = (20, 1) if options.quick else (118, 2)
    turns = [run(options.program, CASE, iterations, 1) for _ in range(rounds)]
    share = statistics.median(1 - turn["solver_seconds"] / turn["seconds"] for turn in turns)
    print(f"one rank, 1 forward pass, {iterations} iterations: {turns[0]['solves']} LPs, bound {turns[0]['bound']:.1f}")
    for turn in turns:
        print(f"  seconds: training {turn['seconds']:.2f}, LP solver {turn['solver_seconds']:.2f}, "
              f"{turn['solves'] / turn['seconds']:.0f} LPs a second")
    return {"iterations": iterations, "turns": turns, "share": share}


def by_ranks(options):
    """The floor: two trainings of one rank each, at the same time, that know nothing of each other. Short runs, many of
    them: a disturbance on either core holds up both ranks, and the best of many has the fewest."""
    iterations, rounds = (4, 3) if options.quick else (4, 12)
    turns = []
    for _ in range(rounds):
        one, two = [run(options.cobre, "run", "-n", ranks, "--backend", "shm", options.program, CASE, iterations, 8)
                    for ranks in (1, 2)]
        beside = run_beside(2, options.program, CASE, iterations, 8)
        turns.append({"one": one, "two": two, "faster": one["seconds"] / two["seconds"],
                      "at_most": 2 * two["mean_work"] / two["most_work"],
                      "beside": 2 * one["seconds"] / max(each["seconds"] for each in beside),
                      "collectives": two["collectives"] / two["seconds"]})
    if len({turn[ranks]["bound"] for turn in turns for ranks in ("one", "two")}) != 1:
        sys.exit("the bound depends on the number of ranks")
    print(f"\n8 forward passes, {iterations} iterations, seconds")
    print("    1 rank   2 ranks   faster   at most, by the LPs' shares   two trainings side by side   in collectives")
    for turn in turns:
        print(f"  {turn['one']['seconds']:8.2f} {turn['two']['seconds']:9.2f} {turn['faster']:7.2f}x "
              f"{turn['at_most']:28.2f}x {turn['beside']:27.2f}x {turn['collectives']:15.2%}")
    best = [min(turn[ranks]["seconds"] for turn in turns) for ranks in ("one", "two")]
    return {"turns": turns, "best": best[0] / best[1], **{name: statistics.median(turn[name] for turn in turns)
                                                          for name in ("faster", "at_most", "beside", "collectives")}}


def by_solver(options):
    """CPU time of a training with each LP solver, beside the one that is taken when none is asked for. Solvers end in other
    optima where an LP has several, so that trainings take other ways: the bounds say how far they came."""
    rounds = 2 if options.quick else 7
    names = [solver["name"] for solver in run(options.cobre, "info", "--json")["solvers"] if solver["version"]]
    found = {}
    for title, case, iterations in (("60 stages of 9 rows", CASE, 12), ("3 stages of about 800 rows", LARGE, 40)):
        usual = run(options.program, case, 1, 1)["solver"]
        turns = [{name: run(options.program, case, iterations, 1, name) for name in names} for _ in range(rounds)]
        found[title] = {"usual": usual, "turns": turns, "ratio": {
            name: statistics.median(turn[name]["cpu"] / turn[usual]["cpu"] for turn in turns) for name in names}}
        print(f"\n{title}, {iterations} iterations, 1 forward pass: CPU time, over that of {usual}, which is the default there")
        for name, ratio in found[title]["ratio"].items():
            best = min(turn[name]["cpu"] for turn in turns)
            print(f"  {name:6} {ratio:5.2f}x   best {best:7.2f} s   bound {turns[0][name]['bound']:.1f}")
    return found


def take(commands):
    """Seconds until all of them, started together, have ended, and the CPU time of all."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    started = [subprocess.Popen([str(word) for word in one], stdout=subprocess.DEVNULL) for one in commands]
    if any([one.wait() for one in started]):
        sys.exit(f"failed: {commands}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": time.monotonic() - start, "cpu": cpu}


def by_tables(options):
    """A simulation on stages of 800 rows: CPU time per LP without tables, with all of them as CSV and as NetCDF, beside that of
    a training; and two ranks beside two simulations of one rank each that know nothing of each other."""
    rounds, count = (2, 100) if options.quick else (7, 300)
    with tempfile.TemporaryDirectory() as folder:
        policy = os.path.join(folder, "run", "policy.cobre")
        train = (options.cobre, "train", LARGE, "--iterations", 40, "--forward-passes", 4, "--quiet", "--force",
                 "--out", os.path.dirname(policy))

        def simulate(name, *more, trajectories=count):
            return (options.cobre, "simulate", LARGE, "--policy", policy, "--trajectories", trajectories,
                    "--out", os.path.join(folder, name), *more)

        def size(name, *files):
            return sum(os.path.getsize(os.path.join(folder, name, file)) for file in files)

        turns = [{"training": take([train]),
                  "none": take([simulate("none")]),
                  "csv": take([simulate("csv", "--tables", "all")]),
                  "netcdf": take([simulate("netcdf", "--netcdf")]),
                  "beside": take([simulate(name, "--tables", "all") for name in ("left", "right")]),
                  "two": take([simulate("two", "--tables", "all", "-n", 2, trajectories=2 * count)])} for _ in range(rounds)]
        with open(os.path.join(os.path.dirname(policy), "summary.csv")) as file:
            solves = {"training": int(dict(line.rstrip("\n").split(",", 1) for line in file)["solves"])}
        sizes = {"csv": size("csv", *(f"{name}.csv" for name in ("stages", "states", "variables", "duals", "noise"))),
                 "netcdf": size("netcdf", "simulation.nc")}
    stages = 3
    per_lp = {name: 1000 * statistics.median(turn[name]["cpu"] for turn in turns) / solves.get(name, stages * count)
              for name in ("training", "none", "csv", "netcdf")}
    print(f"\na simulation on stages of about 800 rows, {count} trajectories: ms of CPU time per LP, reading the case included")
    for name, title in (("training", "a training"), ("none", "costs and statistics"), ("csv", "all tables as CSV"),
                        ("netcdf", "all tables as NetCDF")):
        print(f"  {title:22} {per_lp[name]:6.2f}" + (f"   {sizes[name] / 1e6:8.1f} MB" if name in sizes else ""))
    share = statistics.median(turn["beside"]["seconds"] / turn["two"]["seconds"] for turn in turns)
    print(f"  two ranks do {share:.2f} of what two simulations side by side do, with all tables as CSV")
    return {"turns": turns, "per_lp": per_lp, "sizes": sizes, "two_over_beside": share}


def by_memory(options):
    """The test of it prints the figures, and whether they are as they should be is its exit code."""
    print("\nmemory", flush=True)
    test = os.path.join(HERE, "..", "tests", "sddp", "memory.py")
    return subprocess.run([test, options.cobre, os.path.join(options.build, "bench", "bench-memory")]).returncode == 0


def main():
    parser = argparse.ArgumentParser(description="what a training takes")
    parser.add_argument("--build", default="build/bench", help="where the programs have been built")
    parser.add_argument("--quick", action="store_true", help="about half a minute: fewer iterations")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    options = parser.parse_args()
    options.cobre = os.path.join(options.build, "cobre")
    options.program = os.path.join(options.build, "bench", "bench-trainer")
    if not os.path.exists(options.program):
        print("the trainer has not been built: it needs jansson and Random123")
        return
    print("\ntraining: the Brazilian case of 60 stages and 82 outcomes")
    found = {"solver": outside_solver(options), "solvers": by_solver(options), "ranks": by_ranks(options),
             "tables": by_tables(options), "memory": by_memory(options)}
    share, ranks, tables = found["solver"]["share"], found["ranks"], found["tables"]
    goals = (
        (share <= 1 / 6, f"a training on one rank <= 1.2x of its LP solver's time: {1 / (1 - share):.2f}x; "
                         f"{share:.1%} of its time are outside the solver"),
        (ranks["faster"] >= 1.85, f"2 ranks >= 1.85x as fast as one: {ranks['faster']:.2f}x, best time by best time "
                                  f"{ranks['best']:.2f}x; the LPs' shares allow {ranks['at_most']:.2f}x"),
        (ranks["collectives"] < 0.01, f"collectives < 1 % of the time: {ranks['collectives']:.2%}"),
        *((min(each["ratio"].values()) >= 0.9, f"{title}: no solver takes less than 0.9x of the default one's CPU time: "
                                               f"{min(each['ratio'].values()):.2f}x")
          for title, each in found["solvers"].items()),
        (tables["two_over_beside"] >= 0.9, f"2 ranks with all tables >= 0.9 of two simulations side by side: "
                                           f"{tables['two_over_beside']:.2f}"),
        (tables["sizes"]["netcdf"] <= 0.1 * tables["sizes"]["csv"], f"NetCDF <= 0.1 of the size of the CSV tables: "
                                                                    f"{tables['sizes']['netcdf'] / tables['sizes']['csv']:.3f}"),
        (tables["per_lp"]["netcdf"] < tables["per_lp"]["csv"], f"NetCDF takes less CPU time than CSV: {tables['per_lp']['netcdf']:.2f} "
                                                               f"and {tables['per_lp']['csv']:.2f} ms per LP"),
        (found["memory"], "cuts and openings take the same memory with 1, 2 and 4 ranks"),
    )
    end_part("the trainer", goals, found, options.json)


if __name__ == "__main__":
    main()
