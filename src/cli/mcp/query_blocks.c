/* SPDX-License-Identifier: Apache-2.0 */
/* query_blocks.c: figures by load block, from the detailed tables of a simulation: each element and block has the values of all
 * trajectories and stages that are asked for. */
#include "cli/mcp/query_blocks.h"

#include "cli/mcp/study.h"
#include "sddp/clock.h"
#include "sddp/grow.h"
#include "sddp/run/sampling.h"
#include "sddp/run/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const cb_query_statistics[] = {"mean", "deviation", "min", "max",      "p5", "p25",
                                           "p50",  "p75",       "p95", "positive", NULL};

double cb_query_pick(const char *statistic, const struct cb_point *point) {
    const double value[] = {point->mean,          point->deviation,     point->minimum,       point->maximum,
                            point->percentile[0], point->percentile[1], point->percentile[2], point->percentile[3],
                            point->percentile[4], point->positive};
    for (size_t i = 0; cb_query_statistics[i]; i++)
        if (strcmp(cb_query_statistics[i], statistic) == 0)
            return value[i];
    return NAN;
}

/* One element in one block. */
struct group {
    char *element, *block, *unit;
    double *value;
    size_t count, room;
};

struct groups {
    struct group *at;
    size_t count, room, last; /* last: that was found */
    bool no_memory;
};

enum { BLOCK, KIND, ELEMENT, STEP, STAGE, VALUE, UNIT };
static const char *const columns[] = {"block", "kind", "element", "step", "stage", "value", "unit", NULL};

static struct group *group_of(struct groups *groups, char *const *field) {
    for (size_t k = 0; k < groups->count; k++) {
        size_t i = (groups->last + 1 + k) % groups->count; /* rows come in the same order again and again */
        if (strcmp(groups->at[i].element, field[ELEMENT]) == 0 && strcmp(groups->at[i].block, field[BLOCK]) == 0) {
            groups->last = i;
            return &groups->at[i];
        }
    }
    if (!CB_GROW(groups, groups->at, groups->count, groups->room))
        return NULL;
    struct group *new = &groups->at[groups->last = groups->count++];
    *new =
        (struct group){.element = strdup(field[ELEMENT]), .block = strdup(field[BLOCK]), .unit = strdup(field[UNIT])};
    groups->no_memory |= !new->element || !new->block || !new->unit;
    return groups->no_memory ? NULL : new;
}

static bool is_asked(const struct cb_query *query, char *const *field) {
    size_t stage = strtoul(*field[STAGE] ? field[STAGE] : field[STEP], NULL, 10);
    return *field[BLOCK] && strcmp(field[KIND], query->kind) == 0 &&
           (!query->element || strcmp(field[ELEMENT], query->element) == 0) && stage >= query->from &&
           stage <= query->to;
}

/* False: it takes too long, and others wait. */
static bool read_rows(struct groups *groups, struct sheet *sheet, const struct cb_query *query) {
    enum { MOST_SECONDS = 10 };
    double deadline = cb_clock() + MOST_SECONDS;
    for (size_t row = 1; !groups->no_memory && cb_sheet_next(sheet); row++) {
        if (row % 65536 == 0 && cb_clock() > deadline)
            return false;
        struct group *group = is_asked(query, sheet->field) ? group_of(groups, sheet->field) : NULL;
        if (group && CB_GROW(groups, group->value, group->count, group->room))
            group->value[group->count++] = strtod(sheet->field[VALUE], NULL);
    }
    return true;
}

/* Sorts the values. */
static struct cb_point point_of(struct group *group) {
    static const double share[CB_PERCENTILES] = {0.05, 0.25, 0.5, 0.75, 0.95};
    double sum = 0, squares = 0, positive = 0, count = (double)group->count;
    for (size_t i = 0; i < group->count; i++) {
        sum += group->value[i];
        positive += group->value[i] > 0;
    }
    for (size_t i = 0; i < group->count; i++)
        squares += (group->value[i] - sum / count) * (group->value[i] - sum / count);
    cb_sort(group->value, group->count);
    struct cb_point point = {.count = count,
                             .mean = sum / count,
                             .deviation = group->count > 1 ? sqrt(squares / (count - 1)) : NAN,
                             .minimum = group->value[0],
                             .maximum = group->value[group->count - 1],
                             .positive = positive / count};
    for (size_t i = 0; i < CB_PERCENTILES; i++)
        point.percentile[i] = cb_percentile(group->value, group->count, share[i]);
    return point;
}

static json_t *row_of(struct group *group, const struct cb_query *query) {
    struct cb_point point = point_of(group);
    bool share = strcmp(query->statistic, "positive") == 0;
    json_t *row = json_object();
    cb_json_set(row, "kind", cb_json_text(query->kind));
    cb_json_set(row, "level", cb_json_text("block"));
    cb_json_set(row, "element", cb_json_text(group->element));
    cb_json_set(row, "block", cb_json_text(group->block));
    cb_json_set(row, "value", cb_json_real(cb_query_pick(query->statistic, &point)));
    cb_json_set(row, "unit", cb_json_text(share ? "share" : group->unit));
    return row;
}

static void free_groups(struct groups *groups) {
    for (size_t i = 0; i < groups->count; i++) {
        free(groups->at[i].element);
        free(groups->at[i].block);
        free(groups->at[i].unit);
        free(groups->at[i].value);
    }
    free(groups->at);
}

/* The table that has the kind; NULL: the call has been refused. */
static const char *table_of(struct cb_mcp_call *call, const struct cb_results *results, const struct cb_query *query) {
    const struct cb_series *series =
        query->kind ? cb_results_find(results, query->kind, "element", query->element) : NULL;
    if (series && (strcmp(series->table, "variables") == 0 || strcmp(series->table, "duals") == 0))
        return series->table;
    if (query->kind)
        cb_mcp_mistake(call,
                       &(struct cb_mcp_mistake){.field = "kind",
                                                .received = query->kind,
                                                .problem = "these figures are of whole stages, not of load blocks",
                                                .next = "ask by stage"});
    else
        cb_mcp_mistake(call,
                       &(struct cb_mcp_mistake){.field = "kind",
                                                .received = "nothing",
                                                .problem = "figures by block need a kind",
                                                .allowed = "hydro_generation, thermal_generation, marginal_cost, ...",
                                                .next = "give kind, too"});
    return NULL;
}

static bool open_table(struct cb_mcp_call *call, const char *folder, const char *table, struct sheet *sheet) {
    enum { MOST_MIB = 1024 };
    char file[64], problem[256], next[256], path[PATH_MAX + 64];
    struct stat status;
    snprintf(file, sizeof file, "%s.csv", table);
    snprintf(path, sizeof path, "%s/%s", folder, file);
    bool there = stat(path, &status) == 0;
    if (there && status.st_size <= (off_t)MOST_MIB << 20 && cb_sheet_open(sheet, folder, file, columns))
        return true;
    snprintf(problem, sizeof problem,
             there ? "%s has more than 1 GiB" : "this run has no %s, which has the load blocks", file);
    snprintf(next, sizeof next,
             there ? "simulate fewer trajectories with tables \"%s\", or read the file yourself"
                   : "call simulate, or export_results, with tables \"%s\", and ask that run",
             table);
    cb_mcp_mistake(call,
                   &(struct cb_mcp_mistake){.field = "by", .received = "block", .problem = problem, .next = next});
    return false;
}

json_t *cb_query_blocks(struct cb_mcp_call *call, const struct cb_results *results, const struct cb_query *query) {
    struct groups groups = {.count = 0};
    struct sheet sheet;
    const char *table = table_of(call, results, query);
    if (!table || !open_table(call, results->folder, table, &sheet))
        return NULL;
    bool in_time = read_rows(&groups, &sheet, query);
    cb_sheet_close(&sheet);
    json_t *rows = groups.no_memory || !in_time ? NULL : json_array();
    for (size_t i = 0; rows && i < groups.count; i++)
        cb_json_append(rows, row_of(&groups.at[i], query));
    free_groups(&groups);
    if (!in_time)
        cb_mcp_refuse(call, "simulate fewer trajectories, or read the file yourself",
                      "reading %s.csv takes more than 10 seconds", table);
    else if (!rows)
        cb_mcp_refuse(call, "choose one element, or fewer stages", "there is no memory for so many values");
    return rows;
}
