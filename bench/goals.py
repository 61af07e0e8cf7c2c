# SPDX-License-Identifier: Apache-2.0
"""The speed that cobre wants to have beside its peers, and whether this run shows it."""

from typing import NamedTuple, Optional

from report import median, what_text
from settings import KIB, MIB, SIZES, Setting, Work


class Goal(NamedTuple):
    setting: Setting
    operation: str
    size: int
    faster_by: float  # times the best peer
    over_floor: Optional[float] = None  # at most so many times the floor


class Verdict(NamedTuple):
    setting: str
    work: str
    wanted: str
    measured: str
    met: Optional[bool]  # None: not measured


def shm_goals():
    def goals(ranks, operation, sizes, faster_by, over_floor=None):
        return [Goal(Setting("shm", ranks), operation, size, faster_by, over_floor) for size in sizes]

    small = [8, 32]
    yield from goals(2, "barrier", [0], 2)
    yield from goals(2, "allreduce", small, 3)
    for ranks, faster_by in ((4, 2), (8, 3), (16, 4)):
        yield from goals(ranks, "barrier", [0], faster_by)
        yield from goals(ranks, "allreduce", small, faster_by)
    yield from goals(2, "allreduce", [MIB], 1.3)
    yield from goals(2, "allreduce", [32 * MIB], 1.5)
    yield from goals(2, "allgatherv", [64 * KIB, 3_200_000], 1.3)
    yield from goals(2, "allgatherv", [206_000_000], 1.3, 2)
    yield from goals(4, "allgatherv", [64 * KIB, 3_200_000, 206_000_000], 1.5)
    yield from goals(2, "broadcast", [20_000_000], 1.3, 1.6)
    yield from goals(4, "broadcast", [20_000_000], 1.5, 1.6)
    yield from goals(4, "allgatherv_region", [3_200_000, 206_000_000], 6)


def tcp_goals():
    for ranks in (2, 4):
        for operation in ("barrier", "allreduce", "broadcast", "allgatherv"):
            for size in SIZES[operation]:
                yield Goal(Setting("tcp", ranks), operation, size, 1.3)


def times(ratio):
    return "-" if ratio is None else f"{ratio:.2f}x"


def judge(results, goal):
    warm, cold = Work(goal.operation, goal.size), Work(goal.operation, goal.size, True)
    best, compared = results.best_peer(goal.setting, warm)
    ratio = results.ratio(goal.setting, compared, best, "cobre", warm)
    cold_peer, cold_compared = results.best_peer(goal.setting, cold)
    cold_ratio = results.ratio(goal.setting, cold_compared, cold_peer, "cobre", cold)
    wanted, measured = f">= {goal.faster_by:g}x", f"{times(ratio)} {best or ''}"
    met = None if ratio is None else ratio >= goal.faster_by
    if cold_ratio:
        measured += f", cold {times(cold_ratio)} {cold_peer}"
    plain = results.ratio(goal.setting, compared, best, "cobre-tcp", warm)
    if plain:
        measured += f"; by TCP {times(plain)}"
    if goal.over_floor:
        floor = results.ratio(goal.setting, warm, "cobre", "floor")
        wanted += f", <= {goal.over_floor:g}x floor"
        measured += f"; {times(floor)} floor"
        met = None if met is None or floor is None else met and floor <= goal.over_floor
    if results.far_apart(goal.setting, warm):
        measured += "; cores far apart or busy"
    return Verdict(str(goal.setting), what_text(goal.operation, goal.size), wanted, measured, met)


def judge_overhead(results, setting, work):
    """Over an MPI: at most 3 % or 100 ns more than the direct call."""
    ratio = results.ratio(setting, work, "cobre", "direct")
    checked = results.ratio(setting, work, "cobre-check", "direct")
    measured, met = "-", None
    if ratio is not None:
        more = (ratio - 1) * median(results.samples(setting, work, "direct"))
        measured = f"{100 * (ratio - 1):+.1f} %, {1e9 * more:+.0f} ns; with COBRE_CHECK=1 {times(checked)}"
        met = ratio <= 1.03 or more <= 100e-9
    return Verdict(str(setting), what_text(work.operation, work.size), "<= 3 % or 100 ns more", measured, met)


def evaluate(results):
    measured = list(dict.fromkeys(setting for setting, _, _ in results.rounds))
    verdicts = [judge(results, goal) for goal in [*shm_goals(), *tcp_goals()] if goal.setting in measured]
    for setting in measured:
        if setting.over_mpi():
            verdicts += [judge_overhead(results, setting, work) for work in results.works(setting)]
    return verdicts


def print_verdicts(verdicts):
    words = {True: "met", False: "NOT MET", None: "not measured"}
    print("\ngoals: how many times faster than the best peer, warm buffers (cold beside)")
    for verdict in verdicts:
        print(f"  {words[verdict.met]:13}{verdict.setting:10}{verdict.work:27}{verdict.wanted:24}{verdict.measured}")
    met = sum(verdict.met is True for verdict in verdicts)
    print(f"{met} of {len(verdicts)} met")
