/* SPDX-License-Identifier: Apache-2.0 */
/* option_tables.h: the options of the calls of sddp.h, as tables. */
#ifndef COBRE_SDDP_RUN_OPTION_TABLES_H
#define COBRE_SDDP_RUN_OPTION_TABLES_H

#include "options/options.h"
#include "sddp/run/begin.h"
#include "sddp/train/rules.h" /* cb_rule_rows */

extern const struct cb_option cb_train_rows[];    /* cobre_sddp_train_options, but for the stopping rules */
extern const struct cb_option cb_simulate_rows[]; /* cobre_sddp_simulate_options, but for where it begins */
extern const struct cb_option cb_begin_rows[];    /* struct cb_begin */

extern const struct cb_option cb_decide_rows[];  /* struct cb_decision, but for where it begins */
extern const struct cb_option cb_compare_rows[]; /* cobre_sddp_compare_options */

extern const struct cb_option cb_validate_rows[]; /* cobre_sddp_validate_options */

/* cobre_sddp_load_options: of a case that is only checked, and of one that is to be simulated. */
extern const struct cb_option cb_load_rows[];
extern const struct cb_option cb_scenario_rows[];

#endif
