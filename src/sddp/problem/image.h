/* SPDX-License-Identifier: Apache-2.0 */
/* image.h: a problem as one block of memory. It holds offsets from its beginning instead of pointers, so that it can be
 * shared and sent as it is. Arrays begin at multiples of 8 bytes. */
#ifndef COBRE_SDDP_PROBLEM_IMAGE_H
#define COBRE_SDDP_PROBLEM_IMAGE_H

#include "sddp/problem/builder.h"

/* The size in bytes of the image of a checked problem; 0: larger than memory can be. */
size_t cb_image_size(const cobre_sddp_builder *builder);

/* Writes the image into that many bytes, which must be zero; outcomes of noise models are drawn straight into it. */
void cb_image_pack(const cobre_sddp_builder *builder, void *image);

/* Computes numbers of the whole problem and writes them into its image: fingerprint, scale and unit, ranges of columns.
 * false: no memory. */
bool cb_image_sum_up(const cobre_sddp_problem *problem, void *image); /* sums.c */
bool cb_find_ranges(const cobre_sddp_problem *problem, void *image);  /* ranges.c: the ranges of columns */

/* The views of an image; it must last as long as the problem. false: no memory. */
bool cb_image_view(const void *image, cobre_sddp_problem *problem);

/* The beginning of an image. */
typedef struct {
    uint64_t fingerprint, longest, maximise, seasons, first_season;
    double scale, unit;
    uint64_t states, nodes, root_edges, all_root_edges, scenarios, labels, blocks; /* how many */
    uint64_t name, contents, state, node, root_edge, scenario, step, label, block, time, money;
} cb_image_head;

#endif
