/* SPDX-License-Identifier: Apache-2.0 */
/* backward.c: the backward pass of an iteration, and the lower bound.
 *
 * From the last step to the first: each rank solves, for each of its trajectories m that are at this step at a node with
 * successors, all outcomes of all successors, along their tours, at the state where m left the node; each chain of solves
 * goes on from where m left that LP. Each solve proves a cut (safe.c). Their weighted mean is m's cut (single cuts); or
 * each outcome gives a cut of its own (multi-cuts). Where nothing can be proven the bound from before there were cuts
 * stands in. Then all ranks add their cuts to the pool in one gather, in the order of the trajectories: nobody sees a cut
 * of this step before it, so that the order of computation does not matter.
 *
 * Sums run over successors and outcomes in their order. Cost of a step: M / R * outcomes LPs per rank and one gather of
 * M cuts. */
#include <math.h>
#include <string.h>

#include "sddp/train/risk.h"
#include "sddp/train/trainer.h"

/* Cuts that a trajectory at this node makes. */
static size_t cuts_at(const cb_trainer *trainer, size_t index) {
    const cb_node *node = &trainer->problem->node[index];
    return trainer->policy->kind.multi_cut ? cb_child_outcomes(trainer->problem, node) : node->edges > 0;
}

static size_t cuts_of(const cb_trainer *trainer, size_t m, size_t k) {
    return k < trainer->path[m].steps ? cuts_at(trainer, trainer->path[m].step[k].node) : 0;
}

/* All outcomes of one successor at `state`, along its tour: what they prove goes behind the *count that are there. */
static cobre_status solve_child(cb_trainer *trainer, size_t m, size_t child, const double *state, size_t *count) {
    const cb_node *node = &trainer->problem->node[child];
    size_t states = trainer->problem->states;
    cb_stage *stage;
    CB_TRY(cb_trainer_lp(trainer, m, child, &stage));
    cb_stage_set_state(stage, state);
    for (size_t i = 0; i < node->outcomes; i++) {
        size_t k = node->tour[i], place = *count + k;
        const double *noise = node->outcome + k * node->randoms;
        cb_stage_set_noise(stage, noise);
        CB_TRY(cb_trainer_solve(trainer, stage, k, noise));
        if (stage->proven) {
            trainer->value[place] = stage->bound;
            trainer->intercept[place] = stage->intercept;
            memcpy(trainer->slope + place * states, stage->slope, states * sizeof *stage->slope);
        } else {
            trainer->unproven++;
            trainer->value[place] = trainer->intercept[place] = cb_cost_bound(&trainer->policy->kind, child);
            memset(trainer->slope + place * states, 0, states * sizeof *stage->slope);
        }
    }
    *count += node->outcomes;
    return cb_stage_save(stage, cb_trainer_chain(trainer, m, child));
}

/* Slopes far below the largest are what cancellation left (1e-35 beside 1e3 was seen), and spoil the LPs that get them. Their
 * part of the cut becomes the least that it is for any value of these columns; where that is not finite, they stay. */
static void drop_noise(const cobre_sddp_problem *problem, const cb_node *node, const size_t *column, double *record) {
    size_t states = problem->states;
    double largest = 0, *slope = record + CB_CUT_SLOPES;
    for (size_t s = 0; s < states; s++)
        largest = fmax(largest, fabs(slope[s]));
    for (size_t s = 0; s < states; s++) {
        cb_range range = cb_near(node->range[column[s]], problem->unit);
        double least = fmin(slope[s] * range.lower, slope[s] * range.upper);
        if (slope[s] != 0 && fabs(slope[s]) <= 1e-15 * largest && isfinite(least)) {
            record[CB_CUT_INTERCEPT] += least - cb_rounding(1) * (fabs(least) + fabs(record[CB_CUT_INTERCEPT]));
            slope[s] = 0;
        }
    }
}

static void begin_record(double *record, size_t function, uint64_t iteration) {
    record[CB_CUT_FUNCTION] = (double)function;
    record[CB_CUT_ITERATION] = (double)iteration;
}

/* Probabilities of all outcomes of all successors, given that the process goes on; what they prove, discounted. */
static double weigh(cb_trainer *trainer, const cb_node *node) {
    size_t states = trainer->problem->states, k = 0;
    double going_on = cb_going_on(node);
    for (size_t e = 0; e < node->edges; e++) {
        const cb_node *child = &trainer->problem->node[node->edge[e].to];
        for (size_t o = 0; o < child->outcomes; o++, k++) {
            trainer->probability[k] = going_on > 0 ? node->edge[e].probability * child->probability[o] / going_on : 0;
            trainer->value[k] *= node->edge[e].discount;
            trainer->intercept[k] *= node->edge[e].discount;
            for (size_t s = 0; s < states; s++)
                trainer->slope[k * states + s] *= node->edge[e].discount;
        }
    }
    cb_risk_weights(cb_node_risk(&trainer->policy->kind, node), trainer->probability, trainer->value, k, trainer->worst,
                    trainer->weight);
    return going_on;
}

/* The risk-weighted mean, as one cut of `node`. Any weights that the risk measure allows make a valid cut. */
static void single_cut(cb_trainer *trainer, size_t index, uint64_t iteration, size_t count, double *record) {
    const cb_node *node = &trainer->problem->node[index];
    size_t states = trainer->problem->states;
    double going_on = weigh(trainer, node), error = cb_rounding(count), intercept = 0, size = 0, loss = 0;
    double *mean = record + CB_CUT_SLOPES;
    bool good = true;
    begin_record(record, trainer->policy->function[index], iteration);
    for (size_t k = 0; k < count; k++) {
        double term = trainer->weight[k] > 0 ? going_on * trainer->weight[k] * trainer->intercept[k] : 0;
        intercept += term;
        size += fabs(term);
    }
    for (size_t s = 0; s < states; s++) {
        double sum = 0, absolute = 0;
        for (size_t k = 0; k < count; k++) {
            double term = going_on * trainer->weight[k] * trainer->slope[k * states + s];
            sum += term;
            absolute += fabs(term);
        }
        mean[s] = sum;
        good &=
            cb_round_slope(&mean[s], error * absolute, node->range[node->state_out[s]], trainer->problem->unit, &loss);
    }
    record[CB_CUT_INTERCEPT] = intercept - error * size - 1.001 * loss;
    if (good && isfinite(record[CB_CUT_INTERCEPT])) {
        drop_noise(trainer->problem, node, node->state_out, record);
        return;
    }
    record[CB_CUT_INTERCEPT] = trainer->policy->value_bound[index];
    memset(mean, 0, states * sizeof *mean);
}

static void multi_cuts(cb_trainer *trainer, size_t index, uint64_t iteration, double *record) {
    const cb_node *node = &trainer->problem->node[index];
    size_t states = trainer->problem->states, k = 0;
    for (size_t e = 0; e < node->edges; e++) {
        const cb_node *child = &trainer->problem->node[node->edge[e].to];
        for (size_t o = 0; o < child->outcomes; o++, k++, record += trainer->policy->pool.stride) {
            begin_record(record, trainer->policy->function[node->edge[e].to] + o, iteration);
            record[CB_CUT_INTERCEPT] = trainer->intercept[k];
            memcpy(record + CB_CUT_SLOPES, trainer->slope + k * states, states * sizeof *trainer->slope);
            drop_noise(trainer->problem, child, child->state_in, record);
        }
    }
}

static cobre_status make_cuts(cb_trainer *trainer, size_t m, size_t k, uint64_t iteration, double *record) {
    size_t index = trainer->path[m].step[k].node, states = trainer->problem->states, count = 0;
    const cb_node *node = &trainer->problem->node[index];
    const double *state = trainer->state[m - trainer->first] + (k + 1) * states;
    for (size_t e = 0; e < node->edges; e++)
        CB_TRY(solve_child(trainer, m, node->edge[e].to, state, &count));
    if (trainer->policy->kind.multi_cut)
        multi_cuts(trainer, index, iteration, record);
    else
        single_cut(trainer, index, iteration, count, record);
    return COBRE_OK;
}

static cobre_status not_finite(const cb_trainer *trainer, size_t m, size_t k) {
    return cb_fail(COBRE_LP_FAILED, "look for inflows or costs that are far too large", "node %s: a cut overflowed",
                   trainer->problem->node[trainer->path[m].step[k].node].name);
}

/* This rank's cuts of step k. */
static cobre_status make_records(cb_trainer *trainer, size_t k, uint64_t iteration) {
    size_t stride = trainer->policy->pool.stride;
    double *record = trainer->record;
    for (size_t m = trainer->first; m < trainer->last; m++) {
        size_t cuts = cuts_of(trainer, m, k);
        if (cuts > 0)
            CB_TRY(make_cuts(trainer, m, k, iteration, record));
        for (size_t i = 0; i < cuts; i++)
            if (!isfinite(record[i * stride + CB_CUT_INTERCEPT]))
                return not_finite(trainer, m, k);
        record += cuts * stride;
    }
    return COBRE_OK;
}

static size_t count_cuts(cb_trainer *trainer, size_t k) {
    size_t total = 0;
    for (size_t r = 0; r < trainer->ranks; r++) {
        size_t first, last;
        cb_block(trainer->policy->passes, r, trainer->ranks, &first, &last);
        trainer->count[r] = 0;
        for (size_t m = first; m < last; m++)
            trainer->count[r] += cuts_of(trainer, m, k);
        total += trainer->count[r];
    }
    return total;
}

cobre_status cb_backward(cb_trainer *trainer, uint64_t iteration) {
    for (size_t k = trainer->steps; k-- > 0;) {
        size_t cuts = count_cuts(trainer, k);
        if (cuts == 0)
            continue;
        double begin = cb_clock();
        if (!trainer->status)
            trainer->status = make_records(trainer, k, iteration);
        cb_tally_add(trainer, COBRE_SDDP_EFFORT_BACKWARD, begin);
        CB_TRY(cb_trainer_agree(trainer, trainer->status));
        begin = cb_clock();
        trainer->status = cb_pool_add(&trainer->policy->pool, trainer->record, trainer->count);
        cb_tally_operation(trainer, COBRE_SDDP_OPERATION_ALLGATHERV, 1,
                           cuts * trainer->policy->pool.stride * sizeof *trainer->record, begin);
    }
    return COBRE_OK;
}

/* The expected cost of the first stage, and of all that follows, at the initial state. Solved by trajectory 0's owner as
 * the end of its chain. What was proven before still holds. */
cobre_status cb_lower_bound(cb_trainer *trainer) {
    const cobre_sddp_problem *problem = trainer->problem;
    const cobre_sddp_policy *policy = trainer->policy;
    double sum = 0, size = 0;
    size_t terms = 0;
    for (size_t e = 0; e < problem->root_edges; e++) {
        const cb_edge *edge = &problem->root_edge[e];
        const cb_node *node = &problem->node[edge->to];
        cb_stage *stage;
        CB_TRY(cb_trainer_lp(trainer, 0, edge->to, &stage));
        cb_stage_set_state(stage, trainer->state[0]);
        for (size_t k = 0; k < node->outcomes; k++, terms++) {
            const double *noise = node->outcome + k * node->randoms;
            cb_stage_set_noise(stage, noise);
            CB_TRY(cb_trainer_solve(trainer, stage, k, noise));
            double bound = stage->proven ? stage->bound : cb_cost_bound(&policy->kind, edge->to);
            double term = edge->probability * edge->discount * node->probability[k] * bound;
            sum += term;
            size += fabs(term);
        }
        CB_TRY(cb_stage_save(stage, cb_trainer_chain(trainer, 0, edge->to)));
    }
    trainer->bound = sum - cb_rounding(terms) * size;
    if (policy->iterations > 0)
        trainer->bound = fmax(trainer->bound, policy->trace[policy->iterations - 1].bound);
    return COBRE_OK;
}
