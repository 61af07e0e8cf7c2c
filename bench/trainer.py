#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a training takes, on the 60-stage Brazilian case: time outside the LP solver, ranks, memory. Which LP solver is
the fastest, there and on stages of 800 rows. What a simulation and its tables take. How an LP's time grows with the cuts
(cuts.py). And all of it at production size.

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

import production
from cuts import by_cuts
from report import end_part

HERE = os.path.dirname(os.path.abspath(__file__))
CASE = os.path.join(HERE, "..", "cases", "brazil60")
LARGE = os.path.join(HERE, "..", "tests", "cases", "hydros150")
sys.path.append(os.path.join(HERE, "..", "tests", "sddp"))
import memory  # noqa: E402


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


def share_outside(turn):
    """Of the time of a training; the clock's own is no part of it."""
    return 1 - turn["solver_seconds"] / (turn["seconds"] - turn["clock_seconds"])


def outside_solver(options):
    """Which part of a training's time is not the LP solver's: cuts to look for, dual values to read, states to carry."""
    iterations, rounds = (20, 1) if options.quick else (118, 2)
    turns = [run(options.program, CASE, iterations, 1) for _ in range(rounds)]
    share = statistics.median(map(share_outside, turns))
    print(f"one rank, 1 forward pass, {iterations} iterations: {turns[0]['solves']} LPs, bound {turns[0]['bound']:.1f}")
    for turn in turns:
        print(f"  seconds: training {turn['seconds']:.2f}, LP solver {turn['solver_seconds']:.2f}, "
              f"{turn['solves'] / turn['seconds']:.0f} LPs a second")
    return {"iterations": iterations, "turns": turns, "share": share}


STRANGER = """
import time
while True:
    begin = time.monotonic()
    while time.monotonic() < begin + 0.01:
        pass
    time.sleep(0.01)
"""


def by_ranks(options):
    """The floor: two trainings of one rank each, at the same time, that know nothing of each other. Short runs, many of them. On quiet
    cores; beside a program that keeps one core half busy; and with one trajectory, of which two ranks share the outcomes."""
    rounds = 3 if options.quick else 12
    core = min(os.sched_getaffinity(0))
    return {"quiet": share_work(options, 4, 8, rounds, "8 forward passes"),
            "one_pass": share_work(options, 20, 1, rounds, "1 forward pass"),
            "half_busy": share_work(options, 4, 8, rounds, "8 forward passes, one core half busy",
                                    [sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{core}])" + STRANGER])}


def share_work(options, iterations, passes, rounds, title, stranger=None):
    """Over tcp each rank is a node of its own, and nodes have fixed blocks of trajectories: that shows what sharing gains."""
    other = subprocess.Popen(stranger) if stranger else None
    turns = []
    for _ in range(rounds):
        one, two, fixed = [run(options.cobre, "run", "-n", ranks, "--backend", backend, options.program, CASE, iterations, passes)
                           for ranks, backend in ((1, "shm"), (2, "shm"), (2, "tcp"))]
        beside = max(each["seconds"] for each in run_beside(2, options.program, CASE, iterations, passes))
        turns.append({"one": one, "two": two, "fixed": fixed, "faster": one["seconds"] / two["seconds"],
                      "beside": 2 * one["seconds"] / beside, "share": beside / (2 * two["seconds"]),
                      "fixed_share": beside / (2 * fixed["seconds"]), "collectives": two["collectives"] / two["seconds"],
                      "waiting": two["waiting"] / two["seconds"]})
    if other:
        other.kill()
        other.wait()
    if len({turn[ranks]["bound"] for turn in turns for ranks in ("one", "two", "fixed")}) != 1:
        sys.exit("the bound depends on the number of ranks")
    print(f"\n{title}, {iterations} iterations, seconds")
    print("    1 rank   2 ranks   faster   two trainings side by side   2 ranks do of that   with fixed blocks   in collectives   "
          "waiting for each other")
    for turn in turns:
        print(f"  {turn['one']['seconds']:8.2f} {turn['two']['seconds']:9.2f} {turn['faster']:7.2f}x {turn['beside']:27.2f}x "
              f"{turn['share']:20.2f} {turn['fixed_share']:19.2f} {turn['collectives']:16.2%} {turn['waiting']:24.2%}")
    best = [min(turn[ranks]["seconds"] for turn in turns) for ranks in ("one", "two")]
    return {"turns": turns, "best": best[0] / best[1],
            **{name: statistics.median(turn[name] for turn in turns) for name in ("faster", "beside", "share", "fixed_share", "collectives", "waiting")}}


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


def at_production_size(options):
    """A few iterations of a case as large as a country's: LPs a second of each solver, what is outside of it, what cuts add, two ranks.
    The bound moves little in so few iterations; the LPs are what counts."""
    case = os.path.join(options.build, "production")
    production.write_case(case)
    names = [solver["name"] for solver in run(options.cobre, "info", "--json")["solvers"] if solver["version"]]
    usual = run(options.program, LARGE, 1, 1)["solver"]
    rows = {name: run(options.program, case, 1, 1, name) for name in ([usual] if options.quick else names)}
    longer = run(options.program, case, 2 if options.quick else 6, 1)
    one, two = [run(options.cobre, "run", "-n", ranks, "--backend", "shm", options.program, case, 1, 2) for ranks in (1, 2)]
    first = rows[usual]["cpu"] / rows[usual]["solves"]
    later = (longer["cpu"] - rows[usual]["cpu"]) / (longer["solves"] - rows[usual]["solves"])
    print(f"\nproduction size: {production.HYDROS} hydros, {production.THERMALS} thermals, {production.STAGES} stages, "
          f"{production.OPENINGS} openings")
    for name, turn in rows.items():
        print(f"  {name:6} {turn['solves'] / turn['cpu']:6.0f} LPs a second of CPU time, one rank, {turn['solves']} LPs; "
              f"{1 - share_outside(turn):.1%} of the time inside the solver")
    print(f"  CPU time per LP: {1000 * first:.2f} ms in the first iteration, {1000 * later:.2f} ms in those after it ({longer['solves']} LPs)")
    print(f"  2 ranks: {two['solves'] / two['seconds']:.0f} LPs a second, one rank: {one['solves'] / one['seconds']:.0f}")
    return {"solvers": rows, "longer": longer, "one": one, "two": two, "usual": usual, "growth": later / first,
            "inside": 1 - share_outside(longer), "faster": one["seconds"] / two["seconds"]}


def by_loading(options):
    """Seconds until a case of production size has been read, and until its training begins."""
    case = os.path.join(options.build, "production")
    rounds = 3 if options.quick else 7
    validate = [take([(options.cobre, "validate", case)])["seconds"] for _ in range(rounds)]

    def start():
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            job = subprocess.Popen([options.cobre, "train", case, "--json", "--out", os.path.join(folder, "run")],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            line = job.stdout.readline()
            seconds = time.monotonic() - begin
            job.kill()
            job.communicate()
            if json.loads(line)["event"] != "started":
                sys.exit(f"not the start of a training: {line}")
            return seconds

    found = {"validate": statistics.median(validate), "start": statistics.median(start() for _ in range(rounds))}
    print(f"\nloading it: cobre validate {found['validate']:.2f} s, until a training begins {found['start']:.2f} s")
    return found


def by_case_memory(options):
    """PSS of ranks that have loaded a case: what the case adds to that of a tiny one. And the peak of rank 0, which reads. The file has
    as many bytes as were once read in 872 MB."""
    tool = (options.cobre, os.path.join(options.build, "bench", "bench-memory"))
    folder, written = os.path.join(options.build, "production56"), os.path.join(options.build, "production56.sof.json")
    production.write_case(folder, stages=56)
    subprocess.run([options.cobre, "validate", folder, "--write", written], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["gzip", "--force", "--keep", "--fast", written], check=True)
    toy = os.path.join(HERE, "..", "cases", "toy")
    cases = {"tiny": toy, "tables": os.path.join(options.build, "production"), "text": written, "gzip": written + ".gz"}
    found = {name: {ranks: memory.measure(*tool, case, ranks, 0) for ranks in (1, 4)} for name, case in cases.items()}
    trained = {ranks: memory.measure(*tool, cases["tables"], ranks, 1, 2) for ranks in (1, 2)}
    size = os.path.getsize(written)
    print("\nmemory of a case of production size, in MB: all ranks together, once it is loaded; and the peak of rank 0")
    for name, title in (("tables", "60 stages, tables"), ("text", f"56 stages, StochOptFormat of {size / 1e6:.0f} MB"),
                        ("gzip", "the same, compressed")):
        row = found[name]
        print(f"  {title:38} 1 rank {row[1]['pss'] / 1e6:6.1f}   4 ranks {row[4]['pss'] / 1e6:6.1f}   peak {row[4]['peak'] / 1e6:6.1f}")
    print(f"  after an iteration, private, each rank: {trained[1]['private_a_rank'] / 1e6:.1f} of one, "
          f"{trained[2]['private_a_rank'] / 1e6:.1f} of two; cuts and case, once: {trained[1]['regions'] / 1e6:.1f}")
    ratio = (found["tables"][4]["pss"] - found["tiny"][4]["pss"]) / (found["tables"][1]["pss"] - found["tiny"][1]["pss"])
    return {"ratio": ratio, "size": size, "cases": found, "trained": trained,
            "peak": max(found[name][4]["peak"] for name in ("text", "gzip")),
            "after": max(found[name][4]["pss"] for name in ("text", "gzip"))}


def main():
    parser = argparse.ArgumentParser(description="what a training takes")
    parser.add_argument("--build", default="build/bench", help="where the programs have been built")
    parser.add_argument("--quick", action="store_true", help="fewer iterations")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    options = parser.parse_args()
    options.cobre = os.path.join(options.build, "cobre")
    options.program = os.path.join(options.build, "bench", "bench-trainer")
    if not os.path.exists(options.program):
        print("the trainer has not been built: it needs jansson and Random123")
        return
    print("\ntraining: the Brazilian case of 60 stages and 82 outcomes")
    found = {"solver": outside_solver(options), "solvers": by_solver(options), "ranks": by_ranks(options),
             "tables": by_tables(options), "memory": by_memory(options), "cuts": by_cuts(options),
             "production": at_production_size(options), "loading": by_loading(options), "case": by_case_memory(options)}
    share, ranks, tables = found["solver"]["share"], found["ranks"], found["tables"]
    large, loading, case = found["production"], found["loading"], found["case"]
    goals = (
        (share <= 1 / 6, f"a training on one rank <= 1.2x of its LP solver's time: {1 / (1 - share):.2f}x; "
                         f"{share:.1%} of its time are outside the solver"),
        (ranks["quiet"]["share"] >= 0.97, f"2 ranks >= 0.97 of two trainings side by side: {ranks['quiet']['share']:.2f}; "
                                          f"{ranks['quiet']['faster']:.2f}x as fast as one rank, best time by best time {ranks['quiet']['best']:.2f}x"),
        (ranks["half_busy"]["share"] >= 0.97, f"the same with one core half busy: {ranks['half_busy']['share']:.2f}; with fixed blocks "
                                              f"{ranks['half_busy']['fixed_share']:.2f}"),
        (ranks["one_pass"]["faster"] >= 1.6, f"1 forward pass on 2 ranks >= 1.6x as fast as on one: {ranks['one_pass']['faster']:.2f}x"),
        (ranks["quiet"]["collectives"] < 0.01, f"collectives < 1 % of the time: {ranks['quiet']['collectives']:.2%}; waiting for each "
                                               f"other: {ranks['quiet']['waiting']:.2%}"),
        *((min(each["ratio"].values()) >= 0.9, f"{title}: no solver takes less than 0.9x of the default one's CPU time: "
                                               f"{min(each['ratio'].values()):.2f}x")
          for title, each in found["solvers"].items()),
        (tables["two_over_beside"] >= 0.9, f"2 ranks with all tables >= 0.9 of two simulations side by side: "
                                           f"{tables['two_over_beside']:.2f}"),
        (tables["sizes"]["netcdf"] <= 0.1 * tables["sizes"]["csv"], f"NetCDF <= 0.1 of the size of the CSV tables: "
                                                                    f"{tables['sizes']['netcdf'] / tables['sizes']['csv']:.3f}"),
        (tables["per_lp"]["netcdf"] < tables["per_lp"]["csv"], f"NetCDF takes less CPU time than CSV: {tables['per_lp']['netcdf']:.2f} "
                                                               f"and {tables['per_lp']['csv']:.2f} ms per LP"),
        *((each["growth"] <= 1.2, f"{name}: CPU time per LP with the last cuts <= 1.2x of that with the first: {each['growth']:.2f}x")
          for name, each in found["cuts"].items()),
        (found["memory"], "cuts and openings take the same memory with 1, 2 and 4 ranks"),
        (large["inside"] >= 0.85, f"production size: >= 85 % of a training's time inside the LP solver: {large['inside']:.1%}"),
        (max(loading.values()) < 1, f"production size: validating and the start of a training < 1 s each: {loading['validate']:.2f} "
                                    f"and {loading['start']:.2f} s"),
        (case["ratio"] <= 1.1, f"production size: the case takes <= 1.1x the memory with 4 ranks: {case['ratio']:.2f}x of that with one"),
        (case["peak"] <= 300e6 and case["peak"] <= 4 * case["size"],
         f"a StochOptFormat file of {case['size'] / 1e6:.0f} MB takes <= 300 MB on rank 0, and <= 4x its size: {case['peak'] / 1e6:.0f} MB"),
        (case["after"] <= 150e6, f"afterwards <= 150 MB on 4 ranks together: {case['after'] / 1e6:.0f} MB"),
    )
    end_part("the trainer", goals, found, options.json)


if __name__ == "__main__":
    main()
