# SPDX-License-Identifier: Apache-2.0
"""The figures: kept by work and contender, printed as tables, written as CSV and JSON."""

import csv
import json
import os
import platform
import statistics

MICRO = 1e6


def median(samples):
    return statistics.median(samples)


def quantile(samples, part):
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size % unit == 0 and unit <= size < 1000 * unit:
            return f"{size // unit} {name}"
    return f"{size / 1e6:g} MB" if size >= 1e5 else f"{size} B"


def what_text(operation, size):
    return operation + (f" {size_text(size)}" if size else "")


def work_text(work):
    return what_text(work.operation, work.size) + ("" if not work.size else " cold" if work.cold else " warm")


def time_text(seconds):
    for unit, name in ((1, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * MICRO:.2f} us" if seconds < 1e-4 else f"{seconds * MICRO:.0f} us"


class Results:
    def __init__(self):
        self.rounds = {}  # (setting, work, name): a list of samples for each round
        self.notes = {}  # (setting, name): how it was run
        self.machine = {}  # name: samples
        self.distances = {}  # (setting, work): how long two cores took to exchange a line, in each round
        self.remarks = []

    def add(self, setting, work, name, samples, note=""):
        self.rounds.setdefault((setting, work, name), []).append(samples)
        self.notes[setting, name] = note

    def add_machine(self, name, samples):
        self.machine.setdefault(name, []).extend(samples)

    def add_distance(self, setting, work, seconds):
        self.distances.setdefault((setting, work), []).append(seconds)

    def far_apart(self, setting, work):
        """A line took over twice its best time. See README.md."""
        nearest = min((seconds for each in self.distances.values() for seconds in each), default=0)
        here = self.distances.get((setting, work))
        return bool(here) and median(here) > 2 * nearest

    def remark(self, text):
        if text not in self.remarks:
            self.remarks.append(text)

    def wrong(self):
        return any("WRONG" in remark for remark in self.remarks)

    def samples(self, setting, work, name):
        return [sample for samples in self.rounds.get((setting, work, name), []) for sample in samples]

    def works(self, setting):
        return list(dict.fromkeys(work for where, work, _ in self.rounds if where == setting))

    def names(self, setting):
        return list(dict.fromkeys(name for where, _, name in self.rounds if where == setting and name != "floor"))

    def extrapolate(self, setting, work, name):
        """Seconds of a call of this work, from a smaller one of at least a megabyte; 0: there is none."""
        smaller = [other for other in self.works(setting) if other.operation == work.operation]
        smaller = [other for other in smaller if 1e6 <= other.size < work.size and self.samples(setting, other, name)]
        if not smaller:
            return 0
        nearest = max(smaller, key=lambda other: other.size)
        return median(self.samples(setting, nearest, name)) * work.size / nearest.size

    def ratio(self, setting, work, slower, faster, faster_work=None):
        """How many times `slower` takes longer: median of the ratios within the rounds; None if one was not run."""
        above = self.rounds.get((setting, work, slower), [])
        below = self.rounds.get((setting, faster_work or work, faster), [])
        ratios = [median(a) / median(b) for a, b in zip(above, below)]
        return median(ratios) if ratios else None

    def best_peer(self, setting, work):
        """Of those that are not cobre, the fastest at this work; for a gather into a region, at allgatherv."""
        compared = work._replace(operation="allgatherv") if work.operation == "allgatherv_region" else work
        names = [name for name in self.names(setting) if not name.startswith("cobre")]
        names = [name for name in names if self.samples(setting, compared, name)]
        best = min(names, key=lambda name: median(self.samples(setting, compared, name)), default=None)
        return best, compared


def print_machine(results):
    print(f"floors, between two processes on {os.cpu_count()} cores")
    for name, samples in results.machine.items():
        rate = f"{32 * 1.048576e-3 / median(samples):8.1f} GB/s" if "32 MiB" in name else ""
        print(f"  {name:40} {time_text(median(samples)):>10}{rate}")


def micro_text(seconds):
    micro = MICRO * seconds
    return f"{micro:.2f}" if micro < 10 else f"{micro:.1f}" if micro < 100 else f"{micro:.0f}"


def cell(results, setting, work, name):
    samples = results.samples(setting, work, name)
    if not samples:
        return f"{'-':>8}{'':17}"
    spread = f"({micro_text(quantile(samples, 0.1))} {micro_text(quantile(samples, 0.9))})"
    return f"{micro_text(median(samples)):>8} {spread:16}"


def print_table(results, setting):
    names = results.names(setting)
    if not names:
        return
    how = "over that MPI, beside the direct call" if setting.over_mpi() else "beside its peers"
    print(f"\n{setting.transport}, {setting.ranks} ranks: cobre {how}")
    print("microseconds of a call on the slowest rank: median (p10 p90)")
    print(f"{'':31}" + "".join(f"{name:>8}".ljust(25) for name in names) + "faster than            over floor")
    for work in results.works(setting):
        line = f"{work_text(work):31}" + "".join(cell(results, setting, work, name) for name in names)
        best, compared = results.best_peer(setting, work)
        ratio = best and results.ratio(setting, compared, best, "cobre", work)
        line += f"{ratio:5.2f}x {best:15}" if ratio else f"{'':22}"
        floor = results.ratio(setting, work, "cobre", "floor")
        line += f" {floor:5.2f}x" if floor else ""
        print(line + ("  cores far apart or busy" if results.far_apart(setting, work) else ""))
    for name in names:
        if results.notes[setting, name]:
            print(f"  {name}: {results.notes[setting, name]}")


def print_remarks(results):
    if results.remarks:
        print("\nremarks")
    for remark in results.remarks:
        print("  " + remark)


def records(results):
    for (setting, work, name), rounds in results.rounds.items():
        samples = results.samples(setting, work, name)
        yield {
            "transport": setting.transport,
            "ranks": setting.ranks,
            "operation": work.operation,
            "bytes": work.size,
            "buffers": "cold" if work.cold else "warm",
            "peer": name,
            "how": results.notes[setting, name],
            "rounds": len(rounds),
            "samples": len(samples),
            "median_us": MICRO * median(samples),
            "p10_us": MICRO * quantile(samples, 0.1),
            "p90_us": MICRO * quantile(samples, 0.9),
            "cobre_faster_by": results.ratio(setting, work, name, "cobre"),
            "cores_far_apart": results.far_apart(setting, work),
        }


def write_csv(results, path):
    rows = list(records(results))
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=rows[0])
        writer.writeheader()
        for row in rows:
            writer.writerow({key: f"{value:.5g}" if isinstance(value, float) else value for key, value in row.items()})


def write_json(results, verdicts, path):
    whole = {
        "machine": {"cores": os.cpu_count(), "processor": platform.machine(), "system": platform.release()},
        "floors_us": {name: MICRO * median(samples) for name, samples in results.machine.items()},
        "results": list(records(results)),
        "goals": [verdict._asdict() for verdict in verdicts],
        "remarks": results.remarks,
    }
    with open(path, "w") as file:
        json.dump(whole, file, indent=1)


def end_part(whose, goals, found, path):
    """The end of a part with goals of its own: whether each (met, text) is met, and all figures to `path`, if there is one."""
    print(f"\ngoals of {whose}")
    for met, text in goals:
        print(f"  {'met' if met else 'NOT MET':9}{text}")
    if path:
        with open(path, "w") as file:
            json.dump(found, file, indent=4)
