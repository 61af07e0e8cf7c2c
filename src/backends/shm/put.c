/* put.c: the copy into a bulk area, whose lines other cores have read.
 *
 * To write such a line a core must take it back from them. Where the cores share a cache that costs about as much as a
 * plain copy; where they do not (two sockets, or a virtual machine whose cores the host has put apart) ten times as much,
 * and stores that go round the caches are better, though the readers then fetch from memory. Which it is can change
 * while a job runs, so it is measured: after a slow copy the next ones stream, then one is tried again. */
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "shm.h"

enum {
    TIMED = 8 << 10, /* bytes; below that a copy is over before the clock has been read */
    STREAMED = 32,   /* copies after a slow one */
};
#define SLOW 0.2e-9 /* seconds a byte; a third of it is usual, and three times it between sockets */

#ifdef __SSE2__
/* to is at the start of a line. */
static void stream(unsigned char *to, const unsigned char *from, size_t bytes) {
    size_t lines = bytes / CB_LINE * CB_LINE;
    for (size_t at = 0; at < lines; at += CB_LINE)
        for (size_t word = at; word < at + CB_LINE; word += sizeof(__m128i))
            _mm_stream_si128((__m128i *)(to + word), _mm_loadu_si128((const __m128i *)(from + word)));
    memcpy(to + lines, from + lines, bytes - lines);
    _mm_sfence(); /* streaming stores are not ordered by the release that publishes them */
}
#else
static void stream(unsigned char *to, const unsigned char *from, size_t bytes) {
    memcpy(to, from, bytes);
}
#endif

void cb_shm_put(struct cb_shm_comm *comm, unsigned char *to, const unsigned char *from, size_t bytes) {
    if (bytes < TIMED) {
        memcpy(to, from, bytes);
    } else if (comm->streamed > 0) {
        comm->streamed--;
        stream(to, from, bytes);
    } else {
        double start = cb_now();
        memcpy(to, from, bytes);
        comm->streamed = cb_now() - start > SLOW * (double)bytes ? STREAMED : 0;
    }
}
