/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h: the stopping rules, for code outside the training loop. */
#ifndef COBRE_SDDP_TRAIN_RULES_H
#define COBRE_SDDP_TRAIN_RULES_H

#include "cobre/sddp.h"
#include "options/options.h"

extern const struct cb_option cb_rule_rows[]; /* cobre_sddp_train_options */

/* Fills in the defaults of the rules. Without any rule, training ends after 100 iterations. */
void cb_rules_default(cobre_sddp_train_options *options);

/* Is a rule set that compares simulated costs with the bound? */
bool cb_rules_statistical(const cobre_sddp_train_options *options);

/* Is a rule set that looks for convergence? And has one of those ended the training? */
bool cb_rules_can_converge(const cobre_sddp_train_options *options);
bool cb_rules_converged(const cobre_sddp_train_options *options, cobre_sddp_stop stop);

/* Is there a risk measure, in the problem or in the options? */
bool cb_options_averse(const cobre_sddp_problem *problem, const cobre_sddp_train_options *options);

/* Do the rules of the two differ? And: copies the rules. */
bool cb_rules_differ(const cobre_sddp_train_options *one, const cobre_sddp_train_options *other);
void cb_rules_copy(cobre_sddp_train_options *to, const cobre_sddp_train_options *from);

/* The same for a message, which holds the bytes of all rules one after the other. */
enum { CB_RULES_BYTES = 128 };
void cb_rules_pack(const cobre_sddp_train_options *options, unsigned char packed[CB_RULES_BYTES]);
void cb_rules_unpack(cobre_sddp_train_options *options, const unsigned char packed[CB_RULES_BYTES]);

/* Changes one rule. `text` is its value as on the command line, "on" or "off". False: nothing has changed, and `error` tells
 * why. averse: there is a risk measure. */
bool cb_rules_change(cobre_sddp_train_options *options, bool averse, const char *name, const char *text,
                     char error[CB_OPTION_ERROR]);

#endif
