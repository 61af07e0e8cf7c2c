#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cobre in Python beside mpi4py and multiprocessing: calls, the start of interpreters and workers, memory. And a training on two
workers beside two trainings.

    python.py [--build DIRECTORY] [--quick] [--json FILE]

Each comparison is made in turns within one run; a ratio is the median over the turns.
"""

import argparse
import compileall
import multiprocessing
import os
import subprocess
import sys
from statistics import median
from time import perf_counter

from jobs import Job, JobFailed, wait_for_peace
from report import end_part, time_text, what_text
from settings import AS_ROOT, SWAP, Programs, Setting, Work

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = 200_000_000  # bytes
WORKERS = 4
CASE = os.path.join(HERE, "..", "cases", "brazil60")
ITERATIONS = 40
NODES = 10_000


def open_jobs(options):
    peer = (sys.executable, os.path.join(HERE, "python_peer.py"))
    run = (os.path.join(options.build, "cobre"), "run", "-n", "{ranks}", "--backend", "shm")
    crowded = ("--oversubscribe",) if Setting("shm", 2).crowded() else ()
    jobs = {}
    for name, command in (
        ("C", (*run, os.path.join(options.build, "bench", "bench-cobre"), "{dir}")),
        ("cobre", (*run, *peer, "cobre", "{dir}")),
        ("mpi4py, Open MPI", ("mpirun.openmpi", *crowded, "-n", "{ranks}", *peer, "mpi4py", "{dir}")),
        ("mpi4py, MPICH", ("mpirun.mpich", "-n", "{ranks}", *peer, "mpi4py", "{dir}")),
    ):
        try:
            jobs[name] = Job(name, command, 2, AS_ROOT)
        except (JobFailed, OSError) as failure:
            print(f"  left out: {name}: {str(failure).splitlines()[0]}")
    return jobs


def by_calls(options):
    """Medians of a round, for each contender, and for the exchange of two cache lines, the machine's own part of it."""
    works = [Work("allreduce", 32), Work("allgatherv", 3_200_000)]
    rounds, seconds = (3, 0.1) if options.quick else (15, 0.3)
    print("\nPython: calls on two ranks, shm")
    jobs, floor = open_jobs(options), Job("floor", Programs(options.build).floor(), 2)
    found, disturbed = {}, 0
    try:
        for work in works:
            turns = []
            for number in range(rounds):
                names = list(jobs)[number % len(jobs) :] + list(jobs)[: number % len(jobs)]
                turn = {"lines": median(floor.measure(Work("barrier", 0), seconds / 3, SWAP)[0])}
                for name in names:
                    disturbed += not wait_for_peace()
                    samples, right = jobs[name].measure(work, seconds)
                    if not right:
                        sys.exit(f"{name}: {what_text(work.operation, work.size)}: wrong results")
                    turn[name] = median(samples)
                turns.append(turn)
            times = ", ".join(f"{name} {time_text(median(turn[name] for turn in turns))}" for name in turns[0])
            print(f"  {what_text(work.operation, work.size)}: {times}")
            found[work.operation] = turns
    finally:
        for job in [floor, *jobs.values()]:
            job.stop()
    if disturbed:
        print(f"  other programs were running at the start of {disturbed} of {rounds * len(works) * len(jobs)} turns")
    return found


def faster(turns):
    """How many times faster than the best of mpi4py; None where there is no mpi4py."""
    ratios = [min(seconds for name, seconds in turn.items() if "mpi4py" in name) / turn["cobre"]
              for turn in turns if any("mpi4py" in name for name in turn)]
    return median(ratios) if ratios else None


def far_apart(calls, operation):
    """As in the report of make bench; see README.md."""
    nearest = min(turn["lines"] for turns in calls.values() for turn in turns)
    here = median(turn["lines"] for turn in calls[operation])
    return "; cores far apart or busy" if here > 2 * nearest else ""


def seconds_of(action):
    begin = perf_counter()
    action()
    return perf_counter() - begin


def start_python(code, count=1):
    started = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    if any(one.wait() for one in started):
        sys.exit(f"python3 -c '{code}' failed")


def by_starts(options):
    import cobre
    import python_peer

    rounds = 5 if options.quick else 25
    turns = [
        {
            "pass": seconds_of(lambda: start_python("pass")),
            "import": seconds_of(lambda: start_python("import cobre")),
            "four": seconds_of(lambda: start_python("pass", WORKERS)),
            "launch": seconds_of(lambda: cobre.launch(python_peer.nothing, num_workers=WORKERS)),
        }
        for _ in range(rounds)
    ]
    for name, text in (("pass", "python3 -c pass"), ("import", "python3 -c 'import cobre'"),
                       ("four", f"{WORKERS} x python3 -c pass at once"), ("launch", f"launch of {WORKERS} workers")):
        print(f"  {text}: {time_text(median(turn[name] for turn in turns))}")
    return turns


def by_training(options):
    """Two workers train once. Beside that, two processes that know nothing of each other train once each. All start from nothing."""
    rounds = 3 if options.quick else 9
    found = {}
    for passes in (1, 4):
        train = f"import cobre; cobre.train({CASE!r}, iterations={ITERATIONS}, forward_passes={passes}, num_workers=%d)"
        turns = []
        for number in range(rounds):
            wait_for_peace()
            turn = {}
            for name in ("two", "beside") if number % 2 else ("beside", "two"):
                turn[name] = seconds_of(lambda: start_python(train % 2) if name == "two" else start_python(train % 1, 2))
            turns.append(turn)
        ratio = median(turn["beside"] / (2 * turn["two"]) for turn in turns)
        print(f"  a training of {ITERATIONS} iterations with its start, {passes} forward pass{'es'[:2 * passes - 2]}: two workers "
              f"{time_text(median(turn['two'] for turn in turns))}, two trainings side by side "
              f"{time_text(median(turn['beside'] for turn in turns))}; the workers do {ratio:.2f} of that")
        found[passes] = {"turns": turns, "ratio": ratio}
    return found


def by_problem(options):
    """A large problem, written in Python."""
    from large import build_large

    seconds = median(build_large(NODES) for _ in range(1 if options.quick else 5))
    print(f"  a problem of {NODES} nodes with 50 columns each, built in Python: {seconds:.2f} s of CPU time")
    return seconds


def hold_copies(count):
    import numpy
    import python_peer

    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(WORKERS), context.Queue()
    table = numpy.ones(count)
    workers = [context.Process(target=python_peer.hold_copy, args=(table, barrier, results)) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    held = sum(results.get() for _ in workers)
    for worker in workers:
        worker.join()
    return held


def by_memory():
    """What the workers hold with the table, less what they hold with one of a page."""
    import cobre
    import python_peer

    def hold(count):
        return cobre.launch(python_peer.hold_region, num_workers=WORKERS, args=(count,))

    found = {"region": hold(TABLE // 8) - hold(512), "copies": hold_copies(TABLE // 8) - hold_copies(512)}
    print(f"  a table of {TABLE / 1e6:.0f} MB in {WORKERS} workers: as a region {found['region'] / 1e6:.0f} MB, "
          f"by multiprocessing {found['copies'] / 1e6:.0f} MB")
    return found


def goals(found):
    calls, starts, memory = found["calls"], found["starts"], found["memory"]
    for operation, wanted in (("allreduce", 2), ("allgatherv", 1.2)):
        ratio = faster(calls[operation])
        if ratio is not None:
            yield ratio >= wanted, f"{operation} >= {wanted}x as fast as mpi4py: {ratio:.2f}x{far_apart(calls, operation)}"
    overhead = median(turn["cobre"] - turn["C"] for turn in calls["allreduce"])
    yield overhead < 500e-9, f"a call from Python < 500 ns over the call from C: {1e9 * overhead:.0f} ns"
    more = median(turn["import"] - turn["pass"] for turn in starts)
    yield more < 0.03, f"import cobre < 30 ms: {1e3 * more:.1f} ms"
    ratio = median(turn["launch"] / turn["four"] for turn in starts)
    yield ratio < 2, f"launch of {WORKERS} workers < 2x of {WORKERS} x python3 -c pass at once: {ratio:.2f}x"
    for passes, its in found["training"].items():
        yield its["ratio"] >= 0.9, (f"two workers train >= 0.9x as much as two trainings side by side, start included, forward passes "
                                    f"per iteration {passes}: {its['ratio']:.2f}x")
    yield found["problem"] < 5, f"a problem of {NODES} nodes with 50 columns each is built in < 5 s: {found['problem']:.2f} s"
    yield memory["region"] < 1.05 * TABLE, (
        f"a table of {TABLE / 1e6:.0f} MB takes that once: {memory['region'] / 1e6:.0f} MB (multiprocessing: {memory['copies'] / 1e6:.0f} MB)"
    )


def main():
    parser = argparse.ArgumentParser(description="cobre in Python beside mpi4py and multiprocessing")
    parser.add_argument("--build", default="build/bench", help="where it has been built")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    package = os.path.join(options.build, "python")
    if not os.path.exists(os.path.join(package, "cobre", "_cobre.abi3.so")):
        print("the Python package has not been built: it needs the headers of Python 3.11 or later")
        return
    compileall.compile_dir(package, quiet=2)  # as pip does when it installs
    compileall.compile_file(os.path.join(HERE, "python_peer.py"), quiet=2)
    os.environ["PYTHONPATH"] = package
    sys.path[:0] = [package, os.path.join(HERE, "..", "tests", "python")]
    found = {"calls": by_calls(options), "starts": by_starts(options), "training": by_training(options),
             "problem": by_problem(options), "memory": by_memory()}
    end_part("the Python package", goals(found), found, options.json)


if __name__ == "__main__":
    main()
