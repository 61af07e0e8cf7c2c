/* cases.h: reference cases with published optima, as problems built with problem.h. */
#ifndef CASES_H
#define CASES_H

#include "sddp/problem/problem.h"

typedef struct {
    const char *name;
    cobre_sddp_problem *(*build)(void); /* not finished; NULL: its data are not there */
    double value;                       /* published, or recomputed as one big LP */
    double tolerance;                   /* absolute */
    double below;                       /* how far the bound may stay below after `iterations`; 0: tolerance */
    uint64_t iterations;
    bool small; /* its extensive form can be solved directly */
    bool slow;
} reference_case;

extern const reference_case reference_cases[];
const reference_case *find_case(const char *name); /* NULL if there is none */

/* cases_brazil.c: the four-subsystem problem. Data: cases/msppy. */
cobre_sddp_problem *build_brazil_T3(void);
/* X(name, weight of deficits) */
#define BRAZIL_60(X)                                                                                                   \
    X(brazil_60, 0.5)                                                                                                  \
    X(brazil_60_0, 0)                                                                                                  \
    X(brazil_60_125, 0.125)                                                                                            \
    X(brazil_60_25, 0.25)                                                                                              \
    X(brazil_60_375, 0.375)                                                                                            \
    X(brazil_60_625, 0.625)                                                                                            \
    X(brazil_60_75, 0.75)                                                                                              \
    X(brazil_60_875, 0.875)
#define BUILD_BRAZIL_60(name, weight) cobre_sddp_problem *build_##name(void);
BRAZIL_60(BUILD_BRAZIL_60)
#undef BUILD_BRAZIL_60

#endif
