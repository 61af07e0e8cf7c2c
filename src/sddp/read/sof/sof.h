/* SPDX-License-Identifier: Apache-2.0 */
/* sof.h: the two halves of the StochOptFormat reader. `at` is the place of the value beside it. */
#ifndef COBRE_SDDP_READ_SOF_SOF_H
#define COBRE_SDDP_READ_SOF_SOF_H

#include "sddp/read/json_file.h"

/* The member of an object, if it is of that type; else NULL, with an error if it is needed or of another type. */
json_t *cb_sof_member(cobre_sddp_builder *builder, const cb_place *at, const json_t *object, const char *key,
                      json_type type, bool needed);
const char *cb_sof_text(cobre_sddp_builder *builder, const cb_place *at, const json_t *object,
                        const char *key); /* needed; NULL: reported */
bool cb_sof_number(cobre_sddp_builder *builder, const cb_place *at, const json_t *object, const char *key,
                   double *value); /* needed */

/* Builds the LP of node `node` from an entry of the subproblems. */
void cb_sof_subproblem(cobre_sddp_builder *builder, const cb_place *at, size_t node, const json_t *entry);

#endif
