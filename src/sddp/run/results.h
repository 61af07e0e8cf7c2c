/* SPDX-License-Identifier: Apache-2.0 */
/* results.h: reads a run folder back, for reports, comparisons and questions. */
#ifndef COBRE_SDDP_RUN_RESULTS_H
#define COBRE_SDDP_RUN_RESULTS_H

#include "cobre/sddp.h"
#include "sddp/arena.h"

/* A key,value table: summary.csv, simulation.csv. */
struct cb_facts {
    struct cb_fact {
        const char *key, *value;
    } * at;
    size_t count, room;
};
const char *cb_fact(const struct cb_facts *facts, const char *key);   /* "" if there is none */
double cb_fact_number(const struct cb_facts *facts, const char *key); /* NaN if there is none */

enum { CB_PERCENTILES = 5 }; /* 5, 25, 50, 75, 95 */

/* A row of statistics.csv. */
struct cb_point {
    size_t step, stage; /* stage 0: not known */
    const char *date;   /* "": not known */
    double count, mean, deviation, minimum, percentile[CB_PERCENTILES], maximum;
    double positive; /* the share of trajectories in which it is above 0 */
};

/* A row of training.csv. */
struct cb_iteration {
    double iteration, bound;
    double mean, half; /* of the last forward passes, and half its interval; NaN with a single pass */
};

/* One figure over the steps. */
struct cb_series {
    const char *table, *kind, *level, *element, *unit;
    struct cb_point *point;
    size_t points, room;
    struct cb_point total; /* of the whole trajectories; count 0: it has none */
};

struct cb_results {
    const char *folder;
    cb_arena memory;                     /* of all texts */
    struct cb_facts summary, simulation; /* of the training; of the simulation, empty if there was none */
    struct cb_iteration *trace;          /* of the training */
    size_t iterations, trace_room;
    struct cb_series *series; /* in the order of statistics.csv */
    size_t count, room;
    double *cost; /* of each trajectory, from costs.csv */
    size_t costs, costs_room;
    bool no_memory;
};

/* Reads the facts only. */
cobre_status cb_results_facts(struct cb_results *results, const char *folder);

/* Reads all files that exist; the results of others are empty. Fails without memory. The caller frees the results, also
 * then. */
cobre_status cb_results_read(struct cb_results *results, const char *folder);
void cb_results_free(struct cb_results *results);

/* The first series of that kind at that level, or of that element; NULL: there is none. element NULL: any. */
const struct cb_series *cb_results_find(const struct cb_results *results, const char *kind, const char *level,
                                        const char *element);

#endif
