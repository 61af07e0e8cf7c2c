/* SPDX-License-Identifier: Apache-2.0 */
#include "sddp/run/outputs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sddp/error.h"
#include "sddp/grow.h"
#include "sddp/hash.h"
#include "sddp/usual_floats.h"

static const char *const no_text = "";

/* Open addressing; a slot holds a number + 1. Finds the slot of `hash`, whose owner decides by `same`. */
static uint32_t *find_slot(const cb_outputs *outputs, const struct cb_index *index, uint64_t hash, const void *key,
                           bool same(const cb_outputs *outputs, size_t number, const void *key)) {
    size_t at = hash & (index->room - 1);
    while (index->slot[at] && !same(outputs, index->slot[at] - 1, key))
        at = (at + 1) & (index->room - 1);
    return &index->slot[at];
}

/* Room for one more; rehashing asks for the hash of each number. */
static bool widen(cb_outputs *outputs, struct cb_index *index,
                  uint64_t hash_of(const cb_outputs *outputs, size_t number)) {
    if (2 * (index->used + 1) <= index->room)
        return true;
    struct cb_index wider = {.room = index->room ? 2 * index->room : 1024, .used = index->used};
    wider.slot = cb_arena_alloc(&outputs->memory, wider.room, sizeof *wider.slot);
    if (!wider.slot)
        return false;
    for (size_t i = 0; i < index->room; i++)
        if (index->slot[i]) {
            size_t at = hash_of(outputs, index->slot[i] - 1) & (wider.room - 1);
            while (wider.slot[at])
                at = (at + 1) & (wider.room - 1);
            wider.slot[at] = index->slot[i];
        }
    *index = wider;
    return true;
}

static uint64_t hash_figure(const cb_figure *figure) {
    uint64_t hash = CB_HASH_START;
    cb_hash_word(&hash, figure->table);
    cb_hash_text(&hash, figure->kind);
    cb_hash_text(&hash, figure->level);
    cb_hash_text(&hash, figure->element);
    return hash;
}

static uint64_t figure_hash(const cb_outputs *outputs, size_t number) {
    return hash_figure(&outputs->figure[number]);
}

static bool same_figure(const cb_outputs *outputs, size_t number, const void *key) {
    const cb_figure *a = &outputs->figure[number], *b = key;
    return a->table == b->table && strcmp(a->kind, b->kind) == 0 && strcmp(a->level, b->level) == 0 &&
           strcmp(a->element, b->element) == 0;
}

/* The number of a figure, which is made if it is new. Its texts last as long as the problem, or are literals. */
static uint32_t figure_of(cb_outputs *outputs, cb_figure figure) {
    if (!widen(outputs, &outputs->figures_index, figure_hash) ||
        !CB_GROW(outputs, outputs->figure, outputs->figures, outputs->figures_room)) {
        outputs->no_memory = true;
        return CB_NO_FIGURE;
    }
    uint32_t *slot = find_slot(outputs, &outputs->figures_index, hash_figure(&figure), &figure, same_figure);
    if (!*slot) {
        outputs->figure[outputs->figures++] = figure;
        outputs->figures_index.used++;
        *slot = (uint32_t)outputs->figures;
    }
    return *slot - 1;
}

static uint64_t hash_item(cobre_sddp_part part, const char *name) {
    uint64_t hash = CB_HASH_START;
    cb_hash_word(&hash, part);
    cb_hash_text(&hash, name);
    return hash;
}

static uint64_t item_hash(const cb_outputs *outputs, size_t number) {
    return hash_item(outputs->item[number].part, outputs->item[number].name);
}

static bool same_item(const cb_outputs *outputs, size_t number, const void *key) {
    const cb_item *a = &outputs->item[number], *b = key;
    return a->part == b->part && strcmp(a->name, b->name) == 0;
}

static enum cb_table table_of(cobre_sddp_part part) {
    return part == COBRE_SDDP_STATE    ? CB_TABLE_STATES
           : part == COBRE_SDDP_COLUMN ? CB_TABLE_VARIABLES
           : part == COBRE_SDDP_ROW    ? CB_TABLE_DUALS
                                       : CB_TABLE_NOISE;
}

static const char *energy_unit(const cb_outputs *outputs) {
    return strcmp(outputs->problem->time, "month") == 0 ? "MWmonth" : "MWh";
}

/* Figures of a subsystem and of the whole system. */
static void add_sums(cb_outputs *outputs, cb_figure figure, const char *subsystem, uint32_t *sum, uint32_t *all) {
    figure.level = "subsystem";
    figure.element = subsystem;
    figure.type = figure.subsystem = no_text;
    *sum = figure_of(outputs, figure);
    figure.level = "system";
    figure.element = no_text;
    *all = figure_of(outputs, figure);
}

static void add_energy(cb_outputs *outputs, const cobre_sddp_label *label, cb_targets *to) {
    cb_figure figure = {.table = CB_TABLE_STATES, .unit = energy_unit(outputs), .type = no_text, .subsystem = no_text};
    figure.kind = "stored_energy";
    add_sums(outputs, figure, label->subsystem, &to->energy, &to->all_energy);
    figure.kind = "stored_energy_capacity";
    add_sums(outputs, figure, label->subsystem, &to->energy_capacity, &to->all_capacity);
    figure.kind = "storage_capacity";
    figure.level = "element";
    figure.element = label->element;
    figure.unit = label->unit;
    figure.type = label->type;
    figure.subsystem = label->subsystem;
    to->capacity = figure_of(outputs, figure);
    figure.kind = "storage_minimum";
    to->least = figure_of(outputs, figure);
    figure.kind = "storage_at_minimum";
    figure.unit = "stages";
    figure.adds_up = true;
    to->at_least = figure_of(outputs, figure);
}

static cb_targets find_targets(cb_outputs *outputs, const cb_item *item) {
    const cobre_sddp_label *label = &item->label;
    cb_targets to;
    memset(&to, 0xff, sizeof to); /* CB_NO_FIGURE */
    cb_figure figure = {.table = table_of(item->part),
                        .kind = label->kind,
                        .level = "element",
                        .element = label->element,
                        .unit = label->unit,
                        .type = label->type,
                        .subsystem = label->subsystem};
    if (!label->detail)
        to.element = figure_of(outputs, figure);
    bool part_of_sum = *label->subsystem && strcmp(label->type, "subsystem") != 0;
    if (!label->detail && part_of_sum && strcmp(label->unit, "MW") == 0)
        add_sums(outputs, figure, label->subsystem, &to.subsystem, &to.system);
    if (label->energy > 0)
        add_energy(outputs, label, &to);
    if (item->part == COBRE_SDDP_COLUMN && strcmp(label->kind, "deficit") == 0 && *label->subsystem)
        add_sums(
            outputs,
            (cb_figure){
                .table = CB_TABLE_VARIABLES, .kind = "unserved_energy", .unit = energy_unit(outputs), .adds_up = true},
            label->subsystem, &to.unserved, &to.all_unserved);
    return to;
}

/* Only the kinds that cost something somewhere are components of the costs. */
static void add_component(cb_outputs *outputs, uint32_t number) {
    cb_item *item = &outputs->item[number];
    if (item->to.cost == CB_NO_FIGURE && *item->label.kind)
        item->to.cost = figure_of(outputs, (cb_figure){.table = CB_TABLE_COSTS,
                                                       .kind = "cost",
                                                       .level = "component",
                                                       .element = item->label.kind,
                                                       .unit = outputs->problem->money,
                                                       .type = no_text,
                                                       .subsystem = no_text,
                                                       .adds_up = true,
                                                       .discounted = true});
}

static size_t find_block(const cobre_sddp_problem *problem, const char *name) {
    for (size_t b = 0; b < problem->blocks; b++)
        if (*name && strcmp(problem->block[b], name) == 0)
            return b;
    return CB_NONE;
}

static cb_item new_item(cb_outputs *outputs, cobre_sddp_part part, const char *name) {
    cb_item item = {.name = name, .part = part, .label.struct_size = sizeof item.label};
    cobre_sddp_problem_label(outputs->problem, part, name, &item.label);
    item.label.kind =
        cb_arena_keep(&outputs->memory, item.label.kind); /* a label that was made of the name does not last */
    item.label.element = cb_arena_keep(&outputs->memory, item.label.element);
    if (!*item.label.type) {
        static const char *const types[] = {[COBRE_SDDP_STATE] = "state",
                                            [COBRE_SDDP_COLUMN] = "variable",
                                            [COBRE_SDDP_ROW] = "constraint",
                                            [COBRE_SDDP_RANDOM] = "random"};
        item.label.type = types[part];
    }
    item.block = find_block(outputs->problem, item.label.block);
    item.to = find_targets(outputs, &item);
    return item;
}

static uint32_t item_of(cb_outputs *outputs, cobre_sddp_part part, const char *name) {
    const cb_item key = {.part = part, .name = name};
    if (!widen(outputs, &outputs->items_index, item_hash) ||
        !CB_GROW(outputs, outputs->item, outputs->items, outputs->items_room)) {
        outputs->no_memory = true;
        return 0;
    }
    uint32_t *slot = find_slot(outputs, &outputs->items_index, hash_item(part, name), &key, same_item);
    if (!*slot) {
        outputs->item[outputs->items] = new_item(outputs, part, name);
        outputs->items_index.used++;
        *slot = (uint32_t)++outputs->items;
    }
    return *slot - 1;
}

static const char *name_at(const cb_node *node, cobre_sddp_part part, size_t index) {
    return part == COBRE_SDDP_COLUMN ? cb_column_name(node, index)
           : part == COBRE_SDDP_ROW  ? cb_row_name(node, index)
                                     : cb_random_name(node, index);
}

/* Stages are mostly alike: the item at the same place of the node before is nearly always the one. */
static uint32_t *find_items(cb_outputs *outputs, size_t n, cobre_sddp_part part, size_t count, const uint32_t *before,
                            size_t count_before) {
    const cb_node *node = &outputs->problem->node[n];
    uint32_t *items = cb_arena_alloc(&outputs->memory, count, sizeof *items);
    for (size_t i = 0; items && i < count && !outputs->no_memory; i++) {
        const char *name = name_at(node, part, i);
        bool same = i < count_before && strcmp(outputs->item[before[i]].name, name) == 0;
        items[i] = same ? before[i] : item_of(outputs, part, name);
    }
    return items;
}

/* Marks the figures of an item, each once. */
static void mark(const cb_item *item, unsigned char *marked) {
    const uint32_t *figure = (const uint32_t *)&item->to;
    for (size_t i = 0; i < sizeof item->to / sizeof *figure; i++)
        if (figure[i] != CB_NO_FIGURE)
            marked[figure[i]] = 1;
}

static void list_figures(cb_outputs *outputs, size_t n, unsigned char *marked) {
    const cb_node *node = &outputs->problem->node[n];
    cb_node_items *its = &outputs->node[n];
    memset(marked, 0, outputs->figures);
    marked[outputs->cost] = marked[outputs->future] = marked[outputs->other] = 1;
    for (size_t s = 0; s < outputs->problem->states; s++)
        mark(&outputs->item[outputs->state[s]], marked);
    for (size_t j = 0; j < node->columns; j++)
        mark(&outputs->item[its->column[j]], marked);
    for (size_t i = 0; i < node->rows; i++)
        mark(&outputs->item[its->row[i]], marked);
    for (size_t i = 0; i < node->randoms; i++)
        mark(&outputs->item[its->random[i]], marked);
    for (size_t f = 0; f < outputs->figures; f++)
        its->figures += marked[f];
    uint32_t *figure = cb_arena_alloc(&outputs->memory, its->figures, sizeof *figure);
    its->figures = 0;
    for (size_t f = 0; figure && f < outputs->figures; f++)
        if (marked[f])
            figure[its->figures++] = (uint32_t)f;
    its->figure = figure;
}

static void add_node(cb_outputs *outputs, size_t n) {
    const cb_node *node = &outputs->problem->node[n], *before = n ? node - 1 : NULL;
    const cb_node_items *last = n ? &outputs->node[n - 1] : NULL;
    cb_node_items *its = &outputs->node[n];
    its->column = find_items(outputs, n, COBRE_SDDP_COLUMN, node->columns, last ? last->column : NULL,
                             before ? before->columns : 0);
    its->row = find_items(outputs, n, COBRE_SDDP_ROW, node->rows, last ? last->row : NULL, before ? before->rows : 0);
    its->random = find_items(outputs, n, COBRE_SDDP_RANDOM, node->randoms, last ? last->random : NULL,
                             before ? before->randoms : 0);
    for (size_t j = 0; its->column && j < node->columns && !outputs->no_memory; j++)
        if (node->column[j].cost != 0)
            add_component(outputs, its->column[j]);
    for (size_t s = 0; its->column && s < outputs->problem->states && !outputs->no_memory; s++) {
        outputs->item[its->column[node->state_in[s]]].is_state = true;
        outputs->item[its->column[node->state_out[s]]].is_state = true;
    }
}

static uint32_t cost_figure(cb_outputs *outputs, const char *kind, const char *level, const char *element, bool adds) {
    return figure_of(outputs, (cb_figure){.table = CB_TABLE_COSTS,
                                          .kind = kind,
                                          .level = level,
                                          .element = element,
                                          .unit = outputs->problem->money,
                                          .type = no_text,
                                          .subsystem = no_text,
                                          .adds_up = adds,
                                          .discounted = adds});
}

cobre_status cb_outputs_open(cb_outputs *outputs, const cobre_sddp_problem *problem) {
    *outputs = (cb_outputs){.problem = problem};
    outputs->node = cb_arena_alloc(&outputs->memory, problem->nodes, sizeof *outputs->node);
    outputs->state = cb_arena_alloc(&outputs->memory, problem->states, sizeof *outputs->state);
    outputs->no_memory = outputs->memory.failed;
    if (!outputs->no_memory) {
        outputs->cost = cost_figure(outputs, "cost", "system", no_text, true);
        outputs->future = cost_figure(outputs, "future_cost", "system", no_text, false);
        outputs->other = cost_figure(outputs, "cost", "component", "other", true);
    }
    for (size_t s = 0; s < problem->states && !outputs->no_memory; s++)
        outputs->state[s] = item_of(outputs, COBRE_SDDP_STATE, problem->state[s].name);
    for (size_t n = 0; n < problem->nodes && !outputs->no_memory && !outputs->memory.failed; n++)
        add_node(outputs, n);
    unsigned char *marked = cb_arena_alloc(&outputs->memory, outputs->figures, 1);
    for (size_t n = 0; n < problem->nodes && !outputs->no_memory && !outputs->memory.failed; n++)
        list_figures(outputs, n, marked);
    return outputs->no_memory || outputs->memory.failed ? cb_no_memory("the tables of a simulation", 0) : COBRE_OK;
}

void cb_outputs_close(cb_outputs *outputs) {
    cb_arena_free(&outputs->memory);
    free(outputs->item);
    free(outputs->figure);
}

static inline void add(double *values, uint32_t figure, double value) {
    if (figure != CB_NO_FIGURE)
        values[figure] += value;
}

static void add_item(const cb_node *node, const cb_item *item, double value, double *values) {
    double weight = item->block == CB_NONE ? 1 : node->share[item->block];
    double mean = weight * item->label.factor * value;
    add(values, item->to.element, mean);
    add(values, item->to.subsystem, mean);
    add(values, item->to.system, mean);
    if (item->to.unserved != CB_NO_FIGURE) {
        values[item->to.unserved] += mean * node->duration;
        values[item->to.all_unserved] += mean * node->duration;
    }
}

/* To the accuracy of LPs. */
static bool is_at_least(const cb_column *store, double value) {
    return store->upper > store->lower && value - store->lower <= 1e-6 * (store->upper - store->lower);
}

/* A store: what it holds, the least and the most that it can. As energy only what lies above its least level counts. */
static void add_store(const cb_node *node, const cb_item *item, size_t state, double value, double *values) {
    double most = node->column[node->state_out[state]].upper, least = node->column[node->state_in[state]].lower;
    double energy = item->label.energy * (value - least), capacity = item->label.energy * (most - least);
    values[item->to.capacity] += most;
    values[item->to.least] += node->column[node->state_out[state]].lower;
    values[item->to.at_least] += is_at_least(&node->column[node->state_out[state]], value);
    values[item->to.energy] += energy;
    values[item->to.all_energy] += energy;
    values[item->to.energy_capacity] += capacity;
    values[item->to.all_capacity] += capacity;
}

/* What the columns do not explain, constants and random costs, is "other". */
static void add_costs(const cb_outputs *outputs, const cobre_sddp_stage *stage, double *values) {
    const cb_node *node = &outputs->problem->node[stage->node];
    const uint32_t *column = outputs->node[stage->node].column;
    double sign = outputs->problem->maximise ? -1 : 1, sum = 0;
    for (size_t j = 0; j < node->columns; j++) {
        uint32_t figure = outputs->item[column[j]].to.cost;
        double cost = sign * node->column[j].cost * stage->columns[j];
        if (figure == CB_NO_FIGURE)
            continue;
        values[figure] += cost;
        sum += cost;
    }
    double other = stage->stage_cost - sum;
    values[outputs->other] = fabs(other) > 1e-6 * (fabs(sum) + fabs(stage->stage_cost)) ? other : 0;
    values[outputs->cost] = stage->stage_cost;
    values[outputs->future] = stage->future_cost;
}

void cb_outputs_figures(const cb_outputs *outputs, const cobre_sddp_stage *stage, double *values) {
    const cobre_sddp_problem *problem = outputs->problem;
    const cb_node *node = &problem->node[stage->node];
    const cb_node_items *its = &outputs->node[stage->node];
    for (size_t f = 0; f < outputs->figures; f++)
        values[f] = NAN;
    for (size_t i = 0; i < its->figures; i++)
        values[its->figure[i]] = 0;
    for (size_t s = 0; s < problem->states; s++) {
        const cb_item *item = &outputs->item[outputs->state[s]];
        add_item(node, item, stage->state_out[s], values);
        if (item->to.energy != CB_NO_FIGURE)
            add_store(node, item, s, stage->state_out[s], values);
    }
    for (size_t j = 0; j < node->columns; j++)
        add_item(node, &outputs->item[its->column[j]], stage->columns[j], values);
    for (size_t i = 0; i < node->rows; i++)
        add_item(node, &outputs->item[its->row[i]], stage->row_duals[i], values);
    for (size_t i = 0; i < node->randoms; i++)
        add_item(node, &outputs->item[its->random[i]], stage->noise[i], values);
    add_costs(outputs, stage, values);
}

/* Whoever is told of the figures of one stage. */
typedef struct {
    const cb_outputs *outputs;
    void *arg;
    void (*figure)(void *arg, const cobre_sddp_figure *figure);
} listener;

static void tell_item(const listener *to, const cb_item *item, double value, const char *level) {
    to->figure(to->arg, &(cobre_sddp_figure){.struct_size = sizeof(cobre_sddp_figure),
                                             .kind = item->label.kind,
                                             .element = item->label.element,
                                             .block = item->label.block,
                                             .unit = item->label.unit,
                                             .type = item->label.type,
                                             .subsystem = item->label.subsystem,
                                             .level = level,
                                             .value = cb_item_value(item, value)});
}

/* Those of the load blocks. */
static void tell_blocks(const listener *to, const uint32_t *items, const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const cb_item *item = &to->outputs->item[items[i]];
        if (item->block != CB_NONE && !item->label.detail)
            tell_item(to, item, values[i], "block");
    }
}

static void tell_figures(const listener *to, const double *values) {
    for (size_t f = 0; f < to->outputs->figures; f++) {
        const cb_figure *its = &to->outputs->figure[f];
        if (!isnan(values[f]))
            to->figure(to->arg, &(cobre_sddp_figure){.struct_size = sizeof(cobre_sddp_figure),
                                                     .kind = its->kind,
                                                     .element = its->element,
                                                     .block = no_text,
                                                     .unit = its->unit,
                                                     .type = its->type,
                                                     .subsystem = its->subsystem,
                                                     .level = its->level,
                                                     .value = values[f] + 0.0});
    }
}

static void tell_all(const listener *to, const cobre_sddp_stage *stage, double *values) {
    const cobre_sddp_problem *problem = to->outputs->problem;
    const cb_node *node = &problem->node[stage->node];
    const cb_node_items *its = &to->outputs->node[stage->node];
    for (size_t s = 0; s < problem->states; s++)
        tell_item(to, &to->outputs->item[to->outputs->state[s]], stage->state_in[s], "before");
    cb_outputs_figures(to->outputs, stage, values);
    tell_figures(to, values);
    tell_blocks(to, its->column, stage->columns, node->columns);
    tell_blocks(to, its->row, stage->row_duals, node->rows);
}

cobre_status cobre_sddp_figures(const cobre_sddp_problem *problem, const cobre_sddp_stage *stage, void *arg,
                                void (*figure)(void *arg, const cobre_sddp_figure *figure)) {
    CB_USUAL_FLOATS();
    cb_outputs outputs;
    if (!problem || !stage || !figure)
        return cb_refuse_null(!problem ? "problem" : !stage ? "stage" : "figure");
    if (stage->node >= problem->nodes)
        return cb_refuse_node("stage.node", problem, stage->node);
    if (!stage->columns || !stage->row_duals || !stage->noise || !stage->state_in || !stage->state_out)
        return cb_refuse_null("stage: an array");
    cobre_status status = cb_outputs_open(&outputs, problem);
    double *values = malloc((outputs.figures + 1) * sizeof *values);
    if (!status && !values)
        status = cb_no_memory("figures", outputs.figures * sizeof *values);
    if (!status)
        tell_all(&(listener){&outputs, arg, figure}, stage, values);
    free(values);
    cb_outputs_close(&outputs);
    return status;
}
