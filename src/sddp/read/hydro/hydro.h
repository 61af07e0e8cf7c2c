/* hydro.h: a hydrothermal case while it is read. docs/case-format.md is the format; the names here are its names.
 *
 * Reading goes in three steps. The tables fill cb_hydro_case, each checking its own lines (elements.c, series.c, inflow.c,
 * par.c); then check.c looks at what only the whole shows; and if nothing was wrong, build.c makes one node for each
 * stage. After an error a field may be NaN or an index CB_NONE: comparisons with them are false, so that one mistake is
 * reported once.
 *
 * Units. time: hours or months (h). power: MW. energy: MW h. Water units: flow m3/s, volume hm3, and a flow of 1 over h
 * hours is 0.0036 h hm3. Energy units: flow MW, volume MW h, and a flow of 1 over h is a volume of h. */
#ifndef COBRE_SDDP_READ_HYDRO_HYDRO_H
#define COBRE_SDDP_READ_HYDRO_HYDRO_H

#include "sddp/read/csv.h"

enum { CB_HYDRO_MAX_LAGS = 24 };

/* What the lines of a series stand for. */
typedef enum { CB_HYDRO_ALWAYS, CB_HYDRO_BY_STAGE, CB_HYDRO_BY_SEASON } cb_hydro_key;

typedef enum { CB_HYDRO_TABLE, CB_HYDRO_HISTORY, CB_HYDRO_PAR } cb_hydro_source;

/* Where electricity is balanced: a subsystem, or a transshipment node, which has neither load nor plants. */
typedef struct {
    const char *name;
    bool transshipment;
    bool random_load; /* inflows.csv has a column load[name] */
} cb_hydro_subsystem;

typedef struct {
    const char *name;
    size_t line, subsystem;
    double min, max, cost;
} cb_hydro_thermal;

typedef struct {
    const char *name;
    size_t line, subsystem;
    size_t downstream, spill_downstream; /* hydros; CB_NONE: the water is gone */
    double productivity, storage_min, storage_max, storage_initial, turbine_max;
    double spill_max, spill_cost, outflow_min, outflow_penalty;
    double first_inflow;    /* NaN: stage 1 is as random as the others */
    size_t lags;            /* PAR: the most that any season uses */
    bool may_lack;          /* its inflow can be negative */
    bool reservoir;         /* it can store water in some stage ... */
    double lowest, highest; /* ... and these are its limits over all stages */
    size_t state;           /* storage; then come the inflows of the last stages, latest first */
    size_t lag_state;
} cb_hydro_hydro;

typedef struct {
    size_t line, from, to;
    double max, cost, loss;
} cb_hydro_line;

typedef struct {
    const char *tier;
    size_t line, subsystem; /* CB_NONE: every subsystem */
    double depth, cost;
} cb_hydro_deficit;

typedef struct {
    const char *name;
    size_t line;
    double duration, discount, beta, alpha;
} cb_hydro_stage;

/* The outcomes of one stage or season: an inflow for each hydro, then a load for each subsystem. */
typedef struct {
    size_t count, room, line;
    double *probability, *values;
} cb_hydro_outcomes;

/* One hydro in one season. */
typedef struct {
    bool given;
    size_t lags;
    double mean, scale, noise, phi[CB_HYDRO_MAX_LAGS];
} cb_hydro_par;

/* changes.csv: another value, in a stage or season, for a number of thermals, hydros or exchanges. */
typedef struct {
    size_t line, period, element;
    const struct cb_hydro_kind *kind;
    size_t field;
    double value;
} cb_hydro_change;

typedef struct {
    cobre_sddp_builder *builder;
    const char *folder;
    char *json_path; /* of case.json */
    char **kept;     /* names, freed with the case */
    size_t kept_count, kept_room;

    char *name;
    bool water, months, has_value_bound, has_cycle;
    size_t stages, seasons, first_season;
    double duration, discount, annual_rate, cost_scale, beta, alpha, value_bound;
    size_t cycle_to;
    double cycle_probability;
    cb_hydro_source source;
    size_t openings, seed;
    bool lognormal;
    double first_year, last_year, lack_cost;

    size_t subsystems, thermals, hydros, lines, deficits, blocks, changes;
    size_t subsystems_room, thermals_room, hydros_room, lines_room, deficits_room, blocks_room, changes_room;
    cb_hydro_subsystem *subsystem;
    cb_hydro_thermal *thermal;
    cb_hydro_hydro *hydro;
    cb_hydro_line *line;
    cb_hydro_deficit *deficit;
    const char **block; /* names; one without a name when there is no blocks.csv */
    bool hydros_unsure; /* hydros.csv has lines that could not be read */
    cb_hydro_change *change;
    cb_hydro_key change_key;

    cb_hydro_stage *stage;
    cb_hydro_key load_key, share_key, inflow_key;
    double *load;                /* of period, block, subsystem; in MW */
    double *share;               /* of period, block */
    cb_hydro_outcomes *outcomes; /* of each period */
    double *years;               /* of the history, in the order of its outcomes */
    size_t year_count;
    cb_hydro_key par_key, correlation_key;
    cb_hydro_par *par; /* of period, hydro */
    double *cholesky;  /* of period: hydros x hydros, lower triangle; while being read, the correlations */
    double *past;      /* of hydro, lag: the inflow `lag` + 1 stages before the first */
} cb_hydro_case;

static inline size_t cb_hydros(const cb_hydro_case *c) {
    return c->hydros;
}

static inline cb_hydro_hydro *cb_hydro_at(const cb_hydro_case *c, size_t index) {
    return &c->hydro[index];
}

/* A number in a line of a table. */
typedef struct {
    const char *name;
    size_t offset;    /* in the element's struct */
    double fallback;  /* NaN: it must be given */
    double low, high; /* inclusive */
    const char *unit; /* said when it is out of range, with what to do */
} cb_hydro_field;

/* The tables whose numbers may change from stage to stage. */
typedef struct cb_hydro_kind {
    const char *table;
    const cb_hydro_field *field;
    size_t fields;
} cb_hydro_kind;

extern const cb_hydro_kind cb_hydro_kind_thermals, cb_hydro_kind_hydros, cb_hydro_kind_exchanges; /* elements.c */

/* table.c: what all readers of tables share. */
void *cb_hydro_array(cb_hydro_case *c, size_t count, size_t size); /* zeroed; NULL: no memory, noted */
char *cb_hydro_keep(cb_hydro_case *c, const char *text); /* a copy that lives as long as the case; "" without memory */
bool cb_hydro_open(cb_hydro_case *c, const char *file, bool optional, cb_csv *table);
double cb_hydro_number(cb_hydro_case *c, const cb_csv *table, size_t row, size_t column, const cb_hydro_field *field);
size_t cb_hydro_whole(cb_hydro_case *c, const cb_csv *table, size_t row, size_t column, size_t low, size_t high,
                      const char *what); /* CB_NONE: reported */
void cb_hydro_fields(cb_hydro_case *c, cb_csv *table, const size_t *columns, size_t row, const cb_hydro_field *field,
                     size_t count, void *element);
void cb_hydro_field_columns(cb_hydro_case *c, cb_csv *table, const cb_hydro_field *field, size_t count,
                            size_t *columns);
bool cb_hydro_good_name(cb_hydro_case *c, const cb_place *at, const char *name); /* else reported */

/* The name in a field as an index; `names` lists what is known. CB_NONE: reported. */
typedef const char *cb_hydro_names(const cb_hydro_case *c, size_t index); /* NULL past the end; "" is skipped */
size_t cb_hydro_find(const cb_hydro_case *c, cb_hydro_names *names, const char *name);
size_t cb_hydro_refer(cb_hydro_case *c, const cb_csv *table, size_t row, size_t column, cb_hydro_names *names,
                      const char *kind, const char *from);
const char *cb_hydro_subsystem_name(const cb_hydro_case *c, size_t index);
const char *cb_hydro_balance_name(const cb_hydro_case *c, size_t index);
const char *cb_hydro_thermal_name(const cb_hydro_case *c, size_t index);
const char *cb_hydro_hydro_name(const cb_hydro_case *c, size_t index);
const char *cb_hydro_block_name(const cb_hydro_case *c, size_t index);

/* A table keyed by stage, by season or by nothing. */
cb_hydro_key cb_hydro_find_key(cb_hydro_case *c, cb_csv *table, size_t *column);
size_t cb_hydro_periods(const cb_hydro_case *c, cb_hydro_key key);
size_t cb_hydro_period(const cb_hydro_case *c, cb_hydro_key key, size_t stage); /* stage from 0 */
size_t cb_hydro_read_period(cb_hydro_case *c, const cb_csv *table, size_t row, cb_hydro_key key, size_t column);
void cb_hydro_period_text(cb_hydro_key key, size_t period, char text[32]); /* "stage 3", "season 1", "every stage" */

/* The readers, in the order that they need each other. */
void cb_hydro_read_json(cb_hydro_case *c);   /* json.c */
void cb_hydro_read_stages(cb_hydro_case *c); /* series.c */
void cb_hydro_read_blocks(cb_hydro_case *c);
void cb_hydro_read_elements(cb_hydro_case *c); /* elements.c */
void cb_hydro_check_thermal(cb_hydro_case *c, const cb_place *at, const cb_hydro_thermal *thermal);
void cb_hydro_check_hydro(cb_hydro_case *c, const cb_place *at, const cb_hydro_hydro *hydro);
void cb_hydro_read_inflows(cb_hydro_case *c); /* inflow.c */
void cb_hydro_read_history(cb_hydro_case *c);
void cb_hydro_read_par(cb_hydro_case *c);         /* par.c */
void cb_hydro_read_correlation(cb_hydro_case *c); /* correlation.c */
void cb_hydro_read_load(cb_hydro_case *c);        /* series.c; after the inflows, which may hold random loads */
void cb_hydro_read_changes(cb_hydro_case *c);     /* changes.c */
bool cb_hydro_at_stage(cb_hydro_case *c, size_t stage,
                       cb_hydro_case *now); /* a copy with the changes made; false: no memory */
void cb_hydro_leave_stage(cb_hydro_case *now);
void cb_hydro_check_files(cb_hydro_case *c); /* check.c: reports tables that are none of a case's */
void cb_hydro_check(cb_hydro_case *c);
void cb_hydro_build(cb_hydro_case *c); /* build.c */

/* One stage while it is built. */
typedef struct {
    cb_hydro_case *c; /* as it is in this stage */
    cb_place at;      /* of the stage */
    size_t node, stage;
    double hours;    /* of the stage, or months */
    double volume;   /* of a flow of 1 over the stage */
    size_t *water;   /* row of each hydro */
    size_t *balance; /* row of block, subsystem */
    size_t *deficit; /* column of block, subsystem, deficit; CB_NONE: none */
} cb_hydro_builder;

const char *cb_hydro_name(const char *kind, const char *a, const char *b, const char *block); /* until the next call */
void cb_hydro_build_inflow(cb_hydro_builder *b);                                              /* build_inflow.c */
void cb_hydro_build_scenarios(cb_hydro_case *c);                  /* the years of the history, for simulation */
void cb_hydro_build_par(cb_hydro_builder *b);                     /* build_par.c */
void cb_hydro_scenario_noise(cb_hydro_case *c, const char *path); /* the noise that makes the inflows of this table */
void cb_hydro_add_factors(cb_hydro_case *c); /* of the noise of each period; before any cb_hydro_build_par */

#endif
