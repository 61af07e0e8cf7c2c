/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_policy.c: the tool inspect_policy: cuts per stage, those that are active at a state, and water values. */
#include "cli/mcp/future_cost.h"
#include "cli/mcp/study.h"
#include "sddp/error.h"
#include "sddp/run/begin.h"
#include "sddp/run/json.h"
#include "sddp/run/numbers.h"
#include "sddp/run/policy_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct cb_mcp_field input[] = {
    CB_MCP_POLICY_FIELD(true),
    {.name = "case",
     .kind = CB_MCP_TEXT,
     .help = "the case of the policy: then the cuts that are active at a state, a bound of the expected future cost "
             "and water values are told, too"},
    {.name = "stage",
     .kind = CB_MCP_WHOLE,
     .limited = true,
     .least = 1,
     .most = 1e6,
     .help = "whose cuts are told; water values are those at the end of this stage. Without it: how many cuts each "
             "stage has; with case: 1"},
    {.name = "node", .kind = CB_MCP_TEXT, .help = "the same by the name of a node, for a stage that has several"},
    {.name = "state",
     .kind = CB_MCP_TEXT,
     .help = "that the stage leaves: \"Furnas=40%,Serra Alta=2300\"; 50% is halfway from storage_min to "
             "storage_max; states that are not named are as the case begins. Needs case"},
    CB_MCP_PAGE_FIELDS("20"),
    {.name = NULL},
};

#define TEXT(key, text)                                                                                                \
    { .name = key, .kind = CB_MCP_TEXT, .required = true, .help = text }
#define NUMBER(key, text)                                                                                              \
    { .name = key, .kind = CB_MCP_NUMBER, .required = true, .nullable = true, .help = text }

static const struct cb_mcp_field stage_fields[] = {
    {.name = "stage", .kind = CB_MCP_WHOLE, .required = true, .help = "from 1"},
    TEXT("node", "its name"),
    {.name = "cuts",
     .kind = CB_MCP_WHOLE,
     .required = true,
     .help = "of its future cost; of multi-cuts: of its outcomes"},
    {.name = NULL},
};

static const struct cb_mcp_field cut_fields[] = {
    {.name = "node", .kind = CB_MCP_TEXT, .required = true, .help = "whose cost it bounds"},
    {.name = "outcome",
     .kind = CB_MCP_WHOLE,
     .required = true,
     .nullable = true,
     .help = "of multi-cuts; null: it bounds the future cost of the node"},
    {.name = "iteration", .kind = CB_MCP_WHOLE, .required = true, .help = "that made it; 0: warm start"},
    NUMBER("intercept", "the cost is at least intercept + sum of slope * state"),
    {.name = "slopes", .kind = CB_MCP_OBJECT, .required = true, .help = "by state; those that are 0 are left out"},
    {.name = "height", .kind = CB_MCP_NUMBER, .nullable = true, .help = "of the cut at the state"},
    {.name = "active", .kind = CB_MCP_YES_NO, .help = "it decides at the state"},
    {.name = NULL},
};

static const struct cb_mcp_field level_fields[] = {
    NUMBER("percent", "of the limits of the reservoir"),
    NUMBER("storage", "the same as a volume"),
    NUMBER("value", "what one more unit would save; null: not known, because no cut holds here"),
    NUMBER("future_cost", "expected after the stage: it is at least that (at most, if the case maximises)"),
    {.name = "from",
     .kind = CB_MCP_TEXT,
     .required = true,
     .choices = (const char *const[]){"cut", "bound", NULL},
     .help = "where the numbers come from: cuts, or a bound that holds at every storage, where the training has not "
             "been"},
    {.name = NULL},
};

static const struct cb_mcp_field water_fields[] = {
    TEXT("state", "its name"),
    TEXT("unit", "of the values"),
    NUMBER("at", "what the state is; the other states are as given, too"),
    {.name = "levels",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = level_fields,
     .required = true,
     .help = "11 of them, from empty to full"},
    {.name = "note", .kind = CB_MCP_TEXT, .required = true, .nullable = true, .help = "where no cut holds"},
    {.name = NULL},
};

static const struct cb_mcp_field output[] = {
    TEXT("policy", "the path, without symbolic links"),
    TEXT("name", "of the case that it was trained for"),
    TEXT("sense", "min or max"),
    TEXT("solver", "of the training"),
    TEXT("solver_version", "of the training"),
    {.name = "fallback", .kind = CB_MCP_TEXT, .nullable = true, .help = "solver that took over"},
    {.name = "fallback_version", .kind = CB_MCP_TEXT, .nullable = true, .help = "its version"},
    {.name = "seed", .kind = CB_MCP_WHOLE, .required = true, .help = "of the training"},
    {.name = "iterations", .kind = CB_MCP_WHOLE, .required = true, .help = "of the training"},
    NUMBER("bound", "of the optimal cost; null: it is of another case"),
    {.name = "proven", .kind = CB_MCP_YES_NO, .required = true, .help = "the bound holds"},
    {.name = "cut_count", .kind = CB_MCP_WHOLE, .required = true, .help = "cuts of all stages"},
    {.name = "states", .kind = CB_MCP_LIST, .items = CB_MCP_TEXT, .help = "their names; of many the first"},
    {.name = "state_count", .kind = CB_MCP_WHOLE, .required = true, .help = "of all of them"},
    {.name = "difference", .kind = CB_MCP_TEXT, .nullable = true, .help = "from the case; null: there is none"},
    {.name = "stages",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = stage_fields,
     .help = "without a stage: all, page by page"},
    {.name = "stage", .kind = CB_MCP_WHOLE, .help = "that was asked for"},
    {.name = "node", .kind = CB_MCP_TEXT, .help = "that was asked for"},
    {.name = "cuts",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = cut_fields,
     .help = "of the stage, page by page; at a state the highest come first"},
    {.name = "stage_cuts", .kind = CB_MCP_WHOLE, .help = "how many the stage has"},
    {.name = "active_cuts", .kind = CB_MCP_WHOLE, .help = "how many of them decide at the state"},
    {.name = "future_cost",
     .kind = CB_MCP_NUMBER,
     .nullable = true,
     .help =
         "expected after the stage, from the state: it is at least that (at most, if the case maximises); null: the "
         "stage is the last, or multi-cuts have a risk measure"},
    {.name = "cost_unit", .kind = CB_MCP_TEXT, .help = "of costs"},
    {.name = "water_values",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = water_fields,
     .help = "of each reservoir over its storage, page by page"},
    CB_MCP_NEXT_FIELD,
    {.name = NULL},
};

static json_t *stages_of(const cobre_sddp_policy *policy) {
    size_t nodes = cobre_sddp_policy_nodes(policy);
    uint64_t *count = calloc(nodes + 1, sizeof *count);
    json_t *stages = json_array();
    for (uint64_t c = 0; count && c < cobre_sddp_policy_cuts(policy); c++) {
        cobre_sddp_cut cut = {.struct_size = sizeof cut};
        cobre_sddp_policy_cut(policy, c, &cut, NULL);
        count[cut.node]++;
    }
    for (size_t n = 0; count && n < nodes; n++) {
        json_t *stage = json_object();
        cb_json_set(stage, "stage", cb_json_count(cobre_sddp_policy_node_stage(policy, n)));
        cb_json_set(stage, "node", cb_json_text(cobre_sddp_policy_node_name(policy, n)));
        cb_json_set(stage, "cuts", cb_json_count(count[n]));
        cb_json_append(stages, stage);
    }
    free(count);
    return stages;
}

/* As `cobre policy --json`, but for the number of states. */
static json_t *summary_of(const struct cb_study *study) {
    json_t *facts = cb_policy_json(study->policy_place.path, study->policy), *states = json_object_get(facts, "states");
    json_t *some = json_array();
    for (size_t s = 0; s < json_array_size(states) && s < 50; s++)
        cb_json_append(some, json_incref(json_array_get(states, s)));
    cb_json_set(facts, "state_count", cb_json_count(json_array_size(states)));
    cb_json_set(facts, "states", some);
    const char *difference = study->problem ? cobre_sddp_policy_difference(study->policy) : NULL;
    cb_json_set(facts, "difference", difference ? cb_json_text(difference) : json_null());
    return facts;
}

static json_t *cut_json(const struct cb_future *future, const struct cb_future_cut *cut, double *slopes, bool height) {
    json_t *json = cb_policy_cut_json(future->policy, cut->index, slopes), *named = json_object();
    for (size_t s = 0; s < future->states; s++)
        if (slopes[s] != 0)
            cb_json_set(named, cobre_sddp_policy_state_name(future->policy, s), cb_json_real(slopes[s]));
    cb_json_set(json, "slopes", named);
    if (height) {
        cb_json_set(json, "height", cb_json_real(cut->height));
        cb_json_set(json, "active", json_boolean(cut->active));
    }
    return json;
}

/* The active ones first, then by height; else in the order in which they were made. */
static int by_height(const void *a, const void *b, void *arg) {
    const struct cb_future_cut *one = *(const struct cb_future_cut *const *)a;
    const struct cb_future_cut *other = *(const struct cb_future_cut *const *)b;
    int sign = *(const bool *)arg ? 1 : -1;
    if (one->active != other->active)
        return one->active ? -1 : 1;
    if (one->height < other->height || one->height > other->height)
        return one->height < other->height ? -sign : sign;
    return one->index < other->index ? -1 : one->index > other->index;
}

/* Those of the page only: a stage can have many. */
static json_t *cuts_of(const struct cb_mcp_call *call, const struct cb_future *future, bool height) {
    size_t first = (size_t)cb_mcp_number(call, "offset", 0), count = (size_t)cb_mcp_number(call, "limit", 20);
    const struct cb_future_cut **order = malloc((future->cuts + 1) * sizeof *order);
    double *slopes = malloc((future->states + 1) * sizeof *slopes);
    bool maximises = cobre_sddp_policy_maximises(future->policy);
    json_t *list = json_array();
    size_t length = 0;
    for (size_t c = 0; order && c < future->cuts; c++)
        order[c] = &future->cut[c];
    if (order && height)
        qsort_r(order, future->cuts, sizeof *order, by_height, &maximises);
    for (size_t c = first; order && slopes && c < future->cuts && c - first < count && length < 7000; c++) {
        json_t *cut = cut_json(future, order[c], slopes, height);
        length += cb_study_length(cut);
        if (length < 7000 || c == first)
            cb_json_append(list, json_incref(cut));
        json_decref(cut);
    }
    free(order);
    free(slopes);
    return list;
}

/* How the slope of a state becomes what people call its value. */
static double factor_of(const cobre_sddp_problem *problem, size_t node, size_t state, char unit[128]) {
    cobre_sddp_label its = {.struct_size = sizeof its}, row = {.struct_size = sizeof row};
    char element[128];
    cobre_sddp_problem_label(problem, COBRE_SDDP_STATE, cobre_sddp_problem_state_name(problem, state), &its);
    snprintf(element, sizeof element, "%s", its.element);
    snprintf(unit, 128, "%.60s/%.60s", cobre_sddp_problem_cost_unit(problem), its.unit);
    for (size_t r = 0; r < cobre_sddp_problem_rows(problem, node); r++)
        if (cobre_sddp_problem_label(problem, COBRE_SDDP_ROW, cobre_sddp_problem_row_name(problem, node, r), &row) ==
                COBRE_OK &&
            strcmp(row.kind, "water_value") == 0 && strcmp(row.element, element) == 0) {
            snprintf(unit, 128, "%s", row.unit);
            return row.factor;
        }
    return cobre_sddp_problem_maximises(problem) ? 1 : -1;
}

static json_t *levels_of(const struct cb_future *future, size_t state, double at, double lower, double upper,
                         double factor) {
    json_t *levels = json_array();
    for (int i = 0; i <= 10; i++) {
        double storage = lower + i / 10.0 * (upper - lower), slope, cost;
        bool cuts;
        json_t *level = json_object();
        cost = cb_future_along(future, state, storage - at, &slope, &cuts);
        cb_json_set(level, "percent", json_integer(10 * i));
        cb_json_set(level, "storage", cb_json_real(storage));
        cb_json_set(level, "value", cuts ? cb_json_real(factor * slope + 0.0) : json_null());
        cb_json_set(level, "future_cost", cb_json_real(cost));
        cb_json_set(level, "from", cb_json_text(cuts ? "cut" : "bound"));
        cb_json_append(levels, level);
    }
    return levels;
}

/* "Above 70 % of Serra Alta no cut holds: ..."; null: cuts hold everywhere. */
static json_t *note_of(const cobre_sddp_problem *problem, size_t state, const json_t *levels) {
    cobre_sddp_label its = {.struct_size = sizeof its};
    char where[256], text[512];
    json_t *level;
    size_t i;
    int last = -1, without = 0; /* percent of the highest level with a cut; levels that have none */
    json_array_foreach((json_t *)levels, i, level) {
        bool cut = strcmp(cb_json_text_in(level, "from"), "cut") == 0;
        last = cut ? (int)json_integer_value(json_object_get(level, "percent")) : last;
        without += !cut;
    }
    cobre_sddp_problem_label(problem, COBRE_SDDP_STATE, cobre_sddp_problem_state_name(problem, state), &its);
    if (last >= 0 && last + 10 * without == 100)
        snprintf(where, sizeof where, "Above %d %% of %.150s", last, its.element);
    else
        snprintf(where, sizeof where, "At %d of the levels of %.150s", without, its.element);
    snprintf(text, sizeof text, "%s no cut holds: the training has not been there, and the water value is unknown.",
             where);
    return without ? cb_json_text(text) : json_null();
}

static json_t *water_of(const cobre_sddp_problem *problem, const struct cb_future *future, const double *state) {
    json_t *list = json_array();
    for (size_t s = 0; future->known && s < future->states; s++) {
        double lower, upper;
        char unit[128];
        cobre_sddp_problem_state_limits(problem, future->node, s, &lower, &upper);
        if (!(isfinite(lower) && isfinite(upper) && upper > lower))
            continue;
        double factor = factor_of(problem, future->node, s, unit);
        json_t *water = json_object();
        cb_json_set(water, "state", cb_json_text(cobre_sddp_problem_state_name(problem, s)));
        cb_json_set(water, "unit", cb_json_text(unit));
        cb_json_set(water, "at", cb_json_real(state[s]));
        json_t *levels = levels_of(future, s, state[s], lower, upper, factor);
        cb_json_set(water, "levels", levels);
        cb_json_set(water, "note", note_of(problem, s, levels));
        cb_json_append(list, water);
    }
    return list;
}

static void put_state(struct cb_mcp_call *call, const struct cb_study *study, struct cb_future *future,
                      const double *state, json_t *facts, size_t *shown, size_t *all) {
    double cost = cb_future_at(future, state);
    json_t *water = water_of(study->problem, future, state), *page = cb_mcp_page(call, water, 20, 7000);
    size_t active = 0;
    for (size_t c = 0; c < future->cuts; c++)
        active += future->cut[c].active;
    *shown = json_array_size(page);
    *all = json_array_size(water);
    cb_json_set(facts, "active_cuts", cb_json_count(active));
    cb_json_set(facts, "future_cost", cb_json_real(cost));
    cb_json_set(facts, "cost_unit", cb_json_text(cobre_sddp_problem_cost_unit(study->problem)));
    cb_json_set(facts, "water_values", page);
    json_decref(water);
}

/* A list goes on where it ends on this page. */
static json_t *next_of(const struct cb_mcp_call *call, size_t shown1, size_t all1, size_t shown2, size_t all2) {
    size_t first = (size_t)cb_mcp_number(call, "offset", 0);
    bool more1 = first + shown1 < all1 && shown1, more2 = first + shown2 < all2 && shown2;
    size_t shown = !more2 || (more1 && shown1 < shown2) ? shown1 : shown2;
    return more1 || more2 ? cb_json_count(first + shown) : json_null();
}

/* Takes the facts. */
static void say_cost(struct cb_mcp_call *call, const struct cb_study *study, const struct cb_future *future,
                     json_t *facts, size_t stage) {
    char cost[32];
    const char *unit = cobre_sddp_problem_cost_unit(study->problem), *note = "";
    bool maximises = cobre_sddp_policy_maximises(study->policy), none = cb_json_count_in(facts, "active_cuts") == 0;
    json_t *water;
    size_t i;
    json_array_foreach(json_object_get(facts, "water_values"), i, water) note =
        *note ? note : cb_json_text_in(water, "note");
    cb_mcp_answer(call, facts, "After stage %zu the %s is at %s %s%s%s from this state%s; %zu cuts.%s%s", stage,
                  maximises ? "value" : "cost", maximises ? "most" : "least",
                  cb_short_text(cb_json_real_in(facts, "future_cost"), 8, cost), cb_unit_blank(unit), unit,
                  none ? ", which is a bound for all states: no cut holds here" : "", future->cuts, *note ? " " : "",
                  note);
}

static void answer_stage(struct cb_mcp_call *call, const struct cb_study *study, struct cb_future *future,
                         const double *state) {
    json_t *facts = summary_of(study);
    const cobre_sddp_policy *policy = study->policy;
    size_t water = 0, waters = 0, stage = cobre_sddp_policy_node_stage(policy, future->node);
    cb_json_set(facts, "stage", cb_json_count(stage));
    cb_json_set(facts, "node", cb_json_text(cobre_sddp_policy_node_name(policy, future->node)));
    if (state)
        put_state(call, study, future, state, facts, &water, &waters);
    json_t *cuts = cuts_of(call, future, state != NULL);
    cb_json_set(facts, "cuts", cuts);
    cb_json_set(facts, "stage_cuts", cb_json_count(future->cuts));
    cb_json_set(facts, "next_offset", next_of(call, json_array_size(cuts), future->cuts, water, waters));
    if (state && future->known)
        say_cost(call, study, future, facts, stage);
    else
        cb_mcp_answer(call, facts, "Stage %zu has %zu cuts.", stage, future->cuts);
}

static void no_stage(struct cb_mcp_call *call, const cobre_sddp_policy *policy, size_t stage) {
    char problem[64], received[32], allowed[64];
    size_t last = 0;
    for (size_t n = 0; n < cobre_sddp_policy_nodes(policy); n++) {
        size_t its = cobre_sddp_policy_node_stage(policy, n);
        last = its > last ? its : last;
    }
    snprintf(problem, sizeof problem, "the policy has no stage %zu", stage);
    snprintf(received, sizeof received, "%zu", stage);
    snprintf(allowed, sizeof allowed, "1 to %zu", last);
    cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = "stage",
                                                  .received = received,
                                                  .problem = problem,
                                                  .allowed = allowed,
                                                  .next = "call it without stage: all are listed"});
}

/* Which node; false: the call has been refused. */
static bool find_node(struct cb_mcp_call *call, const struct cb_study *study, size_t *node) {
    const char *name = cb_mcp_text(call, "node");
    size_t stage = (size_t)cb_mcp_number(call, "stage", 1), found = 0;
    json_t *known = json_object();
    for (size_t n = 0; n < cobre_sddp_policy_nodes(study->policy); n++) {
        const char *its = cobre_sddp_policy_node_name(study->policy, n);
        bool same = name ? strcmp(name, its) == 0 : cobre_sddp_policy_node_stage(study->policy, n) == stage;
        *node = same ? n : *node;
        found += same;
        cb_json_set(known, its, json_true());
    }
    if (found == 0 && name)
        cb_study_unknown(call, "node", name, "node", known, "give one of these, or a stage");
    else if (found == 0)
        no_stage(call, study->policy, stage);
    else if (found > 1)
        cb_mcp_refuse(call, "give node; a call without stage lists their names", "stage %zu has %zu nodes", stage,
                      found);
    json_decref(known);
    return found == 1;
}

/* The state that is asked about; NULL: the call has been refused, or there is no case. */
static double *state_of(struct cb_mcp_call *call, const struct cb_study *study, size_t node, bool *good) {
    const char *text = cb_mcp_text(call, "state");
    size_t states = study->problem ? cobre_sddp_problem_states(study->problem) : 0;
    double *state = study->problem ? malloc((states + 1) * sizeof *state) : NULL;
    *good = true;
    for (size_t s = 0; state && s < states; s++)
        state[s] = cobre_sddp_problem_state_initial(study->problem, s);
    if (state && text && cobre_sddp_state_from_text(study->problem, node, text, state) != COBRE_OK) {
        cb_study_wrong(call, "state");
        *good = false;
        free(state);
        state = NULL;
    }
    return state;
}

static void look_at_stage(struct cb_mcp_call *call, const struct cb_study *study) {
    struct cb_future future;
    size_t node = 0;
    bool good;
    if (!find_node(call, study, &node))
        return;
    double *state = state_of(call, study, node, &good);
    if (good && cb_future_open(&future, study->policy, study->problem, node) == COBRE_OK)
        answer_stage(call, study, &future, state);
    else if (good)
        cb_mcp_failed(call);
    if (good)
        cb_future_free(&future);
    free(state);
}

static void list_stages(struct cb_mcp_call *call, const struct cb_study *study) {
    json_t *facts = summary_of(study), *stages = stages_of(study->policy);
    cb_mcp_put_page(call, facts, "stages", stages, 20, 14000);
    cb_mcp_answer(call, facts, "The policy has %llu cuts at %zu nodes, after %llu iterations.",
                  (unsigned long long)cobre_sddp_policy_cuts(study->policy), json_array_size(stages),
                  (unsigned long long)cobre_sddp_policy_iterations(study->policy));
    json_decref(stages);
}

static void call(struct cb_mcp_call *call) {
    struct cb_study study = cb_study_none;
    bool one = cb_mcp_text(call, "case") || cb_mcp_text(call, "node") || cb_mcp_number(call, "stage", 0) > 0;
    if (cb_mcp_text(call, "state") && !cb_mcp_text(call, "case")) {
        cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = "case",
                                                      .received = "nothing",
                                                      .problem = "a state needs the case that it is of",
                                                      .next = "give case, too"});
        return;
    }
    if (cb_study_no_file(call, "state") && (!cb_mcp_text(call, "case") || cb_study_case(call, &study)) &&
        cb_study_policy(call, &study)) {
        if (one)
            look_at_stage(call, &study);
        else
            list_stages(call, &study);
    }
    cb_study_close(&study);
}

const struct cb_mcp_tool cb_mcp_inspect_policy = {
    .name = "inspect_policy",
    .title = "Inspect a policy",
    .description =
        "What a policy holds: cuts per stage, and the cuts of one stage. With its case: the cuts that are active at "
        "a state, a bound of the expected future cost from there, and water values of each reservoir at 11 levels from "
        "empty "
        "to full, the others being as given. Nothing is written.",
    .input = input,
    .output = output,
    .repeatable = true,
    .call = call,
};
