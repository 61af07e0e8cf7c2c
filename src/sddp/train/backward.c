/* SPDX-License-Identifier: Apache-2.0 */
/* backward.c: the backward pass of an iteration, and the lower bound.
 *
 * From the last step to the first, each trajectory that has successors after that step gets a cut there: all outcomes of all
 * successors are solved at the state where the trajectory is. They are solved in pieces, chains of outcomes along the tour
 * of a successor: the first LP of a chain starts where the forward pass of this trajectory has left that LP (or, where it did
 * not go, where the iteration starts), each other one from the LP before. How long chains are depends on the problem and
 * the trajectory's number alone. The ranks of a node take the pieces of their node's trajectories one by one.
 *
 * Each solve proves a cut (safe.c). Who finishes a trajectory makes its cut: the weighted mean (single cuts); or each outcome
 * gives a cut of its own (multi-cuts). Where nothing can be proven the bound from before there were cuts stands in. Then the
 * leaders of all nodes add the cuts to the pool in one gather, in the order of the trajectories: nobody sees a cut of
 * this step before it, so that the order of computation does not matter.
 *
 * The bound is made in the same way at the root, by the pieces of trajectory 0.
 *
 * Sums run over successors and outcomes in their order. Cost of a step: M * outcomes LPs, one more factorisation for each
 * piece, and one gather of M cuts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/train/risk.h"
#include "sddp/train/trainer.h"

/* Outcomes of a chain, at most. A chain begins with a factorisation and must find its cuts again, which takes as long as some
 * four small LPs (docs/rationale.md). */
enum { CHAIN = 41, CHAIN_OF_LARGE = 10, LARGE = 100 /* rows */ };

size_t cb_pieces(const cb_node *node, bool shorter) {
    size_t whole = node->rows < LARGE ? CHAIN : CHAIN_OF_LARGE, chain = shorter ? whole / 2 : whole;
    return (node->outcomes + chain - 1) / chain;
}

/* The last of several trajectories has chains of half the length: they are what ranks wait for at the end of a step. */
static bool is_short(const cb_trainer *trainer, size_t m) {
    return m > 0 && m + 1 == trainer->policy->passes;
}

/* Where trajectory m may go after so many steps. */
static const cb_edge *edges_after(const cb_trainer *trainer, size_t m, size_t step, size_t *count) {
    const cobre_sddp_problem *problem = trainer->problem;
    const cb_node *node = step > 0 ? &problem->node[trainer->path[m].step[step - 1].node] : NULL;
    *count = node ? node->edges : problem->root_edges;
    return node ? node->edge : problem->root_edge;
}

static size_t pieces_after(const cb_trainer *trainer, size_t m, size_t step) {
    size_t edges, pieces = 0;
    const cb_edge *edge = edges_after(trainer, m, step, &edges);
    for (size_t e = 0; e < edges; e++)
        pieces += cb_pieces(&trainer->problem->node[edge[e].to], is_short(trainer, m));
    return pieces;
}

/* Cuts that trajectory m makes after so many steps. */
static size_t cuts_after(const cb_trainer *trainer, size_t m, size_t step) {
    if (step > trainer->path[m].steps)
        return 0;
    const cb_node *node = &trainer->problem->node[trainer->path[m].step[step - 1].node];
    return trainer->policy->kind.multi_cut ? cb_child_outcomes(trainer->problem, node) : node->edges > 0;
}

/* The cut that this trajectory has made at `node` a moment ago holds with equality where it was made, so that most LPs there
 * need it: they get it at once instead of having to find it. */
static bool add_own_cut(cb_trainer *trainer, size_t i, size_t node, cb_start *start) {
    const cb_cut_list *list = &trainer->policy->pool.list[node];
    uint32_t id = trainer->own_cut[i];
    size_t at = list->count;
    while (at > 0 && list->cut[at - 1].id > id)
        at--;
    if (trainer->policy->kind.multi_cut || at == 0 || list->cut[at - 1].id != id) /* an old cut was the same */
        return true;
    if (!cb_start_room(start, start->cuts + 1, start->own))
        return false;
    start->cut[start->cuts] = id;
    start->stand[start->own + start->cuts++] = CB_BASIC;
    return true;
}

/* The LP of a successor, where the forward pass has left it. */
static cobre_status start_child(cb_trainer *trainer, size_t i, size_t step, size_t child, cb_stage **stage) {
    const cb_team *team = &trainer->team;
    const cb_path *path = &trainer->path[team->first + i];
    if (step >= path->steps || path->step[step].node != child)
        return cb_trainer_start(trainer, child, &trainer->policy->start[child], stage);
    CB_TRY(cb_team_get(team, *cb_team_start(team, i, step), &trainer->scratch));
    if (!add_own_cut(trainer, i, child, &trainer->scratch))
        return cb_no_memory("a basis", trainer->scratch.own + trainer->scratch.cuts);
    return cb_trainer_start(trainer, child, &trainer->scratch, stage);
}

/* Outcome k of a successor; `place`: where what it proves goes. */
static cobre_status solve_outcome(cb_trainer *trainer, size_t child, size_t k, size_t place, cb_stage *stage) {
    const cb_team *team = &trainer->team;
    const cb_node *node = &trainer->problem->node[child];
    const double *noise = node->outcome + k * node->randoms;
    double *slope = team->slope + place * team->states;
    cb_stage_set_noise(stage, noise);
    CB_TRY(cb_trainer_solve(trainer, stage, k, noise));
    trainer->unproven += !stage->proven;
    team->value[place] = stage->proven ? stage->bound : cb_cost_bound(&trainer->policy->kind, child);
    team->intercept[place] = stage->proven ? stage->intercept : team->value[place];
    if (stage->proven)
        memcpy(slope, stage->slope, team->states * sizeof *slope);
    else
        memset(slope, 0, team->states * sizeof *slope);
    return COBRE_OK;
}

/* A piece of what follows after trajectory i of this node has made so many steps. */
static cobre_status solve_piece(cb_trainer *trainer, size_t i, size_t step, size_t piece) {
    cb_team *team = &trainer->team;
    size_t edges, part = piece, place = i % team->batch * team->outcomes;
    const cb_edge *edge = edges_after(trainer, team->first + i, step, &edges);
    const cb_node *node = &trainer->problem->node[edge->to];
    bool shorter = is_short(trainer, team->first + i);
    for (; part >= cb_pieces(node, shorter); node = &trainer->problem->node[(++edge)->to]) {
        part -= cb_pieces(node, shorter);
        place += node->outcomes;
    }
    size_t pieces = cb_pieces(node, shorter), last = (part + 1) * node->outcomes / pieces;
    cb_stage *stage;
    CB_TRY(start_child(trainer, i, step, edge->to, &stage));
    cb_stage_set_state(stage, cb_team_state(team, i, step));
    for (size_t at = part * node->outcomes / pieces; at < last; at++)
        CB_TRY(solve_outcome(trainer, edge->to, node->tour[at], place + node->tour[at], stage));
    if (team->first + i > 0)
        return COBRE_OK;
    CB_TRY(cb_stage_save(stage, &trainer->scratch));
    return cb_team_put(team, &trainer->scratch, cb_team_end(team, step, piece));
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

/* What the outcomes of a trajectory prove. */
typedef struct {
    double *value, *intercept, *slope;
} proofs;

static proofs proofs_of(const cb_team *team, size_t i) {
    size_t first = i % team->batch * team->outcomes;
    return (proofs){team->value + first, team->intercept + first, team->slope + first * team->states};
}

/* Probabilities of all outcomes of all successors, given that the process goes on; what they prove, discounted. */
static double weigh(cb_trainer *trainer, const cb_node *node, proofs its) {
    size_t states = trainer->problem->states, k = 0;
    double going_on = cb_going_on(node);
    for (size_t e = 0; e < node->edges; e++) {
        const cb_node *child = &trainer->problem->node[node->edge[e].to];
        for (size_t o = 0; o < child->outcomes; o++, k++) {
            trainer->probability[k] = going_on > 0 ? node->edge[e].probability * child->probability[o] / going_on : 0;
            its.value[k] *= node->edge[e].discount;
            its.intercept[k] *= node->edge[e].discount;
            for (size_t s = 0; s < states; s++)
                its.slope[k * states + s] *= node->edge[e].discount;
        }
    }
    cb_risk_weights(cb_node_risk(&trainer->policy->kind, node), trainer->probability, its.value, k, trainer->worst,
                    trainer->weight);
    return going_on;
}

/* The risk-weighted mean, as one cut of `node`. Any weights that the risk measure allows make a valid cut. */
static void single_cut(cb_trainer *trainer, size_t index, uint64_t iteration, proofs its, double *record) {
    const cb_node *node = &trainer->problem->node[index];
    size_t states = trainer->problem->states, count = cb_child_outcomes(trainer->problem, node);
    double going_on = weigh(trainer, node, its), error = cb_rounding(count), intercept = 0, size = 0, loss = 0;
    double *mean = record + CB_CUT_SLOPES;
    bool good = true;
    begin_record(record, trainer->policy->function[index], iteration);
    for (size_t k = 0; k < count; k++) {
        double term = trainer->weight[k] > 0 ? going_on * trainer->weight[k] * its.intercept[k] : 0;
        intercept += term;
        size += fabs(term);
    }
    for (size_t s = 0; s < states; s++) {
        double sum = 0, absolute = 0;
        for (size_t k = 0; k < count; k++) {
            double term = going_on * trainer->weight[k] * its.slope[k * states + s];
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

static void multi_cuts(cb_trainer *trainer, size_t index, uint64_t iteration, proofs its, double *record) {
    const cb_node *node = &trainer->problem->node[index];
    size_t states = trainer->problem->states, k = 0;
    for (size_t e = 0; e < node->edges; e++) {
        const cb_node *child = &trainer->problem->node[node->edge[e].to];
        for (size_t o = 0; o < child->outcomes; o++, k++, record += trainer->policy->pool.stride) {
            begin_record(record, trainer->policy->function[node->edge[e].to] + o, iteration);
            record[CB_CUT_INTERCEPT] = its.intercept[k];
            memcpy(record + CB_CUT_SLOPES, its.slope + k * states, states * sizeof *its.slope);
            drop_noise(trainer->problem, child, child->state_in, record);
        }
    }
}

/* What the rule for dropping cuts needs to know of a cut that was made at this state. */
static void end_record(const cb_pool *pool, const double *state, double *record) {
    double *more = record + CB_CUT_SLOPES + pool->states;
    if (pool->notes_use)
        *more = record[CB_CUT_ITERATION];
    else
        memcpy(more, state, pool->more * sizeof *more);
}

/* The cuts of trajectory i of this node, all of whose pieces are done. */
static cobre_status make_cuts(cb_trainer *trainer, size_t i, size_t step, uint64_t iteration) {
    size_t index = trainer->path[trainer->team.first + i].step[step - 1].node, stride = trainer->policy->pool.stride;
    proofs its = proofs_of(&trainer->team, i);
    double *record = trainer->team.record + trainer->cut[i] * stride;
    if (trainer->policy->kind.multi_cut)
        multi_cuts(trainer, index, iteration, its, record);
    else
        single_cut(trainer, index, iteration, its, record);
    for (size_t c = trainer->cut[i]; c < trainer->cut[i + 1]; c++, record += stride) {
        if (!isfinite(record[CB_CUT_INTERCEPT]))
            return cb_fail(COBRE_LP_FAILED, "look for inflows or costs that are far too large",
                           "node %s: a cut overflowed", trainer->problem->node[index].name);
        end_record(&trainer->policy->pool, cb_team_state(&trainer->team, i, step), record);
    }
    return COBRE_OK;
}

/* What there is to do for trajectories of this node after so many steps; and the cuts that come from each rank: from leaders,
 * those of their nodes. Returns how many these are. */
static size_t plan(cb_trainer *trainer, size_t step) {
    cb_team *team = &trainer->team;
    size_t total = 0;
    for (size_t i = 0; i < team->last - team->first; i++) {
        size_t m = team->first + i, cuts = cuts_after(trainer, m, step),
               pieces = cuts ? pieces_after(trainer, m, step) : 0;
        trainer->piece[i + 1] = trainer->piece[i] + pieces;
        trainer->cut[i + 1] = trainer->cut[i] + cuts;
        team->expected[i] += pieces;
    }
    for (size_t r = 0; r < trainer->ranks; r++) {
        trainer->count[r] = 0;
        for (size_t m = team->node_first[r]; m < team->node_last[r]; m++)
            trainer->count[r] += cuts_after(trainer, m, step);
        total += trainer->count[r];
    }
    return total;
}

/* The cuts of this step are in the pool, from id `first` on. */
static void note_own_cuts(cb_trainer *trainer, uint64_t first) {
    const cb_team *team = &trainer->team;
    for (size_t r = 0; r < trainer->ranks && team->node_first[r] < team->first; r++)
        first += trainer->count[r];
    for (size_t i = 0; i < team->last - team->first; i++)
        trainer->own_cut[i] = (uint32_t)(first + trainer->cut[i]);
}

/* Trajectories [i, last) of this node. */
static cobre_status solve_batch(cb_trainer *trainer, size_t i, size_t last, size_t step, uint64_t iteration) {
    cb_team *team = &trainer->team;
    size_t first = trainer->piece[i], pieces = trainer->piece[last] - first;
    for (size_t piece; (piece = cb_team_take(team, pieces)) != CB_NONE;) {
        while (trainer->piece[i + 1] <= first + piece)
            i++;
        CB_TRY(solve_piece(trainer, i, step, first + piece - trainer->piece[i]));
        if (cb_team_finish(team, i))
            CB_TRY(make_cuts(trainer, i, step, iteration));
    }
    return COBRE_OK;
}

/* Also with an error before: the ranks of a node meet after each batch. */
static cobre_status solve_pieces(cb_trainer *trainer, size_t step, uint64_t iteration, cobre_status status) {
    cb_team *team = &trainer->team;
    size_t count = team->last - team->first, first = 0;
    if (status)
        cb_team_give_up(team);
    do {
        size_t last = count - first < team->batch ? count : first + team->batch;
        double begin = cb_clock();
        if (!status)
            status = cb_trainer_worked(trainer, solve_batch(trainer, first, last, step, iteration));
        cb_tally_add(trainer, COBRE_SDDP_EFFORT_BACKWARD, begin);
        begin = cb_clock();
        CB_TRY(cb_team_fence(team));
        cb_tally_add(trainer, COBRE_SDDP_EFFORT_WAITING, begin);
        first = last;
    } while (first < count);
    return status;
}

cobre_status cb_backward(cb_trainer *trainer, uint64_t iteration) {
    cobre_status status = COBRE_OK;
    for (size_t step = trainer->steps; step > 0; step--) {
        size_t cuts = plan(trainer, step);
        if (cuts == 0)
            continue;
        CB_TRY(cb_trainer_agree(trainer, solve_pieces(trainer, step, iteration, status)));
        double begin = cb_clock();
        uint64_t first = trainer->policy->pool.cuts;
        status = cb_pool_add(&trainer->policy->pool, trainer->team.record, trainer->count);
        note_own_cuts(trainer, first);
        cb_tally_operation(trainer, COBRE_SDDP_OPERATION_ALLGATHERV, 1,
                           cuts * trainer->policy->pool.stride * sizeof *trainer->team.record, begin);
    }
    return cb_trainer_agree(trainer, status);
}

cobre_status cb_solve_first(cb_trainer *trainer) {
    cb_team *team = &trainer->team;
    size_t pieces = team->first == 0 && team->last > 0 ? pieces_after(trainer, 0, 0) : 0;
    cobre_status status = COBRE_OK;
    for (size_t piece; !status && (piece = cb_team_take(team, pieces)) != CB_NONE;)
        status = cb_trainer_worked(trainer, solve_piece(trainer, 0, 0, piece));
    return status;
}

/* The expected cost of the first stage, and of all that follows, at the initial state. What was proven before still
 * holds. */
void cb_lower_bound(cb_trainer *trainer) {
    const cobre_sddp_problem *problem = trainer->problem;
    const cobre_sddp_policy *policy = trainer->policy;
    double sum = 0, size = 0;
    size_t terms = 0;
    for (size_t e = 0; e < problem->root_edges; e++) {
        const cb_edge *edge = &problem->root_edge[e];
        const cb_node *node = &problem->node[edge->to];
        for (size_t k = 0; k < node->outcomes; k++, terms++) {
            double term = edge->probability * edge->discount * node->probability[k] * trainer->team.value[terms];
            sum += term;
            size += fabs(term);
        }
    }
    trainer->bound = sum - cb_rounding(terms) * size;
    if (policy->iterations > 0)
        trainer->bound = fmax(trainer->bound, policy->trace[policy->iterations - 1].bound);
}

/* The cuts of `other` are also needed: those that `start` does not have come to it, basic. Both are sorted. */
static bool add_cuts(cb_start *start, const cb_start *other) {
    size_t missing = 0;
    for (size_t i = 0, j = 0; j < other->cuts; j++) {
        while (i < start->cuts && start->cut[i] < other->cut[j])
            i++;
        missing += i == start->cuts || start->cut[i] != other->cut[j];
    }
    if (!cb_start_room(start, start->cuts + missing, start->own))
        return false;
    unsigned char *stand = start->stand + start->own;
    size_t i = start->cuts, j = other->cuts;
    start->cuts += missing;
    for (size_t at = start->cuts; at-- > 0;) { /* from behind, in place */
        bool own = i > 0 && (j == 0 || start->cut[i - 1] >= other->cut[j - 1]);
        j -= j > 0 && (!own || start->cut[i - 1] == other->cut[j - 1]);
        i -= own;
        start->cut[at] = own ? start->cut[i] : other->cut[j];
        stand[at] = own ? stand[i] : CB_BASIC;
    }
    return true;
}

/* Where the last of the chains of a successor ended, with the cuts that any of them needed. */
static bool join_ends(cb_trainer *trainer, size_t step, size_t first, size_t pieces, cb_start *joined) {
    const cb_team *team = &trainer->team;
    if (cb_team_get(team, *cb_team_end(team, step, first + pieces - 1), joined))
        return false;
    for (size_t p = first; p + 1 < first + pieces; p++)
        if (cb_team_get(team, *cb_team_end(team, step, p), &trainer->scratch) || !add_cuts(joined, &trainer->scratch))
            return false;
    return true;
}

/* Of each node where trajectory 0's pieces were, those after the fewest steps, which were solved last. */
static bool join_all(cb_trainer *trainer) {
    for (size_t n = 0; n < trainer->problem->nodes; n++)
        trainer->ended[n].set = false;
    for (size_t step = 0; step <= trainer->path[0].steps; step++) {
        size_t edges, first = 0;
        const cb_edge *edge = edges_after(trainer, 0, step, &edges);
        for (size_t e = 0; e < edges; e++) {
            size_t pieces = cb_pieces(&trainer->problem->node[edge[e].to], false);
            cb_start *ended = &trainer->ended[edge[e].to];
            if (!ended->set && !join_ends(trainer, step, first, pieces, ended))
                return false;
            first += pieces;
        }
    }
    return true;
}

unsigned char *cb_next_starts(cb_trainer *trainer, size_t *bytes) {
    size_t nodes = trainer->problem->nodes;
    cb_start *next = calloc(nodes + 1, sizeof *next); /* it shares their memory */
    bool good = next && join_all(trainer);
    for (size_t n = 0; good && n < nodes; n++)
        next[n] = trainer->ended[n].set ? trainer->ended[n] : trainer->policy->start[n];
    unsigned char *packed = good ? cb_starts_pack(next, nodes, bytes) : NULL;
    free(next);
    return packed;
}
