/* SPDX-License-Identifier: Apache-2.0 */
/* test_trust.c: does a bound ever pass the optimum, and does it reach it, whatever the scales and however bad the solver?
 *
 *     sddp_trust turns FIRST COUNT   problems FIRST on, each with every solver; cuts and risk measures take turns
 *     sddp_trust all FIRST COUNT     every combination of them
 *     sddp_trust liar FIRST COUNT    with the solver of liar.c, whose dual values are wrong, and cases with known optima, too
 *     sddp_trust cases FIRST COUNT   cases FIRST on of those that were wrong once
 *
 * Problem n is made from (seed, n): reservoirs or a general LP, 2 to 4 stages in a row, as a Markov graph or as a cycle; noise
 * in right-hand sides, bounds, costs and coefficients. Slacks at a penalty of up to 2^20 times the largest other cost keep
 * every state feasible. Costs are scaled by 1e-12 to 1e12 and volumes by 1e-3 to 1e6; in every fifth problem each column
 * has a unit of its own. The reference is the whole scenario tree of the problem before it was scaled, solved in rational
 * arithmetic (GLPK's glp_exact), times the scales.
 *
 * No bound may pass the optimum by more than 1e-9, and the last must reach it to 1e-6, both relative. With the liar, bounds
 * need not come near, except for the known cases with the smallest lie.
 *
 * A cycle goes back to a node whose cost does not depend on the incoming state, and that has one outcome: so its value is
 * that of one round over (1 - probability * discount).
 * COBRE_TEST_SEED is the seed. */
#include <glpk.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/extensive.h"
#include "sddp/hydro_kit.h"
#include "sddp/lp/plugins.h"

#define ABOVE 1e-9
#define BELOW 1e-6

enum { CHAIN, MARKOV, CYCLE };
enum { MOST_STATES = 3, MOST_COLUMNS = 32, MOST_ITERATIONS = 1000, EXTRA_ITERATIONS = 10, RISKS = 3 };

static const cb_risk risks[RISKS] = {{1, 1}, {0.5, 0.5}, {0.125, 0.25}};

typedef struct {
    double cost, volume;
    bool units; /* a unit for each column */
} scales;

typedef struct {
    cb_rng rng, unit_rng;
    cobre_sddp_builder *p;
    scales scale;
    double sign;    /* of costs: -1 where it maximises */
    double penalty; /* of slacks */
    size_t states, stages, node, randoms, outcomes;
    bool reservoirs;
    double unit[MOST_COLUMNS], state_unit[MOST_STATES];
    double round; /* what is left after one round of the cycle; 0: there is none */
} maker;

static size_t below(maker *m, size_t count) {
    return (size_t)(cb_rng_bits(&m->rng) % count);
}

static bool chance(maker *m, double p) {
    return cb_rng_uniform(&m->rng) < p;
}

/* A multiple of 1/8 in [low, high]. */
static double number(maker *m, double low, double high) {
    return round(8 * (low + (high - low) * cb_rng_uniform(&m->rng))) / 8;
}

static double new_unit(maker *m) {
    return m->scale.units ? ldexp(1, (int)(cb_rng_bits(&m->unit_rng) % 17) - 8) : 1;
}

static size_t column_in(maker *m, double unit, double lower, double upper, double cost) {
    double size = m->scale.volume * unit;
    size_t column =
        cobre_sddp_add_column(m->p, m->node, NULL, lower * size, upper * size, m->sign * cost * m->scale.cost / unit);
    m->unit[column] = unit;
    return column;
}

static size_t column(maker *m, double lower, double upper, double cost) {
    return column_in(m, new_unit(m), lower, upper, cost);
}

static size_t row(maker *m, double lower, double upper) {
    return cobre_sddp_add_row(m->p, m->node, NULL, lower * m->scale.volume, upper * m->scale.volume);
}

static void entry(maker *m, size_t row, size_t column, double value) {
    cobre_sddp_add_entry(m->p, m->node, row, column, value / m->unit[column]);
}

/* A random variable that adds up to `most` to what it is about. */
static void noise(maker *m, cobre_sddp_noise_target target, size_t index, size_t column, double most) {
    double factor = most * m->scale.volume;
    if (target == COBRE_SDDP_NOISE_COST)
        factor = m->sign * most * m->scale.cost / m->unit[index];
    else if (target == COBRE_SDDP_NOISE_COLUMN_UPPER)
        factor = most * m->scale.volume * m->unit[index];
    else if (target == COBRE_SDDP_NOISE_ENTRY)
        factor = most / m->unit[column];
    size_t random = cobre_sddp_add_random(m->p, m->node, NULL);
    cobre_sddp_add_noise(m->p, m->node, random, factor, target, index, column);
    m->randoms++;
}

/* Values in [0, 1]; the first outcome has the least of all. */
static void outcomes(maker *m) {
    double probability = 1, value[16];
    for (size_t k = 0; k < m->outcomes; k++) {
        for (size_t i = 0; i < m->randoms; i++)
            value[i] = k == 0 ? 0 : number(m, 0, 1);
        double share = k + 1 == m->outcomes ? probability : probability * number(m, 0.25, 0.75);
        cobre_sddp_add_outcome(m->p, m->node, share, value);
        probability -= share;
    }
}

/* Lakes, one below the other or not, two thermals, deficit, and an outflow that must be kept. */
static void reservoir_stage(maker *m, bool first_of_cycle) {
    double demand = number(m, 4, 10);
    bool cascade = chance(m, 0.5);
    size_t load = row(m, demand, chance(m, 0.5) ? demand : INFINITY), turbine[MOST_STATES], spill[MOST_STATES];
    for (size_t s = 0; s < m->states; s++) {
        double unit = m->state_unit[s], inflow = number(m, 0, 2) + (first_of_cycle ? 2 : 0);
        size_t in = column_in(m, unit, -INFINITY, INFINITY, 0), out = column_in(m, unit, 0, number(m, 4, 12), 0);
        size_t water = row(m, inflow, inflow);
        turbine[s] = column(m, 0, number(m, 2, 6), 0);
        spill[s] = column(m, 0, INFINITY, chance(m, 0.5) ? 0.125 : 0);
        cobre_sddp_set_state(m->p, m->node, s, in, out);
        entry(m, water, out, 1);
        entry(m, water, turbine[s], 1);
        entry(m, water, spill[s], 1);
        if (!first_of_cycle)
            entry(m, water, in, -1);
        if (s > 0 && cascade) {
            entry(m, water, turbine[s - 1], -1);
            entry(m, water, spill[s - 1], -1);
        }
        entry(m, load, turbine[s], number(m, 0.5, 1.5));
        noise(m, COBRE_SDDP_NOISE_ROW, water, 0, number(m, 1, 4));
    }
    size_t coal = column(m, 0, number(m, 1, 3), number(m, 1, 4)), gas = column(m, 0, number(m, 1, 3), number(m, 4, 8));
    size_t deficit = column(m, 0, chance(m, 0.5) ? INFINITY : 16, m->penalty);
    entry(m, load, coal, 1);
    entry(m, load, gas, 1);
    entry(m, load, deficit, 1);
    if (chance(m, 0.5)) {
        size_t least = row(m, number(m, 0, 1), INFINITY), lack = column(m, 0, INFINITY, m->penalty / 2);
        entry(m, least, turbine[0], 1);
        entry(m, least, spill[0], 1);
        entry(m, least, lack, 1);
    }
    if (chance(m, 0.3))
        noise(m, COBRE_SDDP_NOISE_COST, gas, 0, number(m, 0, 4));
    if (chance(m, 0.3))
        noise(m, COBRE_SDDP_NOISE_ENTRY, load, turbine[0], number(m, -0.25, 0.5));
    if (chance(m, 0.3))
        noise(m, COBRE_SDDP_NOISE_COLUMN_UPPER, coal, 0, number(m, -1, 2));
}

/* Rows over any columns; what is cheap is bounded. */
static void general_stage(maker *m, bool first_of_cycle) {
    size_t any[MOST_COLUMNS], count = 0, plain = 1 + below(m, 3), rows = 1 + below(m, 3);
    for (size_t s = 0; s < m->states; s++) {
        double low = number(m, -2, 1), unit = m->state_unit[s];
        size_t in = column_in(m, unit, -INFINITY, INFINITY, 0);
        size_t out = column_in(m, unit, low, low + number(m, 2, 8), number(m, -1, 2));
        cobre_sddp_set_state(m->p, m->node, s, in, out);
        any[count++] = out;
        if (!first_of_cycle)
            any[count++] = in;
    }
    for (size_t i = 0; i < plain; i++) {
        double low = number(m, -1, 1);
        any[count++] = column(m, low, low + number(m, 1, 6), number(m, -1, 8));
    }
    for (size_t i = 0; i < rows; i++) {
        double low = number(m, -4, 6), width = number(m, 0, 4);
        size_t kind = below(m, 4), r = row(m, kind == 1 ? -INFINITY : low,
                                           kind == 0   ? low
                                           : kind == 1 ? low
                                           : kind == 2 ? INFINITY
                                                       : low + width);
        for (size_t terms = 2 + below(m, 3); terms > 0; terms--)
            entry(m, r, any[below(m, count)], number(m, -2, 2));
        entry(m, r, column(m, 0, INFINITY, m->penalty), 1);
        entry(m, r, column(m, 0, chance(m, 0.5) ? INFINITY : 64, m->penalty / 2), -1);
        if (chance(m, 0.7))
            noise(m, COBRE_SDDP_NOISE_ROW, r, 0, number(m, -4, 4));
        if (chance(m, 0.2))
            noise(m, COBRE_SDDP_NOISE_ENTRY, r, any[below(m, count)], number(m, -1, 1));
    }
    if (chance(m, 0.3))
        noise(m, COBRE_SDDP_NOISE_COST, any[count - 1], 0, number(m, -1, 4));
    cobre_sddp_add_constant(m->p, m->node, m->sign * number(m, -2, 2) * m->scale.cost * m->scale.volume);
}

static void make_node(maker *m, size_t stage, bool first_of_cycle, cb_risk risk) {
    m->node = cobre_sddp_add_node(m->p, NULL, stage + 1);
    m->randoms = 0;
    (m->reservoirs ? reservoir_stage : general_stage)(m, first_of_cycle);
    m->outcomes = stage == 0 ? 1 : 2 + below(m, m->stages < 4 ? 2 : 1);
    if (m->randoms > 0)
        outcomes(m);
    cobre_sddp_set_risk(m->p, m->node, risk.beta, risk.alpha);
}

/* Stage by stage, each with one node or two; the edges of a node add up to less than 1 now and then. */
static void make_graph(maker *m, size_t kind, cb_risk risk) {
    size_t before[2] = {COBRE_SDDP_ROOT}, befores = 1;
    m->round = 1;
    for (size_t t = 0; t < m->stages; t++) {
        size_t here[2], width = kind == MARKOV && t > 0 ? 2 : 1;
        for (size_t i = 0; i < width; i++) {
            make_node(m, t, kind == CYCLE && t == 0, risk);
            here[i] = m->node;
        }
        double discount = t > 0 && chance(m, 0.5) ? 0.875 : 1, sum = t > 0 && chance(m, 0.2) ? 0.75 : 1;
        for (size_t b = 0; b < befores; b++) {
            double first = width == 1 ? sum : sum * number(m, 0.25, 0.75);
            cobre_sddp_add_edge(m->p, before[b], here[0], first, discount);
            if (width == 2)
                cobre_sddp_add_edge(m->p, before[b], here[1], sum - first, discount);
        }
        m->round *= sum * discount;
        memcpy(before, here, sizeof before);
        befores = width;
    }
    double back = number(m, 0.25, 0.75);
    if (kind == CYCLE)
        cobre_sddp_add_edge(m->p, before[0], 0, back, 0.875);
    m->round = kind == CYCLE ? m->round * back * 0.875 : 0;
}

typedef struct {
    uint64_t seed;
    uint32_t number, attempt;
} origin;

static size_t kind_of(origin from) {
    static const size_t kinds[] = {CHAIN, MARKOV, CHAIN, CYCLE};
    return kinds[from.number % 4];
}

static cobre_comm *comm;

static void stop_here(const char *what) {
    printf("%s: %s -- %s\n", what, cobre_last_error()->message, cobre_last_error()->suggestion);
    exit(1);
}

/* The same problem for every scale. */
static cobre_sddp_problem *make(maker *m, origin from, scales scale, cb_risk risk) {
    cobre_sddp_problem *problem;
    *m = (maker){.scale = scale};
    cb_rng_start(&m->rng, from.seed, CB_RNG_OPENING, from.number, from.attempt, 0);
    cb_rng_start(&m->unit_rng, from.seed, CB_RNG_OPENING, from.number, from.attempt, 1);
    m->reservoirs = chance(m, 0.6);
    m->states = 1 + below(m, MOST_STATES);
    m->stages = 2 + below(m, kind_of(from) == MARKOV ? 2 : 3);
    m->penalty = ldexp(8, 1 + (int)below(m, 20));
    m->sign = chance(m, 0.3) ? -1 : 1;
    if (cobre_sddp_builder_new("trust", m->sign < 0, &m->p))
        stop_here("builder");
    for (size_t s = 0; s < m->states; s++) {
        m->state_unit[s] = new_unit(m);
        cobre_sddp_add_state(m->p, NULL, number(m, 0, 6) * scale.volume * m->state_unit[s]);
    }
    make_graph(m, kind_of(from), risk);
    if (cobre_sddp_finish(comm, &m->p, NULL, &problem))
        stop_here("finish");
    return problem;
}

static int bound_type(double lower, double upper) {
    if (lower == upper)
        return GLP_FX;
    if (isinf(lower))
        return isinf(upper) ? GLP_FR : GLP_UP;
    return isinf(upper) ? GLP_LO : GLP_DB;
}

/* In rational arithmetic, from the basis that doubles lead to. */
static double solve_exactly(const cb_lp_model *model) {
    glp_prob *lp = glp_create_prob();
    glp_smcp how;
    int index[MOST_COLUMNS * 64];
    double value[MOST_COLUMNS * 64];
    glp_add_rows(lp, model->rows);
    glp_add_cols(lp, model->columns);
    for (int i = 0; i < model->rows; i++)
        glp_set_row_bnds(lp, i + 1, bound_type(model->row_lower[i], model->row_upper[i]), model->row_lower[i],
                         model->row_upper[i]);
    for (int j = 0; j < model->columns; j++) {
        int count = 0;
        for (int e = model->start[j]; e < model->start[j + 1]; e++) {
            index[++count] = model->index[e] + 1;
            value[count] = model->value[e];
        }
        glp_set_mat_col(lp, j + 1, count, index, value);
        glp_set_col_bnds(lp, j + 1, bound_type(model->column_lower[j], model->column_upper[j]), model->column_lower[j],
                         model->column_upper[j]);
        glp_set_obj_coef(lp, j + 1, model->cost[j]);
    }
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    glp_term_out(GLP_OFF);
    glp_scale_prob(lp, GLP_SF_AUTO);
    glp_adv_basis(lp, 0);
    glp_simplex(lp, &how);
    glp_unscale_prob(lp);
    bool solved = glp_exact(lp, &how) == 0 && glp_get_status(lp) == GLP_OPT;
    double optimum = solved ? glp_get_obj_val(lp) : NAN;
    glp_delete_prob(lp);
    return optimum;
}

static double exact_value(origin from, cb_risk risk) {
    maker m;
    cobre_sddp_problem *problem = make(&m, from, (scales){1, 1, false}, risk);
    double value = extensive_value_by(problem, m.stages, solve_exactly) / (1 - m.round);
    cobre_sddp_problem_free(&problem);
    return value;
}

typedef struct {
    double exact, above, below; /* relative; above: the worst of all iterations, below: the last */
    bool maximise;
    uint64_t iteration, reached;
} watch;

static void on_progress(void *arg, const cobre_sddp_progress *progress) {
    watch *w = arg;
    double above = (progress->bound - w->exact) / fabs(w->exact) * (w->maximise ? -1 : 1);
    w->above = fmax(w->above, above);
    w->below = -above;
    w->iteration = progress->iteration;
    if (w->below <= BELOW / 2 && w->reached == 0)
        w->reached = w->iteration;
}

/* A few iterations more: a bound that is where it should be must stay there. */
static int may_stop(void *arg) {
    const watch *w = arg;
    return w->reached > 0 && w->iteration >= w->reached + EXTRA_ITERATIONS;
}

static size_t trainings, failed, passed, missed;

typedef struct {
    const char *solver;
    bool multi;
    uint64_t iterations; /* at most */
    double below;        /* how far below the optimum the last bound may be */
} plan;

static void train(cobre_sddp_problem *problem, double exact, plan how, const char *name) {
    watch w = {.exact = exact, .below = INFINITY, .above = -INFINITY, .maximise = problem->maximise};
    cobre_sddp_train_options options = {.struct_size = sizeof options,
                                        .solver = how.solver,
                                        .iterations = how.iterations,
                                        .forward_passes = 2,
                                        .multi_cut = how.multi,
                                        .lp_folder = "/tmp",
                                        .stop = may_stop,
                                        .progress = on_progress,
                                        .arg = &w};
    cobre_sddp_policy *policy;
    const char *wrong = NULL;
    trainings++;
    if (cobre_sddp_train(problem, &options, &policy, NULL)) {
        failed++;
        printf("%s, %s%s: %s\n", name, how.solver, how.multi ? ", multi-cuts" : "", cobre_last_error()->message);
        return;
    }
    cobre_sddp_policy_free(&policy);
    if (!(w.above <= ABOVE)) {
        passed++;
        wrong = "passes the optimum";
    } else if (!(w.below <= how.below)) {
        missed++;
        wrong = "does not reach the optimum";
    }
    if (wrong)
        printf("%s, %s%s: %s: at most %.3g above, in the end %.3g below, after %llu iterations\n", name, how.solver,
               how.multi ? ", multi-cuts" : "", wrong, w.above, w.below, (unsigned long long)w.iteration);
}

/* Even problems have powers of two, so that scaling rounds nothing. The first ten are not scaled. */
static scales scales_of(origin from) {
    cb_rng rng;
    cb_rng_start(&rng, from.seed, CB_RNG_OPENING, from.number, from.attempt, 2);
    double cost = -12 + 24 * cb_rng_uniform(&rng), volume = -3 + 9 * cb_rng_uniform(&rng);
    if (from.number < 10)
        return (scales){1, 1, false};
    bool binary = from.number % 2 == 0;
    return (scales){binary ? exp2(round(cost * log2(10))) : pow(10, cost),
                    binary ? exp2(round(volume * log2(10))) : pow(10, volume), from.number % 5 == 4};
}

/* Every solver that is here. */
static void train_with_each(cobre_sddp_problem *problem, double exact, plan how, const char *name) {
    const cb_lp_plugin *plugin;
    for (size_t s = 0; (plugin = cb_lp_plugin_at(s)); s++) {
        how.solver = plugin->name;
        if (plugin->solver)
            train(problem, exact, how, name);
    }
}

static const plan until_reached = {.iterations = MOST_ITERATIONS, .below = BELOW};

static const char *const lies[] = {"1e-6", "1e-3", "0.03", "0.3"};
enum { LIES = sizeof lies / sizeof *lies };

/* Lies and cuts take turns. */
static void train_with_liar(cobre_sddp_problem *problem, double exact, size_t turn, plan how, const char *name) {
    char longer[256];
    how.solver = "liar";
    how.multi = turn / LIES % 2 == 1;
    setenv("COBRE_TEST_LIE", lies[turn % LIES], 1);
    snprintf(longer, sizeof longer, "%s, lie %s", name, lies[turn % LIES]);
    train(problem, exact, how, longer);
}

static void check_risk(origin from, cb_risk risk, const char *mode) {
    double exact;
    for (from.attempt = 0; fabs(exact = exact_value(from, risk)) < 1; from.attempt++)
        ; /* the criteria are relative */
    char name[160];
    maker m;
    scales scale = scales_of(from);
    cobre_sddp_problem *problem = make(&m, from, scale, risk);
    exact *= scale.cost * scale.volume;
    snprintf(name, sizeof name, "problem %u.%u (%s), costs %.3g, volumes %.3g, penalty %.3g, beta %g", from.number,
             from.attempt, m.reservoirs ? "reservoirs" : "general", scale.cost, scale.volume, m.penalty, risk.beta);
    if (isnan(exact)) {
        printf("%s: the extensive form has no solution\n", name);
        failed++;
    }
    if (strcmp(mode, "liar") == 0)
        train_with_liar(problem, exact, from.number, (plan){.iterations = 25, .below = INFINITY}, name);
    for (int multi = 0; multi < 2; multi++) {
        plan how = until_reached;
        how.multi = multi;
        if (strcmp(mode, "all") == 0 || (strcmp(mode, "turns") == 0 && multi == (int)(from.number / RISKS % 2)))
            train_with_each(problem, exact, how, name);
    }
    cobre_sddp_problem_free(&problem);
}

static void check(origin from, const char *mode) {
    for (size_t r = 0; r < RISKS; r++)
        if (strcmp(mode, "all") == 0 || r == from.number % RISKS)
            check_risk(from, risks[r], mode);
}

static cobre_sddp_problem *load(const char *path) {
    cobre_sddp_problem *problem;
    if (cobre_sddp_load(comm, path, NULL, &problem))
        stop_here(path);
    return problem;
}

/* With every lie, single cuts and multi-cuts. */
static void lie_about_cases(void) {
    static const struct {
        const char *path;
        double value;
        uint64_t iterations;
    } cases[] = {{COBRE_SOURCE "/cases/toy", 2625, 25},
                 {COBRE_SOURCE "/cases/reservoir", 715.0 / 6, 25},
                 {COBRE_SOURCE "/cases/brazil3", 782309.1877977113, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cobre_sddp_problem *problem = load(cases[i].path);
        for (size_t turn = 0; turn < 2 * (size_t)LIES; turn++)
            train_with_liar(problem, cases[i].value, turn,
                            (plan){.iterations = cases[i].iterations, .below = turn % LIES == 0 ? 0.05 : INFINITY},
                            cases[i].path);
        cobre_sddp_problem_free(&problem);
    }
}

/* Costs so small that solvers took them for zero, and a penalty of 1e12 that is never paid. */
static void check_file(const char *path) {
    cobre_sddp_problem *problem = load(path);
    double exact = extensive_value_by(problem, SIZE_MAX, solve_exactly);
    train_with_each(problem, exact, until_reached, path);
    cobre_sddp_problem_free(&problem);
}

static void check_tiny_costs(void) {
    check_file(COBRE_SOURCE "/tests/cases/tiny_costs.sof.json");
}

static void check_penalty(void) {
    check_file(COBRE_SOURCE "/tests/cases/penalty.sof.json");
}

/* Columns without bounds, or with bounds of 1e18: an incoming state that its node alone does not limit, a state, columns
 * that are free, and a free state of a cycle. */
static void check_open(void) {
    check_file(COBRE_SOURCE "/tests/cases/open_state.sof.json");
    check_file(COBRE_SOURCE "/tests/cases/open_far.sof.json");
    check_file(COBRE_SOURCE "/tests/cases/open_free.sof.json");
    cobre_sddp_problem *cycle = load(COBRE_SOURCE "/tests/cases/open_cycle.sof.json"); /* x' = x / 2 + w costs x' */
    train_with_each(cycle, 16.0 / 3, until_reached, "open_cycle");
    cobre_sddp_problem_free(&cycle);
}

static void check_cost_scales(void) {
    static const double scale[] = {1e-12, 1e-9, 1e6};
    for (size_t i = 0; i < sizeof scale / sizeof *scale; i++) {
        char line[64], name[64];
        snprintf(line, sizeof line, "\"cost_scale\": %g, \"units\"", scale[i]);
        snprintf(name, sizeof name, "brazil3, costs %g", scale[i]);
        kit_make_folder();
        kit_copy("brazil3");
        kit_edit("case.json", "\"units\"", line);
        cobre_sddp_problem *problem = load(kit_folder);
        kit_remove_folder();
        train_with_each(problem, 782309.1877977113 * scale[i], (plan){.iterations = 40, .below = 1e-4}, name);
        cobre_sddp_problem_free(&problem);
    }
}

/* Stage LPs of about 800 rows. */
static void check_150_hydros(void) {
    cobre_sddp_problem *problem = load(COBRE_SOURCE "/tests/cases/hydros150");
    train_with_each(problem, 3048429681.444, (plan){.iterations = 130, .below = 1e-3}, "150 hydros");
    cobre_sddp_problem_free(&problem);
}

static void check_cases(size_t first, size_t count) {
    static void (*const checks[])(void) = {check_tiny_costs, check_penalty, check_open, check_cost_scales,
                                           check_150_hydros};
    for (size_t i = first; i < first + count && i < sizeof checks / sizeof *checks; i++)
        checks[i]();
}

int main(int argc, char **argv) {
    const char *text = getenv("COBRE_TEST_SEED"), *mode = argc == 4 ? argv[1] : "";
    bool random = strcmp(mode, "turns") == 0 || strcmp(mode, "all") == 0 || strcmp(mode, "liar") == 0;
    origin from = {.seed = text ? strtoull(text, NULL, 10) : 1};
    if (!random && strcmp(mode, "cases") != 0) {
        fputs("usage: sddp_trust turns|all|liar|cases FIRST COUNT\n", stderr);
        return 2;
    }
    uint32_t first = (uint32_t)strtoul(argv[2], NULL, 10), count = (uint32_t)strtoul(argv[3], NULL, 10);
    if (cobre_comm_open(NULL, &comm) != COBRE_OK)
        return 1;
    for (from.number = first; random && from.number < first + count; from.number++)
        check(from, mode);
    if (strcmp(mode, "liar") == 0)
        lie_about_cases();
    if (!random)
        check_cases(first, count);
    printf("seed %llu: %zu trainings: %zu failed, %zu passed the optimum, %zu did not reach it\n",
           (unsigned long long)from.seed, trainings, failed, passed, missed);
    cobre_comm_free(&comm);
    return failed + passed + missed > 0;
}
