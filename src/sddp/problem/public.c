/* SPDX-License-Identifier: Apache-2.0 */
/* public.c: the builder functions of sddp.h. They call those of builder.h without places. */
#include "sddp/grow.h"
#include "sddp/problem/builder.h"
#include "sddp/usual_floats.h"

size_t cobre_sddp_add_state(cobre_sddp_builder *builder, const char *name, double initial) {
    CB_USUAL_FLOATS();
    return builder ? cb_add_state(builder, NULL, name, initial) : CB_NONE;
}

size_t cobre_sddp_add_node(cobre_sddp_builder *builder, const char *name, size_t stage) {
    return builder ? cb_add_node(builder, NULL, name, stage) : CB_NONE;
}

size_t cobre_sddp_add_column(cobre_sddp_builder *builder, size_t node, const char *name, double lower, double upper,
                             double cost) {
    CB_USUAL_FLOATS();
    return builder ? cb_add_column(builder, NULL, node, name, lower, upper, cost) : CB_NONE;
}

size_t cobre_sddp_add_row(cobre_sddp_builder *builder, size_t node, const char *name, double lower, double upper) {
    CB_USUAL_FLOATS();
    return builder ? cb_add_row(builder, NULL, node, name, lower, upper) : CB_NONE;
}

void cobre_sddp_add_entry(cobre_sddp_builder *builder, size_t node, size_t row, size_t column, double value) {
    CB_USUAL_FLOATS();
    if (builder)
        cb_add_entry(builder, NULL, node, row, column, value);
}

void cobre_sddp_add_constant(cobre_sddp_builder *builder, size_t node, double cost) {
    CB_USUAL_FLOATS();
    if (builder)
        cb_add_constant(builder, NULL, node, cost);
}

void cobre_sddp_set_state(cobre_sddp_builder *builder, size_t node, size_t state, size_t column_in, size_t column_out) {
    if (builder)
        cb_set_state(builder, NULL, node, state, column_in, column_out);
}

size_t cobre_sddp_add_random(cobre_sddp_builder *builder, size_t node, const char *name) {
    return builder ? cb_add_random(builder, NULL, node, name) : CB_NONE;
}

void cobre_sddp_add_noise(cobre_sddp_builder *builder, size_t node, size_t random, double factor,
                          cobre_sddp_noise_target target, size_t index, size_t column) {
    CB_USUAL_FLOATS();
    if (builder)
        cb_add_noise(
            builder, NULL, node,
            (cb_noise){.target = target, .index = index, .column = column, .random = random, .factor = factor});
}

void cobre_sddp_add_outcome(cobre_sddp_builder *builder, size_t node, double probability, const double *values) {
    CB_USUAL_FLOATS();
    if (builder)
        cb_add_outcome(builder, NULL, node, probability, values);
}

size_t cobre_sddp_add_factor(cobre_sddp_builder *builder, size_t order, const double *values) {
    CB_USUAL_FLOATS();
    return builder ? cb_add_factor(builder, NULL, order, values) : CB_NONE;
}

void cobre_sddp_set_model(cobre_sddp_builder *builder, size_t node, size_t openings, bool lognormal,
                          const double *deviation, size_t factor) {
    CB_USUAL_FLOATS();
    if (builder)
        cb_set_model(builder, NULL, node, openings, lognormal, deviation, factor);
}

void cobre_sddp_set_opening_seed(cobre_sddp_builder *builder, uint64_t seed) {
    if (builder)
        builder->opening_seed = seed;
}

void cobre_sddp_add_edge(cobre_sddp_builder *builder, size_t from, size_t to, double probability, double discount) {
    CB_USUAL_FLOATS();
    if (builder)
        cb_add_edge(builder, NULL, from, to, probability, discount);
}

void cobre_sddp_set_risk(cobre_sddp_builder *builder, size_t node, double beta, double alpha) {
    CB_USUAL_FLOATS();
    if (builder)
        cb_set_risk(builder, NULL, node, beta, alpha);
}

void cobre_sddp_set_value_bound(cobre_sddp_builder *builder, size_t node, double bound) {
    CB_USUAL_FLOATS();
    if (builder)
        cb_set_value_bound(builder, NULL, node, bound);
}

void cobre_sddp_add_terminal_cut(cobre_sddp_builder *builder, size_t node, double intercept, const double *slopes) {
    CB_USUAL_FLOATS();
    if (builder)
        cb_add_terminal_cut(builder, NULL, node, intercept, slopes);
}

size_t cobre_sddp_add_scenario(cobre_sddp_builder *builder) {
    if (!builder || !CB_GROW(builder, builder->scenario, builder->scenarios, builder->scenarios_room))
        return CB_NONE;
    builder->scenario[builder->scenarios] = (cb_scenario){0};
    return builder->scenarios++;
}

void cobre_sddp_add_step(cobre_sddp_builder *builder, size_t scenario, size_t node, const double *values) {
    CB_USUAL_FLOATS();
    if (builder)
        cb_add_step(builder, NULL, scenario, node, values);
}

cobre_status cobre_sddp_finish(cobre_comm *comm, cobre_sddp_builder **builder, const cobre_sddp_load_options *given,
                               cobre_sddp_problem **problem) {
    CB_USUAL_FLOATS();
    cobre_sddp_load_options options = {0};
    cobre_sddp_builder *none = NULL;
    builder = builder ? builder : &none;
    cobre_status status = !comm || !problem ? cb_refuse_null(comm ? "problem" : "comm")
                                            : CB_TAKE_OPTIONS(&options, given, cobre_sddp_load_options, issue);
    if (problem)
        *problem = NULL;
    if (status) {
        cobre_sddp_builder_free(builder);
        return status;
    }
    if (cobre_rank(comm) == 0 && !*builder)
        status = cb_refuse("builder", "build the problem on rank 0", "rank 0 has no builder");
    return cb_finish(comm, status, builder, &options, problem);
}
