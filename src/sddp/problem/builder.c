/* SPDX-License-Identifier: Apache-2.0 */
/* builder.c: builds a problem step by step. */
#include "sddp/problem/builder.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/grow.h"

void *cb_builder_alloc(cobre_sddp_builder *builder, size_t count, size_t size) {
    void *array = cb_arena_alloc(&builder->arena, count, size);
    builder->no_memory |= !array;
    return array;
}

const char *cb_builder_keep(cobre_sddp_builder *builder, const char *text) {
    const char *copy = cb_arena_keep(&builder->arena, text);
    builder->no_memory |= builder->arena.failed;
    return copy;
}

static const cb_place nowhere = {.file = "", .text = ""};

cobre_status cobre_sddp_builder_new(const char *name, bool maximise, cobre_sddp_builder **pointer) {
    if (!pointer)
        return cb_refuse_null("builder");
    cobre_sddp_builder *builder = *pointer = calloc(1, sizeof *builder);
    if (!builder)
        return cb_no_memory("a builder", sizeof *builder);
    builder->maximise = maximise;
    builder->name = cb_builder_keep(builder, name ? name : "");
    builder->whole = nowhere;
    builder->time = builder->money = "";
    return COBRE_OK;
}

static void free_node(cb_builder_node *node) {
    free(node->column);
    free(node->row);
    free(node->entry);
    free(node->random_name);
    free(node->noise);
    free(node->probability);
    free(node->table);
    free(node->edge);
    free(node->cut);
}

void cb_drop_scenarios(cobre_sddp_builder *builder) {
    while (builder->scenarios > 0) {
        const cb_scenario *scenario = &builder->scenario[--builder->scenarios];
        free(scenario->values);
        free(scenario->node);
    }
}

void cobre_sddp_builder_free(cobre_sddp_builder **pointer) {
    if (!pointer || !*pointer)
        return;
    cobre_sddp_builder *builder = *pointer;
    *pointer = NULL;
    for (size_t n = 0; n < builder->nodes; n++)
        free_node(&builder->node[n]);
    cb_drop_scenarios(builder);
    cb_json_forget(builder);
    cb_arena_free(&builder->arena);
    free(builder->node);
    free(builder->state);
    free(builder->scenario);
    free(builder->factor);
    free(builder->label);
    free(builder->block);
    free(builder->root_edge);
    free(builder->issue);
    free(builder->kind);
    free(builder->warning);
    free(builder);
}

void cb_builder_rename(cobre_sddp_builder *builder, const char *name) {
    builder->name = cb_builder_keep(builder, name);
}

static const char *place_text(const cb_place *at, char pointer[CB_POINTER_ROOM]) {
    if (!at->json)
        return at->text ? at->text : "";
    cb_json_pointer(at->json, pointer);
    return pointer;
}

/* A place that lasts as long as the builder. Things of one file come one after the other. */
static cb_place keep_place(cobre_sddp_builder *builder, const cb_place *at) {
    char pointer[CB_POINTER_ROOM];
    const char *last = builder->nodes > 0 ? builder->node[builder->nodes - 1].at.file : builder->whole.file;
    return (cb_place){.file = strcmp(last, at->file) == 0 ? last : cb_builder_keep(builder, at->file),
                      .line = at->line,
                      .text = cb_builder_keep(builder, place_text(at, pointer))};
}

void cb_builder_place(cobre_sddp_builder *builder, const cb_place *at) {
    builder->whole = keep_place(builder, at);
}

static cobre_sddp_issue make_issue(cobre_sddp_builder *builder, const cb_place *at, const char *advice,
                                   const char *format, va_list arguments) {
    char message[1024], pointer[CB_POINTER_ROOM];
    vsnprintf(message, sizeof message, format, arguments);
    const char *text = place_text(at, pointer);
    return (cobre_sddp_issue){.struct_size = sizeof(cobre_sddp_issue),
                              .file = cb_builder_keep(builder, at->file),
                              .line = at->line ? at->line : cb_json_line(builder->json, at->file, text),
                              .place = cb_builder_keep(builder, text),
                              .message = cb_builder_keep(builder, message),
                              .suggestion = cb_builder_keep(builder, advice ? advice : "")};
}

static cb_error_kind *find_kind(cobre_sddp_builder *builder, bool warning, const char *file, const char *format) {
    for (size_t i = 0; i < builder->kinds; i++) {
        cb_error_kind *kind = &builder->kind[i];
        if (kind->format == format && kind->warning == warning && strcmp(kind->file, file) == 0)
            return kind;
    }
    if (!CB_GROW(builder, builder->kind, builder->kinds, builder->kinds_room))
        return NULL;
    cb_error_kind *new = &builder->kind[builder->kinds++];
    *new = (cb_error_kind){.format = format, .warning = warning, .file = cb_builder_keep(builder, file)};
    return new;
}

enum { MOST_OF_A_KIND = 20 };

/* Keeps the first ones of a kind, in a list of issues; the last of them counts the others. */
static void record(cobre_sddp_builder *builder, bool warning, size_t most, const cb_place *at, const char *advice,
                   const char *format, va_list arguments) {
    cobre_sddp_issue **list = warning ? &builder->warning : &builder->issue;
    size_t *count = warning ? &builder->warnings : &builder->issues;
    size_t *room = warning ? &builder->warnings_room : &builder->issues_room;
    cb_error_kind *kind = find_kind(builder, warning, at->file, format);
    if (!kind)
        return;
    builder->errors += !warning;
    if (kind->count >= most) {
        (*list)[kind->last].more++;
    } else if (CB_GROW(builder, *list, *count, *room)) {
        kind->count++;
        kind->last = *count;
        (*list)[*count] = make_issue(builder, at, advice, format, arguments);
        (*list)[(*count)++].warning = warning;
    }
}

void cb_warn_at(cobre_sddp_builder *builder, const cb_place *at, const char *advice, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record(builder, true, MOST_OF_A_KIND, at, advice, format, arguments);
    va_end(arguments);
}

void cb_error_at(cobre_sddp_builder *builder, const cb_place *at, const char *advice, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!builder->quiet)
        record(builder, false, MOST_OF_A_KIND, at, advice, format, arguments);
    va_end(arguments);
}

void cb_error_once(cobre_sddp_builder *builder, const cb_place *at, const char *advice, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!builder->quiet)
        record(builder, false, 1, at, advice, format, arguments);
    va_end(arguments);
}

/* What an error is about: the place, if it is known, else these names. */
typedef struct {
    const cb_place *at;
    const char *node, *kind, *name; /* NULL: there is none */
} subject;

__attribute__((format(printf, 4, 5))) static void complain(cobre_sddp_builder *builder, const subject *of,
                                                           const char *advice, const char *format, ...) {
    char names[512];
    va_list arguments;
    snprintf(names, sizeof names, "%s%s%s%s%s%s", of->node ? "node " : "", of->node ? of->node : "",
             of->node && of->kind ? ", " : "", of->kind ? of->kind : "", of->kind && of->name ? " " : "",
             of->kind && of->name ? of->name : "");
    const cb_place here = {.file = "", .text = names};
    va_start(arguments, format);
    if (!builder->quiet)
        record(builder, false, MOST_OF_A_KIND, of->at ? of->at : &here, advice, format, arguments);
    va_end(arguments);
}

/* CB_NONE does not exist, and was reported when it was returned. */
static bool exists(cobre_sddp_builder *builder, const subject *of, size_t index, size_t count, const char *kind) {
    if (index < count)
        return true;
    if (index != CB_NONE)
        complain(builder, of, "use an index that an add returned", "there is no %s %zu: %zu of them %s", kind, index,
                 count, count == 1 ? "exists" : "exist");
    return false;
}

static cb_builder_node *node_at(cobre_sddp_builder *builder, const cb_place *at, size_t node) {
    return exists(builder, &(subject){.at = at}, node, builder->nodes, "node") ? &builder->node[node] : NULL;
}

static bool column_at(cobre_sddp_builder *builder, const cb_place *at, const cb_builder_node *node, size_t column) {
    return exists(builder, &(subject){.at = at, .node = node->name}, column, node->columns, "column");
}

static bool row_at(cobre_sddp_builder *builder, const cb_place *at, const cb_builder_node *node, size_t row) {
    return exists(builder, &(subject){.at = at, .node = node->name}, row, node->rows, "row");
}

static const char *keep_name(cobre_sddp_builder *builder, const char *name, char kind, size_t index) {
    char made[32];
    snprintf(made, sizeof made, "%c%zu", kind, index + 1);
    return cb_builder_keep(builder, name ? name : made);
}

/* NaN, or an infinity where a number must be, has no place in a problem. */
static bool in_range(cobre_sddp_builder *builder, const subject *of, double value, const char *what) {
    if (value >= -CB_MOST && value <= CB_MOST)
        return true;
    complain(builder, of, CB_TEXT("use units that keep it below %g", CB_MOST), "%s is %g, which is out of range", what,
             value);
    return false;
}

static void check_bounds(cobre_sddp_builder *builder, const subject *of, double lower, double upper) {
    const char *what = of->name ? of->name : of->kind;
    if (!(lower <= upper && lower < INFINITY && upper > -INFINITY)) { /* for NaN, too */
        complain(builder, of, "change one of them", "%s: lower bound %g and upper bound %g leave no value", what, lower,
                 upper);
        return;
    }
    if ((lower == -INFINITY || in_range(builder, of, lower, what)) && upper < INFINITY)
        in_range(builder, of, upper, what);
}

static void check_probability(cobre_sddp_builder *builder, const subject *of, double probability) {
    if (!(probability >= 0 && probability <= 1))
        complain(builder, of, "correct it", "probability %g is not between 0 and 1", probability);
}

static double minimised(const cobre_sddp_builder *builder, double cost) {
    return builder->maximise ? -cost : cost;
}

size_t cb_add_state(cobre_sddp_builder *builder, const cb_place *at, const char *name, double initial) {
    const subject of = {.at = at, .kind = "state", .name = name};
    in_range(builder, &of, initial, "the initial state");
    if (builder->nodes > 0) {
        complain(builder, &of, NULL, "state %s comes after the first node: add all states first", name ? name : "");
        return CB_NONE;
    }
    if (!CB_GROW(builder, builder->state, builder->states, builder->states_room))
        return CB_NONE;
    builder->state[builder->states] =
        (cb_state){.name = keep_name(builder, name, 's', builder->states), .initial = initial};
    return builder->states++;
}

static size_t *unset_columns(cobre_sddp_builder *builder) {
    size_t *columns = cb_builder_alloc(builder, builder->states, sizeof *columns);
    for (size_t s = 0; columns && s < builder->states; s++)
        columns[s] = CB_NONE;
    return columns;
}

size_t cb_add_node(cobre_sddp_builder *builder, const cb_place *at, const char *name, size_t stage) {
    if (!CB_GROW(builder, builder->node, builder->nodes, builder->nodes_room))
        return CB_NONE;
    builder->node[builder->nodes] = (cb_builder_node){
        .name = keep_name(builder, name, 'n', builder->nodes),
        .stage = stage,
        .at = keep_place(builder, at ? at : &nowhere),
        .state_in = unset_columns(builder),
        .state_out = unset_columns(builder),
        .risk = {.beta = 1, .alpha = 1},
        .date = "",
        .value_bound = -INFINITY,
    };
    return builder->nodes++;
}

size_t cb_add_column(cobre_sddp_builder *builder, const cb_place *at, size_t index, const char *name, double lower,
                     double upper, double cost) {
    cb_builder_node *node = node_at(builder, at, index);
    if (!node || !CB_GROW(builder, node->column, node->columns, node->columns_room))
        return CB_NONE;
    const subject of = {.at = at, .node = node->name, .kind = "column", .name = name};
    check_bounds(builder, &of, lower, upper);
    in_range(builder, &of, cost, "the cost");
    node->column[node->columns] = (cb_builder_column){.name = keep_name(builder, name, 'c', node->columns),
                                                      .lower = lower,
                                                      .upper = upper,
                                                      .cost = minimised(builder, cost)};
    return node->columns++;
}

size_t cb_add_row(cobre_sddp_builder *builder, const cb_place *at, size_t index, const char *name, double lower,
                  double upper) {
    cb_builder_node *node = node_at(builder, at, index);
    if (!node || !CB_GROW(builder, node->row, node->rows, node->rows_room))
        return CB_NONE;
    check_bounds(builder, &(subject){.at = at, .node = node->name, .kind = "row", .name = name}, lower, upper);
    node->row[node->rows] =
        (cb_builder_row){.name = keep_name(builder, name, 'r', node->rows), .lower = lower, .upper = upper};
    return node->rows++;
}

void cb_add_entry(cobre_sddp_builder *builder, const cb_place *at, size_t index, size_t row, size_t column,
                  double value) {
    cb_builder_node *node = node_at(builder, at, index);
    if (!node || !row_at(builder, at, node, row) || !column_at(builder, at, node, column))
        return;
    const subject of = {.at = at, .node = node->name, .kind = "column", .name = node->column[column].name};
    if (in_range(builder, &of, value, "the coefficient") &&
        CB_GROW(builder, node->entry, node->entries, node->entries_room))
        node->entry[node->entries++] = (cb_entry){(int)row, (int)column, value};
}

void cb_add_cost(cobre_sddp_builder *builder, const cb_place *at, size_t index, size_t column, double cost) {
    cb_builder_node *node = node_at(builder, at, index);
    if (node && column_at(builder, at, node, column) &&
        in_range(builder, &(subject){.at = at, .node = node->name}, cost, "the cost"))
        node->column[column].cost += minimised(builder, cost);
}

void cb_narrow_column(cobre_sddp_builder *builder, const cb_place *at, size_t index, size_t which, double lower,
                      double upper) {
    cb_builder_node *node = node_at(builder, at, index);
    if (!node || !column_at(builder, at, node, which))
        return;
    cb_builder_column *column = &node->column[which];
    column->lower = fmax(column->lower, lower);
    column->upper = fmin(column->upper, upper);
    check_bounds(builder, &(subject){.at = at, .node = node->name, .kind = "column", .name = column->name},
                 column->lower, column->upper);
}

void cb_shift_row(cobre_sddp_builder *builder, const cb_place *at, size_t index, size_t row, double by) {
    cb_builder_node *node = node_at(builder, at, index);
    if (!node || !row_at(builder, at, node, row) ||
        !in_range(builder, &(subject){.at = at, .node = node->name}, by, "the constant"))
        return;
    node->row[row].lower += by;
    node->row[row].upper += by;
}

void cb_add_constant(cobre_sddp_builder *builder, const cb_place *at, size_t index, double cost) {
    cb_builder_node *node = node_at(builder, at, index);
    if (node && in_range(builder, &(subject){.at = at, .node = node->name}, cost, "the constant of the objective"))
        node->constant += minimised(builder, cost);
}

void cb_set_state(cobre_sddp_builder *builder, const cb_place *at, size_t index, size_t state, size_t column_in,
                  size_t column_out) {
    cb_builder_node *node = node_at(builder, at, index);
    if (!node || !exists(builder, &(subject){.at = at, .node = node->name}, state, builder->states, "state") ||
        !column_at(builder, at, node, column_in) || !column_at(builder, at, node, column_out) || builder->no_memory)
        return;
    const char *name = builder->state[state].name;
    if (column_in == column_out)
        complain(builder, &(subject){.at = at, .node = node->name, .kind = "state", .name = name},
                 "give it two columns", "state %s: the incoming and the outgoing column are the same", name);
    node->state_in[state] = column_in;
    node->state_out[state] = column_out;
}

size_t cb_add_random(cobre_sddp_builder *builder, const cb_place *at, size_t index, const char *name) {
    cb_builder_node *node = node_at(builder, at, index);
    if (!node || !CB_GROW(builder, node->random_name, node->randoms, node->randoms_room))
        return CB_NONE;
    if (node->outcomes > 0 || node->in_scenario) {
        complain(builder, &(subject){.at = at, .node = node->name, .kind = "random variable", .name = name},
                 "add random variables first", "random variable %s comes after the first %s of its node",
                 name ? name : "", node->outcomes > 0 ? "outcome" : "step");
        return CB_NONE;
    }
    node->random_name[node->randoms] = keep_name(builder, name, 'w', node->randoms);
    return node->randoms++;
}

static bool target_exists(cobre_sddp_builder *builder, const cb_place *at, const cb_builder_node *node,
                          const cb_noise *noise) {
    switch (noise->target) {
    case COBRE_SDDP_NOISE_ROW:
    case COBRE_SDDP_NOISE_ROW_LOWER:
    case COBRE_SDDP_NOISE_ROW_UPPER: return row_at(builder, at, node, noise->index);
    case COBRE_SDDP_NOISE_COLUMN_LOWER:
    case COBRE_SDDP_NOISE_COLUMN_UPPER:
    case COBRE_SDDP_NOISE_COST: return column_at(builder, at, node, noise->index);
    case COBRE_SDDP_NOISE_CONSTANT: return true;
    case COBRE_SDDP_NOISE_ENTRY:
        return row_at(builder, at, node, noise->index) && column_at(builder, at, node, noise->column);
    }
    complain(builder, &(subject){.at = at, .node = node->name}, "use a COBRE_SDDP_NOISE_ constant",
             "%d is no target of noise", (int)noise->target);
    return false;
}

void cb_add_noise(cobre_sddp_builder *builder, const cb_place *at, size_t index, cb_noise noise) {
    cb_builder_node *node = node_at(builder, at, index);
    if (!node)
        return;
    const subject of = {.at = at, .node = node->name};
    if (!exists(builder, &of, noise.random, node->randoms, "random variable") ||
        !target_exists(builder, at, node, &noise) || !in_range(builder, &of, noise.factor, "the factor of the noise") ||
        !CB_GROW(builder, node->noise, node->noises, node->noises_room))
        return;
    if (noise.target == COBRE_SDDP_NOISE_COST || noise.target == COBRE_SDDP_NOISE_CONSTANT)
        noise.factor = minimised(builder, noise.factor);
    if (noise.target == COBRE_SDDP_NOISE_ENTRY) /* so that the model has it */
        cb_add_entry(builder, at, index, noise.index, noise.column, 0);
    else
        noise.column = 0;
    if (noise.target == COBRE_SDDP_NOISE_CONSTANT)
        noise.index = 0;
    node->noise[node->noises++] = noise;
}

void cb_show_randoms(cobre_sddp_builder *builder, size_t index, const cb_shown *shown) {
    cb_builder_node *node = node_at(builder, NULL, index);
    if (node && (node->shown = cb_builder_alloc(builder, node->randoms, sizeof *shown)))
        memcpy(node->shown, shown, node->randoms * sizeof *shown);
}

/* Values of the node's random variables; what must be a number is one. */
static bool values_given(cobre_sddp_builder *builder, const cb_place *at, const cb_builder_node *node,
                         const double *values) {
    if (!values && node->randoms > 0)
        complain(builder, &(subject){.at = at, .node = node->name}, "give one for each random variable",
                 "the values are missing");
    for (size_t i = 0; values && i < node->randoms; i++)
        in_range(builder,
                 &(subject){.at = at, .node = node->name, .kind = "random variable", .name = node->random_name[i]},
                 values[i], node->random_name[i]);
    return values || node->randoms == 0;
}

void cb_add_outcome(cobre_sddp_builder *builder, const cb_place *at, size_t index, double probability,
                    const double *values) {
    cb_builder_node *node = node_at(builder, at, index);
    if (!node || !values_given(builder, at, node, values))
        return;
    const subject of = {.at = at, .node = node->name};
    if (node->deviation) {
        complain(builder, &of, "keep one of them", "an outcome beside a noise model");
        return;
    }
    check_probability(builder, &of, probability);
    size_t room = node->outcomes_room;
    if (!CB_GROW(builder, node->probability, node->outcomes, room))
        return;
    if (room != node->outcomes_room) {
        double *table = realloc(node->table, room * (node->randoms + 1) * sizeof *table);
        if (!table) {
            builder->no_memory = true;
            return;
        }
        node->table = table;
        node->outcomes_room = room;
    }
    node->probability[node->outcomes] = probability;
    for (size_t i = 0; i < node->randoms; i++)
        node->table[node->outcomes * node->randoms + i] = values[i];
    node->outcomes++;
}

static double *copy_numbers(cobre_sddp_builder *builder, const subject *of, const double *values, size_t count,
                            const char *what) {
    double *copy = values ? cb_builder_alloc(builder, count, sizeof *copy) : NULL;
    if (!values)
        complain(builder, of, "give them", "the values are missing");
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = in_range(builder, of, values[i], what) ? values[i] : 0;
    return copy;
}

size_t cb_add_factor(cobre_sddp_builder *builder, const cb_place *at, size_t order, const double *values) {
    size_t count = order < 1u << 31 ? order * order : SIZE_MAX;
    double *copy = copy_numbers(builder, &(subject){.at = at}, values, count, "an entry of a factor");
    if (!copy || !CB_GROW(builder, builder->factor, builder->factors, builder->factors_room))
        return CB_NONE;
    builder->factor[builder->factors] = (cb_factor){.order = order, .value = copy};
    return builder->factors++;
}

void cb_set_model(cobre_sddp_builder *builder, const cb_place *at, size_t index, size_t openings, bool lognormal,
                  const double *deviation, size_t factor) {
    cb_builder_node *node = node_at(builder, at, index);
    if (!node)
        return;
    const subject of = {.at = at, .node = node->name};
    if (!exists(builder, &of, factor, builder->factors, "factor"))
        return;
    if (openings == 0 || openings > UINT32_MAX || node->outcomes > 0 ||
        builder->factor[factor].order != node->randoms) {
        complain(
            builder, &of, NULL,
            "node %s: a noise model needs from 1 to 2^32 - 1 openings, a factor of as many rows as there are random "
            "variables, and no table beside it",
            node->name);
        return;
    }
    node->deviation = copy_numbers(builder, &of, deviation, node->randoms, "a deviation");
    node->probability = malloc(openings * sizeof *node->probability);
    builder->no_memory |= !node->probability;
    for (size_t k = 0; node->probability && k < openings; k++)
        node->probability[k] = 1 / (double)openings;
    node->outcomes = node->outcomes_room = node->probability ? openings : 0;
    node->factor = factor;
    node->lognormal = lognormal;
}

void cb_add_edge(cobre_sddp_builder *builder, const cb_place *at, size_t from, size_t to, double probability,
                 double discount) {
    cb_builder_node *node = from == CB_ROOT ? NULL : node_at(builder, at, from);
    if (!node_at(builder, at, to) || (from != CB_ROOT && !node))
        return;
    const subject of = {
        .at = at, .node = node ? node->name : NULL, .kind = "successor", .name = builder->node[to].name};
    check_probability(builder, &of, probability);
    if (!(discount > 0 && discount <= 1))
        complain(builder, &of, NULL, "discount %g is not above 0 and at most 1", discount);
    cb_edge edge = {.to = to, .probability = probability, .discount = discount};
    if (!node) {
        if (CB_GROW(builder, builder->root_edge, builder->root_edges, builder->root_edges_room))
            builder->root_edge[builder->root_edges++] = edge;
    } else if (CB_GROW(builder, node->edge, node->edges, node->edges_room)) {
        node->edge[node->edges++] = edge;
    }
}

void cb_set_risk(cobre_sddp_builder *builder, const cb_place *at, size_t index, double beta, double alpha) {
    cb_builder_node *node = node_at(builder, at, index);
    if (!node)
        return;
    if (!(beta >= 0 && beta <= 1 && alpha > 0 && alpha <= 1))
        complain(builder, &(subject){.at = at, .node = node->name}, NULL,
                 "risk: beta %g must be in [0, 1], alpha %g in (0, 1]", beta, alpha);
    node->risk = (cb_risk){.beta = beta, .alpha = alpha};
}

void cb_set_value_bound(cobre_sddp_builder *builder, const cb_place *at, size_t index, double bound) {
    cb_builder_node *node = node_at(builder, at, index);
    if (!node || !in_range(builder, &(subject){.at = at, .node = node->name}, bound, "the value bound"))
        return;
    node->value_bound = minimised(builder, bound);
    node->has_value_bound = true;
}

void cb_add_terminal_cut(cobre_sddp_builder *builder, const cb_place *at, size_t index, double intercept,
                         const double *slopes) {
    cb_builder_node *node = node_at(builder, at, index);
    if (!node)
        return;
    const subject of = {.at = at, .node = node->name};
    const double *copy = copy_numbers(builder, &of, slopes, builder->states, "a slope of a terminal cut");
    if (copy && in_range(builder, &of, intercept, "the intercept of a terminal cut") &&
        CB_GROW(builder, node->cut, node->cuts, node->cuts_room))
        node->cut[node->cuts++] = (cb_builder_cut){.intercept = intercept, .slope = copy};
}

void cb_add_step(cobre_sddp_builder *builder, const cb_place *at, size_t index, size_t node, const double *values) {
    cb_builder_node *its = node_at(builder, at, node);
    if (!exists(builder, &(subject){.at = at}, index, builder->scenarios, "scenario") || !its ||
        !values_given(builder, at, its, values))
        return;
    cb_scenario *scenario = &builder->scenario[index];
    double *copy = cb_builder_alloc(builder, its->randoms, sizeof *copy);
    if (!copy || !CB_GROW(builder, scenario->node, scenario->steps, scenario->nodes_room) ||
        !CB_GROW(builder, scenario->values, scenario->steps, scenario->values_room))
        return;
    for (size_t i = 0; i < its->randoms; i++)
        copy[i] = values[i];
    its->in_scenario = true;
    scenario->node[scenario->steps] = node;
    scenario->values[scenario->steps++] = copy;
}

size_t cb_find_state(const cobre_sddp_builder *builder, const char *name) {
    for (size_t s = 0; s < builder->states; s++)
        if (strcmp(builder->state[s].name, name) == 0)
            return s;
    return CB_NONE;
}

size_t cb_find_node(const cobre_sddp_builder *builder, const char *name) {
    for (size_t n = 0; n < builder->nodes; n++)
        if (strcmp(builder->node[n].name, name) == 0)
            return n;
    return CB_NONE;
}

size_t cb_find_random(const cobre_sddp_builder *builder, size_t node, const char *name) {
    for (size_t i = 0; node < builder->nodes && i < builder->node[node].randoms; i++)
        if (strcmp(builder->node[node].random_name[i], name) == 0)
            return i;
    return CB_NONE;
}
