/* SPDX-License-Identifier: Apache-2.0 */
/* image.c: packs a problem into an image, and makes views of an image. One function lays the image out. It runs twice:
 * first without memory, to find the size, then to write. */
#include "sddp/problem/image.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(size_t) == 8 && sizeof(int) == 4, "counts and offsets are alike in all images");

typedef struct {
    uint64_t name;
    double initial;
} state_record;

typedef struct {
    uint64_t name, file, place, line, stage;
    uint64_t columns, rows, entries, randoms, noises, outcomes, edges, all_edges; /* how many */
    uint64_t reached;
    uint64_t column, range, row, start, index, value, state_in, state_out, incoming, noise, probability, outcome, edge;
    uint64_t shown; /* 0: no random variable shows in a column */
    uint64_t column_name, row_name, random_name;
    uint64_t deviation, factor, lognormal; /* deviation 0: no model */
    uint64_t has_value_bound, date, share;
    double value_bound, constant, duration;
    cb_risk risk;
} node_record;

typedef struct {
    uint64_t part, name, kind, element, block, unit, type, subsystem, detail;
    double factor, energy;
} label_record;

typedef struct {
    char *base; /* NULL: it only measures */
    uint64_t at;
    bool too_large;
    uint64_t *factor; /* where the factors lie */
} packer;

/* Room for an array; NULL while measuring. */
static void *reserve(packer *p, uint64_t *offset, size_t count, size_t size) {
    const uint64_t most = PTRDIFF_MAX / 2;
    uint64_t bytes;
    *offset = p->at;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > most || p->at > most) {
        p->too_large = true;
        return NULL;
    }
    p->at += (bytes + 7) / 8 * 8;
    return p->base ? p->base + *offset : NULL;
}

static uint64_t put(packer *p, const void *from, size_t count, size_t size) {
    uint64_t offset;
    void *to = reserve(p, &offset, count, size);
    if (to && count > 0)
        memcpy(to, from, count * size);
    return offset;
}

static uint64_t put_text(packer *p, const char *text) {
    return put(p, text, strlen(text) + 1, 1);
}

/* Names that lie `stride` bytes apart: an array of their offsets. */
static uint64_t put_names(packer *p, const void *first, size_t stride, size_t count) {
    uint64_t offset;
    uint64_t *names = reserve(p, &offset, count, sizeof *names);
    for (size_t i = 0; i < count; i++) {
        const char *name;
        memcpy(&name, (const char *)first + i * stride, sizeof name);
        uint64_t at = put_text(p, name);
        if (names)
            names[i] = at;
    }
    return offset;
}

static void put_columns(packer *p, const cb_builder_node *node, node_record *record) {
    cb_column *column = reserve(p, &record->column, node->columns, sizeof *column);
    for (size_t j = 0; column && j < node->columns; j++)
        column[j] = (cb_column){node->column[j].lower, node->column[j].upper, node->column[j].cost};
    reserve(p, &record->range, node->columns, sizeof(cb_range)); /* cb_image_sum_up fills it */
    cb_range *row = reserve(p, &record->row, node->rows, sizeof *row);
    for (size_t i = 0; row && i < node->rows; i++)
        row[i] = (cb_range){node->row[i].lower, node->row[i].upper};
    record->column_name = put_names(p, node->columns ? &node->column->name : NULL, sizeof *node->column, node->columns);
    record->row_name = put_names(p, node->rows ? &node->row->name : NULL, sizeof *node->row, node->rows);
    record->random_name = put_names(p, node->random_name, sizeof *node->random_name, node->randoms);
}

static void put_matrix(packer *p, const cb_builder_node *node, node_record *record) {
    int *start = reserve(p, &record->start, node->columns + 1, sizeof *start);
    int *index = reserve(p, &record->index, node->entries, sizeof *index);
    double *value = reserve(p, &record->value, node->entries, sizeof *value);
    if (!start || !index || !value)
        return;
    for (size_t e = 0; e < node->entries; e++) {
        index[e] = node->entry[e].row;
        value[e] = node->entry[e].value;
        start[node->entry[e].column + 1]++;
    }
    for (size_t j = 0; j < node->columns; j++)
        start[j + 1] += start[j];
}

static void put_states(packer *p, const cobre_sddp_builder *builder, const cb_builder_node *node, node_record *record) {
    record->state_in = put(p, node->state_in, builder->states, sizeof *node->state_in);
    record->state_out = put(p, node->state_out, builder->states, sizeof *node->state_out);
    uint32_t *incoming = reserve(p, &record->incoming, node->columns, sizeof *incoming);
    for (size_t s = builder->states; incoming && s-- > 0;)
        incoming[node->state_in[s]] = (uint32_t)(s + 1);
}

static void put_noise(packer *p, const cb_builder_node *node, node_record *record) {
    cb_noise *noise = reserve(p, &record->noise, node->noises, sizeof *noise);
    for (size_t i = 0; noise && i < node->noises; i++) { /* by member: the padding stays zero */
        noise[i].target = node->noise[i].target;
        noise[i].index = node->noise[i].index;
        noise[i].column = node->noise[i].column;
        noise[i].random = node->noise[i].random;
        noise[i].factor = node->noise[i].factor;
    }
}

/* Outcome k of node n is drawn from cb_rng_start(opening seed, CB_RNG_OPENING, 0, k, n). */
static void put_outcomes(packer *p, const cobre_sddp_builder *builder, size_t n, node_record *record) {
    const cb_builder_node *node = &builder->node[n];
    size_t randoms = node->randoms;
    if (!node->deviation) {
        record->outcome = put(p, node->table, node->outcomes, randoms * sizeof *node->table);
        return;
    }
    record->deviation = put(p, node->deviation, randoms, sizeof *node->deviation);
    record->factor = p->factor ? p->factor[node->factor] : 0;
    record->lognormal = node->lognormal;
    cb_model model = {node->deviation, builder->factor[node->factor].value, node->lognormal};
    double *values = reserve(p, &record->outcome, node->outcomes, randoms * sizeof *values);
    for (size_t k = 0; values && k < node->outcomes; k++) {
        cb_rng rng;
        cb_rng_start(&rng, builder->opening_seed, CB_RNG_OPENING, 0, (uint32_t)k, (uint32_t)n);
        cb_draw(&model, randoms, &rng, values + k * randoms);
    }
}

static void put_node(packer *p, const cobre_sddp_builder *builder, size_t n, node_record *record) {
    const cb_builder_node *node = &builder->node[n];
    *record = (node_record){.line = node->at.line,
                            .stage = node->stage,
                            .columns = node->columns,
                            .rows = node->rows,
                            .entries = node->entries,
                            .randoms = node->randoms,
                            .noises = node->noises,
                            .outcomes = node->outcomes,
                            .edges = node->edges,
                            .all_edges = node->all_edges,
                            .reached = node->reached,
                            .has_value_bound = node->has_value_bound,
                            .value_bound = node->value_bound,
                            .constant = node->constant,
                            .duration = node->duration,
                            .risk = node->risk};
    record->name = put_text(p, node->name);
    record->date = put_text(p, node->date);
    double *share = reserve(p, &record->share, builder->blocks, sizeof *share);
    for (size_t b = 0; share && b < node->shares; b++)
        share[b] = node->share[b];
    record->file = put_text(p, node->at.file);
    record->place = put_text(p, node->at.text);
    put_columns(p, node, record);
    put_matrix(p, node, record);
    put_states(p, builder, node, record);
    put_noise(p, node, record);
    if (node->shown)
        record->shown = put(p, node->shown, node->randoms, sizeof *node->shown);
    record->probability = put(p, node->probability, node->outcomes, sizeof *node->probability);
    put_outcomes(p, builder, n, record);
    record->edge = put(p, node->edge, node->all_edges, sizeof *node->edge);
}

static void put_scenarios(packer *p, const cobre_sddp_builder *builder, cb_image_head *head) {
    size_t steps = 0;
    for (size_t s = 0; s < builder->scenarios; s++)
        steps += builder->scenario[s].steps;
    uint64_t *first = reserve(p, &head->scenario, builder->scenarios + 1, sizeof *first);
    cb_given_step *step = reserve(p, &head->step, steps, sizeof *step);
    for (size_t s = 0, i = 0; s < builder->scenarios; s++) {
        const cb_scenario *scenario = &builder->scenario[s];
        for (size_t k = 0; k < scenario->steps; k++, i++) {
            size_t node = scenario->node[k];
            uint64_t values = put(p, scenario->values[k], builder->node[node].randoms, sizeof(double));
            if (step)
                step[i] = (cb_given_step){.node = node, .values = values};
        }
        if (first)
            first[s + 1] = i;
    }
}

static void put_labels(packer *p, const cobre_sddp_builder *builder, cb_image_head *head) {
    label_record *record = reserve(p, &head->label, builder->labels, sizeof *record), measured = {0};
    for (size_t i = 0; i < builder->labels; i++) {
        const cobre_sddp_label *label = &builder->label[i].label;
        label_record *its = record ? &record[i] : &measured;
        *its = (label_record){
            .part = builder->label[i].part, .detail = label->detail, .factor = label->factor, .energy = label->energy};
        its->name = put_text(p, builder->label[i].name);
        its->kind = put_text(p, label->kind);
        its->element = put_text(p, label->element);
        its->block = put_text(p, label->block);
        its->unit = put_text(p, label->unit);
        its->type = put_text(p, label->type);
        its->subsystem = put_text(p, label->subsystem);
    }
}

static void lay_out(packer *p, const cobre_sddp_builder *builder) {
    uint64_t unused;
    cb_image_head head = {.longest = builder->longest,
                          .maximise = builder->maximise,
                          .seasons = builder->seasons,
                          .first_season = builder->first_season,
                          .states = builder->states,
                          .nodes = builder->nodes,
                          .root_edges = builder->root_edges,
                          .all_root_edges = builder->all_root_edges,
                          .scenarios = builder->scenarios,
                          .labels = builder->labels,
                          .blocks = builder->blocks};
    cb_image_head *first = reserve(p, &unused, 1, sizeof *first);
    state_record *state = reserve(p, &head.state, builder->states, sizeof *state);
    node_record *node = reserve(p, &head.node, builder->nodes, sizeof *node), measured;
    head.name = put_text(p, builder->name);
    head.contents = put_text(p, builder->contents);
    head.time = put_text(p, builder->time);
    head.money = put_text(p, builder->money);
    head.block = put_names(p, builder->block, sizeof *builder->block, builder->blocks);
    put_labels(p, builder, &head);
    head.root_edge = put(p, builder->root_edge, builder->all_root_edges, sizeof *builder->root_edge);
    p->factor = reserve(p, &unused, builder->factors, sizeof *p->factor);
    for (size_t f = 0; f < builder->factors; f++) {
        size_t order = builder->factor[f].order;
        uint64_t at = put(p, builder->factor[f].value, order, order * sizeof(double));
        if (p->factor)
            p->factor[f] = at;
    }
    for (size_t s = 0; s < builder->states; s++) {
        uint64_t name = put_text(p, builder->state[s].name);
        if (state)
            state[s] = (state_record){name, builder->state[s].initial};
    }
    for (size_t n = 0; n < builder->nodes; n++)
        put_node(p, builder, n, node ? &node[n] : &measured);
    put_scenarios(p, builder, &head);
    if (first)
        *first = head;
}

size_t cb_image_size(const cobre_sddp_builder *builder) {
    packer p = {.base = NULL};
    lay_out(&p, builder);
    return p.too_large ? 0 : p.at;
}

void cb_image_pack(const cobre_sddp_builder *builder, void *image) {
    packer p = {.base = image};
    lay_out(&p, builder);
}

/* Resolves an offset. */
#define AT(offset) ((const void *)(image + (offset)))

static cb_node view_node(const char *image, const node_record *record) {
    return (cb_node){.name = AT(record->name),
                     .stage = record->stage,
                     .file = AT(record->file),
                     .place = AT(record->place),
                     .line = record->line,
                     .columns = record->columns,
                     .rows = record->rows,
                     .entries = record->entries,
                     .randoms = record->randoms,
                     .noises = record->noises,
                     .outcomes = record->outcomes,
                     .edges = record->edges,
                     .all_edges = record->all_edges,
                     .reached = record->reached,
                     .column = AT(record->column),
                     .range = AT(record->range),
                     .row = AT(record->row),
                     .start = AT(record->start),
                     .index = AT(record->index),
                     .value = AT(record->value),
                     .state_in = AT(record->state_in),
                     .state_out = AT(record->state_out),
                     .incoming = AT(record->incoming),
                     .noise = AT(record->noise),
                     .shown = record->shown ? AT(record->shown) : NULL,
                     .probability = AT(record->probability),
                     .outcome = AT(record->outcome),
                     .edge = AT(record->edge),
                     .model = {.deviation = record->deviation ? AT(record->deviation) : NULL,
                               .factor = record->deviation ? AT(record->factor) : NULL,
                               .lognormal = record->lognormal},
                     .constant = record->constant,
                     .risk = record->risk,
                     .has_value_bound = record->has_value_bound,
                     .value_bound = record->value_bound,
                     .date = AT(record->date),
                     .duration = record->duration,
                     .share = AT(record->share),
                     .text = image,
                     .column_name = AT(record->column_name),
                     .row_name = AT(record->row_name),
                     .random_name = AT(record->random_name)};
}

static cb_label view_label(const char *image, const label_record *record) {
    return (cb_label){.part = (cobre_sddp_part)record->part,
                      .name = AT(record->name),
                      .label = {.struct_size = sizeof(cobre_sddp_label),
                                .kind = AT(record->kind),
                                .element = AT(record->element),
                                .block = AT(record->block),
                                .unit = AT(record->unit),
                                .type = AT(record->type),
                                .subsystem = AT(record->subsystem),
                                .factor = record->factor,
                                .energy = record->energy,
                                .detail = record->detail}};
}

static void view_labels(const char *image, const cb_image_head *head, cobre_sddp_problem *problem) {
    const label_record *label = AT(head->label);
    const uint64_t *block = AT(head->block);
    problem->labels = head->labels;
    problem->blocks = head->blocks;
    problem->time = AT(head->time);
    problem->money = AT(head->money);
    for (size_t i = 0; i < head->labels; i++)
        problem->label[i] = view_label(image, &label[i]);
    for (size_t b = 0; b < head->blocks; b++)
        problem->block[b] = AT(block[b]);
}

bool cb_image_view(const void *bytes, cobre_sddp_problem *problem) {
    const char *image = bytes;
    const cb_image_head *head = bytes;
    problem->state = malloc((head->states + 1) * sizeof *problem->state);
    problem->node = malloc((head->nodes + 1) * sizeof *problem->node);
    problem->label = malloc((head->labels + 1) * sizeof *problem->label);
    problem->block = malloc((head->blocks + 1) * sizeof *problem->block);
    if (!problem->state || !problem->node || !problem->label || !problem->block)
        return false;
    view_labels(image, head, problem);
    problem->name = AT(head->name);
    problem->contents = AT(head->contents);
    problem->maximise = head->maximise;
    problem->states = head->states;
    problem->nodes = head->nodes;
    problem->root_edges = head->root_edges;
    problem->all_root_edges = head->all_root_edges;
    problem->scenarios = head->scenarios;
    problem->root_edge = AT(head->root_edge);
    problem->scenario = AT(head->scenario);
    problem->step = AT(head->step);
    problem->longest = head->longest;
    problem->fingerprint = head->fingerprint;
    problem->seasons = head->seasons;
    problem->first_season = head->first_season;
    problem->scale = head->scale;
    problem->unit = head->unit;
    const state_record *state = AT(head->state);
    for (size_t s = 0; s < head->states; s++)
        problem->state[s] = (cb_state){.name = AT(state[s].name), .initial = state[s].initial};
    const node_record *node = AT(head->node);
    for (size_t n = 0; n < head->nodes; n++)
        problem->node[n] = view_node(image, &node[n]);
    return true;
}

const double *cb_scenario_values(const cobre_sddp_problem *problem, size_t scenario, size_t step) {
    const char *image = cobre_region_data(problem->image);
    return AT(problem->step[problem->scenario[scenario] + step].values);
}
