/* SPDX-License-Identifier: Apache-2.0 */
/* mpich_nap.h: see mpich_nap.c. */
#ifndef COBRE_TEST_MPICH_NAP_H
#define COBRE_TEST_MPICH_NAP_H

#include <stdbool.h>

extern bool nap_when_idle; /* for an MPI that spins */

#endif
