/* fuzz.h: what the fuzz targets share.
 *
 * A target is LLVMFuzzerTestOneInput. `make fuzz` links it with libFuzzer; the tests link it with replay.c, which gives
 * it the files of the corpus. The property is the same for every message: what the parser accepts, packed again, is the
 * same bytes but for the reserved ones, which are 0; so nothing is lost, invented or read beyond the end. */
#ifndef COBRE_FUZZ_H
#define COBRE_FUZZ_H

#include "backends/tcp/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A copy with nothing behind it, so that ASan sees a read of one byte too many. */
static inline unsigned char *exact_copy(const uint8_t *data, size_t size) {
    unsigned char *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    return copy;
}

#endif
