# SPDX-License-Identifier: Apache-2.0
"""launch: four processes for one function, from within a program.

    python3 launch.py
"""

import cobre


def pi(comm: cobre.Comm, count: int) -> float:
    """By the midpoint rule, the terms dealt out to the ranks. The sum is exact: the same for any number of ranks."""
    terms = [4 / (1 + ((i + 0.5) / count) ** 2) for i in range(comm.rank, count, comm.size)]
    return comm.exact_sum(terms) / count


if __name__ == "__main__":
    for workers in (1, 4):
        print(f"pi by {workers}: {cobre.launch(pi, num_workers=workers, args=(100_000,))!r}")
