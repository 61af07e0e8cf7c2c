/* SPDX-License-Identifier: Apache-2.0 */
/* detail.h: the data of an iteration by rank, stage and operation. They are read again from the line of the event when
 * they are shown. */
#ifndef COBRE_CLI_WATCH_DETAIL_H
#define COBRE_CLI_WATCH_DETAIL_H

#include "cli/watch/source.h"

enum { CB_STAGE_MADE, CB_STAGE_KEPT, CB_STAGE_ACTIVE, CB_STAGE_QUANTITIES };
enum { CB_MOST_OPERATIONS = 32, CB_MOST_ITEMS = 1 << 20 };

struct cb_operation {
    char name[CB_SHORT];
    double calls, bytes, seconds;
};

struct cb_detail {
    bool known;
    struct cb_place place;
    size_t ranks, stages;             /* of the longest array; missing values of others are NaN */
    double *rank[COBRE_SDDP_EFFORTS]; /* by cobre_sddp_effort */
    double *stage[CB_STAGE_QUANTITIES];
    struct cb_operation operation[CB_MOST_OPERATIONS]; /* the slowest first */
    size_t operations;
};

/* Reads the detail of a record, unless it is already here. False: it can no longer be read. */
bool cb_detail_take(struct cb_detail *detail, const struct cb_source *source, const struct cb_record *record);
void cb_detail_free(struct cb_detail *detail);

double cb_detail_sum(const double *values, size_t count);  /* of those that are known; NaN: none is */
double cb_detail_most(const double *values, size_t count); /* at least 0 */

#endif
