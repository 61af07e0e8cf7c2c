/* SPDX-License-Identifier: Apache-2.0 */
/* finish.c: from a builder on rank 0 to a problem on all ranks. Rank 0 checks the builder and packs it into a region.
 * The region is spread to the other hosts and sealed, and each rank makes its views of it. A finished problem already
 * has an image: for another communicator it is copied. */
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "sddp/problem/image.h"

cobre_status cb_builder_tell(const cobre_sddp_builder *builder, void issue(void *, const cobre_sddp_issue *),
                             void *arg) {
    const cobre_sddp_issue *first = builder->issue;
    if (builder->no_memory)
        return cb_no_memory("the problem", 0);
    if (builder->errors == 0)
        return COBRE_OK;
    for (size_t i = 0; i < builder->issues && issue; i++)
        issue(arg, &builder->issue[i]);
    return cb_fail_at(COBRE_INVALID_CASE, first->file, first->line, first->suggestion, "%s%s%s%s",
                      builder->errors > 1 ? CB_TEXT("%zu errors in the case; the first: ", builder->errors) : "",
                      first->place, *first->place ? ": " : "", first->message);
}

/* Only of a problem without errors: what is wrong comes first. */
static void tell_warnings(const cobre_sddp_builder *builder, const cobre_sddp_load_options *options) {
    for (size_t i = 0; i < builder->warnings && options->issue; i++)
        options->issue(options->arg, &builder->warning[i]);
}

/* Lines of nodes, for errors that are found when the JSON file has been forgotten: here, so that it is not in memory
 * beside the image. */
static void find_lines(cobre_sddp_builder *builder) {
    for (size_t n = 0; n < builder->nodes; n++) {
        cb_place *at = &builder->node[n].at;
        at->line = at->line ? at->line : cb_json_line(builder->json, at->file, at->text);
    }
    cb_json_forget(builder);
}

static cobre_status check(cobre_sddp_builder *builder, const cobre_sddp_load_options *options, size_t *bytes) {
    if (!builder->no_memory)
        cb_builder_check(builder);
    CB_TRY(cb_builder_tell(builder, options->issue, options->arg));
    find_lines(builder);
    cb_sort_labels(builder);
    *bytes = cb_image_size(builder);
    return *bytes ? COBRE_OK : cb_no_memory("the problem", SIZE_MAX);
}

static void free_views(cobre_sddp_problem *problem) {
    free(problem->state);
    free(problem->node);
    free(problem->label);
    free(problem->block);
}

/* Values of tables were checked when they were added; those of models come from draws. One error per node is enough. */
static void check_draws(cobre_sddp_builder *builder, const cb_node *node, const cb_place *at) {
    for (size_t k = 0; node->model.deviation && k < node->outcomes; k++)
        if (cb_check_draw(node, node->outcome + k * node->randoms)) {
            cb_error_at(builder, at, cobre_last_error()->suggestion, "%s", cobre_last_error()->message);
            return;
        }
}

static cobre_status pack(cobre_sddp_builder *builder, const cobre_sddp_load_options *options, cobre_region *region) {
    void *image = cobre_region_data_mut(region);
    cobre_sddp_problem whole = {.name = NULL};
    cb_image_pack(builder, image);
    builder->no_memory |= !cb_image_view(image, &whole);
    for (size_t n = 0; n < builder->nodes && !builder->no_memory; n++)
        check_draws(builder, &whole.node[n], &builder->node[n].at);
    cobre_status status = cb_builder_tell(builder, options->issue, options->arg);
    if (!status && !cb_image_sum_up(&whole, image))
        status = cb_no_memory("the ranges of columns", whole.nodes * whole.states * sizeof(cb_range));
    if (!status) {
        cb_builder_warn(builder, &whole);
        tell_warnings(builder, options);
    }
    free_views(&whole);
    return status;
}

/* From rank 0's node to the others. */
static cobre_status spread(cobre_comm *comm, cobre_region *region, size_t bytes) {
    size_t ranks = cobre_size(comm), *counts = calloc(2 * ranks, sizeof *counts);
    cobre_status status = cb_agree(comm, counts ? COBRE_OK : cb_no_memory("counts", 2 * ranks * sizeof *counts));
    if (!status) {
        counts[0] = bytes;
        for (size_t r = 1; r < ranks; r++)
            counts[ranks + r] = bytes;
        status = cobre_allgatherv_region(comm, cobre_region_data(region), counts[cobre_rank(comm)], region, counts,
                                         counts + ranks);
    }
    free(counts);
    return status;
}

/* What rank 0 makes the image of: a builder, or a problem that has one. */
struct source {
    cobre_sddp_builder *builder;
    const cobre_sddp_load_options *options;
    const cobre_sddp_problem *problem;
    size_t bytes; /* of the image */
};

static cobre_status fill(const struct source *source, cobre_region *region) {
    if (source->builder)
        return pack(source->builder, source->options, region);
    if (source->problem)
        memcpy(cobre_region_data_mut(region), cobre_region_data(source->problem->image), source->bytes);
    return COBRE_OK;
}

static cobre_status share(cobre_comm *comm, const struct source *source, cobre_region **region) {
    uint64_t size = source->bytes;
    CB_TRY(cobre_broadcast(comm, &size, 1, COBRE_U64, 0));
    CB_TRY(cobre_region_create(comm, size, COBRE_U8, COBRE_REGION_INTERLEAVE, region));
    CB_TRY(cb_agree(comm, fill(source, *region)));
    CB_TRY(spread(comm, *region, size));
    return cobre_region_seal(*region);
}

static cobre_status make(cobre_comm *comm, const struct source *source, cobre_sddp_problem **pointer) {
    cobre_sddp_problem *problem = *pointer = calloc(1, sizeof *problem);
    CB_TRY(cb_agree(comm, problem ? COBRE_OK : cb_no_memory("the problem", sizeof *problem)));
    problem->comm = comm;
    CB_TRY(share(comm, source, &problem->image));
    bool viewed = cb_image_view(cobre_region_data(problem->image), problem);
    return cb_agree(comm, viewed ? COBRE_OK : cb_no_memory("the problem", problem->nodes * sizeof *problem->node));
}

/* A builder is many small pieces. glibc keeps them for the process, which will never need as much again. */
static void free_builder(cobre_sddp_builder **builder) {
    cobre_sddp_builder_free(builder);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* status: of what was done before. The source is that of rank 0; elsewhere it is empty. */
static cobre_status make_all(cobre_comm *comm, cobre_status status, const struct source *source,
                             cobre_sddp_problem **problem) {
    *problem = NULL;
    status = cb_agree(comm, status);
    if (!status)
        status = make(comm, source, problem);
    if (status)
        cobre_sddp_problem_free(problem);
    return status;
}

cobre_status cb_finish(cobre_comm *comm, cobre_status status, cobre_sddp_builder **builder,
                       const cobre_sddp_load_options *options, cobre_sddp_problem **problem) {
    struct source source = {.options = options};
    if (cobre_rank(comm) > 0)
        cobre_sddp_builder_free(builder);
    else if (!status)
        status = check(*builder, options, &source.bytes);
    source.builder = *builder;
    status = make_all(comm, status, &source, problem);
    free_builder(builder);
    return status;
}

cobre_status cobre_sddp_problem_share(cobre_comm *comm, const cobre_sddp_problem *problem,
                                      cobre_sddp_problem **shared) {
    struct source source = {0};
    cobre_status status = COBRE_OK;
    if (!comm || !shared)
        return cb_refuse_null(comm ? "shared" : "comm");
    if (cobre_rank(comm) == 0 && problem)
        source = (struct source){.problem = problem, .bytes = cobre_region_count(problem->image)};
    else if (cobre_rank(comm) == 0)
        status = cb_refuse("problem", "pass the problem on rank 0", "rank 0 has no problem");
    return make_all(comm, status, &source, shared);
}

void cobre_sddp_problem_free(cobre_sddp_problem **pointer) {
    if (!pointer || !*pointer)
        return;
    cobre_sddp_problem *problem = *pointer;
    *pointer = NULL;
    cobre_region_free(&problem->tours);
    cobre_region_free(&problem->image);
    free_views(problem);
    free(problem);
}
