/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h: a 64-bit hash, one word at a time (FNV-1a with a shift that lets high bits reach low ones). For fingerprints and
 * checksums: it finds accidents, not forgeries. */
#ifndef COBRE_SDDP_HASH_H
#define COBRE_SDDP_HASH_H

#include <stdint.h>
#include <string.h>

#define CB_HASH_START 0xcbf29ce484222325u

static inline void cb_hash_word(uint64_t *hash, uint64_t word) {
    *hash = (*hash ^ word) * 0x100000001b3u;
    *hash ^= *hash >> 29;
}

static inline void cb_hash_double(uint64_t *hash, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    cb_hash_word(hash, bits);
}

static inline void cb_hash_text(uint64_t *hash, const char *text) {
    cb_hash_word(hash, strlen(text));
    for (; *text; text++)
        cb_hash_word(hash, (unsigned char)*text);
}

/* A number of whole words. */
static inline void cb_hash_words(uint64_t *hash, const void *bytes, size_t words) {
    for (size_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, (const char *)bytes + i * sizeof word, sizeof word);
        cb_hash_word(hash, word);
    }
}

#endif
