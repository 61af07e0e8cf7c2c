/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c: decides when training ends. Each rule that is set holds or does not hold. Training ends if any of them
 * holds, or all, as the user asks; a request to stop always ends it. All ranks decide alike, because the rules see only
 * the policy and the news of the iteration.
 *
 * A rule is a line in COBRE_SDDP_STOP_MAP and a field of cobre_sddp_train_options (both in sddp.h). Here it is an
 * option, two functions, and a row of the table. */
#include "sddp/train/rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/train/trainer.h"

const char *cobre_sddp_stop_name(cobre_sddp_stop stop) {
    switch (stop) {
#define STOP_NAME(code, name)                                                                                          \
    case COBRE_SDDP_STOP_##code: return name;
        COBRE_SDDP_STOP_MAP(STOP_NAME)
#undef STOP_NAME
    }
    return "?";
}

#define GROUP "Stopping rules; training ends when one holds (default: --iterations 100):"
#define FIELD(member) CB_FIELD(cobre_sddp_train_options, member)

const struct cb_option cb_rule_rows[] = {
    {.name = "iterations",
     .help = "stop after N iterations in all; of a resumed training, earlier ones count, too",
     .group = GROUP,
     .value = {{.name = "N", .kind = CB_VALUE_COUNT, .field = FIELD(iterations), .least = 1}},
     .again = true},
    {.name = "time",
     .help = "stop after this time: 90, 90s, 15m, 2h, 1d",
     .group = GROUP,
     .value = {{.name = "T", .kind = CB_VALUE_SECONDS, .field = FIELD(seconds), .above = true}},
     .again = true},
    {.name = "stall",
     .help = "stop when the bound moved by no more than TOLERANCE, relative, over N iterations",
     .group = GROUP,
     .value = {{.name = "N", .kind = CB_VALUE_COUNT, .field = FIELD(stall_window), .least = 1},
               {.name = "TOLERANCE",
                .kind = CB_VALUE_REAL,
                .field = FIELD(stall_tolerance),
                .above = true,
                .optional = true,
                .fallback = "1e-6"}},
     .again = true},
    {.name = "gap",
     .help = "stop when the bound lies within the 95 % interval of the simulated cost",
     .group = GROUP,
     .given = FIELD(gap_rule),
     .again = true},
    {.name = "window",
     .help = "number of last forward passes that the gap rule looks at",
     .group = GROUP,
     .value = {{.name = "N", .kind = CB_VALUE_COUNT, .field = FIELD(window), .least = 2, .fallback = "100"}},
     .again = true},
    {.name = "simulation",
     .help = "stop when a simulation of PASSES passes, every N iterations, has the bound in its interval",
     .group = GROUP,
     .value = {{.name = "N", .kind = CB_VALUE_COUNT, .field = FIELD(simulate_every), .least = 1},
               {.name = "PASSES",
                .kind = CB_VALUE_COUNT,
                .field = FIELD(simulate_passes),
                .least = 2,
                .optional = true,
                .fallback = "500"}},
     .again = true},
    {.name = "stop",
     .help = "stop when any of the rules holds (default), or when all do",
     .group = GROUP,
     .value = {{.name = "any|all",
                .kind = CB_VALUE_CHOICE,
                .field = FIELD(stop_when_all),
                .choices = (const struct cb_choice[]){{"any", false}, {"all", true}, {NULL, 0}}}},
     .again = true},
    {.name = NULL},
};

static bool limits_iterations(const cobre_sddp_train_options *options) {
    return options->iterations > 0;
}

static cobre_status enough_iterations(cb_trainer *trainer, bool *holds) {
    *holds = trainer->policy->iterations >= trainer->options.iterations;
    return COBRE_OK;
}

static bool limits_time(const cobre_sddp_train_options *options) {
    return options->seconds > 0;
}

static cobre_status out_of_time(cb_trainer *trainer, bool *holds) {
    *holds = trainer->news.seconds >= trainer->options.seconds;
    return COBRE_OK;
}

static bool watches_bound(const cobre_sddp_train_options *options) {
    return options->stall_window > 0;
}

static cobre_status stalled(cb_trainer *trainer, bool *holds) {
    const cobre_sddp_policy *policy = trainer->policy;
    uint64_t window = trainer->options.stall_window, last = policy->iterations;
    if (last <= window)
        return COBRE_OK;
    double now = policy->trace[last - 1].bound, then = policy->trace[last - 1 - window].bound;
    *holds = fabs(now - then) <= trainer->options.stall_tolerance * fmax(1, fabs(now));
    return COBRE_OK;
}

static bool watches_gap(const cobre_sddp_train_options *options) {
    return options->gap_rule;
}

static cobre_status gap_closed(cb_trainer *trainer, bool *holds) {
    if (trainer->policy->iterations == 0)
        return COBRE_OK;
    cobre_sddp_progress last = cb_policy_progress(trainer->policy, trainer->policy->iterations);
    *holds = last.window_passes >= trainer->options.window && fabs(last.window_mean - last.bound) <= last.window_half;
    return COBRE_OK;
}

static bool simulates(const cobre_sddp_train_options *options) {
    return options->simulate_every > 0;
}

/* Trajectories [first, last), one after another. */
static cobre_status simulate(cb_trainer *trainer, size_t first, size_t last, double *cost) {
    cobre_sddp_policy *policy = trainer->policy;
    for (size_t m = first; m < last; m++) {
        CB_TRY(cb_trainer_stopped(trainer, 1));
        CB_TRY(cb_simulate_costs(policy, &trainer->stages, policy->seed, CB_RNG_RULE, (uint32_t)policy->iterations, m,
                                 m + 1, &cost[m - first]));
    }
    return COBRE_OK;
}

/* This rank's share, in rounds. Whoever asks it to end need not wait for this, because the iteration is complete; and all
 * ranks hear of it after a round, also if one alone was asked. */
static cobre_status simulate_rounds(cb_trainer *trainer, size_t passes, size_t first, size_t last, double *cost) {
    enum { ROUND = 16 };
    size_t longest = (passes + trainer->ranks - 1) / trainer->ranks;
    for (size_t done = 0; done < longest; done += ROUND) {
        size_t from = first + done < last ? first + done : last, to = from + ROUND < last ? from + ROUND : last;
        CB_TRY(cb_agree(trainer->comm, simulate(trainer, from, to, cost + (from - first))));
    }
    return COBRE_OK;
}

/* Simulates the policy and compares. */
static cobre_status simulation_agrees(cb_trainer *trainer, bool *holds) {
    cobre_sddp_policy *policy = trainer->policy;
    uint64_t every = trainer->options.simulate_every;
    size_t passes = trainer->options.simulate_passes, first, last;
    if (policy->iterations == 0 || policy->iterations % every != 0)
        return COBRE_OK;
    double begin = cb_clock(), mean, deviation;
    cb_block(passes, trainer->rank, trainer->ranks, &first, &last);
    double *cost = malloc((last - first + 1) * sizeof *cost);
    cobre_status status =
        cb_agree(trainer->comm, cost ? COBRE_OK : cb_no_memory("simulated costs", passes * sizeof *cost));
    if (!status)
        status = simulate_rounds(trainer, passes, first, last, cost);
    if (!status)
        status = cb_mean_deviation(trainer->comm, cost, last - first, passes, &mean, &deviation);
    free(cost);
    cb_tally_add(trainer, COBRE_SDDP_EFFORT_SIMULATION, begin);
    CB_TRY(status);
    double half = 1.96 * deviation / sqrt((double)passes);
    *holds = fabs(mean - policy->trace[policy->iterations - 1].bound) <= half;
    return COBRE_OK;
}

/* A run that several rules end is named after the first of them. */
static const struct rule {
    cobre_sddp_stop stop;
    bool (*is_set)(const cobre_sddp_train_options *options);
    cobre_status (*holds)(cb_trainer *trainer, bool *holds); /* *holds is false before; it may be collective */
    bool converges;                                          /* it looks for convergence; the others limit the effort */
    bool statistical; /* it compares simulated costs with the bound, which says nothing with a risk measure */
} rules[] = {
    {COBRE_SDDP_STOP_ITERATIONS, limits_iterations, enough_iterations, .converges = false, .statistical = false},
    {COBRE_SDDP_STOP_TIME, limits_time, out_of_time, .converges = false, .statistical = false},
    {COBRE_SDDP_STOP_STALLED, watches_bound, stalled, .converges = true, .statistical = false},
    {COBRE_SDDP_STOP_GAP, watches_gap, gap_closed, .converges = true, .statistical = true},
    {COBRE_SDDP_STOP_SIMULATION, simulates, simulation_agrees, .converges = true, .statistical = true},
};
enum { RULES = sizeof rules / sizeof *rules };

static bool any_is_set(const cobre_sddp_train_options *options) {
    bool any = false;
    for (size_t r = 0; r < RULES; r++)
        any |= rules[r].is_set(options);
    return any;
}

void cb_rules_default(cobre_sddp_train_options *options) {
    options->iterations = any_is_set(options) ? options->iterations : 100;
    options->stall_tolerance = options->stall_tolerance > 0 ? options->stall_tolerance : 1e-6;
    options->window = options->window ? options->window : 100;
    options->simulate_passes = options->simulate_passes ? options->simulate_passes : 500;
}

bool cb_rules_late(const cb_trainer *trainer) {
    cobre_sddp_train_options others = trainer->options;
    others.seconds = 0;
    return limits_time(&trainer->options) && trainer->news.seconds >= trainer->options.seconds &&
           (!others.stop_when_all || !any_is_set(&others));
}

bool cb_rules_statistical(const cobre_sddp_train_options *options) {
    bool any = false;
    for (size_t r = 0; r < RULES; r++)
        any |= rules[r].statistical && rules[r].is_set(options);
    return any;
}

bool cb_rules_can_converge(const cobre_sddp_train_options *options) {
    bool any = false;
    for (size_t r = 0; r < RULES; r++)
        any |= rules[r].converges && rules[r].is_set(options);
    return any;
}

bool cb_rules_converged(const cobre_sddp_train_options *options, cobre_sddp_stop stop) {
    bool found = stop == COBRE_SDDP_STOP_ALL_RULES && cb_rules_can_converge(options);
    for (size_t r = 0; r < RULES; r++)
        found |= rules[r].converges && rules[r].stop == stop;
    return found;
}

bool cb_options_averse(const cobre_sddp_problem *problem, const cobre_sddp_train_options *options) {
    return options->has_risk ? options->risk_beta < 1 : cobre_sddp_problem_averse(problem);
}

/* Copies the fields of the rules, to or from where they lie one behind the other. */
static void copy_rules(cobre_sddp_train_options *options, unsigned char *packed, bool pack) {
    for (const struct cb_option *row = cb_rule_rows; row->name; row++) {
        const struct cb_field field[] = {row->given, row->value[0].field, row->value[1].field};
        for (size_t i = 0; i < sizeof field / sizeof *field; packed += field[i++].size) {
            unsigned char *own = (unsigned char *)options + field[i].offset;
            memcpy(pack ? packed : own, pack ? own : packed, field[i].size);
        }
    }
}

void cb_rules_pack(const cobre_sddp_train_options *options, unsigned char packed[CB_RULES_BYTES]) {
    cobre_sddp_train_options copy = *options;
    memset(packed, 0, CB_RULES_BYTES);
    copy_rules(&copy, packed, true);
}

void cb_rules_unpack(cobre_sddp_train_options *options, const unsigned char packed[CB_RULES_BYTES]) {
    unsigned char copy[CB_RULES_BYTES];
    memcpy(copy, packed, sizeof copy);
    copy_rules(options, copy, false);
}

bool cb_rules_differ(const cobre_sddp_train_options *one, const cobre_sddp_train_options *other) {
    unsigned char packed[2][CB_RULES_BYTES];
    cb_rules_pack(one, packed[0]);
    cb_rules_pack(other, packed[1]);
    return memcmp(packed[0], packed[1], CB_RULES_BYTES) != 0;
}

void cb_rules_copy(cobre_sddp_train_options *to, const cobre_sddp_train_options *from) {
    unsigned char packed[CB_RULES_BYTES];
    cb_rules_pack(from, packed);
    cb_rules_unpack(to, packed);
}

static void name_rules(char *text, size_t size) {
    size_t length = 0;
    for (const struct cb_option *row = cb_rule_rows; row->name && length < size; row++)
        length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "", row->name);
}

bool cb_rules_change(cobre_sddp_train_options *options, bool averse, const char *name, const char *text,
                     char error[CB_OPTION_ERROR]) {
    cobre_sddp_train_options changed = *options;
    const struct cb_option *row = cb_option_find(cb_rule_rows, name);
    char wrong[CB_OPTION_ERROR], names[128];
    bool flag = row && !row->value[0].kind;
    *error = 0;
    name_rules(names, sizeof names);
    if (!row)
        snprintf(error, CB_OPTION_ERROR, "there is no rule %.40s: they are %s", name, names);
    else if (strcmp(text, "off") == 0)
        cb_option_unset(row, &changed);
    else if (flag && strcmp(text, "on") != 0)
        snprintf(error, CB_OPTION_ERROR, "%s %.40s: write on or off", name, text);
    else if (!cb_option_set(cb_rule_rows, name, flag ? NULL : text, &changed, wrong))
        snprintf(error, CB_OPTION_ERROR, "%s %.400s", name, wrong);
    if (!*error && !any_is_set(&changed))
        snprintf(error, CB_OPTION_ERROR, "one rule must remain: set another one first");
    if (!*error && changed.simulate_passes > UINT32_MAX)
        snprintf(error, CB_OPTION_ERROR, "%s: %zu passes are too many", name, changed.simulate_passes);
    if (!*error && averse && cb_rules_statistical(&changed))
        snprintf(error, CB_OPTION_ERROR,
                 "%s: with a risk measure the mean of simulated costs bounds nothing; stop by iterations, by time or "
                 "when the bound stalls",
                 name);
    if (*error)
        return false;
    cb_rules_default(&changed);
    *options = changed;
    return true;
}

cobre_status cb_rules_check(cb_trainer *trainer, cobre_sddp_stop *stop) {
    size_t set = 0, hold = 0;
    cobre_sddp_stop first = COBRE_SDDP_STOP_NOT_YET;
    for (size_t r = 0; r < RULES; r++) {
        bool holds = false;
        if (!rules[r].is_set(&trainer->options))
            continue;
        CB_TRY(rules[r].holds(trainer, &holds));
        set++;
        hold += holds;
        if (holds && !first)
            first = rules[r].stop;
    }
    if (trainer->news.asked != 0)
        *stop = COBRE_SDDP_STOP_ASKED;
    else if (!trainer->options.stop_when_all || set == 1)
        *stop = first;
    else
        *stop = hold == set ? COBRE_SDDP_STOP_ALL_RULES : COBRE_SDDP_STOP_NOT_YET;
    return COBRE_OK;
}
