/* SPDX-License-Identifier: Apache-2.0 */
/* random.c COUNT [FIRST [write]]: random small problems, trained, against the whole scenario tree as one LP.
 *
 * Problem n is a StochOptFormat file made from (seed, n): stages in a row, Markov graphs and cycles; noise in right-hand
 * sides, costs, coefficients and constants; every kind of set; free and bounded states; rows that are empty, doubled or
 * say nothing. Slacks at a price keep every state feasible. In every fourth problem (open) bounds of columns are missing, or
 * up to 1e12; if that leaves it without an optimum, or without a bound of the future cost, it is left out. It is trained with each solver, single cuts and multi-cuts,
 * in expectation and with a nested CVaR. No bound may ever pass the exact value, and the last must reach it.
 *
 * A cycle goes on with a probability of 0.2, so that a tree of 6 steps has nearly all of the cost; in deeper ones the LP
 * solver's tolerances are larger than what is left.
 * COBRE_TEST_SEED is the seed; the file of a failure stays. write: only writes the files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sddp/extensive.h"
#include "sddp/lp/plugins.h"
#include "sddp/run/option_tables.h"

enum { CHAIN, MARKOV, CYCLE, KINDS };

#define MOST 1000. /* of a slack: more than any row can lack */

typedef struct {
    FILE *out;
    cb_rng rng;
    size_t states, plain, randoms, rows; /* of a subproblem; plain: columns that are no states and no slacks */
    bool maximise, open;
    double cost[3]; /* of plain columns, as if it minimised */
} maker;

static size_t below(maker *m, size_t count) {
    return (size_t)(cb_rng_bits(&m->rng) % count);
}

static bool chance(maker *m, double p) {
    return cb_rng_uniform(&m->rng) < p;
}

/* A round number in [low, high]: ties and degeneracy are likely. */
static double number(maker *m, double low, double high) {
    double value = low + (high - low) * cb_rng_uniform(&m->rng);
    return chance(m, 0.5) ? round(value) : round(value * 100) / 100;
}

static double sense(const maker *m) {
    return m->maximise ? -1 : 1;
}

static const char *comma(bool *first) {
    const char *text = *first ? "" : ", ";
    *first = false;
    return text;
}

/* Some name of a column, slacks aside. */
static void any_column(maker *m, char name[32]) {
    size_t k = below(m, 2 * m->states + m->plain);
    if (k < m->states)
        snprintf(name, 32, "in%zu", k);
    else if (k < 2 * m->states)
        snprintf(name, 32, "out%zu", k - m->states);
    else
        snprintf(name, 32, "y%zu", k - 2 * m->states);
}

static void term(maker *m, bool *first, const char *name, double coefficient) {
    fprintf(m->out, "%s{\"variable\": \"%s\", \"coefficient\": %.17g}", comma(first), name, coefficient);
}

static void products(maker *m, size_t count, double low, double high) {
    bool first = true;
    fprintf(m->out, "\"quadratic_terms\": [");
    for (size_t i = 0; i < count; i++) {
        char name[32], random[32];
        any_column(m, name);
        snprintf(random, sizeof random, "w%zu", below(m, m->randoms));
        bool turned = chance(m, 0.5);
        fprintf(m->out, "%s{\"variable_1\": \"%s\", \"variable_2\": \"%s\", \"coefficient\": %g}", comma(&first),
                turned ? name : random, turned ? random : name, number(m, low, high));
    }
    fprintf(m->out, "], ");
}

/* Costs of either sign: what is cheap is bounded. */
static void objective(maker *m) {
    bool quadratic = m->randoms > 0 && chance(m, 0.6), first = true;
    fprintf(m->out, "\"objective\": {\"sense\": \"%s\", \"function\": {\"type\": \"%s\", ", m->maximise ? "max" : "min",
            quadratic ? "ScalarQuadraticFunction" : "ScalarAffineFunction");
    if (quadratic)
        products(m, 1 + below(m, 2), -1, 1);
    fprintf(m->out, "\"%s\": [", quadratic ? "affine_terms" : "terms");
    for (size_t i = 0; i < m->plain; i++) {
        char name[32];
        snprintf(name, sizeof name, "y%zu", i);
        m->cost[i] = number(m, -4, 9);
        term(m, &first, name, sense(m) * m->cost[i]);
    }
    for (size_t s = 0; s < m->states; s++) {
        char name[32];
        snprintf(name, sizeof name, chance(m, 0.3) ? "in%zu" : "out%zu", s);
        term(m, &first, name, sense(m) * number(m, -2, 3));
    }
    for (size_t i = 0; i < m->randoms; i++)
        if (chance(m, 0.3)) {
            char name[32];
            snprintf(name, sizeof name, "w%zu", i);
            term(m, &first, name, number(m, -2, 2));
        }
    for (size_t i = 0; i < m->rows; i++) {
        char name[32];
        snprintf(name, sizeof name, "short%zu", i);
        term(m, &first, name, sense(m) * 40);
        snprintf(name, sizeof name, "over%zu", i);
        term(m, &first, name, sense(m) * 30);
    }
    fprintf(m->out, "], \"constant\": %g}},\n", number(m, -5, 5));
}

static void row(maker *m, size_t index) {
    bool quadratic = m->randoms > 0 && chance(m, 0.4), empty = chance(m, 0.1), first = true;
    double low = number(m, -6, 6);
    fprintf(m->out, "  {\"function\": {\"type\": \"%s\", ",
            quadratic ? "ScalarQuadraticFunction" : "ScalarAffineFunction");
    if (quadratic)
        products(m, empty ? 0 : 1 + below(m, 2), -1, 1);
    fprintf(m->out, "\"%s\": [", quadratic ? "affine_terms" : "terms");
    for (size_t terms = empty ? 0 : 1 + below(m, 4); terms > 0; terms--) {
        char name[32];
        any_column(m, name);
        term(m, &first, name, number(m, -3, 3));
    }
    if (m->randoms > 0 && chance(m, 0.6)) {
        char name[32];
        snprintf(name, sizeof name, "w%zu", below(m, m->randoms));
        term(m, &first, name, number(m, -2, 2));
    }
    char slack[32];
    snprintf(slack, sizeof slack, "short%zu", index);
    term(m, &first, slack, 1);
    snprintf(slack, sizeof slack, "over%zu", index);
    term(m, &first, slack, -1);
    fprintf(m->out, "], \"constant\": %g}, \"set\": ", number(m, -1, 1));
    switch (below(m, 4)) {
    case 0: fprintf(m->out, "{\"type\": \"EqualTo\", \"value\": %g}},\n", low); break;
    case 1: fprintf(m->out, "{\"type\": \"LessThan\", \"upper\": %g}},\n", low); break;
    case 2: fprintf(m->out, "{\"type\": \"GreaterThan\", \"lower\": %g}},\n", low); break;
    default: fprintf(m->out, "{\"type\": \"Interval\", \"lower\": %g, \"upper\": %g}},\n", low, low + number(m, 0, 5));
    }
}

static void bound(maker *m, const char *name, double low, double high) {
    fprintf(m->out, "  {\"function\": {\"type\": \"Variable\", \"name\": \"%s\"}, \"set\": ", name);
    if (isinf(low) && isinf(high))
        fprintf(m->out, "{\"type\": \"GreaterThan\", \"lower\": -1e30}},\n");
    else if (isinf(low))
        fprintf(m->out, "{\"type\": \"LessThan\", \"upper\": %g}},\n", high);
    else if (low == high)
        fprintf(m->out, "{\"type\": \"EqualTo\", \"value\": %g}},\n", low);
    else if (isinf(high))
        fprintf(m->out, "{\"type\": \"GreaterThan\", \"lower\": %g}},\n", low);
    else
        fprintf(m->out, "{\"type\": \"Interval\", \"lower\": %g, \"upper\": %g}},\n", low, high);
}

/* Bounds less, or so far away that they never bind; what is cheap keeps its bound. */
static void open_up(maker *m, double cost, double *low, double *high) {
    if (!m->open || chance(m, 0.6))
        return;
    double far = chance(m, 0.5) ? INFINITY : pow(10, 8 + (double)below(m, 5));
    if (cost >= 0)
        *high = far;
    if (cost <= 0)
        *low = -far;
}

static void bounds(maker *m) {
    char name[32];
    for (size_t s = 0; s < m->states; s++) {
        double low = number(m, -4, 2), high = low + number(m, 0, 8);
        if (chance(m, 0.15)) { /* free by its bounds, and held by a row */
            fprintf(m->out,
                    "  {\"function\": {\"type\": \"ScalarAffineFunction\", \"terms\": [{\"variable\": \"out%zu\", "
                    "\"coefficient\": 1}], \"constant\": 0}, \"set\": {\"type\": \"Interval\", \"lower\": %g, "
                    "\"upper\": %g}},\n",
                    s, low, high);
            continue;
        }
        snprintf(name, sizeof name, "out%zu", s);
        bound(m, name, low, high);
        if (chance(m, 0.2)) /* once more, wider */
            bound(m, name, low - 1, high + 1);
    }
    for (size_t i = 0; i < m->plain; i++) {
        double low = number(m, -2, 1), high = low + number(m, 0, 6);
        snprintf(name, sizeof name, "y%zu", i);
        open_up(m, m->cost[i], &low, &high);
        bound(m, name, low, high);
    }
    for (size_t i = 0; i < m->rows; i++) {
        snprintf(name, sizeof name, "short%zu", i);
        bound(m, name, 0, MOST);
        snprintf(name, sizeof name, "over%zu", i);
        bound(m, name, 0, chance(m, 0.5) ? MOST : INFINITY);
    }
}

static void names(maker *m, const char *kind, size_t count, bool *first) {
    for (size_t i = 0; i < count; i++)
        fprintf(m->out, "%s{\"name\": \"%s%zu\"}", comma(first), kind, i);
}

static void subproblem(maker *m, size_t index, bool last) {
    bool first = true;
    m->plain = 1 + below(m, 3);
    m->rows = 1 + below(m, 3);
    fprintf(m->out, " \"p%zu\": {\"state_variables\": {", index);
    for (size_t s = 0; s < m->states; s++)
        fprintf(m->out, "%s\"x%zu\": {\"in\": \"in%zu\", \"out\": \"out%zu\"}", comma(&first), s, s, s);
    fprintf(m->out, "}, \"random_variables\": [");
    first = true;
    for (size_t i = 0; i < m->randoms; i++)
        fprintf(m->out, "%s\"w%zu\"", comma(&first), i);
    fprintf(m->out, "],\n \"subproblem\": {\"variables\": [");
    first = true;
    names(m, "in", m->states, &first);
    names(m, "w", m->randoms, &first);
    names(m, "out", m->states, &first);
    names(m, "y", m->plain, &first);
    names(m, "short", m->rows, &first);
    names(m, "over", m->rows, &first);
    fprintf(m->out, "],\n ");
    objective(m);
    fprintf(m->out, " \"constraints\": [\n");
    for (size_t i = 0; i < m->rows; i++) {
        cb_rng before = m->rng;
        row(m, i);
        if (chance(m, 0.1)) { /* the same once more */
            m->rng = before;
            row(m, i);
        }
    }
    bounds(m);
    bound(m, "over0", 0, MOST);
    fseek(m->out, -2, SEEK_CUR); /* the last comma */
    fprintf(m->out, "\n ]}}%s\n", last ? "" : ",");
}

/* Probabilities that add up to `sum`; the last takes what is left. Some are 0. */
static void shares(maker *m, double *share, size_t count, double sum) {
    double left = sum;
    for (size_t i = 0; i + 1 < count; i++) {
        share[i] = chance(m, 0.1) ? 0 : round(100 * left * (0.2 + 0.6 * cb_rng_uniform(&m->rng))) / 100;
        left -= share[i];
    }
    share[count - 1] = left;
}

static void successors(maker *m, size_t first, size_t count, double sum) {
    double share[4];
    bool begin = true;
    shares(m, share, count, sum);
    fprintf(m->out, "\"successors\": {");
    for (size_t i = 0; i < count; i++)
        fprintf(m->out, "%s\"n%zu\": %.17g", comma(&begin), first + i, share[i]);
    fprintf(m->out, "}");
}

static void realizations(maker *m, size_t most) {
    double share[4];
    size_t count = 1 + below(m, most);
    bool first = true;
    shares(m, share, count, 1);
    fprintf(m->out, "\"realizations\": [");
    for (size_t k = 0; k < count && m->randoms > 0; k++) {
        bool begin = true;
        fprintf(m->out, "%s{\"probability\": %.17g, \"support\": {", comma(&first), share[k]);
        for (size_t i = 0; i < m->randoms; i++)
            fprintf(m->out, "%s\"w%zu\": %g", comma(&begin), i, number(m, -3, 3));
        fprintf(m->out, "}}");
    }
    fprintf(m->out, "]");
}

static void write_problem(maker *m, size_t kind) {
    size_t stages = kind == CYCLE ? 1 : 1 + below(m, 3), width[4], first[4], nodes = 0;
    m->states = 1 + below(m, 3);
    m->randoms = below(m, 3);
    m->maximise = chance(m, 0.5);
    for (size_t t = 0; t < stages; t++) {
        first[t] = nodes;
        nodes += width[t] = kind == MARKOV ? 1 + below(m, 2) : 1;
    }
    fprintf(m->out, "{\"version\": {\"major\": 1, \"minor\": 0}, \"root\": {\"state_variables\": {");
    for (size_t s = 0; s < m->states; s++)
        fprintf(m->out, "%s\"x%zu\": %g", s ? ", " : "", s, number(m, -4, 6));
    fprintf(m->out, "}, ");
    successors(m, 0, width[0], 1);
    fprintf(m->out, "},\n\"nodes\": {\n");
    for (size_t t = 0; t < stages; t++)
        for (size_t i = 0; i < width[t]; i++) {
            fprintf(m->out, " \"n%zu\": {\"subproblem\": \"p%zu\", ", first[t] + i, t);
            realizations(m, kind == CYCLE ? 2 : 3);
            if (t + 1 < stages || kind == CYCLE) {
                fprintf(m->out, ", ");
                successors(m, kind == CYCLE ? 0 : first[t + 1], kind == CYCLE ? 1 : width[t + 1],
                           kind == CYCLE    ? 0.2
                           : chance(m, 0.3) ? number(m, 0, 1)
                                            : 1);
            }
            fprintf(m->out, "}%s\n", first[t] + i + 1 < nodes ? "," : "");
        }
    fprintf(m->out, "},\n\"subproblems\": {\n");
    for (size_t t = 0; t < stages; t++)
        subproblem(m, t, t + 1 == stages);
    fprintf(m->out, "}}\n");
}

static char path[128];
static cobre_comm *comm;

typedef struct {
    double exact, worst; /* worst: how far a bound passed the exact value */
    bool maximise;
} watch;

static void on_progress(void *arg, const cobre_sddp_progress *progress) {
    watch *w = arg;
    double past = w->maximise ? w->exact - progress->bound : progress->bound - w->exact;
    w->worst = fmax(w->worst, past);
}

static bool complain(const char *what) {
    printf("%s: %s: %s -- %s\n", path, what, cobre_last_error()->message, cobre_last_error()->suggestion);
    return false;
}

/* As users write it: "0.2,0.9" is the tail and the weight of the mean. */
static bool set_risk(cobre_sddp_train_options *options, cb_risk risk) {
    char text[64], error[CB_OPTION_ERROR];
    snprintf(text, sizeof text, "%g,%g", risk.alpha, risk.beta);
    return risk.beta == 1 || cb_option_set(cb_train_rows, "cvar", text, options, error);
}

static bool train(cobre_sddp_problem *problem, const char *solver, bool multi, cb_risk risk, double exact, bool cycle,
                  const cobre_sddp_validate_options *bound_options) {
    double bound = NAN, allowed = cycle ? 1e-3 * fmax(100, fabs(exact)) : 1e-6 * fmax(1, fabs(exact));
    watch w = {.exact = exact, .maximise = problem->maximise};
    for (uint64_t iterations = 30; iterations <= 3000; iterations *= 10) {
        cobre_sddp_train_options options = {.struct_size = sizeof options,
                                            .solver = solver,
                                            .iterations = iterations,
                                            .forward_passes = 3,
                                            .multi_cut = multi,
                                            .has_value_bound = bound_options->has_value_bound,
                                            .value_bound = bound_options->value_bound,
                                            .lp_folder = "/tmp",
                                            .progress = on_progress,
                                            .arg = &w};
        cobre_sddp_policy *policy;
        if (!set_risk(&options, risk) || cobre_sddp_train(problem, &options, &policy, NULL))
            return complain(solver);
        bound = cobre_sddp_policy_bound(policy);
        cobre_sddp_policy_free(&policy);
        if (w.worst > allowed || fabs(bound - exact) <= allowed)
            break;
    }
    if (w.worst <= allowed && fabs(bound - exact) <= allowed)
        return true;
    printf("%s: %s%s, beta %g, alpha %g: bound %.12g, exact %.12g, passed by %g\n", path, solver,
           multi ? ", multi-cuts" : "", risk.beta, risk.alpha, bound, exact, w.worst);
    return false;
}

static size_t left_out;

static bool leave_out(cobre_sddp_problem *problem) {
    cobre_sddp_problem_free(&problem);
    left_out++;
    return true;
}

static bool check(size_t kind, const maker *m) {
    enum { STEPS = 6 };
    static const cb_risk risks[] = {{1, 1}, {0.9, 0.2}, {0, 0.3}};
    cobre_sddp_problem *problem;
    cobre_sddp_validate_options options = {.struct_size = sizeof options};
    if (cobre_sddp_load(comm, path, NULL, &problem))
        return complain("load");
    cobre_status status = cobre_sddp_validate(problem, &options);
    if (m->open && (status == COBRE_INVALID_CASE || isnan(extensive_value(problem, STEPS))))
        return leave_out(problem);
    if (status == COBRE_INVALID_CASE && strstr(cobre_last_error()->message, "no bound of the future")) {
        options.has_value_bound = true;
        options.value_bound = m->maximise ? 1e4 : -1e4;
        status = cobre_sddp_validate(problem, &options);
    }
    if (status)
        return complain("validate");
    bool good = true;
    for (size_t r = 0; r < sizeof risks / sizeof *risks && good; r++) {
        for (size_t n = 0; n < problem->nodes; n++)
            problem->node[n].risk = risks[r];
        double exact = extensive_value(problem, STEPS);
        if (isnan(exact)) {
            printf("%s: the extensive form has no solution\n", path);
            good = false;
        }
        const cb_lp_plugin *plugin;
        for (size_t s = 0; (plugin = cb_lp_plugin_at(s)) && good; s++)
            for (int multi = 0; multi < 2 && good && plugin->solver; multi++)
                good = train(problem, plugin->name, multi, risks[r], exact, kind == CYCLE, &options);
    }
    cobre_sddp_problem_free(&problem);
    return good;
}

int main(int argc, char **argv) {
    const char *text = getenv("COBRE_TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : 1;
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 20, first = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    size_t wrong = 0;
    if (cobre_comm_open(NULL, &comm) != COBRE_OK)
        return 1;
    for (size_t n = first; n < first + count; n++) {
        maker m = {.open = n % 4 == 3};
        snprintf(path, sizeof path, "/tmp/cobre-random-%ld-%llu-%zu.sof.json", (long)getpid(), (unsigned long long)seed,
                 n);
        m.out = fopen(path, "w");
        if (!m.out)
            return 1;
        cb_rng_start(&m.rng, seed, CB_RNG_OPENING, (uint32_t)n, 0, 0);
        write_problem(&m, n % KINDS);
        fclose(m.out);
        if (argc > 3)
            continue;
        if (check(n % KINDS, &m))
            unlink(path);
        else
            wrong++;
    }
    printf("seed %llu: %zu problems, %zu left out, %zu wrong\n", (unsigned long long)seed, count, left_out, wrong);
    cobre_comm_free(&comm);
    return wrong > 0;
}
