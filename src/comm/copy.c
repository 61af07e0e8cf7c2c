/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c: copies with non-temporal stores, which bypass the caches. */
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "comm/backend.h"

enum {
    LINE = 64,
    LARGE = 64 << 20, /* bytes of a result that no cache holds */
};

#ifdef __SSE2__
void cb_stream(unsigned char *to, const unsigned char *from, size_t bytes) {
    size_t head = -(uintptr_t)to % LINE;
    head = head < bytes ? head : bytes;
    memcpy(to, from, head);
    to += head, from += head, bytes -= head;
    size_t lines = bytes / LINE * LINE;
    for (size_t at = 0; at < lines; at += LINE) {
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
void cb_stream(unsigned char *to, const unsigned char *from, size_t bytes) {
    memcpy(to, from, bytes);
}
#endif

void cb_copy_result(const cb_call *call, void *to, const void *from, size_t bytes) {
    if (!bytes || to == from)
        return;
    if (call->print.count * cb_type_size(call->type) >= LARGE)
        cb_stream(to, from, bytes);
    else
        memcpy(to, from, bytes);
}
