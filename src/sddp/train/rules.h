/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h: the stopping rules, as those see them who do not train. */
#ifndef COBRE_SDDP_TRAIN_RULES_H
#define COBRE_SDDP_TRAIN_RULES_H

#include "cobre/sddp.h"
#include "options/options.h"

extern const struct cb_option cb_rule_rows[]; /* cobre_sddp_train_options */

/* Sets what the rules need and was not given. Without any rule: 100 iterations. */
void cb_rules_default(cobre_sddp_train_options *options);

/* A rule is set that compares simulated costs with the bound. */
bool cb_rules_statistical(const cobre_sddp_train_options *options);

/* A rule is set that looks for convergence; and one of those has ended it. */
bool cb_rules_can_converge(const cobre_sddp_train_options *options);
bool cb_rules_converged(const cobre_sddp_train_options *options, cobre_sddp_stop stop);

/* Is there a risk measure, of the problem or instead of it? */
bool cb_options_averse(const cobre_sddp_problem *problem, const cobre_sddp_train_options *options);

/* Whether their rules differ; and makes them the same. */
bool cb_rules_differ(const cobre_sddp_train_options *one, const cobre_sddp_train_options *other);
void cb_rules_copy(cobre_sddp_train_options *to, const cobre_sddp_train_options *from);

/* The same for a message: the bytes of all rules, one behind the other. */
enum { CB_RULES_BYTES = 128 };
void cb_rules_pack(const cobre_sddp_train_options *options, unsigned char packed[CB_RULES_BYTES]);
void cb_rules_unpack(cobre_sddp_train_options *options, const unsigned char packed[CB_RULES_BYTES]);

/* Changes one rule: `text` is its value as on the command line, "on" or "off". False: nothing has changed, and `error` says why.
 * averse: there is a risk measure. */
bool cb_rules_change(cobre_sddp_train_options *options, bool averse, const char *name, const char *text,
                     char error[CB_OPTION_ERROR]);

#endif
