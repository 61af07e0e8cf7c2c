/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h: the input formats. A reader reports every error it finds through the builder (cb_error_at) and returns
 * the builder as far as it got; NULL only when there is no memory. Not collective. */
#ifndef COBRE_SDDP_READ_READER_H
#define COBRE_SDDP_READ_READER_H

#include "sddp/problem/builder.h"

cobre_sddp_builder *cb_read_sof(const char *path, const cobre_sddp_load_options *options);
cobre_sddp_builder *cb_read_hydrothermal(const char *folder, const cobre_sddp_load_options *options);

/* Scenarios to simulate, from a table, in place of the case's own; by_stage: node n - 1 is stage n. */
void cb_read_scenarios(cobre_sddp_builder *builder, const char *path, bool by_stage);

/* The source of terminal cuts: they bound the cost after a node. */
typedef struct {
    const char *file; /* of a policy, or a table: *.csv. NULL: there are none */
    const char *node; /* in that file; NULL: not given */
    size_t stage;     /* in that file; 0: not given */
} cb_terminal;

/* at: the place of the request in the case. */
void cb_read_terminal(cobre_sddp_builder *builder, const cb_place *at, size_t node, const cb_terminal *wish);

#endif
