/* SPDX-License-Identifier: Apache-2.0 */
/* operations.h: every collective as one function of the same shape, to be interrupted in all ways. */
#ifndef COBRE_TEST_FAULT_OPERATIONS_H
#define COBRE_TEST_FAULT_OPERATIONS_H

#include "kit/harness.h"

typedef struct {
    cobre_comm *comm;
    cobre_region *region;
    double *send, *recv;
} tools;

typedef struct {
    const char *name;
    cobre_status (*call)(tools *t);
} operation;

extern const operation operations[];
size_t operation_count(void); /* of this backend */

tools equip(void);       /* opens, makes buffers and a region */
void put_away(tools *t); /* frees all of it: must work, also when broken, and never block */
cobre_status mixed_collectives(tools *t, uint64_t *state); /* one of them; the same on all ranks for the same state */

#endif
