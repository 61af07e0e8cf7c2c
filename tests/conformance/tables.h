/* SPDX-License-Identifier: Apache-2.0 */
/* tables.h: the cases, one table a file. */
#ifndef COBRE_TEST_TABLES_H
#define COBRE_TEST_TABLES_H

#include "kit/kit.h"

/* X(table) */
#define CONFORMANCE_TABLES(X)                                                                                          \
    X(gather_cases)                                                                                                    \
    X(reduce_cases)                                                                                                    \
    X(float_cases)                                                                                                     \
    X(broadcast_cases)                                                                                                 \
    X(barrier_cases)                                                                                                   \
    X(thread_cases)                                                                                                    \
    X(sequence_cases)                                                                                                  \
    X(region_cases)                                                                                                    \
    X(split_cases)                                                                                                     \
    X(error_cases)                                                                                                     \
    X(error_text_cases)                                                                                                \
    X(mismatch_cases)                                                                                                  \
    X(huge_cases)

#define DECLARE_TABLE(table) extern const kit_case table[];
CONFORMANCE_TABLES(DECLARE_TABLE)
#undef DECLARE_TABLE

#endif
