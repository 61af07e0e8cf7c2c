/* SPDX-License-Identifier: Apache-2.0 */
/* conflict.h: limits of a node's LP that contradict each other. No member can be left out. */
#ifndef COBRE_SDDP_STAGE_CONFLICT_H
#define COBRE_SDDP_STAGE_CONFLICT_H

#include "sddp/stage/stage.h"

typedef enum { CB_LIMIT_STATE, CB_LIMIT_COLUMN, CB_LIMIT_ROW } cb_limit_kind;

typedef struct {
    cb_limit_kind kind;
    size_t index;
    double lower, upper; /* one may be infinite: the two sides of a column are two members, unless they are equal */
} cb_limit;

typedef struct {
    cb_limit *member; /* states first, rows last */
    size_t members;   /* 0: none was found */
} cb_conflict;

/* Finds the conflict of the stage's LP, which has no solution at its state and noise. */
cb_conflict cb_find_conflict(const cb_stage *stage, cb_arena *memory);

#endif
