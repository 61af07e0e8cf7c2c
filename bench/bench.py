#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs cobre beside its peers on the same work, in turns, and says how they compare. `make bench` is the way in.

For each setting (transport, number of ranks) the jobs of all contenders are started once and stay. For each work they
take turns, A B C A B C ..., for some rounds; what counts is the ratio within a round, so that a machine that is busy
for a while slows everybody down. What the machine itself takes (the floors) is measured in the same rounds.
"""

import argparse
import os
import signal
import sys
import time

import goals
import plots
import report
from jobs import Job, JobFailed, wait_for_peace
from settings import FUTEX, LINES, LOOPBACK, MIB, SETTINGS, SWAP, YIELD, Programs, Work, contenders, floors

LONGEST_CALL = 5  # seconds; a call that would take longer is left out
LONGEST_WORK = 1.5  # seconds at one work; after that a contender whose calls are slow has no more rounds
SLOW_CALL = 0.3  # seconds


class Runner:
    def __init__(self, options):
        self.options = options
        self.programs = Programs(os.path.abspath(options.build))
        self.results = report.Results()
        self.floor = Job("floor", self.programs.floor(), 2)
        self.turns, self.disturbed = 0, 0
        self.done, self.total = 0, sum(len(list(setting.works(options.cold, options.sizes))) for setting in options.settings)

    def progress(self, setting, work):
        self.done += 1
        if sys.stderr.isatty():
            bar = "#" * (30 * self.done // self.total)
            print(f"\r[{bar:30}] {setting} {report.work_text(work):30}", end="\r", file=sys.stderr, flush=True)

    def open_jobs(self, setting):
        jobs = {}
        for one in contenders(setting, self.programs):
            try:
                if one.job() not in jobs:
                    jobs[one.job()] = Job(one.name, one.command, setting.ranks, one.environment, one.start_each)
            except JobFailed as failure:
                self.results.remark(f"{setting}: left out: {failure}")
        return jobs

    def basic_floors(self):
        """The machine's own times, which are printed first."""
        seconds = self.options.seconds / 2
        for _ in range(self.options.rounds):
            for name, peer, work, share in (
                ("cache line ping-pong, one way", LINES, Work("barrier", 0), 1 / 2),
                ("two cache lines exchanged", SWAP, Work("barrier", 0), 1),
                ("switch by sched_yield", YIELD, Work("barrier", 0), 1 / 2),
                ("futex wake-up", FUTEX, Work("barrier", 0), 1 / 2),
                ("loopback round trip", LOOPBACK, Work("barrier", 0), 1),
                ("memcpy 32 MiB, on two cores at once", SWAP, Work("allreduce", 32 * MIB, True), 1),
                ("loopback 32 MiB, one way", LOOPBACK, Work("broadcast", 32 * MIB, True), 1),
                ("loopback 32 MiB, both ways at once", LOOPBACK, Work("allreduce", 32 * MIB, True), 1),
            ):
                samples, _right = self.floor.measure(work, seconds, peer)
                self.results.add_machine(name, [share * sample for sample in samples])

    def measure_floor(self, setting, work):
        if setting.transport == "shm":
            samples, _right = self.floor.measure(Work("barrier", 0), self.options.seconds / 3, SWAP)
            self.results.add_distance(setting, work, report.median(samples))
        total = 0
        for floor in floors(setting, work):
            samples, _right = self.floor.measure(floor.work, self.options.seconds, floor.peer)
            total += floor.factor * report.median(samples)
        if total:
            self.results.add(setting, work, "floor", [total])

    def too_slow(self, setting, work, name, spent):
        known = self.results.samples(setting, work, name)
        if known:
            return spent > LONGEST_WORK and report.median(known) > SLOW_CALL
        guess = self.results.extrapolate(setting, work, name)
        if guess < LONGEST_CALL:
            return False
        what = f"{setting}: {report.work_text(work)}: {name}"
        self.results.remark(f"{what} left out, a call would take about {guess:.0f} s")
        return True

    def turn(self, setting, work, one, job):
        """False: the job has failed."""
        self.disturbed += not wait_for_peace()
        self.turns += 1
        try:
            samples, right = job.measure(work, self.options.seconds, one.peer)
        except JobFailed as failure:
            self.results.remark(f"{setting}: {report.work_text(work)}: {failure}")
            return False
        self.results.add(setting, work, one.name, samples, one.note)
        if not right:
            self.results.remark(f"{setting}: {report.work_text(work)}: {one.name}: WRONG RESULT")
        return True

    def take_turns(self, setting, works, jobs):
        spent = {}
        turns = [(one, work) for one in contenders(setting, self.programs) for work in works if one.takes_part(work)]
        for number in range(self.options.rounds * (3 if setting.over_mpi() else 1)):  # small differences need more
            first = number % len(turns)  # each is the first in some rounds
            for one, work in turns[first:] + turns[:first]:
                job = jobs.get(one.job())
                if not job or self.too_slow(setting, work, one.name, spent.get((one, work), 0)):
                    continue
                begin = time.monotonic()
                if not self.turn(setting, work, one, job):
                    jobs.pop(one.job()).stop()
                spent[one, work] = spent.get((one, work), 0) + time.monotonic() - begin
            for work in works:
                self.measure_floor(setting, work)

    def run(self):
        self.basic_floors()
        report.print_machine(self.results)
        for setting in self.options.settings:
            begin = time.monotonic()
            jobs = self.open_jobs(setting)
            try:
                for works in setting.works(self.options.cold, self.options.sizes):
                    self.progress(setting, works[0])
                    self.take_turns(setting, works, jobs)
            finally:
                for job in jobs.values():
                    job.stop()
            report.print_table(self.results, setting)
            print(f"  measured in {time.monotonic() - begin:.0f} s", flush=True)
        if self.disturbed:
            self.results.remark(f"other programs were running at the start of {self.disturbed} of {self.turns} turns")
        return self.results

    def close(self):
        self.floor.stop()


def parse():
    parser = argparse.ArgumentParser(description="cobre beside its peers", prog="make bench ARGS=...")
    parser.add_argument("--build", default="build/bench", help="where the programs have been built")
    parser.add_argument("--quick", action="store_true", help="about 2 minutes: fewer settings, warm buffers, 3 rounds")
    parser.add_argument("--settings", help="comma-separated, of " + ",".join(map(str, SETTINGS)))
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")],
                        help="comma-separated bytes: each operation with a payload has these instead of its own")
    parser.add_argument("--rounds", type=int, help="turns of each contender at each work (default 5)")
    parser.add_argument("--seconds", type=float, help="about how long to time in each turn (default 0.03)")
    parser.add_argument("--csv", metavar="FILE", help="write all figures there")
    parser.add_argument("--json", metavar="FILE", help="the same, with floors, goals and remarks")
    parser.add_argument("--plots", metavar="DIRECTORY", help="write SVG plots there; needs gnuplot")
    options = parser.parse_args()
    options.cold = not options.quick
    options.rounds = options.rounds or (3 if options.quick else 5)
    options.seconds = options.seconds or (0.02 if options.quick else 0.03)
    known = [str(setting) for setting in SETTINGS]
    quick = ("shm-2", "shm-4", "tcp-2", "openmpi-2", "mpich-2")
    names = options.settings.split(",") if options.settings else quick if options.quick else known
    for name in names:
        if name not in known:
            parser.error(f"there is no setting {name}; there are {', '.join(known)}")
    options.settings = [setting for setting in SETTINGS if str(setting) in names]
    return options


def main():
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the jobs are stopped
    runner = Runner(options)
    try:
        results = runner.run()
    finally:
        runner.close()
    verdicts = goals.evaluate(results)
    goals.print_verdicts(verdicts)
    report.print_remarks(results)
    if options.csv:
        report.write_csv(results, options.csv)
    if options.json:
        report.write_json(results, verdicts, options.json)
    if options.plots:
        plots.write(results, options.settings, options.plots)
    sys.exit(1 if results.wrong() else 0)


if __name__ == "__main__":
    main()
