# SPDX-License-Identifier: Apache-2.0
"""mean: the mean and the largest of numbers that are spread over the ranks.

    python3 mean.py                        the same last line...
    cobre run -n 4 python3 mean.py         ...whatever the number of ranks
"""

from array import array

import cobre

COUNT = 1000

with cobre.Comm() as comm:
    # A contiguous block for each rank; the blocks differ by at most one when COUNT does not divide evenly.
    first, behind = COUNT * comm.rank // comm.size, COUNT * (comm.rank + 1) // comm.size
    mine = [0.5 * i for i in range(first, behind)]

    # One message for both sums. Every rank gets the result, the same bits on each. A NumPy array would do as well.
    total, count = comm.allreduce(array("d", [sum(mine), len(mine)]))
    largest = comm.allreduce(max(mine, default=0.0), "max")

    if comm.rank == 0:
        print(f"mean of {count:.0f} numbers: {total / count:.3f}, largest: {largest:.1f}")
