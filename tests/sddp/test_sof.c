/* SPDX-License-Identifier: Apache-2.0 */
/* test_sof.c: each mistake in a StochOptFormat file is found at its line, all of them at once; and no bytes crash the
 * reader, or the bounds that are found from what it read. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "sddp/hydro_kit.h"

#define GAS "gas.sof.json", "gas.sof.json"
#define WHOLE GAS, NULL
#define REST "\"nodes\": {}, \"subproblems\": {}}"

#define SET(variable, set)                                                                                             \
    "{\"function\": {\"type\": \"Variable\", \"name\": \"" variable "\"}, \"set\": {\"type\": " set "}}"

static kit_result r;
static cobre_comm *comm;

static const kit_mistake mistakes[] = {
    /* no JSON, or another */
    {GAS, NULL, NULL, NULL, 0, "cannot be read: No such file"},
    {WHOLE, "", NULL, 1, "is not JSON"},
    {WHOLE, "\n\n[1]", NULL, 3, "is not a JSON object"},
    {WHOLE, "{}", NULL, 1, "\"version\" is missing"},
    {WHOLE,
     "\x7f"
     "ELF\x02\x01",
     NULL, 1, "is not JSON"},
    {WHOLE, "{\n\"name\": \"\xff\"}", NULL, 2, "is not JSON"},
    {GAS, "\"successors\": {\"1\": 1}", "\"successors\": {\"1\": 1]", NULL, 6, "is not JSON"},
    {GAS, "\"store\": 2", "\"store\": 2, \"store\": 3", NULL, 5, "duplicate object key"},
    {GAS, "\"store\": 2", "\"store\": NaN", NULL, 5, "is not JSON"},
    {GAS, "\"store\": 2", "\"store\": 1e999", NULL, 5, "real number overflow"},
    {GAS, "\"nodes\"", "\"node\\u0073\"", NULL, 0, NULL},
    {GAS, "\"nodes\": {", "\"node\\u0073\": {\"x\": [5], ", NULL, 1, "this is an array"},
    {GAS, "{", "\xef\xbb\xbf{", NULL, 0, NULL},
    {GAS, "{\n    \"name\": \"Gas", "\xef\xbb\xbf{\n    \"nome\": \"Gas", NULL, 2, "unknown key \"nome\""},
    /* sections, types, keys */
    {GAS, "\"major\": 1, \"minor\": 0", "\"major\": 2, \"minor\": 1", NULL, 3, "StochOptFormat 2.1"},
    {GAS, "\"major\": 1, \"minor\": 0", "\"major\": \"1\", \"minor\": 0", NULL, 3, "/version/major"},
    {GAS, "\"name\": \"Gas", "\"title\": \"Gas", NULL, 2, "unknown key \"title\""},
    {GAS, "\"root\"", "\"rot\"", NULL, 4, "correct it to one of: version, name,"},
    {GAS, "\"nodes\"", "\"node\"", NULL, 8, "unknown key \"node\""},
    {WHOLE,
     "{\"version\": {\"major\": 1, \"minor\": 0},\n\"root\": {\"state_variables\": {}, \"successors\": {}},\n" REST,
     NULL, 2, "the problem has no nodes"},
    {WHOLE, "{\"version\": {\"major\": 1, \"minor\": 0},\n\"root\": [],\n" REST, NULL, 2, "this is an array"},
    {GAS, "\"state_variables\": {\"store\": 2}", "\"state_variables\": 2", NULL, 5, "it must be an object"},
    {GAS, "\"store\": 2", "\"store\": \"2\"", NULL, 5, "this is a string -- it must be a number"},
    {GAS, "\"store\": 2", "\"store\": 1e30", NULL, 5, "1e+30, which is out of range"},
    {GAS, "\"store\": 2", "\"store\": 12345678901234567890", NULL, 0, NULL},
    {GAS, "\"store\": 2", "\"store\": 2, \"cash\": 0", NULL, 47, "\"cash\" of the root is missing"},
    /* nodes */
    {GAS, "\"successors\": {\"1\": 1}", "\"successors\": {\"one\": 1}", NULL, 6, "there is no node \"one\""},
    {GAS, "\"2 tight\": 0.3", "\"2 thight\": 0.3", NULL, 12, "/nodes/1/successors/2 thight"},
    {GAS, "\"2 tight\": 0.3", "\"2 tight\": \"0.3\"", NULL, 12, "it must be a number"},
    {GAS, "\"2 tight\": 0.3", "\"2 tight\": 0.4", NULL, 9, "successors add up to 1.1 -- make it at most 1"},
    {GAS, "\"2 tight\": 0.3", "\"2 tight\": -0.3", NULL, 12, "probability -0.3"},
    {GAS, "\"successors\": {\"1\": 1}", "\"successors\": {\"1\": 0.5}", NULL, 4, "successors add up to 0.5"},
    {GAS, "\"successors\": {\"1\": 1}", "\"successors\": {}", NULL, 4, "successors add up to 0"},
    {GAS, ", \"2 tight\": 0.3", "", NULL, 22, "no path leads here"},
    {GAS, "\"3 calm\": 0.8, \"3 tight\": 0.2", "\"2 calm\": 1", NULL, 14, "the process never ends"},
    {GAS, "\"3 calm\": 0.8, \"3 tight\": 0.2", "\"2 calm\": 0.9999", NULL, 0, NULL},
    {GAS, "\"3 calm\": 0.8, \"3 tight\": 0.2", "\"1\": 0.5", NULL, 0, NULL},
    {GAS, "\"subproblem\": \"trade\",", "\"subproblem\": \"trades\",", NULL, 10, "there is no subproblem \"trades\""},
    {GAS, "\"subproblem\": \"trade\",", "\"subproblem\": 3,", NULL, 10, "it must be a string"},
    {GAS, "\"subproblem\": \"trade\",", "", NULL, 9, "\"subproblem\" is missing"},
    {GAS, "{\"probability\": 1, \"support\": {\"price\": 5, \"demand\": 3}}", "7", NULL, 11, "/nodes/1/realizations/0"},
    {GAS, "{\"price\": 5, \"demand\": 3}", "{\"price\": 5}", NULL, 11, "\"demand\" is missing"},
    {GAS, "{\"price\": 5, \"demand\": 3}", "{\"price\": 5, \"demand\": null}", NULL, 11, "this is null"},
    {GAS, "\"probability\": 1,", "\"probability\": 0.9,", NULL, 9, "outcomes add up to 0.9 -- make it 1"},
    {GAS, "\"probability\": 1,", "\"probability\": true,", NULL, 11, "this is true or false"},
    {GAS, "\"realizations\": [{", "\"realization\": [{", NULL, 11, "unknown key \"realization\""},
    /* subproblems */
    {GAS, "\"store_in\", \"out\"", "\"stor_in\", \"out\"", NULL, 47, "there is no variable \"stor_in\""},
    {GAS, "{\"in\": \"store_in\", \"out\": \"store_out\"}", "[]", NULL, 47, "this is an array"},
    {GAS, "\"random_variables\": [\"price\", ", "\"random_variables\": [\"price\", \"price\", ", NULL, 48, "twice"},
    {GAS, "{\"name\": \"buy\"}", "{\"name\": \"sell\"}", NULL, 55, "variable \"sell\" is there twice"},
    {GAS, "{\"name\": \"buy\"}", "\"buy\"", NULL, 54, "it must be an object with \"name\""},
    {GAS, "\"sense\": \"max\"", "\"sense\": \"up\"", NULL, 60, "it must be min or max"},
    {GAS, "ScalarQuadraticFunction", "ScalarNonlinearFunction", NULL, 61, "is not linear"},
    {GAS, "\"variable_1\": \"price\"", "\"variable_1\": \"buy\"", NULL, 65, "a product of two decisions"},
    {GAS, "\"variable_2\": \"sell\"", "\"variable_2\": \"demand\"", NULL, 65, "a product of two random variables"},
    {GAS, "\"coefficient\": -0.1", "\"coefficient\": \"x\"", NULL, 63, "affine_terms/0/coefficient"},
    {GAS, "\"coefficient\": -0.1", "\"coefficient\": 1e300", NULL, 63, "out of range"},
    {GAS, "\"name\": \"market\"", "\"name\": \"balance\"", NULL, 9, "two rows are called \"balance\""},
    {GAS, "\"set\": {\"type\": \"EqualTo\", \"value\": 0}", "\"set\": {\"type\": \"ZeroOne\"}", NULL, 84,
     "no integer variables"},
    {GAS, "{\"type\": \"EqualTo\", \"value\": 0}", "{\"type\": \"EqualTo\"}", NULL, 84, "\"value\" is missing"},
    {GAS, "{\"type\": \"EqualTo\", \"value\": 0}", "{\"type\": \"Reals\"}", NULL, 84, "set \"Reals\" is not known"},
    {GAS, "\"lower\": 0, \"upper\": 4", "\"lower\": 5, \"upper\": 4", NULL, 98, "buy: lower bound 5 and upper bound 4"},
    {GAS, "\"name\": \"buy\"}, \"set\"", "\"name\": \"price\"}, \"set\"", NULL, 98, "random variable \"price\" alone"},
    {GAS, "\"constraints\": [", "\"constraints\": [" SET("store_in", "\"LessThan\", \"upper\": 1") ",", NULL, 4,
     "state store begins with 2, but node 1 bounds store_in to -inf .. 1"},
    {GAS, "\"name\": \"balance\"", "\"name\": \"\"", NULL, 0, NULL},
    {GAS, "\"constraints\": [", "\"constraints\": [3,", NULL, 71, "/subproblems/trade/subproblem/constraints/0"},
    /* scenarios */
    {GAS, "\"node\": \"3 calm\", \"support\"", "\"node\": \"4 calm\", \"support\"", NULL, 109, "no node \"4 calm\""},
    {GAS, "\"price\": 15, \"demand\": 6", "\"price\": 15", NULL, 108, "validation_scenarios/0/1/support"},
    {GAS, "\"validation_scenarios\": [", "\"validation_scenarios\": [[], ", NULL, 105, "this is empty"},
};

static void each_mistake(void) {
    kit_each_mistake(mistakes, sizeof mistakes / sizeof *mistakes);
}

/* In the order of the nodes that show them; an error of a shared subproblem is told once. */
static void all_at_once(void) {
    static const char *const edits[][2] = {{"\"name\": \"Gas", "\"nome\": \"Gas"},
                                           {"\"in\": \"store_in\"", "\"in\": \"y\""},
                                           {"\"variable_1\": \"price\"", "\"variable_1\": \"prize\""},
                                           {"\"EqualTo\", \"value\": 0", "\"Integer\""},
                                           {", \"lower\": 0, \"upper\": 4", ""},
                                           {"\"demand\": 3", "\"d\": 3"},
                                           {"\"2 tight\": 0.3", "\"nowhere\": 0.3"},
                                           {"\"probability\": 0.4", "\"probability\": 0.3"},
                                           {"\"node\": \"2 tight\"", "\"node\": \"2\""}};
    static const struct {
        size_t line;
        const char *expected;
    } expected[] = {{2, "unknown key \"nome\""},   {47, "no variable \"y\""},      {65, "no variable \"prize\""},
                    {84, "no integer variables"},  {98, "\"lower\" is missing"},   {98, "\"upper\" is missing"},
                    {11, "\"demand\" is missing"}, {11, "\"d\" is not a random"},  {12, "no node \"nowhere\""},
                    {108, "no node \"2\""},        {22, "outcomes add up to 0.9"}, {22, "no path leads here"}};
    kit_copy("gas.sof.json");
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        kit_edit("gas.sof.json", edits[i][0], edits[i][1]);
    kit_read(&r);
    if (r.count != sizeof expected / sizeof *expected)
        kit_show(&r);
    CHECK_EQ(r.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < r.count; i++) {
        CHECK_EQ(r.issue[i].line, expected[i].line);
        CHECK_HOLDS(r.issue[i].message, expected[i].expected);
    }
    kit_free(&r);
}

/* Bounds of an incoming state hold for what the nodes before may leave, and not for what the last ones leave. */
static void incoming_bounds(void) {
    kit_copy("gas.sof.json");
    kit_edit("gas.sof.json", "\"constraints\": [",
             "\"constraints\": [" SET("store_in", "\"Interval\", \"lower\": 1, \"upper\": 7") ",");
    kit_read_well(&r);
    for (size_t n = 0; n < r.builder->nodes; n++) {
        const cb_builder_column *left = kit_column(&r, n, "store_out");
        bool last = r.builder->node[n].edges == 0;
        CHECK(left->lower == (last ? 0 : 1) && left->upper == (last ? 10 : 7));
    }
    kit_free(&r);
}

/* A problem whose name is empty is called as its file is. */
static void empty_name(void) {
    kit_copy("gas.sof.json");
    kit_edit("gas.sof.json", "Gas store: buy, keep and sell while the market is calm or tight", "");
    kit_read_well(&r);
    CHECK_HOLDS(r.builder->name, "gas.sof.json");
    kit_free(&r);
}

/* A row without a name gets one that no other row has. */
static void names_of_rows(void) {
    kit_copy("gas.sof.json");
    kit_edit("gas.sof.json", "\"name\": \"balance\",", "");
    kit_edit("gas.sof.json", "\"name\": \"market\"", "\"name\": \"r1\"");
    kit_read_well(&r);
    kit_near(kit_row(&r, 0, "r1_")->upper, 0);
    CHECK(kit_row(&r, 0, "r1")->lower < -1e300);
    kit_free(&r);
}

/* What other programs write: a name of the root, infinite bounds as numbers. */
static void of_other_programs(void) {
    kit_copy("gas.sof.json");
    kit_edit("gas.sof.json", "\"state_variables\": {\"store\": 2}",
             "\"name\": \"0\", \"state_variables\": {\"store\": 2}");
    kit_edit("gas.sof.json", "\"lower\": 0, \"upper\": 4", "\"lower\": -1e30, \"upper\": 1e+30");
    kit_read_well(&r);
    CHECK(kit_column(&r, 0, "buy")->lower == -INFINITY && kit_column(&r, 0, "buy")->upper == INFINITY);
    kit_free(&r);
}

/* A whole file of something else gets one sentence. */
static void said_once(const char *old, const char *new, size_t line, const char *words) {
    kit_copy("gas.sof.json");
    kit_edit("gas.sof.json", "\"root\"", "\"initial\"");
    kit_edit("gas.sof.json", old, new);
    kit_read(&r);
    CHECK_EQ(r.count, 1);
    CHECK_EQ(r.issue[0].line, line);
    CHECK_HOLDS(r.issue[0].message, words);
    kit_free(&r);
}

static void one_sentence(void) {
    said_once("\"major\": 1, \"minor\": 0", "\"major\": 0, \"minor\": 1", 3, "this is StochOptFormat 0.1");
    said_once("{\"function\": {\"type\": \"Variable\", \"name\": \"buy\"}",
              "{\"function\": {\"type\": \"VectorOfVariables\", \"variables\": [\"buy\"]}", 98,
              "cobre reads no functions of vectors");
}

/* What the LPs of the nodes show of a problem that was read well. */
static void find_bounds(void) {
    cobre_sddp_validate_options options = {.struct_size = sizeof options, .issue = kit_on_issue, .arg = &r};
    cobre_sddp_problem *problem;
    kit_read_well(&r);
    CHECK_EQ(cobre_sddp_finish(comm, &r.builder, NULL, &problem), 0);
    CHECK_EQ(cobre_sddp_validate(problem, &options), COBRE_INVALID_CASE);
    cobre_sddp_problem_free(&problem);
}

static void without_bound(void) {
    kit_copy("gas.sof.json");
    kit_edit("gas.sof.json", "\"Interval\", \"lower\": 0, \"upper\": 10", "\"LessThan\", \"upper\": 10");
    kit_edit("gas.sof.json", "\"GreaterThan\", \"lower\": 0", "\"GreaterThan\", \"lower\": 5");
    find_bounds();
    CHECK_EQ(r.count, 5);
    CHECK(r.issue[0].line == 9 && strstr(r.issue[0].message, "node 1, outcome 1: its own LP is infeasible"));
    CHECK_HOLDS(cobre_last_error()->message,
                "5 errors in the case; the first: /nodes/1: node 1, outcome 1: its own LP");
    CHECK_EQ(cobre_last_error()->line, 9);
    CHECK(r.issue[2].line == 22 && strstr(r.issue[2].message, "node 2 tight, outcome 1: its own LP is unbounded"));
    kit_free(&r);
}

/* What was read well must also be safe to bound and to solve. */
static void finish(kit_result *result) {
    cobre_sddp_problem *problem;
    if (result->builder->errors == 0 && !cobre_sddp_finish(comm, &result->builder, NULL, &problem)) {
        (void)cobre_sddp_validate(problem, NULL);
        cobre_sddp_problem_free(&problem);
    }
}

static void ends_too_late(void) {
    kit_copy("gas.sof.json");
    kit_edit("gas.sof.json", "\"3 calm\": 0.8, \"3 tight\": 0.2", "\"2 calm\": 0.99999999");
    find_bounds();
    CHECK_EQ(r.count, 1);
    CHECK_HOLDS(r.issue[0].message, "the process goes on for too long");
    kit_free(&r);
}

static void scrambled(void) {
    kit_copy("gas.sof.json");
    kit_scramble("gas.sof.json", 2000, finish);
    kit_read_well(&r);
    kit_free(&r);
}

static size_t until;  /* allocations of jansson that succeed */
static bool for_good; /* the others fail as well, not only the next one */

static void *starving(size_t size) {
    bool fails = until == 0;
    until -= until > 0 || !for_good;
    return fails ? NULL : malloc(size);
}

/* Wherever jansson finds none: an error about memory, or none where another way was found. */
static void no_memory_for_json(void) {
    char path[128];
    kit_copy("gas.sof.json");
    snprintf(path, sizeof path, "%s/gas.sof.json", kit_folder);
    json_set_alloc_funcs(starving, free);
    for (size_t run = 0; run < 2; run++) {
        size_t failures = 0;
        for (size_t at = 0, ended = 0; ended < 3 && at < 1000000; at += 1 + at / 20) {
            until = at;
            for_good = run;
            cobre_sddp_problem *problem = NULL;
            cobre_status status = cobre_sddp_load(comm, path, NULL, &problem);
            CHECK(!status == (problem != NULL));
            failures += status != COBRE_OK;
            ended += status == COBRE_OK && until > 0 && until <= at;
            cobre_sddp_problem_free(&problem);
        }
        CHECK(failures > 20 && failures < 1000);
    }
    json_set_alloc_funcs(malloc, free);
}

int main(int argc, char **argv) {
    static const check_case tests[] = {
        CHECK_CASE(each_mistake),      CHECK_CASE(all_at_once),   CHECK_CASE(incoming_bounds),
        CHECK_CASE(empty_name),        CHECK_CASE(names_of_rows), CHECK_CASE(without_bound),
        CHECK_CASE(ends_too_late),     CHECK_CASE(scrambled),     CHECK_CASE(no_memory_for_json),
        CHECK_CASE(of_other_programs), CHECK_CASE(one_sentence),  CHECK_END,
    };
    CHECK_OK(cobre_comm_open(&(cobre_config){.struct_size = sizeof(cobre_config), .backend = COBRE_LOCAL}, &comm));
    int failed = kit_main(argc, argv, tests);
    cobre_comm_free(&comm);
    return failed;
}
