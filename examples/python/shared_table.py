# SPDX-License-Identifier: Apache-2.0
"""shared_table: a NumPy array in memory that the ranks of a machine share, filled by all of them together.

    cobre run -n 4 python3 shared_table.py

The work is split by the node, not by the job: where ranks share memory, each fills a part of the one table; where they do not (one
process, or ranks on different hosts), each fills a whole table of its own. The same lines do both.
"""

import cobre
import numpy

COUNT = 100_000

with cobre.Comm() as comm:
    # Zeroed, and reserved: if there is not enough memory an exception says so here.
    with comm.region(COUNT, "uint64") as region:
        first, behind = COUNT * comm.node_rank // comm.node_size, COUNT * (comm.node_rank + 1) // comm.node_size
        part = numpy.asarray(region.claim(first, behind - first))
        part[:] = numpy.arange(first, behind, dtype="uint64") ** 2
        del part

        # Everybody's part is written, and from now on nobody can change the table by mistake.
        region.seal()

        # Reading needs no message and no copy.
        squares = numpy.asarray(region)
        print(f"rank {comm.rank} of {comm.size}: the squares below {COUNT} sum to {squares.sum()}")
