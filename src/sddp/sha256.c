/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.c: SHA-256, with the names of FIPS 180-4. */
#include "sddp/sha256.h"

#include <stdio.h>
#include <string.h>

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotr(uint32_t x, int n) {
    return x >> n | x << (32 - n);
}

static void add_block(uint32_t state[8], const unsigned char *m) {
    uint32_t w[64], v[8];
    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)m[4 * t] << 24 | (uint32_t)m[4 * t + 1] << 16 | (uint32_t)m[4 * t + 2] << 8 | m[4 * t + 3];
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    memcpy(v, state, sizeof v); /* a ... h; they move on by their indices, not in memory */
    for (int t = 0; t < 64; t++) {
        uint32_t a = v[-t & 7], b = v[(1 - t) & 7], c = v[(2 - t) & 7], e = v[(4 - t) & 7], f = v[(5 - t) & 7];
        uint32_t g = v[(6 - t) & 7], *d = &v[(3 - t) & 7], *h = &v[(7 - t) & 7];
        uint32_t s1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25), s0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
        uint32_t t1 = *h + s1 + ((e & f) ^ (~e & g)) + k[t] + w[t];
        *d += t1;
        *h = t1 + s0 + ((a & b) ^ (a & c) ^ (b & c));
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

void cb_sha256_begin(struct cb_sha256 *sha) {
    *sha = (struct cb_sha256){
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void cb_sha256_add(struct cb_sha256 *sha, const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    while (count > 0) {
        size_t used = sha->bytes % 64, more = 64 - used < count ? 64 - used : count;
        memcpy(sha->block + used, at, more);
        sha->bytes += more;
        at += more;
        count -= more;
        if (sha->bytes % 64 == 0)
            add_block(sha->state, sha->block);
    }
}

void cb_sha256_end(struct cb_sha256 *sha, char text[CB_SHA256_TEXT]) {
    static const unsigned char pad[64] = {0x80};
    unsigned char length[8];
    uint64_t bits = 8 * sha->bytes;
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    cb_sha256_add(sha, pad, 1 + (119 - sha->bytes % 64) % 64);
    cb_sha256_add(sha, length, sizeof length);
    for (int i = 0; i < 8; i++)
        snprintf(text + 8 * i, 9, "%08x", (unsigned)sha->state[i]);
}
