# SPDX-License-Identifier: Apache-2.0
"""hello: who am I, and how many are we?

    python3 hello.py                       one rank
    cobre run -n 4 python3 hello.py        four ranks of the same script
"""

import cobre

# Who this rank is and how to reach the others is in the environment. A process that nobody launched is alone, rank 0 of 1.
with cobre.Comm() as comm:
    print(f"hello from rank {comm.rank} of {comm.size} ({comm.backend})")
