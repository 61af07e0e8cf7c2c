/* check.c: what only the whole case shows: water that runs in circles, loads that nothing can meet. */
#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sddp/read/hydro/hydro.h"

/* A file of the case; the place lasts as long as the enclosing block. */
#define AT_FILE(c, name, at_line) (&(const cb_place){.file = path_of((char[4096]){0}, c, name), .line = (at_line)})

static const char *path_of(char path[4096], const cb_hydro_case *c, const char *file) {
    snprintf(path, 4096, "%s/%s", c->folder, file);
    return path;
}

enum { NAME_ROOM = 32 };

/* How many letters to add, drop or change, whatever their case, to get from a to b, which is shorter than NAME_ROOM. */
static size_t distance(const char *a, const char *b) {
    size_t row[NAME_ROOM], length = strlen(b);
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0]++;
        for (size_t j = 0; j < length; j++) {
            size_t change = diagonal + (tolower((unsigned char)a[i]) != b[j]);
            diagonal = row[j + 1];
            size_t step = 1 + (row[j] < diagonal ? row[j] : diagonal);
            row[j + 1] = change < step ? change : step;
        }
    }
    return row[length];
}

static void check_file(cb_hydro_case *c, const char *name) {
    static const char *const tables[] = {"load.csv",       "hydros.csv",  "thermals.csv", "exchanges.csv",
                                         "deficits.csv",   "blocks.csv",  "stages.csv",   "changes.csv",
                                         "inflows.csv",    "history.csv", "par.csv",      "past_inflows.csv",
                                         "correlation.csv"};
    const char *nearest = tables[0];
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(name, tables[i]) == 0)
            return;
        if (distance(name, tables[i]) < distance(name, nearest))
            nearest = tables[i];
    }
    cb_error_at(c->builder, AT_FILE(c, name, 0), "rename it, or move it elsewhere", "unknown table; closest name: %s",
                nearest);
}

/* A table whose name is misspelt would go unnoticed, where it is optional. */
void cb_hydro_check_files(cb_hydro_case *c) {
    struct dirent **entries = NULL;
    int count = scandir(c->folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name, *end = strrchr(name, '.');
        if (name[0] != '.' && end && strcasecmp(end, ".csv") == 0)
            check_file(c, name);
        free(entries[i]);
    }
    free(entries);
}

/* Follows turbined and spilled water from `from`; true: it comes back to `start`. */
static bool returns(const cb_hydro_case *c, size_t start, size_t from, unsigned char *seen) {
    const size_t next[2] = {cb_hydro_at(c, from)->downstream, cb_hydro_at(c, from)->spill_downstream};
    for (int i = 0; i < 2; i++) {
        if (next[i] == CB_NONE)
            continue;
        if (next[i] == start)
            return true;
        if (!seen[next[i]]++ && returns(c, start, next[i], seen))
            return true;
    }
    return false;
}

static void check_cascade(cb_hydro_case *c) {
    unsigned char *seen = cb_hydro_array(c, cb_hydros(c), 1);
    for (size_t h = 0; seen && h < cb_hydros(c); h++) {
        memset(seen, 0, cb_hydros(c));
        if (returns(c, h, h, seen)) {
            cb_error_at(c->builder, AT_FILE(c, "hydros.csv", cb_hydro_at(c, h)->line),
                        "water runs "
                        "downhill, correct the cascade",
                        "hydro %s: its water comes back to it by way of \"downstream\"", cb_hydro_at(c, h)->name);
            break; /* the others of the circle would say the same */
        }
    }
    free(seen);
}

typedef struct {
    double must, can, exports;
} supply;

static supply supply_of(const cb_hydro_case *c, size_t subsystem) {
    supply sum = {0};
    for (size_t i = 0; i < c->thermals; i++)
        if (c->thermal[i].subsystem == subsystem) {
            sum.must += c->thermal[i].min;
            sum.can += c->thermal[i].max;
        }
    for (size_t i = 0; i < cb_hydros(c); i++)
        if (cb_hydro_at(c, i)->subsystem == subsystem && cb_hydro_at(c, i)->productivity > 0)
            sum.can += cb_hydro_at(c, i)->turbine_max * cb_hydro_at(c, i)->productivity;
    for (size_t i = 0; i < c->lines; i++) {
        if (c->line[i].from == subsystem)
            sum.exports += c->line[i].max;
        if (c->line[i].to == subsystem)
            sum.can += c->line[i].max * (1 - c->line[i].loss);
    }
    return sum;
}

static double deficit_depth(const cb_hydro_case *c, size_t subsystem) {
    double depth = 0;
    for (size_t i = 0; i < c->deficits; i++)
        if (c->deficit[i].subsystem == subsystem || c->deficit[i].subsystem == CB_NONE)
            depth += c->deficit[i].depth;
    return depth;
}

/* Reports the first block of the stage in which a subsystem cannot be balanced, whatever the rest does. */
static bool check_subsystem(cb_hydro_case *c, const cb_hydro_case *now, size_t stage, size_t subsystem) {
    const double *load = &c->load[cb_hydro_period(c, c->load_key, stage) * c->blocks * c->subsystems];
    supply sum = supply_of(now, subsystem);
    double depth = deficit_depth(c, subsystem);
    for (size_t b = 0; b < c->blocks; b++) {
        double demand = load[b * c->subsystems + subsystem], slack = 1e-9 * (1 + demand);
        if (sum.must > demand + sum.exports + slack) {
            cb_error_at(c->builder, AT_FILE(c, "thermals.csv", 0), "lower \"min\"",
                        "stage %zu, subsystem %s: its thermals generate at least %g MW, but its load and "
                        "exports take at most %g",
                        stage + 1, c->subsystem[subsystem].name, sum.must, demand + sum.exports);
            return false;
        }
        if (sum.can + depth * demand < demand - slack) {
            cb_error_at(c->builder, AT_FILE(c, "load.csv", 0), "add a deficit tier",
                        "stage %zu, subsystem %s: a load of %g MW, but all its plants, imports and deficit "
                        "tiers supply at most %g",
                        stage + 1, c->subsystem[subsystem].name, demand, sum.can + depth * demand);
            return false;
        }
    }
    return true;
}

static void check_balance(cb_hydro_case *c, size_t subsystem) {
    for (size_t t = 0; t < c->stages && !c->subsystem[subsystem].random_load; t++) {
        cb_hydro_case now;
        if (!cb_hydro_at_stage(c, t, &now))
            return;
        bool good = check_subsystem(c, &now, t, subsystem);
        cb_hydro_leave_stage(&now);
        if (!good)
            return;
    }
}

static void check_first_inflow(cb_hydro_case *c) {
    for (size_t s = 0; s < c->subsystems && cb_hydros(c) > 0; s++)
        if (c->subsystem[s].random_load && !isnan(cb_hydro_at(c, 0)->first_inflow)) {
            cb_error_at(c->builder, AT_FILE(c, "hydros.csv", cb_hydro_at(c, 0)->line),
                        "give stage 1 its lines in "
                        "inflows.csv, with a column \"stage\"",
                        "first_inflow does not go with random loads");
            return;
        }
}

void cb_hydro_check(cb_hydro_case *c) {
    check_cascade(c);
    check_first_inflow(c);
    for (size_t s = 0; s < c->subsystems; s++)
        check_balance(c, s);
}
