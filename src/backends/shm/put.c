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
#define SLOW 0.3e-9 /* seconds a byte; a third of it is usual, and twice it between far cores */

#ifdef __SSE2__
void cb_shm_stream(unsigned char *to, const unsigned char *from, size_t bytes) {
    size_t head = -(uintptr_t)to % CB_LINE;
    head = head < bytes ? head : bytes;
    memcpy(to, from, head);
    to += head, from += head, bytes -= head;
    size_t lines = bytes / CB_LINE * CB_LINE;
    for (size_t at = 0; at < lines; at += CB_LINE) {
        const __m128i *x = (const __m128i *)(from + at);
        __m128i *line = (__m128i *)(to + at);
        __m128i a = _mm_loadu_si128(x), b = _mm_loadu_si128(x + 1), c = _mm_loadu_si128(x + 2),
                d = _mm_loadu_si128(x + 3);
        _mm_stream_si128(line, a);
        _mm_stream_si128(line + 1, b);
        _mm_stream_si128(line + 2, c);
        _mm_stream_si128(line + 3, d);
    }
    memcpy(to + lines, from + lines, bytes - lines);
    _mm_sfence(); /* streaming stores are not ordered by the release that publishes them */
}
#else
void cb_shm_stream(unsigned char *to, const unsigned char *from, size_t bytes) {
    memcpy(to, from, bytes);
}
#endif

void cb_shm_put(struct cb_shm_comm *comm, unsigned char *to, const unsigned char *from, size_t bytes) {
    if (!bytes)
        return; /* from may be NULL */
    if (bytes < TIMED) {
        memcpy(to, from, bytes);
    } else if (comm->to_stream > 0) {
        comm->to_stream--;
        cb_shm_stream(to, from, bytes);
    } else {
        double start = cb_now();
        memcpy(to, from, bytes);
        comm->to_stream = cb_now() - start > SLOW * (double)bytes ? STREAMED : 0;
    }
}
