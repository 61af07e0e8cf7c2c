/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h: the parts of `cobre compare`. */
#ifndef COBRE_CLI_PLAN_COMPARE_H
#define COBRE_CLI_PLAN_COMPARE_H

#include "cli/json.h"
#include "sddp/run/compare_json.h"

/* compare_table.c: words, table and notes, on standard output. */
void cb_compare_print(const cobre_sddp_comparison *comparison);

#endif
