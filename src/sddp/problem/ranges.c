/* SPDX-License-Identifier: Apache-2.0 */
/* ranges.c: finds the values that the columns of each node can take, from bounds and rows, over all outcomes and all
 * possible incoming states. Safe cuts need a finite bound where a reduced cost asks for one (stage/safe.c).
 *
 * Every range begins as the bounds of its column; incoming states begin unbounded. A row bounds each of its columns by
 * the ranges of the others. A state comes in as one of the parents left it, or as the root gives it. Each result
 * narrows a range that is already valid, so the search may end at any time. Every operation is rounded outwards. */
#include <math.h>
#include <stdlib.h>

#include "sddp/arena.h"
#include "sddp/problem/image.h"

enum { PASSES = 20 }; /* over the rows of a node */
#define UNIT 0x1p-52  /* twice the rounding error of one operation */

typedef struct {
    cb_range *column; /* the result */
    cb_range *in;     /* of each state */
    bool stale;       /* an incoming range has become finite since the rows were looked at */
} part;

/* Of one node, while its rows are looked at. */
typedef struct {
    cb_range *row;        /* with noise */
    cb_range *entry;      /* with noise */
    double *least, *most; /* of each row's activity: the finite terms, rounded outwards */
    double *size;         /* sum of their absolute values */
    int *below, *above;   /* how many terms are infinite */
    int *terms;
    double unit; /* of the problem */
} desk;

cb_range cb_near(cb_range range, double unit) {
    return (cb_range){range.lower < -CB_FAR * unit ? -INFINITY : range.lower,
                      range.upper > CB_FAR * unit ? INFINITY : range.upper};
}

static bool is_near(cb_range range, double unit) {
    cb_range near = cb_near(range, unit);
    return isfinite(near.lower) && isfinite(near.upper);
}

/* Takes what is found where there is nothing, or nothing near; did it help? */
static bool improve(cb_range *range, cb_range found, double unit) {
    cb_range before = *range, near = cb_near(found, unit);
    bool all = isinf(range->upper), any = isinf(cb_near(*range, unit).upper);
    if (any && found.upper >= range->lower && found.upper < range->upper && isfinite(all ? found.upper : near.upper))
        range->upper = found.upper;
    all = isinf(range->lower), any = isinf(cb_near(*range, unit).lower);
    if (any && found.lower <= range->upper && found.lower > range->lower && isfinite(all ? found.lower : near.lower))
        range->lower = found.lower;
    return range->lower > before.lower || range->upper < before.upper;
}

static cb_range join(cb_range a, cb_range b) {
    return (cb_range){fmin(a.lower, b.lower), fmax(a.upper, b.upper)};
}

/* What noise terms of one target make of it, over all outcomes. */
static cb_range with_noise(const cb_node *node, const cb_noise *term, size_t terms, cb_range plain) {
    cb_range all = {INFINITY, -INFINITY};
    for (size_t k = 0; k < node->outcomes; k++) {
        cb_range one = plain;
        cb_apply_noise(term, terms, node->outcome + k * node->randoms, &one);
        all = join(all, one);
    }
    return all;
}

cb_range cb_bounds_of(const cb_node *node, size_t column) {
    cb_range plain = {node->column[column].lower, node->column[column].upper};
    const cb_noise wanted = {.target = COBRE_SDDP_NOISE_COLUMN_LOWER, .index = column};
    size_t first = 0, last;
    while (first < node->noises && !cb_same_target(&node->noise[first], &wanted))
        first++;
    for (last = first; last < node->noises && cb_same_target(&node->noise[last], &wanted);)
        last++;
    return first == last ? plain : join(plain, with_noise(node, &node->noise[first], last - first, plain));
}

static cb_range *entry_of(const cb_node *node, desk *d, const cb_noise *noise) {
    for (int e = node->start[noise->column]; e < node->start[noise->column + 1]; e++)
        if ((size_t)node->index[e] == noise->index)
            return &d->entry[e];
    return NULL;
}

/* Rows, entries and columns as they are over all outcomes. */
static void lay_out(const cb_node *node, desk *d, cb_range *column) {
    for (size_t i = 0; i < node->rows; i++)
        d->row[i] = node->row[i];
    for (size_t e = 0; e < node->entries; e++)
        d->entry[e] = (cb_range){node->value[e], node->value[e]};
    for (size_t j = 0; column && j < node->columns; j++)
        column[j] = (cb_range){node->column[j].lower, node->column[j].upper};
    for (size_t i = 0, last; i < node->noises; i = last) {
        const cb_noise *noise = &node->noise[i];
        for (last = i + 1; last < node->noises && cb_same_target(noise, &node->noise[last]);)
            last++;
        cb_noise_target family = cb_noise_family(noise->target);
        cb_range *range = family == COBRE_SDDP_NOISE_ROW            ? &d->row[noise->index]
                          : family == COBRE_SDDP_NOISE_ENTRY        ? entry_of(node, d, noise)
                          : family == COBRE_SDDP_NOISE_COLUMN_LOWER ? (column ? &column[noise->index] : NULL)
                                                                    : NULL;
        if (range)
            *range = with_noise(node, noise, last - i, *range);
    }
}

static double product(double a, double b) {
    return a == 0 || b == 0 ? 0 : a * b; /* 0 times infinity */
}

static cb_range times(cb_range a, cb_range b) {
    double p = product(a.lower, b.lower), q = product(a.lower, b.upper), r = product(a.upper, b.lower),
           s = product(a.upper, b.upper);
    return (cb_range){fmin(fmin(p, q), fmin(r, s)), fmax(fmax(p, q), fmax(r, s))};
}

static void add_up(const cb_node *node, desk *d, const cb_range *column) {
    for (size_t i = 0; i < node->rows; i++)
        d->least[i] = d->most[i] = d->size[i] = d->below[i] = d->above[i] = d->terms[i] = 0;
    for (size_t j = 0; j < node->columns; j++)
        for (int e = node->start[j]; e < node->start[j + 1]; e++) {
            int i = node->index[e];
            cb_range term = times(d->entry[e], column[j]);
            d->terms[i]++;
            if (isinf(term.lower))
                d->below[i]++;
            else
                d->least[i] += term.lower, d->size[i] += fabs(term.lower);
            if (isinf(term.upper))
                d->above[i]++;
            else
                d->most[i] += term.upper, d->size[i] += fabs(term.upper);
        }
}

/* The range of what the other terms of row i leave for term `own`. */
static cb_range left_over(const desk *d, int i, cb_range own) {
    cb_range row = d->row[i], left = {-INFINITY, INFINITY};
    double error = (d->terms[i] + 8) * UNIT;
    if (isfinite(row.upper) && d->below[i] == (isinf(own.lower) ? 1 : 0)) {
        left.upper = row.upper - (d->least[i] - (isinf(own.lower) ? 0 : own.lower));
        left.upper += error * (fabs(row.upper) + d->size[i]);
    }
    if (isfinite(row.lower) && d->above[i] == (isinf(own.upper) ? 1 : 0)) {
        left.lower = row.lower - (d->most[i] - (isinf(own.upper) ? 0 : own.upper));
        left.lower -= error * (fabs(row.lower) + d->size[i]);
    }
    return left;
}

/* Column j by its entries; did it help? */
static bool narrow(const cb_node *node, const desk *d, size_t j, cb_range *column) {
    for (int e = node->start[j]; e < node->start[j + 1]; e++) {
        cb_range entry = d->entry[e];
        if (entry.lower <= 0 && entry.upper >= 0)
            continue;
        cb_range left = left_over(d, node->index[e], times(entry, *column));
        cb_range inverse = {1 / entry.upper * (1 - UNIT), 1 / entry.lower * (1 + UNIT)};
        if (entry.upper < 0)
            inverse = (cb_range){1 / entry.upper * (1 + UNIT), 1 / entry.lower * (1 - UNIT)};
        cb_range found = times(left, inverse);
        found.lower -= 4 * UNIT * fabs(found.lower);
        found.upper += 4 * UNIT * fabs(found.upper);
        if (improve(column, found, d->unit))
            return true; /* the sums are of the old range */
    }
    return false;
}

static void look_at_rows(const cobre_sddp_problem *problem, const cb_node *node, desk *d, part *p) {
    lay_out(node, d, NULL);
    for (size_t s = 0; s < problem->states; s++)
        p->column[node->state_in[s]] = p->in[s];
    bool changed = true;
    for (int pass = 0; pass < PASSES && changed; pass++) {
        changed = false;
        add_up(node, d, p->column);
        for (size_t j = 0; j < node->columns; j++)
            if (cb_incoming_state(node, j) == CB_NONE && !is_near(p->column[j], d->unit))
                changed |= narrow(node, d, j, &p->column[j]);
    }
    p->stale = false;
}

/* What may come in now: from the root, from any parent. `next` has room for all nodes and states. */
static void look_at_parents(const cobre_sddp_problem *problem, const part *p, cb_range *next) {
    size_t states = problem->states;
    for (size_t i = 0; i < problem->nodes * states; i++)
        next[i] = (cb_range){INFINITY, -INFINITY};
    for (size_t s = 0; s < states; s++) {
        double initial = problem->state[s].initial;
        for (size_t e = 0; e < problem->root_edges; e++) {
            cb_range *to = &next[problem->root_edge[e].to * states + s];
            *to = join(*to, (cb_range){initial, initial});
        }
        for (size_t n = 0; n < problem->nodes; n++) {
            cb_range out = p[n].column[problem->node[n].state_out[s]];
            for (size_t e = 0; e < problem->node[n].edges; e++) {
                cb_range *to = &next[problem->node[n].edge[e].to * states + s];
                *to = join(*to, out);
            }
        }
        for (size_t n = 0; n < problem->nodes; n++)
            if (next[n * states + s].lower > next[n * states + s].upper) /* never reached */
                next[n * states + s] = (cb_range){initial, initial};
    }
}

static size_t meet(const cobre_sddp_problem *problem, double unit, part *p, cb_range *next) {
    size_t states = problem->states, found = 0;
    look_at_parents(problem, p, next);
    for (size_t i = 0; i < problem->nodes * states; i++)
        if (improve(&p[i / states].in[i % states], next[i], unit)) {
            p[i / states].stale = true;
            found++;
        }
    return found;
}

static bool make_desk(cb_arena *memory, const cobre_sddp_problem *problem, desk *d) {
    size_t rows = 0, entries = 0;
    for (size_t n = 0; n < problem->nodes; n++) {
        rows = problem->node[n].rows > rows ? problem->node[n].rows : rows;
        entries = problem->node[n].entries > entries ? problem->node[n].entries : entries;
    }
    *d = (desk){.row = cb_arena_alloc(memory, rows, sizeof *d->row),
                .entry = cb_arena_alloc(memory, entries, sizeof *d->entry),
                .least = cb_arena_alloc(memory, rows, sizeof *d->least),
                .most = cb_arena_alloc(memory, rows, sizeof *d->most),
                .size = cb_arena_alloc(memory, rows, sizeof *d->size),
                .below = cb_arena_alloc(memory, rows, sizeof *d->below),
                .above = cb_arena_alloc(memory, rows, sizeof *d->above),
                .terms = cb_arena_alloc(memory, rows, sizeof *d->terms)};
    return !memory->failed;
}

/* The writable part of the image where this view looks. */
static void *writable(const cobre_sddp_problem *problem, void *image, const void *view) {
    return (char *)image + ((const char *)view - (const char *)problem->name) +
           (size_t)((const cb_image_head *)image)->name;
}

static void find(const cobre_sddp_problem *problem, desk *d, part *p, cb_range *next) {
    do {
        for (size_t n = 0; n < problem->nodes; n++)
            if (p[n].stale)
                look_at_rows(problem, &problem->node[n], d, &p[n]);
    } while (meet(problem, d->unit, p, next) > 0);
}

/* Where an end of a guess goes that must reach `to`: further than that, or without limit where that leads too far. */
static double beyond(double end, double to, double far) {
    double wider = to + 2 * (to - end) + copysign(to, to - end);
    return fabs(wider) > far ? copysign(INFINITY, to - end) : wider;
}

/* Widens a guess that does not hold what comes in. */
static bool widen(cb_range *guess, cb_range in, double far) {
    cb_range before = *guess;
    if (in.upper > before.upper)
        guess->upper = beyond(before.upper, in.upper, far);
    if (in.lower < before.lower)
        guess->lower = beyond(before.lower, in.lower, far);
    return guess->lower < before.lower || guess->upper > before.upper;
}

/* In a cycle a state without bounds has none for what is above, and yet it may stay within some: x' = 0.8 x + noise. A range
 * that holds the initial state holds every state that can come in, if no node leaves it from inside of it. So ranges
 * that are not known are guessed, and widened until that is so. */
static void guess(const cobre_sddp_problem *problem, desk *d, part *p, cb_range *next) {
    size_t states = problem->states;
    for (size_t i = 0; i < problem->nodes * states; i++) {
        cb_range *in = &p[i / states].in[i % states];
        double initial = problem->state[i % states].initial;
        in->lower = isinf(in->lower) ? fmin(initial, in->upper) : in->lower;
        in->upper = isinf(in->upper) ? fmax(initial, in->lower) : in->upper;
    }
    for (bool wider = true; wider;) {
        wider = false;
        for (size_t n = 0; n < problem->nodes; n++) {
            lay_out(&problem->node[n], d, p[n].column);
            look_at_rows(problem, &problem->node[n], d, &p[n]);
        }
        look_at_parents(problem, p, next);
        for (size_t i = 0; i < problem->nodes * states; i++)
            wider |= widen(&p[i / states].in[i % states], next[i], CB_FAR * d->unit);
    }
}

static bool any_unknown(const cobre_sddp_problem *problem, const part *p) {
    for (size_t i = 0; i < problem->nodes * problem->states; i++) {
        cb_range in = p[i / problem->states].in[i % problem->states];
        if (isinf(in.lower) || isinf(in.upper))
            return true;
    }
    return false;
}

bool cb_find_ranges(const cobre_sddp_problem *problem, void *image) {
    cb_arena memory = {0};
    desk d;
    size_t states = problem->states;
    part *p = cb_arena_alloc(&memory, problem->nodes, sizeof *p);
    cb_range *in = cb_arena_alloc(&memory, 2 * problem->nodes * states, sizeof *in);
    bool room = make_desk(&memory, problem, &d);
    d.unit = ((const cb_image_head *)image)->unit;
    for (size_t i = 0; room && i < problem->nodes * states; i++)
        in[i] = (cb_range){-INFINITY, INFINITY};
    for (size_t n = 0; room && n < problem->nodes; n++) {
        p[n] = (part){.column = writable(problem, image, problem->node[n].range), .in = in + n * states, .stale = true};
        lay_out(&problem->node[n], &d, p[n].column);
    }
    if (room) {
        meet(problem, d.unit, p, in + problem->nodes * states);
        find(problem, &d, p, in + problem->nodes * states);
        if (problem->longest == 0 && any_unknown(problem, p))
            guess(problem, &d, p, in + problem->nodes * states);
    }
    cb_arena_free(&memory);
    return room;
}
