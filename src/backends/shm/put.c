/* SPDX-License-Identifier: Apache-2.0 */
/* put.c: the copy into a bulk area, whose lines other cores have read.
 *
 * To write such a line a core must take it back from them. Where the cores share a cache that costs about as much as a
 * plain copy. Where they do not (two sockets, or a virtual machine whose cores the host has put apart) it costs five times
 * as much. Then non-temporal stores are better, though the readers fetch from memory. This can change while a job runs, so
 * each piece is measured. After two slow pieces in a row (an interrupt makes one slow) the next ones are streamed. Then
 * a plain copy is tried again, so seldom that trying takes half a percent of the time. */
#include <string.h>

#include "backends/shm/shm.h"

enum {
    TIMED = 8 << 10, /* bytes; below that a copy is over before the clock has been read */
    PIECE = 32 << 10,
};
#define SLOW 0.3e-9   /* seconds a byte; a third of it is usual, and 1.5 times it between far cores */
#define STREAMED 200  /* times as long as the slow piece took */
#define LONGEST 10e-3 /* seconds; who was not running for a while has found out nothing */

/* A piece was copied since `start`; returns the time now. */
static double judge(struct cb_shm_comm *comm, double start, size_t bytes) {
    double now = cb_now(), took = now - start;
    bool slow = took > SLOW * (double)bytes;
    if (slow && comm->slow_put)
        comm->stream_until = now + (STREAMED * took < LONGEST ? STREAMED * took : LONGEST);
    comm->slow_put = slow;
    return now;
}

void cb_shm_put(struct cb_shm_comm *comm, unsigned char *to, const unsigned char *from, size_t bytes) {
    if (bytes < TIMED) {
        if (bytes) /* from may be NULL */
            memcpy(to, from, bytes);
        return;
    }
    double now = cb_now();
    for (size_t done = 0, piece; done < bytes; done += piece) {
        piece = bytes - done;
        if (now < comm->stream_until) {
            cb_stream(to + done, from + done, piece);
        } else {
            piece = piece < 2 * PIECE ? piece : PIECE;
            memcpy(to + done, from + done, piece);
            now = judge(comm, now, piece);
        }
    }
}
