/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h: the measuring loop that cobre and its peers share. */
#ifndef COBRE_CLI_BENCH_MEASURE_H
#define COBRE_CLI_BENCH_MEASURE_H

#include "cli/bench/peer.h"

#include <stdbool.h>

/* X(code, name) */
#define BENCH_OPERATIONS(X)                                                                                            \
    X(BARRIER, "barrier")                                                                                              \
    X(ALLREDUCE, "allreduce")                                                                                          \
    X(BROADCAST, "broadcast")                                                                                          \
    X(ALLGATHERV, "allgatherv")                                                                                        \
    X(ALLGATHERV_REGION, "allgatherv_region")

enum bench_operation {
#define BENCH_ENUM(code, name) BENCH_##code,
    BENCH_OPERATIONS(BENCH_ENUM)
#undef BENCH_ENUM
        BENCH_OPERATION_COUNT
};

struct bench_work {
    enum bench_operation operation;
    size_t bytes;   /* of the result on each rank, a multiple of a double; 0 for a barrier */
    bool cold;      /* rotate over buffers that do not fit in the cache together; otherwise always the same ones */
    double seconds; /* about how long to time; one call may take longer */
};

enum { BENCH_MOST_REPETITIONS = 1000 };

struct bench_samples {
    double seconds[BENCH_MOST_REPETITIONS + 1]; /* per call on the slowest rank, one for each repetition */
    size_t count;
    size_t batch; /* calls in a repetition */
    bool right;   /* every rank got the right results, before and after */
};

/* Collective. All ranks pass the same work, and get the same samples. */
void bench_measure(struct peer *peer, const struct bench_work *work, struct bench_samples *samples);

const char *bench_operation_name(enum bench_operation operation);

/* False: no operation has this name. */
bool bench_operation_find(const char *name, enum bench_operation *operation);

#endif
