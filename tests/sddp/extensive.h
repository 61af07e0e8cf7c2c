/* SPDX-License-Identifier: Apache-2.0 */
/* extensive.h: the whole scenario tree as one LP. */
#ifndef COBRE_TEST_SDDP_EXTENSIVE_H
#define COBRE_TEST_SDDP_EXTENSIVE_H

#include "sddp/lp/lp.h"
#include "sddp/problem/problem.h"

/* The optimal value of a finished problem over so many steps, in its own sense; NAN if the LP has no solution. Every node of
 * the scenario tree has its own copy of its LP; a copy's cost from there on is a free column z, and nested risk is
 * written with t and u as in src/sddp/stage/build.c. */
double extensive_value(const cobre_sddp_problem *problem, size_t steps);

/* The same by a solver of the caller, which returns the least cost of a model. */
double extensive_value_by(const cobre_sddp_problem *problem, size_t steps, double solve_model(const cb_lp_model *));

#endif
