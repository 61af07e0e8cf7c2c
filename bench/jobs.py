# SPDX-License-Identifier: Apache-2.0
"""Jobs of peers that stay alive and measure on command; see main.c for the other end."""

import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

START_SECONDS = 60
ANSWER_SECONDS = 120
LONGEST_WAIT = 0.1  # seconds that a turn waits for strangers to leave the cores


class JobFailed(Exception):
    pass


def others_run():
    """Our jobs sleep between turns, so whoever runs now, beside ourselves, is a stranger."""
    with open("/proc/stat") as file:
        return any(line.startswith("procs_running") and int(line.split()[1]) > 1 for line in file)


def wait_for_peace():
    """Before a turn. False: strangers are running all the same."""
    deadline = time.monotonic() + LONGEST_WAIT
    while others_run():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


class Job:
    """One program of main.c with `ranks` ranks, started by `command`, whose words may hold {dir} and {ranks}.

    start_each: it is started once for each rank, which finds its number in BENCH_RANK.
    """

    def __init__(self, name, command, ranks, environment=(), start_each=False):
        self.name, self.ranks = name, ranks
        self.directory = tempfile.mkdtemp(prefix="cobre-bench.")
        self.buffer = b""
        self.processes, self.commands = [], []
        for fifo in [*map(str, range(ranks)), "out"]:
            os.mkfifo(os.path.join(self.directory, fifo))
        # O_RDWR: does not wait for the other end, and there is no end of file before it has come.
        self.answers = os.open(os.path.join(self.directory, "out"), os.O_RDWR)
        self.commands = [os.open(os.path.join(self.directory, str(r)), os.O_RDWR) for r in range(ranks)]
        self.log = open(os.path.join(self.directory, "log"), "w+b")
        try:
            self.start(command, dict(environment), ranks if start_each else 1)
        except JobFailed:
            self.stop()
            raise

    def start(self, command, environment, processes):
        words = [word.format(dir=self.directory, ranks=self.ranks) for word in command]
        for rank in range(processes):
            own = {"BENCH_RANK": str(rank), "BENCH_SIZE": str(self.ranks), "BENCH_STORE": self.directory}
            self.processes.append(
                subprocess.Popen(
                    words,
                    env={**os.environ, **own, **environment},
                    stdin=subprocess.DEVNULL,
                    stdout=self.log,
                    stderr=self.log,
                    start_new_session=True,
                )
            )
        if self.answer(START_SECONDS) != "ready":
            raise JobFailed(f"{self.name}: not ready")

    def answer(self, seconds):
        deadline = time.monotonic() + seconds
        while b"\n" not in self.buffer:
            if select.select([self.answers], [], [], 0.5)[0]:
                self.buffer += os.read(self.answers, 65536)
            elif any(process.poll() is not None for process in self.processes):
                raise JobFailed(f"{self.name} ended: {self.said()}")
            elif time.monotonic() > deadline:
                raise JobFailed(f"{self.name} gave no answer for {seconds} s: {self.said()}")
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def said(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace").strip()[-2000:] or "it said nothing"

    def measure(self, work, seconds, peer=0):
        """The samples in seconds, and whether the results were right."""
        buffers = "cold" if work.cold else "warm"
        line = f"{peer} {work.operation} {work.size} {buffers} {seconds}\n".encode()
        for fd in self.commands:
            os.write(fd, line)
        verdict, _batch, *samples = self.answer(ANSWER_SECONDS).split()
        return [float(sample) for sample in samples], verdict == "right"

    def stop(self):
        for fd in self.commands:
            os.close(fd)  # the ranks see the end of their commands
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                pass
            try:
                os.killpg(process.pid, signal.SIGKILL)  # its own session: also what a launcher left
            except ProcessLookupError:
                pass
            process.wait()
        os.close(self.answers)
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
