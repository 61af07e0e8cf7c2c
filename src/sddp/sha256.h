/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.h: SHA-256 (FIPS 180-4), as sha256sum(1) prints it. Users can check such hashes themselves. */
#ifndef COBRE_SDDP_SHA256_H
#define COBRE_SDDP_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { CB_SHA256_TEXT = 65 }; /* 64 digits and a zero byte */

struct cb_sha256 {
    uint32_t state[8];
    uint64_t bytes; /* so far */
    unsigned char block[64];
};

void cb_sha256_begin(struct cb_sha256 *sha);
void cb_sha256_add(struct cb_sha256 *sha, const void *bytes, size_t count);
void cb_sha256_end(struct cb_sha256 *sha, char text[CB_SHA256_TEXT]);

#endif
