/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h: reference cases with published optima. */
#ifndef COBRE_TEST_SDDP_CASES_H
#define COBRE_TEST_SDDP_CASES_H

#include "sddp/problem/builder.h"

typedef enum {
    QUICK, /* goes everywhere */
    LONG,  /* not where a sanitizer makes it longer */
    SLOW,  /* for `make soak` */
    NEVER
} case_effort;

typedef struct {
    const char *name;
    cobre_sddp_builder *(*build)(void); /* NULL: no memory */
    double value;                       /* published, or recomputed as one big LP */
    double tolerance;                   /* absolute */
    double below;                       /* how far the bound may stay below after `iterations`; 0: tolerance */
    uint64_t iterations;
    bool small; /* its extensive form can be solved directly */
    case_effort effort;
    case_effort multi; /* with multi-cuts, if that is more */
} reference_case;

extern const reference_case reference_cases[];
const reference_case *find_case(const char *name); /* NULL if there is none */

#endif
