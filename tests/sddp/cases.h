/* cases.h: reference cases with published optima, as problems built with problem.h. */
#ifndef CASES_H
#define CASES_H

#include "problem.h"

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
cobre_sddp_problem *build_brazil_60(void);

#endif
