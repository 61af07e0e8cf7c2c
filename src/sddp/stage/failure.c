/* SPDX-License-Identifier: Apache-2.0 */
/* failure.c: the error of an LP that has no optimum. */
#include "comm/file_limit.h"
#include "sddp/open.h"
#include "sddp/stage/conflict.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Letters, digits and a few more; anything else would be trouble in a file name. */
static void tame(char *name) {
    for (; *name; name++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", *name))
            *name = '_';
}

/* Writes the LP in the units of the case. */
static bool write_lp(const cb_stage *stage, const double *values, const char *path) {
    const cb_node *node = stage->node;
    cb_stage_kind kind = *stage->kind;
    cb_stage *plain;
    cb_start start = {.set = false};
    kind.plain = true;
    const char **names = calloc((size_t)(stage->columns + stage->rows) + 1, sizeof *names);
    if (!names || cb_stage_create(&kind, node, &plain)) {
        free(names);
        return false;
    }
    for (size_t j = 0; j < node->columns; j++)
        names[j] = cb_column_name(node, j);
    for (size_t i = 0; i < node->rows; i++)
        names[(size_t)stage->columns + i] = cb_row_name(node, i);
    bool written = cb_stage_residents(stage, &start) && cb_stage_start(plain, &start) == COBRE_OK;
    if (written) {
        cb_stage_set_state(plain, stage->state);
        cb_stage_set_noise(plain, values);
        written = plain->solver->write(plain->lp, path, names, names + stage->columns) == 0;
    }
    cb_start_free(&start);
    cb_stage_free(plain);
    free(names);
    return written;
}

static const char *advice_for(const cb_stage *stage, cb_lp_outcome result) {
    if (result == CB_LP_UNBOUNDED)
        return "the cost is unbounded: check signs of costs and bounds";
    if (result != CB_LP_INFEASIBLE)
        return "scale the data, or try another solver";
    return *stage->kind->problem->contents
               ? "every state and outcome must be feasible: give deficits.csv tiers whose depths add up to 1, and a "
                 "storage_min that can always be reached"
               : "every state and outcome must be feasible: add a slack with a penalty (a deficit)";
}

/* A text that grows as far as its room goes. */
typedef struct {
    char *at;
    size_t length, room;
} text;

static void add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(text *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(t->at + t->length, t->room - t->length, format, arguments);
    va_end(arguments);
    t->length += length > 0 ? (size_t)length : 0;
    t->length = t->length < t->room ? t->length : t->room - 1;
}

/* Of a list, item `i` (from 0) of `count`: what stands before it. False: enough have been told, and how many are left. */
enum { ITEMS = 6 };
static bool add_item(text *t, const char *first, size_t i, size_t count) {
    if (i == ITEMS && count > ITEMS + 1) {
        add(t, " and %zu more", count - i);
        return false;
    }
    add(t, "%s", i ? ", " : first);
    return true;
}

static void add_randoms(text *t, const cb_node *node, const double *values) {
    for (size_t i = 0; i < node->randoms && add_item(t, "; ", i, node->randoms); i++)
        add(t, "%.80s = %.9g", cb_random_name(node, i), values[i]);
}

static bool in_conflict(const cb_conflict *conflict, size_t state) {
    for (size_t i = 0; i < conflict->members; i++)
        if (conflict->member[i].kind == CB_LIMIT_STATE && conflict->member[i].index == state)
            return true;
    return false;
}

/* The incoming state, first what is in conflict. */
static void add_states(text *t, const cb_stage *stage, const cb_conflict *conflict) {
    const cobre_sddp_problem *problem = stage->kind->problem;
    size_t told = 0;
    for (int round = 0; round < 2; round++)
        for (size_t s = 0; s < problem->states; s++)
            if (in_conflict(conflict, s) == (round == 0)) {
                if (!add_item(t, "; incoming ", told++, problem->states))
                    return;
                add(t, "%.80s = %.9g", problem->state[s].name, stage->state[s]);
            }
}

static void add_limit(text *t, const cb_stage *stage, const cb_limit *limit) {
    const cb_node *node = stage->node;
    const char *name = limit->kind == CB_LIMIT_ROW      ? cb_row_name(node, limit->index)
                       : limit->kind == CB_LIMIT_COLUMN ? cb_column_name(node, limit->index)
                                                        : stage->kind->problem->state[limit->index].name;
    static const char *const what[] = {"incoming ", "", "row "};
    bool range = !isinf(limit->lower) && !isinf(limit->upper) && limit->lower != limit->upper;
    if (range)
        add(t, "%.9g <= ", limit->lower);
    add(t, "%s%.80s", what[limit->kind], name);
    add(t, " %s %.9g",
        limit->lower == limit->upper ? "="
        : isinf(limit->upper)        ? ">="
                                     : "<=",
        isinf(limit->upper) ? limit->lower : limit->upper);
}

static void add_conflict(text *t, const cb_stage *stage, const cb_conflict *conflict) {
    if (conflict->members == 0)
        add(t, "; no conflict of its rows and bounds was found, so it is close to feasible");
    for (size_t i = 0; i < conflict->members; i++) {
        if (!add_item(t, "; no decision meets these at once: ", i, conflict->members))
            return;
        add_limit(t, stage, &conflict->member[i]);
    }
}

/* All of them, as comments at the end of the file. */
static void write_conflict(const cb_stage *stage, const cb_conflict *conflict, const char *path) {
    FILE *file = conflict->members > 0 ? fopen(path, "ae") : NULL;
    if (!file)
        return;
    fprintf(file, "\\ No decision meets these at once:\n");
    for (size_t i = 0; i < conflict->members; i++) {
        char line[256] = "";
        text t = {.at = line, .room = sizeof line};
        add_limit(&t, stage, &conflict->member[i]);
        fprintf(file, "\\   %s\n", line);
    }
    fclose(file);
}

/* A solver writes by a path, and would follow a symbolic link that bears the name of the file. So it writes into a new
 * folder, where nobody else has put anything, and the file is moved from there. */
static bool write_file(const cb_stage *stage, const double *values, const cb_conflict *conflict, const char *folder,
                       const char *to) {
    char own[PATH_MAX], from[PATH_MAX + 16], path[64];
    snprintf(own, sizeof own, "%s/.cobre-lp-%d", folder, (int)getpid());
    snprintf(from, sizeof from, "%s/stage.lp", own);
    int fd = cb_make_folder(own) == 0 ? cb_open_path(own, O_RDONLY | O_DIRECTORY) : -1;
    if (fd < 0)
        return false;
    fchmod(fd, 0700);
    snprintf(path, sizeof path, "/proc/self/fd/%d/stage.lp", fd);
    bool written = write_lp(stage, values, path);
    if (written)
        write_conflict(stage, conflict, path);
    written = written && cb_rename(from, to) == 0;
    cb_remove(from);
    cb_remove(own);
    close(fd);
    return written;
}

/* Writes the LP and makes the error: first what happened, then each thing to know about it, after a semicolon. */
static cobre_status tell(cb_stage *stage, cb_lp_outcome result, const char *which, const double *values,
                         const cb_conflict *conflict) {
    char name[192], path[512], reasons[2048] = "";
    text because = {.at = reasons, .room = sizeof reasons};
    add_randoms(&because, stage->node, values);
    add_states(&because, stage, conflict);
    if (result == CB_LP_INFEASIBLE)
        add_conflict(&because, stage, conflict);
    snprintf(name, sizeof name, "cobre-%.127s-%s.lp", stage->node->name, which);
    tame(name);
    const char *folder = stage->kind->lp_folder ? stage->kind->lp_folder : ".";
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const cb_lp_solver *other = cb_stage_other_solver(stage); /* it was asked, too */
    struct cb_file_limit limit;
    cb_file_limit_hold(&limit);
    bool written = write_file(stage, values, conflict, folder, path);
    cb_file_limit_release(&limit);
    return cb_fail_at(COBRE_LP_FAILED, written ? path : "", 0, advice_for(stage, result),
                      "node %.200s, %s: the LP is %s after %d tries of %s%s%s%s%s%s", stage->node->name, which,
                      cb_lp_outcome_name(result), CB_LP_EFFORTS, stage->solver->name, other ? " and as many of " : "",
                      other ? other->name : "", written ? "; written to " : "", written ? path : "", reasons);
}

cobre_status cb_stage_fail(cb_stage *stage, cb_lp_outcome result, size_t outcome, const double *values) {
    char which[32] = "given noise";
    if (outcome != CB_NONE)
        snprintf(which, sizeof which, "outcome %zu", outcome + 1);
    if (result == CB_LP_GAVE_UP)
        return cb_lp_gave_up(stage->solver, CB_TEXT("node %.200s, %s", stage->node->name, which));
    cb_arena memory = {0};
    cb_conflict conflict = {.members = 0};
    if (result == CB_LP_INFEASIBLE || result == CB_LP_STUCK)
        conflict = cb_find_conflict(stage, &memory);
    if (conflict.members > 0) /* CLP can be stuck where there is no solution */
        result = CB_LP_INFEASIBLE;
    cobre_status status = tell(stage, result, which, values, &conflict);
    cb_arena_free(&memory);
    return status;
}
