/* SPDX-License-Identifier: Apache-2.0 */
/* starts.c: starts as bytes. Each node has two 32-bit counts, own and cuts (own 0: the start is not set), then the ids
 * of its cuts, then the stands. Numbers are in the machine's byte order: all ranks of a job share it, and a file tells
 * its own. */
#include <stdlib.h>
#include <string.h>

#include "sddp/policy/policy.h"

size_t cb_start_bytes(const cb_start *start) {
    return 2 * sizeof(uint32_t) + (start->set ? start->cuts * sizeof(uint32_t) + start->own + start->cuts : 0);
}

static unsigned char *put(unsigned char *at, const void *from, size_t bytes) {
    if (bytes > 0)
        memcpy(at, from, bytes);
    return at + bytes;
}

unsigned char *cb_start_pack(const cb_start *start, unsigned char *at) {
    uint32_t count[2] = {start->set ? (uint32_t)start->own : 0, start->set ? (uint32_t)start->cuts : 0};
    at = put(at, count, sizeof count);
    if (!start->set)
        return at;
    at = put(at, start->cut, start->cuts * sizeof *start->cut);
    return put(at, start->stand, start->own + start->cuts);
}

unsigned char *cb_starts_pack(const cb_start *start, size_t nodes, size_t *bytes) {
    size_t total = 0;
    for (size_t n = 0; n < nodes; n++)
        total += cb_start_bytes(&start[n]);
    unsigned char *packed = calloc(cb_padded(total) + 1, 1), *at = packed;
    if (!packed)
        return NULL;
    for (size_t n = 0; n < nodes; n++)
        at = cb_start_pack(&start[n], at);
    *bytes = total;
    return packed;
}

cobre_status cb_start_unpack(cb_start *start, const unsigned char **at, size_t *left) {
    uint32_t count[2];
    if (*left < sizeof count)
        return COBRE_INVALID_POLICY;
    memcpy(count, *at, sizeof count);
    *at += sizeof count;
    *left -= sizeof count;
    size_t own = count[0], cuts = count[1], bytes = own ? cuts * sizeof(uint32_t) + own + cuts : 0;
    start->set = own > 0;
    if (own == 0)
        return COBRE_OK;
    if (*left < bytes)
        return COBRE_INVALID_POLICY;
    if (!cb_start_room(start, cuts, own))
        return cb_no_memory("starts", bytes);
    if (cuts > 0)
        memcpy(start->cut, *at, cuts * sizeof *start->cut);
    memcpy(start->stand, *at + cuts * sizeof(uint32_t), own + cuts);
    start->own = own;
    start->cuts = cuts;
    *at += bytes;
    *left -= bytes;
    return COBRE_OK;
}

cobre_status cb_starts_unpack(cb_start *start, size_t nodes, const unsigned char *bytes, size_t length) {
    for (size_t n = 0; n < nodes; n++)
        CB_TRY(cb_start_unpack(&start[n], &bytes, &length));
    return length == 0 ? COBRE_OK : COBRE_INVALID_POLICY;
}
