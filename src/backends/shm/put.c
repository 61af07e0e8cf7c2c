/* SPDX-License-Identifier: Apache-2.0 */
/* put.c: the copy into a bulk area, whose lines other cores have read.
 *
 * To write such a line a core must take it back from them. Where the cores share a cache that costs about as much as a
 * plain copy; where they do not (two sockets, or a virtual machine whose cores the host has put apart) ten times as much,
 * and stores that go round the caches are better, though the readers then fetch from memory. Which it is can change
 * while a job runs, so it is measured: after a slow copy the next ones stream, then one is tried again. */
#include <string.h>

#include "backends/shm/shm.h"

enum {
    TIMED = 8 << 10, /* bytes; below that a copy is over before the clock has been read */
    STREAMED = 32,   /* copies after a slow one */
};
#define SLOW 0.3e-9 /* seconds a byte; a third of it is usual, and twice it between far cores */

void cb_shm_put(struct cb_shm_comm *comm, unsigned char *to, const unsigned char *from, size_t bytes) {
    if (!bytes)
        return; /* from may be NULL */
    if (bytes < TIMED) {
        memcpy(to, from, bytes);
    } else if (comm->to_stream > 0) {
        comm->to_stream--;
        cb_stream(to, from, bytes);
    } else {
        double start = cb_now();
        memcpy(to, from, bytes);
        comm->to_stream = cb_now() - start > SLOW * (double)bytes ? STREAMED : 0;
    }
}
