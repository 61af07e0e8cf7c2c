# SPDX-License-Identifier: Apache-2.0
"""What is measured: the works, the contenders of each setting and the floors under them."""

import os
import shutil
from typing import NamedTuple

KIB, MIB = 1024, 1024 * 1024
SIZES = {  # bytes of the result on each rank
    "barrier": [0],
    "allreduce": [8, 32, 4 * KIB, MIB, 32 * MIB],
    "broadcast": [10 * KIB, 20_000_000],
    "allgatherv": [KIB, 64 * KIB, 3_200_000, 206_000_000],
}

# Numbers in the lists of peers that CMakeLists.txt gives to bench-floor and bench-overhead-*.
SWAP, LINES, YIELD, FUTEX, LOOPBACK = range(5)
DIRECT, CHECK_0, CHECK_1 = range(3)


class Work(NamedTuple):
    operation: str
    size: int
    cold: bool = False


class Setting(NamedTuple):
    """transport: shm or tcp (cobre beside its peers), openmpi or mpich (cobre over that MPI beside the direct call)."""

    transport: str
    ranks: int

    def __str__(self):
        return f"{self.transport}-{self.ranks}"

    def over_mpi(self):
        return self.transport in ("openmpi", "mpich")

    def crowded(self):
        return self.ranks > usable_cores()

    def works(self, cold, chosen=None):
        """Lists of works that are measured in the same rounds: a gather into a region is compared with allgatherv.

        chosen: the sizes of all operations that have a payload.

        Cold buffers only where each rank has a core, or it would take too long.
        """
        if self.over_mpi():  # what cobre passes on as it is; beyond some megabytes nothing could be seen
            yield from ([Work("barrier", 0)], [Work("broadcast", 10 * KIB)], [Work("broadcast", 20_000_000)])
            yield from ([Work("allgatherv", size)] for size in SIZES["allgatherv"][:-1])
            return
        for operation, usual in SIZES.items():
            sizes = chosen if chosen and operation != "barrier" else usual
            for work in (Work(operation, size, state) for size in sizes for state in (False, True)):
                if work.cold and (not cold or self.crowded() or operation == "barrier"):
                    continue
                region = [work._replace(operation="allgatherv_region")] if operation == "allgatherv" else []
                yield [work, *region]


class Contender(NamedTuple):
    """Contenders with the same command and environment are one job; `peer` is the number in the program's list."""

    name: str
    command: tuple
    environment: tuple = ()
    note: str = ""
    peer: int = 0
    start_each: bool = False  # no launcher: one process a rank, started by us

    def job(self):
        return self.command, self.environment

    def takes_part(self, work):
        return work.operation != "allgatherv_region" or self.name == "cobre"


SETTINGS = [
    *(Setting("shm", ranks) for ranks in (2, 4, 8, 16)),
    *(Setting("tcp", ranks) for ranks in (2, 4)),
    Setting("openmpi", 2),
    Setting("mpich", 2),
]


def usable_cores():
    return len(os.sched_getaffinity(0))


class Programs:
    """The commands that start a peer's job. {ranks} and {dir} are filled in by Job."""

    def __init__(self, build):
        self.build = build

    def path(self, name):
        return os.path.join(self.build, "bench", "bench-" + name)

    def cobre(self, backend):
        return (os.path.join(self.build, "cobre"), "run", "-n", "{ranks}", "--backend", backend, self.path("cobre"),
                "{dir}")

    def openmpi(self, setting, *options, program="openmpi"):
        crowded = ("--oversubscribe",) if setting.crowded() else ()
        return ("mpirun.openmpi", *crowded, *options, "-n", "{ranks}", self.path(program), "{dir}")

    def mpich(self, program="mpich"):
        return ("mpirun.mpich", "-n", "{ranks}", self.path(program), "{dir}")

    def gloo(self):
        return (self.path("gloo"), "{dir}")

    def floor(self):
        return (self.path("floor"), "{dir}")


# Open MPI yields by itself when it knows that it is crowded; told so, it should do the same.
YIELDS = ("--mca", "mpi_yield_when_idle", "1")
# Debian's MPICH is ch4:ucx, which has no other documented way to share a core.
MPICH_YIELDS = (("MPIR_CVAR_POLLS_BEFORE_YIELD", "1"),)
TCP_ONLY = ("--mca", "pml", "ob1", "--mca", "btl", "tcp,self")
AS_ROOT = (("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"))


def shm_contenders(setting, programs):
    yield Contender("cobre", programs.cobre("shm"))
    yield Contender("openmpi", programs.openmpi(setting), AS_ROOT)
    yield Contender("mpich", programs.mpich())
    if setting.crowded():
        yield Contender("openmpi-yield", programs.openmpi(setting, *YIELDS), AS_ROOT, "mpi_yield_when_idle=1")
        yield Contender("mpich-yield", programs.mpich(), MPICH_YIELDS, "MPIR_CVAR_POLLS_BEFORE_YIELD=1")


def tcp_contenders(setting, programs):
    yield Contender("cobre", programs.cobre("tcp"), note="Unix sockets, as between all ranks of one host")
    yield Contender("cobre-tcp", programs.cobre("tcp"), (("COBRE_TEST_TCP_ONLY", "1"),), "TCP all the same")
    yield Contender("openmpi", programs.openmpi(setting, *TCP_ONLY), AS_ROOT, "btl tcp,self")
    yield Contender("gloo", programs.gloo(), start_each=True)
    if setting.crowded():
        yield Contender("openmpi-yield", programs.openmpi(setting, *TCP_ONLY, *YIELDS), AS_ROOT,
                        "btl tcp,self; mpi_yield_when_idle=1")


def overhead_contenders(setting, programs):
    program = "overhead-" + setting.transport
    openmpi = setting.transport == "openmpi"
    command = programs.openmpi(setting, program=program) if openmpi else programs.mpich(program)
    environment = (*AS_ROOT, ("COBRE_COMM_BACKEND", "mpi"), ("COBRE_CHECK", "0"))
    yield Contender("cobre", command, environment, "COBRE_CHECK=0", CHECK_0)
    yield Contender("cobre-check", command, environment, "COBRE_CHECK=1", CHECK_1)
    yield Contender("direct", command, environment, "", DIRECT)


def contenders(setting, programs):
    """Those that are built and can be started; cobre is the first."""
    makers = {"shm": shm_contenders, "tcp": tcp_contenders}
    found = makers.get(setting.transport, overhead_contenders)(setting, programs)
    return [one for one in found if shutil.which(one.command[0]) and os.path.exists(one.command[-2])]


class Floor(NamedTuple):
    """factor * (what bench-floor takes for `work` as its peer number `peer`)."""

    peer: int
    work: Work
    factor: float = 1


def floors(setting, work):
    """The yardstick is the sum of these; none where the direct call is the measure."""
    if setting.over_mpi():
        return []
    if setting.transport == "tcp":
        return [loopback_floor(setting, work)]
    return [latency_floor(setting)] + ([] if work.operation == "barrier" else [copy_floor(setting, work)])


def latency_floor(setting):
    """Two cache lines exchanged; when crowded, the ranks must run one after the other."""
    if setting.crowded():
        return Floor(YIELD, Work("barrier", 0), setting.ranks / usable_cores() / 2)
    return Floor(SWAP, Work("barrier", 0))


def copy_floor(setting, work):
    """memcpy of what must be written: by each rank, by all but the root, or once by all together."""
    writers = setting.ranks - (work.operation == "broadcast")
    size = work.size // setting.ranks if work.operation == "allgatherv_region" else work.size
    copy = Work("allreduce", max(size, 8), work.cold)
    return Floor(SWAP, copy, writers / min(writers, usable_cores())) if writers > 1 else Floor(LINES, copy)


def loopback_floor(setting, work):
    """R ranks send R - 1 times as much as two do, and as many at once as there are cores."""
    share = (setting.ranks - 1) * 2 / min(setting.ranks, usable_cores())
    if work.operation == "barrier":
        return Floor(LOOPBACK, work, share / 2)
    if work.operation in ("broadcast", "allreduce"):
        return Floor(LOOPBACK, work, share)
    return Floor(LOOPBACK, Work("allreduce", max(work.size // 2, 8), work.cold), share)
