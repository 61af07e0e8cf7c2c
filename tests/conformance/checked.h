/* SPDX-License-Identifier: Apache-2.0 */
/* checked.h: collectives that check everything the contract says about their result. The cases choose the arguments. */
#ifndef COBRE_TEST_CHECKED_H
#define COBRE_TEST_CHECKED_H

#include "conformance/reference.h"
#include "kit/kit.h"

/* Where the parts of a gather lie. The same counts on all ranks; displs as they like, except into a region. */
typedef struct {
    size_t counts[KIT_MAX_RANKS], displs[KIT_MAX_RANKS];
    size_t extent; /* of recv */
} layout;

/* Sets displs and extent from counts: parts start, start + 1, ... of all k->size parts, one behind the other, with
 * `gap` elements before, between and behind them. */
void layout_place(const kit *k, layout *l, size_t start, size_t gap);

/* The last part first. */
void layout_reverse(const kit *k, layout *l);

typedef enum { INTO_BUFFER, IN_PLACE, INTO_REGION, IN_PLACE_IN_REGION } gather_target;

/* Each of these fails the case if a byte is not what it must be: results, what lies between them, and what was sent. */
void checked_allgatherv(kit *k, gather_target target, cobre_type type, const layout *l, uint64_t seed);
void checked_allreduce(kit *k, bool in_place, cobre_type type, cobre_op op, size_t count, uint64_t seed);
void checked_broadcast(kit *k, cobre_type type, size_t count, size_t root, uint64_t seed);
void checked_exact_sum(kit *k, uint64_t seed);

/* A few small ones: the communicator works. */
void checked_still_works(kit *k);

/* Runs cycle(k, 0), cycle(k, 1), ... and fails if descriptors, mappings or pages of /dev/shm grow with their number. */
void checked_no_leak(kit *k, size_t cycles, void (*cycle)(kit *k, size_t number));

/* One collective, its arguments drawn from *state, which all ranks have alike. */
void checked_random(kit *k, uint64_t *state, size_t max_bytes);

#endif
