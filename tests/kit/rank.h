/* SPDX-License-Identifier: Apache-2.0 */
/* rank.h: what the files of the rank program share; rank.c says what it does. */
#ifndef COBRE_TEST_RANK_H
#define COBRE_TEST_RANK_H

#include "kit/check.h"

extern cobre_comm *comm;
extern size_t rank, size;

double now(void); /* seconds, monotonic; kit/sentinel.h has the same for shell scripts */

/* An error of the library ends the program with code 3. */
void must(cobre_status status);

/* A collective on `count` words: allgatherv of a part from each rank, broadcast from rank 1 % size, or allreduce. */
enum { MAX_RANKS = 1024 };
typedef struct {
    char kind; /* g, b, r */
    size_t count;
    uint32_t *send, *recv;
    size_t counts[MAX_RANKS], displs[MAX_RANKS];
} operation;

operation operation_make(const char *name, size_t bytes);
void operation_prepare(const operation *op);
void operation_run(const operation *op, cobre_comm *over);
void operation_check(const operation *op); /* every word of the result */
void operation_free(operation *op);

/* Steps with files of their own. */
void measure_link(const char *what);
void go_round(const char *what);
void overfill(void);
void make_region(size_t bytes);
void refused(const char *what);
extern _Thread_local const char
    *refuse; /* the next call of this function by this thread fails, where refuse.c is linked */

#endif
