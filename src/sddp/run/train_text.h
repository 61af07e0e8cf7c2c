/* SPDX-License-Identifier: Apache-2.0 */
/* train_text.h: the output of a training as lines of text, for `cobre train` and for logs. */
#ifndef COBRE_SDDP_RUN_TRAIN_TEXT_H
#define COBRE_SDDP_RUN_TRAIN_TEXT_H

#include "sddp/run/train_run.h"

#include <stdio.h>

/* Explains the columns. */
struct cb_train_text {
    bool maximises, averse;
};

struct cb_train_text cb_train_text_of(const struct cb_train_run *run);
double cb_train_text_gap(const struct cb_train_text *text, const cobre_sddp_progress *now); /* NaN: there is none */
const char *cb_train_text_share(double gap, char share[32]); /* "1.23 %", or "-"; returns share */

void cb_train_text_start(FILE *to, const struct cb_train_run *run); /* which problem, on how many ranks */
void cb_train_text_header(FILE *to, const struct cb_train_text *text);
void cb_train_text_row(FILE *to, const struct cb_train_text *text, const cobre_sddp_progress *last,
                       const cobre_sddp_progress *now); /* last: the row before this one */
void cb_train_text_end(FILE *to, const struct cb_train_run *run, const cobre_sddp_training *result,
                       const cobre_sddp_policy *policy);

/* "3 stages, 3 nodes, 1 state" */
void cb_write_problem_size(FILE *to, const cobre_sddp_problem *problem);
void cb_write_size(FILE *to, size_t stages, size_t nodes, size_t states);

#endif
