/* SPDX-License-Identifier: Apache-2.0 */
/* label.c: the meaning of a problem's numbers for people: kinds, elements, load blocks, units, dates. Labels never
 * change a result. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/date.h"
#include "sddp/grow.h"
#include "sddp/problem/builder.h"

static const char *keep_or_empty(cobre_sddp_builder *builder, const char *text) {
    return cb_builder_keep(builder, text ? text : "");
}

void cobre_sddp_add_label(cobre_sddp_builder *builder, cobre_sddp_part part, const char *name,
                          const cobre_sddp_label *given) {
    cobre_sddp_label label = {0};
    if (!builder || !name || !given ||
        !cb_versioned_take(&label, sizeof label, CB_THROUGH(cobre_sddp_label, detail), given) ||
        !CB_GROW(builder, builder->label, builder->labels, builder->labels_room))
        return;
    label.kind = keep_or_empty(builder, label.kind);
    label.element = keep_or_empty(builder, label.element);
    label.block = keep_or_empty(builder, label.block);
    label.unit = keep_or_empty(builder, label.unit);
    label.type = keep_or_empty(builder, label.type);
    label.subsystem = keep_or_empty(builder, label.subsystem);
    label.factor = label.factor == 0 ? 1 : label.factor;
    const size_t order = builder->labels++;
    builder->label[order] =
        (cb_label){.part = part, .name = cb_builder_keep(builder, name), .order = order, .label = label};
}

static int compare(const void *a, const void *b) {
    const cb_label *x = a, *y = b;
    return x->part != y->part ? (x->part > y->part) - (x->part < y->part) : strcmp(x->name, y->name);
}

static int compare_order(const void *a, const void *b) {
    const cb_label *x = a, *y = b;
    int by_name = compare(a, b);
    return by_name ? by_name : (x->order > y->order) - (x->order < y->order);
}

void cb_sort_labels(cobre_sddp_builder *builder) {
    size_t kept = 0;
    if (builder->labels > 0)
        qsort(builder->label, builder->labels, sizeof *builder->label, compare_order);
    for (size_t i = 0; i < builder->labels; i++)
        if (kept == 0 || compare(&builder->label[kept - 1], &builder->label[i]) != 0)
            builder->label[kept++] = builder->label[i];
    builder->labels = kept;
}

/* "kind[element]" in parts; without brackets all of it is the element. Texts last until the next call of this thread. */
static cobre_sddp_label label_of_name(const char *name) {
    static _Thread_local char text[1024];
    size_t kind = strcspn(name, "["), length = strlen(name);
    cobre_sddp_label label = {.struct_size = sizeof label,
                              .kind = "",
                              .element = name,
                              .block = "",
                              .unit = "",
                              .type = "",
                              .subsystem = "",
                              .factor = 1};
    if (kind == 0 || length <= kind + 1 || name[length - 1] != ']' || length >= sizeof text)
        return label;
    memcpy(text, name, length);
    text[kind] = text[length - 1] = '\0';
    label.kind = text;
    label.element = text + kind + 1;
    return label;
}

cobre_status cobre_sddp_problem_label(const cobre_sddp_problem *problem, cobre_sddp_part part, const char *name,
                                      cobre_sddp_label *result) {
    if (!problem || !name || !result)
        return cb_refuse_null(!problem ? "problem" : !name ? "name" : "label");
    CB_TRY(CB_CHECK_RESULT(result, cobre_sddp_label, detail));
    const cb_label wanted = {.part = part, .name = name};
    const cb_label *found =
        problem->labels ? bsearch(&wanted, problem->label, problem->labels, sizeof wanted, compare) : NULL;
    const cobre_sddp_label label = found ? found->label : label_of_name(name);
    cb_versioned_give(result, CB_THROUGH(cobre_sddp_label, detail), &label, sizeof label);
    return COBRE_OK;
}

static cb_builder_node *node_of(cobre_sddp_builder *builder, size_t node) {
    return builder && node < builder->nodes ? &builder->node[node] : NULL;
}

void cobre_sddp_set_date(cobre_sddp_builder *builder, size_t node, const char *date) {
    if (node_of(builder, node))
        builder->node[node].date = keep_or_empty(builder, date);
}

void cobre_sddp_set_units(cobre_sddp_builder *builder, const char *time, const char *money) {
    if (!builder)
        return;
    builder->time = keep_or_empty(builder, time);
    builder->money = keep_or_empty(builder, money);
}

size_t cobre_sddp_add_block(cobre_sddp_builder *builder, const char *name) {
    if (!builder || !CB_GROW(builder, builder->block, builder->blocks, builder->blocks_room))
        return CB_NONE;
    builder->block[builder->blocks] = keep_or_empty(builder, name);
    return builder->blocks++;
}

void cobre_sddp_set_duration(cobre_sddp_builder *builder, size_t node, double duration, const double *shares) {
    cb_builder_node *its = node_of(builder, node);
    if (!its)
        return;
    its->duration = duration;
    its->share = shares ? cb_builder_alloc(builder, builder->blocks, sizeof *its->share) : NULL;
    its->shares = its->share ? builder->blocks : 0;
    if (its->share && builder->blocks > 0)
        memcpy(its->share, shares, builder->blocks * sizeof *its->share);
}

static const cb_node *look(const cobre_sddp_problem *problem, size_t node) {
    return problem && node < problem->nodes ? &problem->node[node] : NULL;
}

const char *cobre_sddp_problem_node_date(const cobre_sddp_problem *problem, size_t node) {
    return look(problem, node) ? look(problem, node)->date : NULL;
}

double cobre_sddp_problem_node_duration(const cobre_sddp_problem *problem, size_t node) {
    return look(problem, node) ? look(problem, node)->duration : NAN;
}

size_t cobre_sddp_problem_blocks(const cobre_sddp_problem *problem) {
    return problem ? problem->blocks : 0;
}

const char *cobre_sddp_problem_block_name(const cobre_sddp_problem *problem, size_t block) {
    return problem && block < problem->blocks ? problem->block[block] : NULL;
}

double cobre_sddp_problem_block_share(const cobre_sddp_problem *problem, size_t node, size_t block) {
    return look(problem, node) && block < problem->blocks ? problem->node[node].share[block] : NAN;
}

const char *cobre_sddp_problem_time_unit(const cobre_sddp_problem *problem) {
    return problem ? problem->time : NULL;
}

const char *cobre_sddp_problem_cost_unit(const cobre_sddp_problem *problem) {
    return problem ? problem->money : NULL;
}

static double months_later(cb_date date, long months) {
    date = cb_date_add_months(date, months);
    return cb_date_days(&date);
}

/* When a node ends: when the next one begins. Of the last one, a stage of about 730 hours that begins on the same day of the
 * month as the first one is a month. */
static double end_of(const cobre_sddp_problem *problem, const cb_node *node, const cb_date *begin) {
    cb_date next, first;
    if (node + 1 < problem->node + problem->nodes && cb_date_parse(node[1].date, &next) &&
        cb_date_days(&next) > cb_date_days(begin))
        return cb_date_days(&next);
    if (strcmp(problem->time, "month") == 0)
        return months_later(*begin, (long)node->duration) + (node->duration - floor(node->duration)) * 730 / 24;
    bool same_day = cb_date_parse(problem->node[0].date, &first) && first.day == begin->day;
    if (node->duration >= 640 && node->duration <= 760 && same_day)
        return months_later(*begin, 1);
    return cb_date_days(begin) + node->duration / 24;
}

/* The node that is under way at the date, or at the beginning of a month; else the first one that begins in that month. */
size_t cobre_sddp_problem_node_at(const cobre_sddp_problem *problem, const char *date) {
    cb_date wanted, begin;
    size_t later = CB_NONE;
    if (!date || !cb_date_parse(date, &wanted))
        return CB_NONE;
    double day = cb_date_days(&wanted);
    for (size_t n = 0; n < cobre_sddp_problem_nodes(problem); n++) {
        const cb_node *node = &problem->node[n];
        if (!cb_date_parse(node->date, &begin))
            continue;
        if (cb_date_days(&begin) <= day && day < end_of(problem, node, &begin))
            return n;
        if (later == CB_NONE && strncmp(node->date, date, strlen(date)) == 0)
            later = n;
    }
    return later;
}
