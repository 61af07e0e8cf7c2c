/* SPDX-License-Identifier: Apache-2.0 */
/* hydro.h: a hydrothermal case while it is read. docs/case-format.md is the format; the names here are its names.
 *
 * Reading has three phases. First the readers of tables fill cb_hydro_case, and check each line (elements.c, series.c,
 * inflow.c, par.c). Then check.c makes the checks that need the whole case. If there was no error, build.c makes one node
 * per stage. A cb_hydro_kind describes a kind of elements (hydros, thermals, ...), each in its own file in elements/; only
 * code about water knows hydros. After an error a field may be NaN or an index CB_NONE: comparisons with them are false, so
 * that one mistake is reported once.
 *
 * Units. time: hours or months (h). power: MW. energy: MW h. Water units: flow m3/s, volume hm3, and a flow of 1 over h
 * hours is 0.0036 h hm3. Energy units: flow MW, volume MW h, and a flow of 1 over h is a volume of h. */
#ifndef COBRE_SDDP_READ_HYDRO_HYDRO_H
#define COBRE_SDDP_READ_HYDRO_HYDRO_H

#include <math.h>
#include <stddef.h>

#include "sddp/arena.h"
#include "sddp/read/csv.h"
#include "sddp/read/reader.h"

enum { CB_HYDRO_MAX_LAGS = 24 };

/* The key of the lines of a series. */
typedef enum { CB_HYDRO_ALWAYS, CB_HYDRO_BY_STAGE, CB_HYDRO_BY_SEASON } cb_hydro_key;

typedef enum { CB_HYDRO_TABLE, CB_HYDRO_HISTORY, CB_HYDRO_PAR } cb_hydro_source;

/* Electricity is balanced at a subsystem, or at a transshipment node, which has neither load nor plants. */
typedef struct {
    const char *name;
    bool transshipment;
    bool random_load; /* inflows.csv has a column load[name] */
} cb_hydro_subsystem;

/* The kinds of elements, in the order in which they enter a stage's LP: X(NAME, name) has a descriptor
 * cb_hydro_kind_name in elements/. */
#define CB_HYDRO_KIND_MAP(X)                                                                                           \
    X(HYDRO, hydro)                                                                                                    \
    X(THERMAL, thermal)                                                                                                \
    X(DEFICIT, deficit)                                                                                                \
    X(EXCHANGE, exchange)

#define CB_HYDRO_INDEX(NAME, name) CB_KIND_##NAME,
enum { CB_HYDRO_KIND_MAP(CB_HYDRO_INDEX) CB_KINDS };
#undef CB_HYDRO_INDEX

/* Every element's struct begins with this. */
typedef struct {
    const char *name; /* "": an error was reported */
    size_t line;      /* of its table */
} cb_hydro_element;

/* All elements of a kind. */
typedef struct {
    void *at; /* count structs of the kind */
    size_t count;
    bool unsure; /* the table, or some lines of it, could not be read */
} cb_hydro_list;

/* hydros.csv */
typedef struct {
    cb_hydro_element base;
    size_t subsystem;
    size_t downstream, spill_downstream; /* hydros; CB_NONE: the water leaves the system */
    double productivity, storage_min, storage_max, storage_initial, turbine_max;
    double spill_max, spill_cost, outflow_min, outflow_penalty;
    double first_inflow; /* NaN: stage 1 is as random as the others */
    size_t lags;         /* PAR: the largest number of lags of any season */
    bool may_lack;       /* its inflow can be negative */
    double worth;        /* the most MW that a flow of 1 can make on its way down, through turbines or over spillways */
    double saves, saved; /* the most that a unit of volume saves in penalties: here, and on its way down */
    bool reservoir;      /* it can store water in some stage; */
    double lowest, highest; /* its limits over all stages */
    size_t state;           /* storage; then come the inflows of the last stages, latest first */
    size_t lag_state;
} cb_hydro_hydro;

typedef struct {
    const char *name;
    const char *date; /* when it begins; "": not known */
    size_t line;
    double duration, discount, beta, alpha;
} cb_hydro_stage;

/* The outcomes of one stage or season: an inflow for each hydro, then a load for each subsystem. */
typedef struct {
    size_t count, room, line; /* line: of the first */
    double *probability, *values;
} cb_hydro_outcomes;

/* One hydro in one season. */
typedef struct {
    bool given;
    size_t lags;
    double mean, scale, noise, phi[CB_HYDRO_MAX_LAGS];
} cb_hydro_par;

/* A line of changes.csv: another value of an element's number, in a stage or season. */
typedef struct {
    size_t line, period, kind, element, field;
    double value;
} cb_hydro_change;

typedef struct {
    cobre_sddp_builder *builder;
    const char *folder;
    const char *json_path; /* of case.json */
    bool unsure;           /* case.json has an unknown key or word: tables may have another meaning */
    cb_arena arena;        /* memory of cb_hydro_array and cb_hydro_text */

    const char *name;
    const char *start;    /* the date of stage 1; "": not known */
    const char *currency; /* of costs */
    bool water, months, has_value_bound, has_cycle;
    size_t stages, seasons, first_season;
    double duration, discount, annual_rate, cost_scale, beta, alpha, value_bound;
    size_t cycle_to;
    double cycle_probability;
    cb_terminal terminal; /* its file: as a path from here */
    cb_hydro_source source;
    size_t openings, seed;
    bool lognormal;
    double first_year, last_year, lack_cost;
    double dearest; /* the highest cost of a MWh that serves load, in any stage */

    cb_hydro_list list[CB_KINDS]; /* the elements */
    size_t subsystems, blocks, changes;
    cb_hydro_subsystem *subsystem; /* first those with load, then the transshipment nodes */
    const char **block;            /* names; one without a name when there is no blocks.csv */
    bool blocks_unsure;            /* as of a list */
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
    return c->list[CB_KIND_HYDRO].count;
}

static inline cb_hydro_hydro *cb_hydro_at(const cb_hydro_case *c, size_t index) {
    return (cb_hydro_hydro *)c->list[CB_KIND_HYDRO].at + index;
}

static inline const char *cb_hydro_at_name(const cb_hydro_case *c, size_t index) {
    return cb_hydro_at(c, index)->base.name;
}

/* Is the inflow of stage 1 known? It is, for all hydros or for none. */
static inline bool cb_hydro_first_known(const cb_hydro_case *c) {
    return cb_hydros(c) > 0 && !isnan(cb_hydro_at(c, 0)->first_inflow);
}

/* A number in a line of a table. If the field is empty, or its column missing, it has the fallback. */
typedef struct {
    const char *name;
    size_t offset;    /* in the element's struct */
    const char *unit; /* for the advice about a wrong number: "give ..." */
    double fallback;  /* may be NaN */
    double low, high; /* inclusive */
    bool required;    /* there is no fallback */
    bool water;       /* required in water units */
    bool fixed;       /* changes.csv cannot change it */
} cb_hydro_field;

/* Names that a column may hold. */
typedef struct {
    const void *at; /* count structs that begin with a name; "" is none */
    size_t count, size;
    const char *word; /* the kind of the names: "subsystem" */
    char file[64];    /* where more can be added; "": nowhere */
    bool unsure;      /* their table could not be read completely: an unknown name may be right */
} cb_hydro_names;

/* A column that names something. It is looked up when the whole table has been read. */
typedef struct {
    const char *name;
    size_t offset; /* of the index, a size_t, in the element's struct; CB_NONE: not given, or reported */
    cb_hydro_names (*names)(const cb_hydro_case *c);
    bool optional;
} cb_hydro_reference;

/* What elements contribute to the balance of a subsystem, in MW. */
typedef struct {
    double must, can;       /* the least and the most that they generate or bring in */
    const char *must_table; /* the first table whose elements must generate; set by the caller */
    double exports;         /* the most that they take away */
    double depth;           /* the share of the load that may stay unserved */
    double dearest;         /* the highest cost of a MWh that serves load */
} cb_hydro_supply;

typedef struct cb_hydro_builder cb_hydro_builder;

/* A kind of elements: a table with a line for each. Functions may be NULL. */
typedef struct {
    const char *table; /* "thermals": of thermals.csv, and several of them */
    const char *word;  /* "thermal": one of them */
    size_t size;       /* of its struct */
    const char *name;  /* the column of their names; NULL: complete() makes them */
    bool tiers;        /* several may share a name, and without its column it is the row's number: changes.csv cannot
                          tell them apart, and they are not counted */
    const cb_hydro_field *field;
    const cb_hydro_reference *reference;
    size_t fields, references;

    /* Checks one element: as in the table, and in each stage in which changes.csv changes it. */
    void (*check)(cb_hydro_case *c, const cb_place *at, const void *element);

    /* Element i is row i of the table. Fills in members that depend on other elements, and checks them. */
    void (*complete)(cb_hydro_case *c, const cb_hydro_list *list, cb_csv *table);

    void (*supply)(const cb_hydro_list *list, size_t subsystem, cb_hydro_supply *sum); /* adds their part */

    /* Labels their columns and rows, for tables and reports. */
    void (*describe)(cb_hydro_case *c, const cb_hydro_list *list);

    /* Add their parts to the problem: states; to each stage; then to each block of a stage. */
    void (*add_states)(cb_hydro_case *c, const cb_place *at, const cb_hydro_list *list);
    void (*build_stage)(cb_hydro_builder *b, const cb_hydro_list *list);
    void (*build_block)(cb_hydro_builder *b, const cb_hydro_list *list, size_t block);
} cb_hydro_kind;

#define CB_HYDRO_MEMBER(type, member) .name = #member, .offset = offsetof(type, member) /* of a field or a reference */
#define CB_COUNT(array) (sizeof(array) / sizeof *(array))

extern const cb_hydro_kind *const cb_hydro_kinds[CB_KINDS]; /* elements.c */

static inline cb_hydro_element *cb_hydro_element_at(const cb_hydro_case *c, size_t kind, size_t index) {
    return (cb_hydro_element *)((char *)c->list[kind].at + index * cb_hydro_kinds[kind]->size);
}

/* table.c: functions that all readers of tables share. */
void *cb_hydro_array(cb_hydro_case *c, size_t count, size_t size); /* zeroed; NULL: no memory, noted */
const char *cb_hydro_text(cb_hydro_case *c, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* "": no memory, noted */
/* The place of a line in a file of the case; 0: of the file. */
cb_place cb_hydro_place(cb_hydro_case *c, const char *file, size_t line);
#define CB_HYDRO_AT(...) ((const cb_place[]){cb_hydro_place(__VA_ARGS__)}) /* as an argument */
bool cb_hydro_open(cb_hydro_case *c, const char *file, bool optional, cb_csv *table);
double cb_hydro_number(cb_hydro_case *c, const cb_csv *table, size_t row, size_t column, const cb_hydro_field *field);
size_t cb_hydro_whole(cb_hydro_case *c, const cb_csv *table, size_t row, size_t column, size_t low, size_t high,
                      const char *what); /* CB_NONE: reported */
void cb_hydro_fields(cb_hydro_case *c, cb_csv *table, const size_t *columns, size_t row, const cb_hydro_field *field,
                     size_t count, void *element);
void cb_hydro_field_columns(cb_hydro_case *c, cb_csv *table, const cb_hydro_field *field, size_t count,
                            size_t *columns);
bool cb_hydro_good_name(cb_hydro_case *c, const cb_place *at, const char *name); /* if not, it reports */

/* The name in a field as an index. CB_NONE: reported. */
size_t cb_hydro_refer(cb_hydro_case *c, const cb_csv *table, size_t row, size_t column, cb_hydro_names names);
size_t cb_hydro_find(cb_hydro_names names, const char *name); /* CB_NONE: there is none */
cb_hydro_names cb_hydro_names_of(const cb_hydro_case *c, size_t kind);
cb_hydro_names cb_hydro_hydro_names(const cb_hydro_case *c);
cb_hydro_names cb_hydro_subsystem_names(const cb_hydro_case *c); /* those with load */
cb_hydro_names cb_hydro_node_names(const cb_hydro_case *c);      /* and the transshipment nodes */
cb_hydro_names cb_hydro_block_names(const cb_hydro_case *c);

/* A table has a key: stage, season or none. */
cb_hydro_key cb_hydro_find_key(cb_hydro_case *c, cb_csv *table, size_t *column);
size_t cb_hydro_periods(const cb_hydro_case *c, cb_hydro_key key);
size_t cb_hydro_period(const cb_hydro_case *c, cb_hydro_key key, size_t stage); /* stage from 0 */
size_t cb_hydro_read_period(cb_hydro_case *c, const cb_csv *table, size_t row, cb_hydro_key key, size_t column);
void cb_hydro_period_text(cb_hydro_key key, size_t period, char text[32]); /* "stage 3", "season 1", "every stage" */

/* The readers, in the order in which they must be called. */
void cb_hydro_read_json(cb_hydro_case *c);   /* json.c */
void cb_hydro_read_stages(cb_hydro_case *c); /* series.c */
void cb_hydro_read_blocks(cb_hydro_case *c);
void cb_hydro_read_elements(cb_hydro_case *c); /* elements.c */
void cb_hydro_read_inflows(cb_hydro_case *c);  /* inflow.c */
void cb_hydro_read_history(cb_hydro_case *c);
void cb_hydro_read_par(cb_hydro_case *c);         /* par.c */
void cb_hydro_read_correlation(cb_hydro_case *c); /* correlation.c */
void cb_hydro_read_load(cb_hydro_case *c);        /* series.c; after the inflows, which may hold random loads */
void cb_hydro_read_changes(cb_hydro_case *c);     /* changes.c */
bool cb_hydro_at_stage(cb_hydro_case *c, size_t stage,
                       cb_hydro_case *now); /* now: a copy with the changes; false: no memory */
void cb_hydro_leave_stage(cb_hydro_case *now);
void cb_hydro_check_files(cb_hydro_case *c); /* check.c: reports files that are not tables of a case */
void cb_hydro_check(cb_hydro_case *c);
void cb_hydro_check_growth(cb_hydro_case *c);    /* growth.c */
void cb_hydro_check_plausible(cb_hydro_case *c); /* plausible.c: warnings */
void cb_hydro_build(cb_hydro_case *c);           /* build.c */

/* dates.c: is this a date, "2027-03" or "2027-03-15"? And: sets the date of each stage. */
bool cb_hydro_is_date(const char *text);
void cb_hydro_date_stages(cb_hydro_case *c);

/* describe.c: sets the units of the case, and labels the columns, rows, ... of a name. */
typedef enum {
    CB_HYDRO_POWER,
    CB_HYDRO_FLOW,
    CB_HYDRO_VOLUME,
    CB_HYDRO_ENERGY,
    CB_HYDRO_PRICE,       /* of energy */
    CB_HYDRO_WATER_PRICE, /* of a volume */
    CB_HYDRO_NO_UNIT
} cb_hydro_unit;
typedef struct {
    cobre_sddp_part part;
    const char *kind, *element, *block, *type, *subsystem;
    cb_hydro_unit unit;
    double sign, energy; /* sign: 0 is 1 */
    bool detail;
} cb_hydro_label;
void cb_hydro_describe(cb_hydro_case *c, const char *name, const cb_hydro_label *label);
void cb_hydro_describe_all(cb_hydro_case *c);

/* A column whose upper bound is a share of a load, which may be random. */
typedef struct cb_hydro_follower {
    const struct cb_hydro_follower *next;
    size_t column, subsystem;
    double share;
} cb_hydro_follower;

/* A stage under construction. */
struct cb_hydro_builder {
    cb_hydro_case *c; /* with the changes of this stage */
    cb_place at;      /* of the stage */
    size_t node, stage;
    double hours;                       /* of the stage, or months */
    double volume;                      /* of a flow of 1 over the stage */
    size_t *water;                      /* row of each hydro */
    size_t *balance;                    /* row of block, subsystem */
    const cb_hydro_follower *followers; /* a list */
};

const char *cb_hydro_name(const char *kind, const char *a, const char *b,
                          const char *block); /* valid until the next call */
size_t cb_hydro_column(cb_hydro_builder *b, const char *name, double lower, double upper, double cost); /* unscaled */
size_t cb_hydro_row(cb_hydro_builder *b, const char *name, double lower, double upper);
void cb_hydro_entry(cb_hydro_builder *b, size_t row, size_t column, double value);
void cb_hydro_noise(cb_hydro_builder *b, cb_noise_target target, size_t index, size_t column, size_t random,
                    double factor);
size_t cb_hydro_balance(const cb_hydro_builder *b, size_t block, size_t subsystem); /* its row, in energy */
double cb_hydro_share(const cb_hydro_builder *b, size_t block);                     /* of the stage's time */
double cb_hydro_hours(const cb_hydro_builder *b, size_t block);
double cb_hydro_load(const cb_hydro_builder *b, size_t block, size_t subsystem); /* 0 if it is random */
void cb_hydro_follow_load(cb_hydro_builder *b, size_t subsystem, size_t column, double share);
cb_hydro_supply cb_hydro_supply_of(const cb_hydro_case *c, size_t subsystem); /* check.c */

void cb_hydro_build_inflow(cb_hydro_builder *b); /* build_inflow.c */
void cb_hydro_build_scenarios(cb_hydro_case *c); /* the years of the history, for simulation */
void cb_hydro_build_par(cb_hydro_builder *b);    /* build_par.c */
void cb_hydro_add_factors(cb_hydro_case *c);     /* of the noise of each period; before any cb_hydro_build_par */

#endif
