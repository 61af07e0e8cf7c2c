/* SPDX-License-Identifier: Apache-2.0 */
/* check.c: checks that need the whole problem, and sorts it as the trainer expects.
 *
 * Entries are sorted by column, then row; duplicates are summed in the order in which they were added. The longest path
 * is found by removing nodes without unvisited parents. The nodes that cannot be removed lie on a cycle.
 *
 * An outcome or edge of probability 0 never happens, and need not have a solution. It must not be solved: such outcomes
 * are dropped, and such edges come after the others and are not counted among them. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/problem/builder.h"

#define PROBABILITY_SLACK 1e-6

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void check_names(cobre_sddp_builder *builder, const cb_place *at, const char *of, const char *kind,
                        const char **sorted, size_t count) {
    qsort(sorted, count, sizeof *sorted, by_text);
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            cb_error_at(builder, at, "rename one", "%stwo %s are called \"%s\"", of, kind, sorted[i]);
}

/* Collects names that lie `stride` bytes apart. of: "node 1: ", or "". */
static void check_unique(cobre_sddp_builder *builder, const cb_place *at, const char *of, const char *kind,
                         const void *first, size_t stride, size_t count) {
    const char **names = cb_builder_alloc(builder, count, sizeof *names);
    for (size_t i = 0; names && i < count; i++)
        memcpy(&names[i], (const char *)first + i * stride, sizeof *names);
    if (names)
        check_names(builder, at, of, kind, names, count);
}

static void check_states(cobre_sddp_builder *builder, const cb_builder_node *node) {
    unsigned char *used = cb_builder_alloc(builder, node->columns, 1);
    for (size_t s = 0; used && s < builder->states; s++) {
        if (node->state_in[s] == CB_NONE) {
            cb_error_at(builder, &node->at, NULL, "node %s: state %s has no columns", node->name,
                        builder->state[s].name);
            continue;
        }
        if (used[node->state_in[s]]++ || used[node->state_out[s]]++)
            cb_error_at(builder, &node->at, NULL, "node %s: a column of state %s already belongs to another state",
                        node->name, builder->state[s].name);
    }
}

static void check_outcomes(cobre_sddp_builder *builder, cb_builder_node *node, size_t index) {
    if (node->outcomes == 0 && node->randoms > 0)
        cb_error_at(builder, &node->at, "add some", "node %s has random variables but no outcomes", node->name);
    else if (node->outcomes == 0)
        cb_add_outcome(builder, &node->at, index, 1, NULL);
    double sum = 0;
    for (size_t k = 0; k < node->outcomes; k++)
        sum += node->probability[k];
    if (node->outcomes > 0 && fabs(sum - 1) > PROBABILITY_SLACK)
        cb_error_at(builder, &node->at, "make it 1", "node %s: the probabilities of its outcomes add up to %.9g",
                    node->name, sum);
}

static void drop_outcomes(cb_builder_node *node) {
    size_t kept = 0;
    for (size_t k = 0; k < node->outcomes; k++) {
        if (node->probability[k] == 0)
            continue;
        node->probability[kept] = node->probability[k];
        for (size_t i = 0; node->table && i < node->randoms; i++)
            node->table[kept * node->randoms + i] = node->table[k * node->randoms + i];
        kept++;
    }
    node->outcomes = kept;
}

/* Puts those of probability 0 behind the others; how many others there are. */
static size_t sort_edges(cb_edge *edge, size_t count) {
    size_t kept = 0;
    for (size_t e = 0; e < count; e++) {
        cb_edge one = edge[e];
        if (one.probability == 0)
            continue;
        memmove(edge + kept + 1, edge + kept, (e - kept) * sizeof *edge);
        edge[kept++] = one;
    }
    return kept;
}

/* all: they must add up to 1. */
static void check_edges(cobre_sddp_builder *builder, const cb_place *at, const char *from, const cb_edge *edge,
                        size_t count, bool all) {
    double sum = 0;
    for (size_t e = 0; e < count; e++) {
        sum += edge[e].probability;
        for (size_t other = 0; other < e; other++)
            if (edge[other].to == edge[e].to)
                cb_error_at(builder, at, "keep one", "%s: two edges lead to node %s", from,
                            builder->node[edge[e].to].name);
    }
    if (sum > 1 + PROBABILITY_SLACK || (all && sum < 1 - PROBABILITY_SLACK))
        cb_error_at(builder, at, CB_TEXT("make it %s1", all ? "" : "at most "),
                    "%s: the probabilities of its successors add up to %.9g", from, sum);
}

static bool product_fits(cobre_sddp_builder *builder, const cb_builder_node *node, const cb_noise *noise,
                         const double *values, const char *where) {
    if (fabs(noise->factor * values[noise->random]) <= CB_MOST)
        return true;
    cb_error_at(builder, &node->at, CB_TEXT("use units that keep it below %g", CB_MOST),
                "node %s: %g times random variable %s is out of range%s", node->name, noise->factor,
                node->random_name[noise->random], where);
    return false;
}

static void check_scenario(cobre_sddp_builder *builder, size_t index) {
    const cb_scenario *scenario = &builder->scenario[index];
    if (scenario->steps == 0)
        cb_error_at(builder, &builder->whole, "add some", "scenario %zu has no steps", index + 1);
    for (size_t k = 0; k < scenario->steps; k++) {
        const cb_builder_node *node = &builder->node[scenario->node[k]];
        for (size_t i = 0; i < node->noises; i++)
            product_fits(builder, node, &node->noise[i], scenario->values[k], CB_TEXT(" in scenario %zu", index + 1));
    }
}

/* Noise moves a number; an infinite side has none. */
static void check_noise(cobre_sddp_builder *builder, const cb_builder_node *node, const cb_noise *noise) {
    double lower = 0, upper = 0;
    const char *name = "";
    if (noise->target <= COBRE_SDDP_NOISE_ROW_UPPER) {
        const cb_builder_row *row = &node->row[noise->index];
        lower = row->lower, upper = row->upper, name = row->name;
    } else if (noise->target <= COBRE_SDDP_NOISE_COLUMN_UPPER) {
        const cb_builder_column *column = &node->column[noise->index];
        lower = column->lower, upper = column->upper, name = column->name;
    }
    for (size_t k = 0; node->table && k < node->outcomes; k++)
        if (!product_fits(builder, node, noise, node->table + k * node->randoms, ""))
            break;
    bool low = noise->target == COBRE_SDDP_NOISE_ROW_LOWER || noise->target == COBRE_SDDP_NOISE_COLUMN_LOWER;
    bool high = noise->target == COBRE_SDDP_NOISE_ROW_UPPER || noise->target == COBRE_SDDP_NOISE_COLUMN_UPPER;
    if ((low && isinf(lower)) || (high && isinf(upper)) ||
        (noise->target == COBRE_SDDP_NOISE_ROW && isinf(lower) && isinf(upper)))
        cb_error_at(builder, &node->at, "give that side a number", "node %s: noise on a side of %s that is infinite",
                    node->name, name);
    for (size_t s = 0; s < builder->states && cb_noise_family(noise->target) == COBRE_SDDP_NOISE_COLUMN_LOWER; s++)
        if (node->state_in[s] == noise->index)
            cb_error_at(builder, &node->at, "move it to a row",
                        "node %s: noise on the bounds of %s, which is an incoming state", node->name, name);
}

static int by_target(const void *a, const void *b) {
    const cb_noise *x = a, *y = b;
    cb_noise_target a_family = cb_noise_family(x->target), b_family = cb_noise_family(y->target);
    if (a_family != b_family)
        return a_family < b_family ? -1 : 1;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    return x->random < y->random ? -1 : x->random > y->random;
}

/* Those of one place as they were added: `a` and `b` point to pointers into one array. */
static int by_place(const void *a, const void *b) {
    const cb_entry *x = *(const cb_entry *const *)a, *y = *(const cb_entry *const *)b;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (x > y) - (x < y);
}

static void sort_matrix(cobre_sddp_builder *builder, cb_builder_node *node) {
    const cb_entry **order = malloc((node->entries + 1) * sizeof *order);
    cb_entry *sorted = malloc((node->entries + 1) * sizeof *sorted), *last = NULL;
    if (!order || !sorted) {
        builder->no_memory = true;
        free(order);
        free(sorted);
        return;
    }
    for (size_t e = 0; e < node->entries; e++)
        order[e] = &node->entry[e];
    qsort(order, node->entries, sizeof *order, by_place);
    size_t kept = 0;
    for (size_t e = 0; e < node->entries; e++) {
        if (last && last->row == order[e]->row && last->column == order[e]->column) {
            last->value += order[e]->value;
            continue;
        }
        last = &sorted[kept++];
        *last = *order[e];
    }
    free(order);
    free(node->entry);
    node->entry = sorted;
    node->entries = node->entries_room = kept;
}

/* The LP solvers count by int, and a path by 32 bits. */
static void check_size(cobre_sddp_builder *builder, const cb_builder_node *node) {
    if (node->columns > INT_MAX / 4 || node->rows > INT_MAX / 4 || node->entries > INT_MAX / 4 ||
        node->outcomes > UINT32_MAX)
        cb_error_at(builder, &node->at, "split it", "node %s: it is too large for an LP solver", node->name);
}

/* sound: there were no errors before. Otherwise some checks would blame what only follows from them. */
static void check_node(cobre_sddp_builder *builder, size_t index, bool sound) {
    cb_builder_node *node = &builder->node[index];
    char from[128], of[132];
    snprintf(from, sizeof from, "node %s", node->name);
    snprintf(of, sizeof of, "%s: ", from);
    check_size(builder, node);
    check_unique(builder, &node->at, of, "columns", node->columns ? &node->column->name : NULL, sizeof *node->column,
                 node->columns);
    check_unique(builder, &node->at, of, "rows", node->rows ? &node->row->name : NULL, sizeof *node->row, node->rows);
    check_unique(builder, &node->at, of, "random variables", node->random_name, sizeof *node->random_name,
                 node->randoms);
    if (sound)
        check_states(builder, node);
    check_outcomes(builder, node, index);
    check_edges(builder, &node->at, from, node->edge, node->edges, false);
    for (size_t i = 0; sound && i < node->noises; i++)
        check_noise(builder, node, &node->noise[i]);
    if (node->noises > 0)
        qsort(node->noise, node->noises, sizeof *node->noise, by_target);
    sort_matrix(builder, node);
    drop_outcomes(node);
}

/* Nodes in the order in which a search has found them. */
typedef struct {
    size_t *node, count;
} queue;

/* What these edges lead to and was not found before is of this stage. */
static void find_new(queue *found, const cb_edge *edge, size_t edges, size_t number, size_t *stage) {
    for (size_t e = 0; e < edges; e++)
        if (stage[edge[e].to] == 0) {
            stage[edge[e].to] = number;
            found->node[found->count++] = edge[e].to;
        }
}

/* Breadth first from the root: a stage for each node, 0 if no path leads there. NULL: no memory. */
static const size_t *find_stages(cobre_sddp_builder *builder) {
    queue found = {.node = cb_builder_alloc(builder, builder->nodes, sizeof *found.node)};
    size_t *stage = cb_builder_alloc(builder, builder->nodes, sizeof *stage);
    if (builder->no_memory)
        return NULL;
    find_new(&found, builder->root_edge, builder->root_edges, 1, stage);
    for (size_t i = 0; i < found.count; i++) {
        const cb_builder_node *node = &builder->node[found.node[i]];
        find_new(&found, node->edge, node->edges, stage[found.node[i]] + 1, stage);
    }
    return stage;
}

/* Stages that are not given, and nodes that no path leads to. */
static void check_reach(cobre_sddp_builder *builder) {
    const size_t *stage = find_stages(builder);
    for (size_t n = 0; stage && n < builder->nodes; n++) {
        cb_builder_node *node = &builder->node[n];
        node->stage = node->stage ? node->stage : stage[n];
        if (stage[n] == 0)
            cb_error_at(builder, &node->at, "add it to the successors of a node, or remove it",
                        "node %s: no path leads here", node->name);
    }
}

/* Leaves only the edges that the process may take. */
static void drop_edges(cobre_sddp_builder *builder) {
    builder->all_root_edges = builder->root_edges;
    builder->root_edges = sort_edges(builder->root_edge, builder->root_edges);
    for (size_t n = 0; n < builder->nodes; n++) {
        cb_builder_node *node = &builder->node[n];
        node->all_edges = node->edges;
        node->edges = sort_edges(node->edge, node->edges);
    }
    const size_t *stage = find_stages(builder);
    for (size_t n = 0; stage && n < builder->nodes; n++)
        builder->node[n].reached = stage[n] > 0;
}

static size_t longest_path(cobre_sddp_builder *builder) {
    queue ready = {.node = cb_builder_alloc(builder, builder->nodes, sizeof *ready.node)};
    size_t *parents = cb_builder_alloc(builder, builder->nodes, sizeof *parents);
    size_t *depth = cb_builder_alloc(builder, builder->nodes, sizeof *depth), longest = 0;
    if (builder->no_memory)
        return 0;
    for (size_t n = 0; n < builder->nodes; n++)
        for (size_t e = 0; e < builder->node[n].edges; e++)
            parents[builder->node[n].edge[e].to]++;
    for (size_t n = 0; n < builder->nodes; n++)
        if (parents[n] == 0)
            ready.node[ready.count++] = n;
    for (size_t i = 0; i < ready.count; i++) {
        const cb_builder_node *node = &builder->node[ready.node[i]];
        size_t next = depth[ready.node[i]] + 1;
        longest = next > longest ? next : longest;
        for (size_t e = 0; e < node->edges; e++) {
            size_t to = node->edge[e].to;
            depth[to] = next > depth[to] ? next : depth[to];
            if (--parents[to] == 0)
                ready.node[ready.count++] = to;
        }
    }
    return ready.count == builder->nodes ? longest : 0;
}

/* Whether the process may end here, or go on to a node from where it may. */
static bool may_end(const cb_builder_node *node, const bool *ends) {
    double sum = 0;
    for (size_t e = 0; e < node->edges; e++) {
        if (ends[node->edge[e].to])
            return true;
        sum += node->edge[e].probability;
    }
    return sum < 1 - 1e-9;
}

/* If it may end from every node, it does; where it may not, it goes round for ever. */
static void check_cycles_end(cobre_sddp_builder *builder) {
    bool *ends = cb_builder_alloc(builder, builder->nodes, sizeof *ends), found = true;
    while (ends && found) {
        found = false;
        for (size_t n = builder->nodes; n-- > 0;)
            if (!ends[n] && may_end(&builder->node[n], ends))
                found = ends[n] = true;
    }
    for (size_t n = 0; ends && n < builder->nodes; n++)
        if (!ends[n]) {
            cb_error_at(builder, &builder->node[n].at, "give an edge of the cycle a probability below 1",
                        "node %s: from here the process never ends", builder->node[n].name);
            break;
        }
}

void cb_builder_check(cobre_sddp_builder *builder) {
    bool sound = builder->errors == 0;
    check_unique(builder, &builder->whole, "", "states", builder->states ? &builder->state->name : NULL,
                 sizeof *builder->state, builder->states);
    check_unique(builder, &builder->whole, "", "nodes", builder->nodes ? &builder->node->name : NULL,
                 sizeof *builder->node, builder->nodes);
    if (builder->nodes == 0) {
        if (builder->errors == 0) /* else the reader stopped before it built anything */
            cb_error_at(builder, &builder->whole, "add some", "the problem has no nodes");
        return;
    }
    check_edges(builder, &builder->whole, "the root", builder->root_edge, builder->root_edges, sound);
    if (sound)
        cb_terminal_build(builder);
    for (size_t n = 0; n < builder->nodes && !builder->no_memory; n++)
        check_node(builder, n, sound);
    for (size_t s = 0; sound && s < builder->scenarios && !builder->no_memory; s++)
        check_scenario(builder, s);
    if (builder->root_edges > 0 && !builder->no_memory)
        check_reach(builder);
    if (!builder->no_memory)
        drop_edges(builder);
    builder->longest = longest_path(builder);
    if (builder->longest == 0 && !builder->no_memory)
        check_cycles_end(builder);
}
