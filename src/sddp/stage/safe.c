/* SPDX-License-Identifier: Apache-2.0 */
/* safe.c: a lower bound of a node's cost that holds however inaccurate the solver was (after Neumaier and Shcherbina, 2004).
 *
 * With any duals y of the rows and u >= 0 of the cuts, and the reduced costs d = c - A'y - (cuts)'u, the cost at an incoming
 * state x is at least
 *
 *     constant + sum of y times the side of its row that its sign asks for + sum of u times intercept
 *              + sum over all other columns of d times the bound that its sign asks for + d_in x.
 *
 * Only the duals are taken from the solver. Those that ask for a side that is infinite become 0; those of the cuts of one
 * future-cost column are scaled down until they are certainly no more than what that column costs. All errors of
 * rounding are bounded and taken off.
 *
 * A column that has no finite bound where its reduced cost asks for one, be it by 1e-18, is mended by an anchor y0, duals
 * for which the reduced costs of such columns have the right sign and are not small: (1 - t) y + t y0, with a tiny t. It
 * depends on the node alone (and on the outcome, if costs or entries are random), so that bits do not depend on ranks. */
#include <math.h>
#include <stdlib.h>

#include "sddp/stage/stage.h"

struct cb_anchor {
    bool tried;
    double *dual, *reduced; /* NULL: there is none */
};

static size_t longest_column(const cb_node *node) {
    int longest = 0;
    for (size_t j = 0; j < node->columns; j++)
        longest = node->start[j + 1] - node->start[j] > longest ? node->start[j + 1] - node->start[j] : longest;
    return (size_t)longest;
}

/* Values of entries that have noise are the stage's own. */
static void take_entries(cb_stage *stage) {
    const cb_node *node = stage->node;
    stage->value = node->value;
    if (!cb_has_random_dual(node))
        return;
    stage->value = stage->own_value = cb_arena_alloc(&stage->memory, node->entries, sizeof *stage->own_value);
    for (size_t e = 0; stage->own_value && e < node->entries; e++)
        stage->own_value[e] = node->value[e];
}

bool cb_safe_create(cb_stage *stage) {
    const cb_node *node = stage->node;
    cb_arena *memory = &stage->memory;
    size_t states = stage->kind->problem->states, anchors = cb_has_random_dual(node) ? node->outcomes : 1;
    stage->low = cb_arena_alloc(memory, node->columns, sizeof *stage->low);
    stage->high = cb_arena_alloc(memory, node->columns, sizeof *stage->high);
    stage->reduced = cb_arena_alloc(memory, node->columns, sizeof *stage->reduced);
    stage->error = cb_arena_alloc(memory, node->columns, sizeof *stage->error);
    stage->open = cb_arena_alloc(memory, node->columns, sizeof *stage->open);
    stage->bad = cb_arena_alloc(memory, node->columns, sizeof *stage->bad);
    stage->shift = cb_arena_alloc(memory, node->rows, sizeof *stage->shift);
    stage->budget = cb_arena_alloc(memory, stage->futures, sizeof *stage->budget);
    stage->slope = cb_arena_alloc(memory, states, sizeof *stage->slope);
    stage->pull = cb_arena_alloc(memory, 2 * states, sizeof *stage->pull);
    stage->anchor = cb_arena_alloc(memory, anchors, sizeof *stage->anchor);
    take_entries(stage);
    if (memory->failed)
        return false;
    stage->entry_error = cb_rounding(longest_column(node));
    for (size_t j = 0; j < node->columns; j++) {
        bool state = cb_incoming_state(stage->kind->problem, node, j) != CB_NONE;
        if (stage->kind->free_state || !state) /* else it is no part of the intercept */
            cb_safe_bounds(stage, j, state ? node->range[j] : (cb_range){node->column[j].lower, node->column[j].upper});
    }
    return true;
}

void cb_safe_bounds(cb_stage *stage, size_t column, cb_range bounds) {
    cb_range known = stage->node->range[column];
    bounds = (cb_range){fmax(bounds.lower, known.lower), fmin(bounds.upper, known.upper)};
    if (isfinite(bounds.lower) && isfinite(bounds.upper)) {
        stage->low[column] = bounds.lower;
        stage->high[column] = bounds.upper;
        return;
    }
    size_t i = 0;
    while (i < stage->opens && stage->open[i].column != column)
        i++;
    stage->open[i] = (cb_open){.column = column, .range = bounds};
    stage->opens += i == stage->opens;
}

void cb_safe_free(cb_stage *stage) {
    free(stage->stand);
    free(stage->dual);
}

static double usable(double dual, double lower, double upper) {
    return isfinite(dual) && isfinite(dual > 0 ? lower : upper) ? dual : 0;
}

void cb_safe_tidy(cb_stage *stage) {
    for (size_t i = 0; i < stage->node->rows; i++)
        stage->dual[i] = usable(stage->dual[i], stage->row_lower[i], stage->row_upper[i]);
    for (size_t i = stage->node->rows; i < (size_t)stage->rows + stage->cuts; i++)
        stage->dual[i] = usable(stage->dual[i], 0, INFINITY);
}

static cobre_status read_duals(cb_stage *stage) {
    size_t rows = (size_t)stage->rows + stage->cuts;
    if (rows >= stage->dual_room) {
        double *dual = realloc(stage->dual, (2 * rows + 1) * sizeof *dual);
        if (!dual)
            return cb_no_memory("duals", rows * sizeof *dual);
        stage->dual = dual;
        stage->dual_room = 2 * rows + 1;
    }
    for (size_t i = 0; i < rows; i++)
        stage->dual[i] = cb_stage_dual(stage, i);
    cb_safe_tidy(stage);
    return COBRE_OK;
}

/* What is found so far. */
typedef struct {
    double value, size; /* a sum, and that of the absolute values of its terms */
    double loss;        /* what rounding may have added, but for the sum's own */
    size_t bad;         /* how many are in stage->bad */
    bool lost;          /* a slope cannot be rounded safely */
} tally;

static void add(tally *sum, double term) {
    sum->value += term;
    sum->size += fabs(term);
}

static bool is_averse(const cb_stage *stage) {
    return stage->rows > (int)stage->node->rows;
}

/* Duals of the rows u_k + t - d_k Q_k >= 0 (build.c): each at most what u_k costs, all together at most what t costs. An
 * optimal t is never below all d_k Q_k, so that what is left of its cost has a bound to stand on. */
static void settle_risk(cb_stage *stage, tally *sum) {
    const double *cost = stage->future_cost + stage->futures; /* of t, then of each u */
    double total = 0, least = INFINITY, error = cb_rounding(stage->futures), *dual = cb_risk_duals(stage);
    for (size_t f = 0; f < stage->futures; f++) {
        dual[f] = fmin(dual[f], cost[1 + f]);
        total += dual[f];
        least = fmin(least, stage->discount[f] * stage->future_bound[f]);
    }
    double shrink = total > (1 - error) * cost[0] ? (1 - 2 * error) * cost[0] / total : 1;
    for (size_t f = 0; f < stage->futures; f++)
        dual[f] *= shrink;
    add(sum, (cost[0] - total * shrink) * least);
    sum->loss += 2 * error * cost[0] * fabs(least);
}

/* The duals of a future-cost column's cuts are together at most what it costs: by how much they must shrink, in budget[f]. */
static void settle_future(cb_stage *stage, size_t f, double total, tally *sum) {
    double error = cb_rounding(stage->cuts), cost = stage->future_cost[f];
    if (is_averse(stage))
        cost += stage->discount[f] * cb_risk_duals(stage)[f];
    stage->budget[f] = total > (1 - error) * cost ? (1 - 2 * error) * cost / total : 1;
    add(sum, (cost - total * stage->budget[f]) * stage->future_bound[f]);
    sum->loss += 2 * error * cost * fabs(stage->future_bound[f]);
}

static void add_futures(cb_stage *stage, tally *sum) {
    double *dual = cb_cut_duals(stage);
    if (stage->futures > 0 && is_averse(stage))
        settle_risk(stage, sum);
    for (size_t f = 0; f < stage->futures; f++)
        stage->budget[f] = 0;
    for (size_t i = 0; i < stage->cuts; i++)
        stage->budget[stage->resident[i].future] += dual[i];
    for (size_t f = 0; f < stage->futures; f++)
        settle_future(stage, f, stage->budget[f], sum);
    for (size_t i = 0; i < stage->cuts; i++)
        dual[i] *= stage->budget[stage->resident[i].future];
}

static void add_cuts(const cb_stage *stage, tally *sum) {
    const double *dual = cb_cut_duals(stage);
    for (size_t i = 0; i < stage->cuts; i++)
        if (dual[i] != 0)
            add(sum, dual[i] * cb_pool_cut(stage->kind->pool, stage->resident[i].id)[CB_CUT_INTERCEPT]);
}

/* How the cuts pull at the outgoing states. */
static void find_pull(cb_stage *stage) {
    size_t states = stage->kind->problem->states;
    double *pull = stage->pull, *size = stage->pull + states;
    for (size_t s = 0; s < 2 * states; s++)
        pull[s] = 0;
    for (size_t i = 0; i < stage->cuts; i++) {
        double dual = cb_cut_duals(stage)[i];
        if (dual == 0)
            continue;
        const double *record = cb_pool_cut(stage->kind->pool, stage->resident[i].id);
        for (size_t s = 0; s < states; s++) {
            double term = dual * record[CB_CUT_SLOPES + s];
            pull[s] += term;
            size[s] += fabs(term);
        }
    }
}

void cb_safe_reduce(cb_stage *stage) {
    const cb_node *node = stage->node;
    const double *dual = stage->dual, *value = stage->value;
    for (size_t j = 0; j < node->columns; j++) {
        double reduced = stage->cost[j], size = fabs(reduced);
        for (int e = node->start[j]; e < node->start[j + 1]; e++) {
            double term = value[e] * dual[node->index[e]];
            reduced -= term;
            size += fabs(term);
        }
        stage->reduced[j] = reduced;
        stage->error[j] = size * stage->entry_error;
    }
    if (stage->futures == 0)
        return;
    find_pull(stage);
    size_t states = stage->kind->problem->states;
    double error = cb_rounding(stage->cuts) + stage->entry_error;
    for (size_t s = 0; s < states; s++) {
        stage->reduced[node->state_out[s]] += stage->pull[s];
        stage->error[node->state_out[s]] += error * stage->pull[states + s];
    }
}

enum { LANES = 4 }; /* sums that do not wait for each other; their number fixes the bits */

static inline double smaller(double a, double b) {
    return a < b ? a : b;
}

/* The least that a column can add: reduced cost and value lie in intervals, and a product is least at their ends. */
static inline double least_of(const cb_stage *stage, size_t j) {
    double down = stage->reduced[j] - stage->error[j], up = stage->reduced[j] + stage->error[j];
    double low = stage->low[j], high = stage->high[j];
    return smaller(smaller(down * low, up * low), smaller(down * high, up * high));
}

static void add_columns(const cb_stage *stage, tally *sum) {
    double value[LANES] = {0}, size[LANES] = {0};
    size_t columns = stage->node->columns, j = 0;
    for (; j + LANES <= columns; j += LANES)
        for (size_t lane = 0; lane < LANES; lane++) {
            double term = least_of(stage, j + lane);
            value[lane] += term;
            size[lane] += fabs(term);
        }
    for (; j < columns; j++)
        add(sum, least_of(stage, j));
    sum->value += (value[0] + value[1]) + (value[2] + value[3]);
    sum->size += (size[0] + size[1]) + (size[2] + size[3]);
}

/* The columns without a finite bound on one side. */
static void add_open(cb_stage *stage, tally *sum) {
    for (size_t i = 0; i < stage->opens; i++) {
        const cb_open *open = &stage->open[i];
        double reduced = stage->reduced[open->column], error = stage->error[open->column];
        if (reduced == 0 && error == 0)
            continue;
        double side = isfinite(open->range.lower) ? open->range.lower : open->range.upper;
        bool good = isfinite(side) && (isfinite(open->range.lower) ? reduced >= error : -reduced >= error);
        if (good) {
            add(sum, reduced * side);
            sum->loss += error * fabs(side);
        } else {
            stage->bad[sum->bad++] = i;
        }
    }
}

bool cb_round_slope(double *slope, double error, cb_range range, double *loss) {
    if (isfinite(range.lower) && isfinite(range.upper)) {
        *loss += error * fmax(fabs(range.lower), fabs(range.upper));
        return true;
    }
    if (isinf(range.lower) && isinf(range.upper))
        return error == 0;
    double side = isinf(range.upper) ? fmax(0, -range.lower) : fmax(0, range.upper);
    *slope += isinf(range.upper) ? -error : error;
    *loss += 2 * error * side;
    return true;
}

static void find_slopes(cb_stage *stage, tally *sum) {
    size_t states = stage->kind->free_state ? 0 : stage->kind->problem->states;
    for (size_t s = 0; s < states; s++) {
        size_t column = stage->node->state_in[s];
        stage->slope[s] = stage->reduced[column];
        sum->lost |= !cb_round_slope(&stage->slope[s], stage->error[column], stage->node->range[column], &sum->loss);
    }
}

/* At the state. */
static void find_bound(cb_stage *stage) {
    size_t states = stage->kind->free_state ? 0 : stage->kind->problem->states;
    double size = fabs(stage->intercept);
    stage->bound = stage->intercept;
    for (size_t s = 0; s < states; s++) {
        stage->bound += stage->slope[s] * stage->state[s];
        size += fabs(stage->slope[s] * stage->state[s]);
    }
    stage->bound -= cb_rounding(states) * size;
    stage->rounding += cb_rounding(states) * size;
}

/* What the duals prove; how many columns are bad. */
static size_t prove(cb_stage *stage) {
    const cb_node *node = stage->node;
    tally sum = {.value = stage->constant, .size = fabs(stage->constant)};
    for (size_t i = 0; i < node->rows; i++)
        if (stage->dual[i] != 0)
            add(&sum, stage->dual[i] * (stage->dual[i] > 0 ? stage->row_lower[i] : stage->row_upper[i]));
    add_futures(stage, &sum);
    add_cuts(stage, &sum);
    cb_safe_reduce(stage);
    add_columns(stage, &sum);
    add_open(stage, &sum);
    find_slopes(stage, &sum);
    stage->rounding =
        1.001 * sum.loss +
        cb_rounding(node->rows + node->columns / LANES + 2 * LANES + stage->futures + stage->cuts) * sum.size;
    stage->intercept = sum.value - stage->rounding;
    stage->proven = sum.bad == 0 && !sum.lost && isfinite(stage->intercept);
    if (stage->proven)
        find_bound(stage);
    return sum.bad;
}

/* Which way the reduced cost of a column must go: 1, -1, or 0 if no way is right. */
static double way(const cb_open *open) {
    return isfinite(open->range.lower) ? 1 : isfinite(open->range.upper) ? -1 : 0;
}

/* The LP of the anchor: all columns without a bound are cheaper by a share of their cost, so that its duals keep away from
 * their limits. Not incoming states: more of them may cost nothing. */
static cb_lp_outcome solve_anchor(cb_stage *stage, double share) {
    const double usual = 64; /* costs are up to 1024 in an LP */
    for (const cb_open *open = stage->open; open < stage->open + stage->opens; open++) {
        size_t j = open->column;
        double cost = stage->scale * stage->unit[j] * stage->cost[j];
        if (cb_incoming_state(stage->kind->problem, stage->node, j) == CB_NONE)
            stage->solver->set_cost(stage->lp, (int)j, cost - share * way(open) * (cost != 0 ? fabs(cost) : usual));
    }
    return cb_lp_solve(stage->solver, stage->lp);
}

static void keep_anchor(cb_stage *stage, const cb_stage *own, cb_anchor *anchor) {
    const cb_node *node = stage->node;
    anchor->dual = cb_arena_alloc(&stage->memory, node->rows, sizeof *anchor->dual);
    anchor->reduced = cb_arena_alloc(&stage->memory, node->columns, sizeof *anchor->reduced);
    for (size_t i = 0; anchor->dual && i < node->rows; i++)
        anchor->dual[i] = own->dual[i];
    for (size_t j = 0; anchor->reduced && j < node->columns; j++)
        anchor->reduced[j] = own->reduced[j];
}

static cobre_status find_anchor(cb_stage *stage, size_t outcome, cb_anchor *anchor) {
    const double first = 0.5, least = 1e-6, less = 0.0625;
    cb_stage_kind kind = {
        .problem = stage->kind->problem, .pair = {.solver = stage->kind->pair.solver}, .free_state = true};
    cb_stage *own;
    CB_TRY(cb_stage_create(&kind, stage->node, &own));
    cobre_status status = cb_stage_start(own, NULL);
    if (!status)
        cb_stage_set_noise(own, stage->node->outcome + outcome * stage->node->randoms);
    cb_lp_outcome result = CB_LP_UNBOUNDED;
    for (double share = first; !status && share > least && result != CB_LP_OPTIMAL && result != CB_LP_GAVE_UP;
         share *= less)
        result = solve_anchor(own, share);
    if (!status && result == CB_LP_OPTIMAL)
        status = read_duals(own);
    if (!status && result == CB_LP_OPTIMAL) {
        cb_safe_reduce(own);
        keep_anchor(stage, own, anchor);
        if (stage->memory.failed)
            status = cb_no_memory("duals of a node", stage->node->rows * sizeof *anchor->dual);
    }
    anchor->tried = true;
    cb_stage_free(own);
    return status;
}

/* How much of the anchor mends all bad columns; 2: it cannot. */
static double share_of(const cb_stage *stage, const cb_anchor *anchor, size_t bad) {
    double share = 0;
    for (size_t i = 0; i < bad; i++) {
        const cb_open *open = &stage->open[stage->bad[i]];
        size_t j = open->column;
        double need = 4 * stage->error[j] - way(open) * stage->reduced[j], gain = way(open) * anchor->reduced[j];
        share = gain > 0 ? fmax(share, need / (need + gain)) : 2;
        if (share > 1)
            return share;
    }
    return share;
}

static void blend(cb_stage *stage, const cb_anchor *anchor, double share) {
    for (size_t i = 0; i < stage->node->rows; i++)
        stage->dual[i] =
            usable((1 - share) * stage->dual[i] + share * anchor->dual[i], stage->row_lower[i], stage->row_upper[i]);
    for (size_t i = 0; i < stage->cuts; i++)
        cb_cut_duals(stage)[i] *= 1 - share;
}

cobre_status cb_safe_prove(cb_stage *stage, size_t outcome) {
    enum { TRIES = 4 };
    size_t bad = prove(stage);
    if (bad == 0)
        return COBRE_OK;
    if (!cb_has_random_dual(stage->node))
        outcome = 0;
    cb_anchor *anchor = &stage->anchor[outcome];
    if (!anchor->tried)
        CB_TRY(find_anchor(stage, outcome, anchor));
    double more = 1;
    for (int i = 0; i < TRIES && bad > 0 && anchor->dual; i++, more *= 2) {
        double share = more * share_of(stage, anchor, bad);
        if (!(share < 1))
            break;
        blend(stage, anchor, share);
        bad = prove(stage);
    }
    return COBRE_OK;
}

cobre_status cb_safe_read(cb_stage *stage, size_t outcome) {
    stage->proven = false;
    CB_TRY(read_duals(stage));
    return outcome == CB_NONE ? COBRE_OK : cb_safe_prove(stage, outcome); /* ranges are those of the outcomes */
}
