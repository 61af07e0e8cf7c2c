/* SPDX-License-Identifier: Apache-2.0 */
/* hex.h: inputs of the fuzzer as text. */
#ifndef COBRE_TEST_FUZZ_HEX_H
#define COBRE_TEST_FUZZ_HEX_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Two digits a byte; how many bytes. */
static inline size_t fuzz_unhex(const char *hex, uint8_t *bytes) {
    size_t size = strlen(hex) / 2;
    for (size_t i = 0; i < size; i++) {
        const char pair[3] = {hex[2 * i], hex[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return size;
}

#endif
