/* SPDX-License-Identifier: Apache-2.0 */
/* check.c: checks that need the whole case: files that are not tables of a case, loads that nothing can meet. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "options/distance.h"
#include "sddp/read/hydro/hydro.h"
#include "sddp/read/text.h"

typedef struct {
    const char *name, *nearest;
    bool found;
} file_search;

static void compare(file_search *search, const char *table) {
    search->found |= strcmp(search->name, table) == 0;
    if (!search->nearest || cb_distance(search->name, table) < cb_distance(search->name, search->nearest))
        search->nearest = table;
}

static void check_file(cb_hydro_case *c, const char *name) {
    static const char *const others[] = {"load.csv",    "blocks.csv",       "stages.csv",
                                         "changes.csv", "inflows.csv",      "history.csv",
                                         "par.csv",     "past_inflows.csv", "correlation.csv"};
    char files[CB_KINDS][CB_DISTANCE_ROOM];
    file_search search = {.name = name};
    for (size_t k = 0; k < CB_KINDS; k++) {
        snprintf(files[k], CB_DISTANCE_ROOM, "%s.csv", cb_hydro_kinds[k]->table);
        compare(&search, files[k]);
    }
    for (size_t i = 0; i < CB_COUNT(others); i++)
        compare(&search, others[i]);
    if (!search.found)
        cb_error_at(c->builder, CB_HYDRO_AT(c, name, 0), "rename it, or move it elsewhere",
                    "unknown table; closest name: %s", search.nearest);
}

/* Does case.json name this file as its terminal? */
static bool is_terminal(cb_hydro_case *c, const char *name) {
    struct stat one, other;
    return c->terminal.file && stat(cb_hydro_text(c, "%s/%s", c->folder, name), &one) == 0 &&
           stat(c->terminal.file, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static bool is_workbook(const char *end) {
    size_t i = 0;
    while (cb_workbook_kinds[i] && strcasecmp(end, cb_workbook_kinds[i]) != 0)
        i++;
    return cb_workbook_kinds[i];
}

/* A table whose name is misspelt would go unnoticed, where it is optional; and so would a change in a workbook. */
void cb_hydro_check_files(cb_hydro_case *c) {
    struct dirent **entries = NULL;
    int count = scandir(c->folder, &entries, NULL, alphasort);
    bool warned = false;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name, *end = strrchr(name, '.');
        bool visible = !strchr(".~", name[0]) && end; /* ~$x.xlsx: the lock of an open one */
        if (visible && strcasecmp(end, ".csv") == 0 && !is_terminal(c, name))
            check_file(c, name);
        if (visible && is_workbook(end) && !warned) {
            cb_warn_at(c->builder, CB_HYDRO_AT(c, name, 0), "save its sheets as tables (CSV), or keep it elsewhere",
                       "is a workbook, which is not read");
            warned = true;
        }
        free(entries[i]);
    }
    free(entries);
}

cb_hydro_supply cb_hydro_supply_of(const cb_hydro_case *c, size_t subsystem) {
    cb_hydro_supply sum = {0};
    for (size_t k = 0; k < CB_KINDS; k++) {
        if (cb_hydro_kinds[k]->supply)
            cb_hydro_kinds[k]->supply(&c->list[k], subsystem, &sum);
        if (sum.must > 0 && !sum.must_table)
            sum.must_table = cb_hydro_kinds[k]->table;
    }
    return sum;
}

/* A load that is far above what can be generated and brought in: the one for which most is lacking. */
typedef struct {
    size_t stage;
    double load, can, ratio;
} peak;

#define FAR_ABOVE 1.5

static void note_peak(peak *worst, size_t stage, double load, double can) {
    if (load > worst->ratio * can)
        *worst = (peak){.stage = stage, .load = load, .can = can, .ratio = can > 0 ? load / can : INFINITY};
}

/* Reports the first block of the stage in which a subsystem cannot be balanced, whatever the rest does. */
static bool check_subsystem(cb_hydro_case *c, const cb_hydro_case *now, size_t stage, size_t subsystem, peak *worst) {
    const double *load = &c->load[cb_hydro_period(c, c->load_key, stage) * c->blocks * c->subsystems];
    cb_hydro_supply sum = cb_hydro_supply_of(now, subsystem);
    for (size_t b = 0; b < c->blocks; b++) {
        double demand = load[b * c->subsystems + subsystem], slack = 1e-9 * (1 + demand);
        note_peak(worst, stage, demand, sum.can);
        if (sum.must > demand + sum.exports + slack) {
            cb_error_at(c->builder, CB_HYDRO_AT(c, CB_TEXT("%s.csv", sum.must_table), 0), "lower \"min\"",
                        "stage %zu, subsystem %s: its %s generate at least %g MW, but its load and "
                        "exports take at most %g",
                        stage + 1, c->subsystem[subsystem].name, sum.must_table, sum.must, demand + sum.exports);
            return false;
        }
        if (sum.can + sum.depth * demand < demand - slack) {
            cb_error_at(c->builder, CB_HYDRO_AT(c, "load.csv", 0), "add a deficit tier",
                        "stage %zu, subsystem %s: a load of %g MW, but all its plants, imports and deficit "
                        "tiers supply at most %g",
                        stage + 1, c->subsystem[subsystem].name, demand, sum.can + sum.depth * demand);
            return false;
        }
    }
    return true;
}

static void check_balance(cb_hydro_case *c, size_t subsystem) {
    peak worst = {.stage = CB_NONE, .ratio = FAR_ABOVE};
    for (size_t t = 0; t < c->stages && !c->subsystem[subsystem].random_load; t++) {
        cb_hydro_case now;
        if (!cb_hydro_at_stage(c, t, &now))
            return;
        bool good = check_subsystem(c, &now, t, subsystem, &worst);
        cb_hydro_leave_stage(&now);
        if (!good)
            return;
    }
    if (worst.stage != CB_NONE)
        cb_warn_at(c->builder, CB_HYDRO_AT(c, "load.csv", 0), "see that both are in MW",
                   "stage %zu, subsystem %s: a load of %g MW, but its plants and imports supply at most %g",
                   worst.stage + 1, c->subsystem[subsystem].name, worst.load, worst.can);
}

static void check_first_inflow(cb_hydro_case *c) {
    for (size_t s = 0; s < c->subsystems && cb_hydro_first_known(c); s++)
        if (c->subsystem[s].random_load) {
            cb_error_at(c->builder, CB_HYDRO_AT(c, "hydros.csv", cb_hydro_at(c, 0)->base.line),
                        "give stage 1 its lines in inflows.csv, with a column \"stage\"",
                        "first_inflow does not go with random loads");
            return;
        }
}

void cb_hydro_check(cb_hydro_case *c) {
    check_first_inflow(c);
    for (size_t s = 0; s < c->subsystems; s++)
        check_balance(c, s);
    if (c->source == CB_HYDRO_PAR)
        cb_hydro_check_growth(c);
    cb_hydro_check_plausible(c);
}
