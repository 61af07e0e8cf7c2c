/* SPDX-License-Identifier: Apache-2.0 */
/* test_options.c: the tables of options: every row sets its fields, refuses what is wrong, and is complete. */
#include "cobre/sddp.h"
#include "kit/check.h"
#include "sddp/run/decision.h"
#include "sddp/run/option_tables.h"

#include <stdlib.h>
#include <string.h>

union fields {
    cobre_sddp_load_options load;
    cobre_sddp_validate_options validate;
    cobre_sddp_train_options train;
    cobre_sddp_simulate_options simulate;
    struct cb_begin begin;
    struct cb_decision decision;
    cobre_sddp_compare_options compare;
    unsigned char byte[sizeof(cobre_sddp_train_options) + sizeof(struct cb_decision)];
};

/* A value of each option that is right and sets no field to zero, one that is wrong, and why. Without a wrong one any
 * text is right. */
static const struct example {
    const struct cb_option *rows;
    const char *name, *good, *bad, *why;
} examples[] = {
    {cb_load_rows, "scenarios", "mine.csv", NULL, NULL},
    {cb_validate_rows, "value-bound", "-2.5", "inf", "inf: not a number"},
    {cb_validate_rows, "solver", "clp", NULL, NULL},
    {cb_scenario_rows, "scenarios", "mine.csv", NULL, NULL},
    {cb_rule_rows, "iterations", "7", "0", "0: must be at least 1"},
    {cb_rule_rows, "time", "15m", "soon", "soon: not a time; write seconds, or 90s, 15m, 2h, 1d"},
    {cb_rule_rows, "stall", "20,1e-5", "20,0", "20,0: TOLERANCE must be above 0"},
    {cb_rule_rows, "gap", NULL, "yes", "yes: takes no value"},
    {cb_rule_rows, "window", "2", "1", "1: must be at least 2"},
    {cb_rule_rows, "simulation", "10,200", "x,200", "x,200: N is not a whole number"},
    {cb_rule_rows, "stop", "all", "never", "never: must be any or all"},
    {cb_train_rows, "forward-passes", "8", "-8", "-8: negative"},
    {cb_train_rows, "seed", "18446744073709551615", "18446744073709551616", "18446744073709551616: too large"},
    {cb_train_rows, "solver", "clp", NULL, NULL},
    {cb_train_rows, "multi-cut", NULL, "1", "1: takes no value"},
    {cb_train_rows, "drop-cuts", "last-active,20", "oldest", "oldest: RULE must be never, level-one or last-active"},
    {cb_train_rows, "cvar", "0.1,0.5", "0.1", "0.1: needs two values: TAIL,MEAN"},
    {cb_train_rows, "cvar", "tail=0.1,mean=0.5", "tail=0.1,0.5",
     "tail=0.1,0.5: write TAIL,MEAN, or both with their names: TAIL=..,MEAN=.."},
    {cb_train_rows, "cvar", "MEAN=0.5,Tail=0.1", "tail=2,mean=0.5",
     "tail=2,mean=0.5: TAIL must be above 0 and at most 1"},
    {cb_train_rows, "value-bound", "-2.5", "nan", "nan: not a number"},
    {cb_train_rows, "checkpoint-every", "3", "3.5",
     "3.5: not a number of iterations or a time; write 50, 300s or 5min"},
    {cb_train_rows, "checkpoint-every", "5min", "-1s",
     "-1s: not a number of iterations or a time; write 50, 300s or 5min"},
    {cb_train_rows, "resume", "policy.cobre", NULL, NULL},
    {cb_train_rows, "warm-start", "policy.cobre", NULL, NULL},
    {cb_train_rows, "accept-other-case", NULL, "1", "1: takes no value"},
    {cb_simulate_rows, "sampling", "given", "best", "best: must be in-sample, out-of-sample or given"},
    {cb_simulate_rows, "trajectories", "5", "0", "0: must be at least 1"},
    {cb_simulate_rows, "seed", "5", "", ": not a whole number"},
    {cb_simulate_rows, "max-steps", "5", "five", "five: not a whole number"},
    {cb_simulate_rows, "tables", "states,duals", NULL, NULL},
    {cb_simulate_rows, "netcdf", NULL, NULL, NULL},
    {cb_simulate_rows, "solver", "glpk", NULL, NULL},
    {cb_begin_rows, "stage", "7", "0", "0: must be at least 1"},
    {cb_begin_rows, "date", "2027-03", NULL, NULL},
    {cb_begin_rows, "node", "2 tight", NULL, NULL},
    {cb_begin_rows, "state", "Furnas=40%", NULL, NULL},
    {cb_decide_rows, "inflow", "Furnas=80%", NULL, NULL},
    {cb_decide_rows, "solver", "glpk", NULL, NULL},
    {cb_compare_rows, "by", "stage", "year", "year: must be element or stage"},
    {cb_compare_rows, "kind", "marginal_cost", " ", ": a kind is missing"},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

static const struct cb_option *const tables[] = {cb_load_rows,  cb_validate_rows, cb_scenario_rows,
                                                 cb_rule_rows,  cb_train_rows,    cb_simulate_rows,
                                                 cb_begin_rows, cb_decide_rows,   cb_compare_rows};
enum { TABLES = sizeof tables / sizeof *tables };

static bool is_in(const struct cb_field *field, size_t byte) {
    return byte >= field->offset && byte < field->offset + field->size;
}

static bool is_set(const union fields *fields, const struct cb_field *field) {
    bool set = field->size == 0;
    for (size_t i = 0; i < field->size; i++)
        set |= fields->byte[field->offset + i] != 0;
    return set;
}

static void every_row_sets_its_fields_only(void) {
    char error[CB_OPTION_ERROR] = "";
    for (size_t e = 0; e < EXAMPLES; e++) {
        const struct example *x = &examples[e];
        const struct cb_option *row = cb_option_find(x->rows, x->name);
        union fields fields;
        memset(&fields, 0, sizeof fields);
        CHECK_SAY(row != NULL, "there is no row %s", x->name);
        CHECK_SAY(cb_option_set(x->rows, x->name, x->good, &fields, error), "%s %s", x->name, error);
        CHECK_SAY(is_set(&fields, &row->given), "%s: not noted as given", x->name);
        CHECK_SAY(row->given.size || row->value[0].kind, "%s sets nothing", x->name);
        for (size_t v = 0; v < CB_OPTION_VALUES; v++)
            CHECK_SAY(is_set(&fields, &row->value[v].field) ||
                          (row->value[v].time.size && is_set(&fields, &row->value[v].time)),
                      "%s: value %zu is not set", x->name, v + 1);
        for (size_t i = 0; i < sizeof fields; i++)
            CHECK_SAY(fields.byte[i] == 0 || is_in(&row->given, i) || is_in(&row->value[0].field, i) ||
                          is_in(&row->value[1].field, i) || is_in(&row->value[0].time, i),
                      "%s: byte %zu of another field is set", x->name, i);
    }
}

/* The order does not matter where values have names; without names the first is the tail. */
static void named_values_are_the_same(void) {
    static const char *const texts[] = {"0.1,0.5", "tail=0.1,mean=0.5", "mean=0.5,tail=0.1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char error[CB_OPTION_ERROR] = "";
        cobre_sddp_train_options options = {0};
        CHECK_SAY(cb_option_set(cb_train_rows, "cvar", texts[i], &options, error), "%s", error);
        CHECK(options.has_risk && options.risk_alpha == 0.1 && options.risk_beta == 0.5);
    }
}

static void wrong_values_say_why_and_set_nothing(void) {
    const union fields zero = {.byte = {0}};
    for (size_t e = 0; e < EXAMPLES; e++) {
        const struct example *x = &examples[e];
        char error[CB_OPTION_ERROR] = "";
        union fields fields = zero;
        if (!x->bad)
            continue;
        CHECK_SAY(!cb_option_set(x->rows, x->name, x->bad, &fields, error), "%s %s is taken", x->name, x->bad);
        CHECK_TEXT(error, x->why);
        CHECK_BYTES(&fields, &zero, sizeof fields);
    }
}

static void every_row_is_complete(void) {
    for (size_t t = 0; t < TABLES; t++)
        for (const struct cb_option *row = tables[t]; row->name; row++) {
            char error[CB_OPTION_ERROR], values[64];
            union fields fields = {.byte = {0}};
            size_t e = 0;
            while (e < EXAMPLES && !(examples[e].rows == tables[t] && strcmp(examples[e].name, row->name) == 0))
                e++;
            CHECK_SAY(e < EXAMPLES, "%s has no example here", row->name);
            CHECK_SAY(cb_option_find(tables[t], row->name) == row, "%s is there twice", row->name);
            CHECK_SAY(row->help && *row->help, "%s has no help", row->name);
            CHECK_SAY(!*cb_option_values(row, values) == !row->value[0].kind, "%s: values \"%s\"", row->name, values);
            for (size_t v = 0; v < CB_OPTION_VALUES; v++) {
                struct cb_option alone[] = {{.name = "fallback", .value = {row->value[v]}}, {.name = NULL}};
                CHECK_SAY(!row->value[v].kind || (row->value[v].name && row->value[v].field.size), "%s", row->name);
                if (row->value[v].fallback)
                    CHECK_SAY(cb_option_set(alone, "fallback", row->value[v].fallback, &fields, error),
                              "%s: the fallback %s", row->name, error);
            }
        }
}

static const struct cb_option *table_of(const char *name) {
    return cb_option_find(cb_rule_rows, name) ? cb_rule_rows : cb_train_rows;
}

static void set(cobre_sddp_train_options *options, const char *name, const char *text) {
    char error[CB_OPTION_ERROR];
    CHECK_SAY(cb_option_set(table_of(name), name, text, options, error), "%s %s", name, error);
}

static void refuse(const char *name, const char *text, const char *why) {
    char error[CB_OPTION_ERROR];
    cobre_sddp_train_options options = {.struct_size = sizeof options};
    CHECK_SAY(!cb_option_set(table_of(name), name, text, &options, error), "%s %s is taken", name, text);
    CHECK_TEXT(error, why);
}

static void values_are_what_was_written(void) {
    cobre_sddp_train_options options = {.struct_size = sizeof options};
    const char *file = "a/policy.cobre";
    set(&options, "iterations", "100");
    set(&options, "time", "1.5h");
    set(&options, "stall", "20");
    CHECK(options.stall_tolerance == 0);
    set(&options, "stall", "30,1e-5");
    set(&options, "simulation", "10,200");
    set(&options, "cvar", "1,0");
    set(&options, "stop", "all");
    set(&options, "seed", "7");
    set(&options, "resume", file);
    CHECK_EQ(options.iterations, 100);
    CHECK_EQ(options.seed, 7);
    CHECK_EQ(options.stall_window, 30);
    CHECK_EQ(options.simulate_every, 10);
    CHECK_EQ(options.simulate_passes, 200);
    CHECK(options.seconds == 5400 && options.stall_tolerance == 1e-5 && options.resume == file);
    CHECK(options.has_risk && options.risk_alpha == 1 && options.risk_beta == 0 && options.stop_when_all);
    set(&options, "stop", "any");
    CHECK(!options.stop_when_all);
}

/* Without any rule training ends after 100 iterations; with any of them, when it says so. */
static void rules_replace_the_default(void) {
    static const struct {
        const char *name, *text;
        bool rule, statistical;
    } each[] = {
        {"time", "1h", true, false},      {"stall", "20", true, false},   {"gap", NULL, true, true},
        {"simulation", "10", true, true}, {"window", "50", false, false}, {"stop", "all", false, false},
        {"iterations", "7", true, false},
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        cobre_sddp_train_options options = {.struct_size = sizeof options};
        set(&options, each[i].name, each[i].text);
        uint64_t before = options.iterations;
        CHECK_SAY(cb_rules_statistical(&options) == each[i].statistical, "%s", each[i].name);
        cb_rules_default(&options);
        CHECK_SAY(options.iterations == (each[i].rule ? before : 100), "%s", each[i].name);
    }
}

static void limits(void) {
    char long_number[80];
    memset(long_number, '1', sizeof long_number);
    memcpy(long_number + 70, ",2", 3);
    refuse("cvar", "0,0.5", "0,0.5: TAIL must be above 0 and at most 1");
    refuse("cvar", "1.1,0.5", "1.1,0.5: TAIL must be above 0 and at most 1");
    refuse("cvar", "0.5,1.1", "0.5,1.1: MEAN must be from 0 to 1");
    refuse("cvar", "0.5,-1", "0.5,-1: MEAN must be from 0 to 1");
    refuse("cvar", "0.5,nan", "0.5,nan: MEAN is not a number");
    refuse("cvar", "0.5,0.5,0.5", "0.5,0.5,0.5: MEAN is not a number");
    refuse("simulation", "5,1", "5,1: PASSES must be at least 2");
    refuse("stall", "5,", "5,: TOLERANCE is not a number");
    refuse("time", "0", "0: must be above 0");
    refuse("time", "1w", "1w: not a time; write seconds, or 90s, 15m, 2h, 1d");
    refuse("iterations", NULL, "needs a value: N");
    refuse("stall", NULL, "needs a value: N[,TOLERANCE]");
    refuse("speed", "9", "there is no option speed");
    char error[CB_OPTION_ERROR];
    cobre_sddp_train_options options = {.struct_size = sizeof options};
    CHECK(!cb_option_set(cb_rule_rows, "stall", long_number, &options, error));
}

/* What no row of the planner has. */
static void texts_seconds_and_small_fields(void) {
    struct {
        const char *name;
        double pause;
        uint32_t port;
        bool loud;
    } fields = {.name = "before"};
#define FIELD(member)                                                                                                  \
    { .offset = offsetof(__typeof__(fields), member), .size = sizeof fields.member }
    const struct cb_choice choices[] = {{"soft", false}, {"loud", true}, {NULL, 0}};
    const struct cb_option rows[] = {
        {.name = "name", .value = {{.name = "TEXT", .kind = CB_VALUE_TEXT, .field = FIELD(name), .missing = "a name"}}},
        {.name = "pause",
         .value = {{.name = "T", .kind = CB_VALUE_SECONDS, .field = FIELD(pause), .above = true, .most = 60}}},
        {.name = "port", .value = {{.name = "N", .kind = CB_VALUE_COUNT, .field = FIELD(port)}}},
        {.name = "voice",
         .value = {{.name = "HOW", .kind = CB_VALUE_CHOICE, .field = FIELD(loud), .choices = choices}}},
        {.name = NULL},
    };
    char error[CB_OPTION_ERROR];
    CHECK(!cb_option_set(rows, "name", "", &fields, error));
    CHECK_TEXT(error, ": a name is missing");
    CHECK(!cb_option_set(rows, "name", " \t", &fields, error));
    CHECK_TEXT(error, ": a name is missing");
    CHECK_TEXT(fields.name, "before");
    CHECK(cb_option_set(rows, "name", "after", &fields, error));
    CHECK_TEXT(fields.name, "after");
    CHECK(!cb_option_set(rows, "pause", "2m", &fields, error));
    CHECK_TEXT(error, "2m: must be above 0 and at most 60");
    CHECK(cb_option_set(rows, "pause", "1m", &fields, error) && fields.pause == 60);
    CHECK(!cb_option_set(rows, "port", "4294967296", &fields, error));
    CHECK_TEXT(error, "4294967296: too large");
    CHECK(cb_option_set(rows, "port", "4294967295", &fields, error) && fields.port == UINT32_MAX);
    CHECK(cb_option_set(rows, "voice", "loud", &fields, error) && fields.loud);
    CHECK(cb_option_set(rows, "voice", "soft", &fields, error) && !fields.loud);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        CHECK_CASE(every_row_sets_its_fields_only),
        CHECK_CASE(named_values_are_the_same),
        CHECK_CASE(wrong_values_say_why_and_set_nothing),
        CHECK_CASE(every_row_is_complete),
        CHECK_CASE(values_are_what_was_written),
        CHECK_CASE(rules_replace_the_default),
        CHECK_CASE(limits),
        CHECK_CASE(texts_seconds_and_small_fields),
        CHECK_END,
    };
    return check_main(argc, argv, cases);
}
