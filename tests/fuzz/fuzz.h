/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h: the fuzz target for what is read from the network, and how its inputs look.
 *
 * The first byte of an input says which message the others are. `make fuzz` links the target with libFuzzer; the tests
 * link it with corpus.c, which gives it the seeds and what the fuzzer has found so far. The property is the same for every
 * message: what the parser accepts, packed again, is the same bytes but for the reserved ones, which are 0; so nothing is
 * lost, invented or read beyond the end. */
#ifndef COBRE_TEST_FUZZ_H
#define COBRE_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The kinds of message, by their first byte; a larger one counts modulo FUZZ_KINDS. */
enum { FUZZ_HELLO, FUZZ_REPLY, FUZZ_HEADER, FUZZ_FAILURE, FUZZ_TABLE, FUZZ_KINDS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
