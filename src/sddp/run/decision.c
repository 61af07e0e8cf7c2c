/* SPDX-License-Identifier: Apache-2.0 */
/* decision.c: a policy's decision as JSON. */
#include "sddp/run/decision.h"

#include "sddp/error.h"
#include "sddp/run/json.h"

#include <stdlib.h>
#include <string.h>

struct making {
    const cobre_sddp_problem *problem;
    json_t *answer;
    bool good; /* there was memory for all of it */
    cobre_status status;
};

static void put(struct making *making, json_t *object, const char *key, json_t *value) {
    making->good &= cb_put(object, key, value);
}

static void put_real(struct making *making, json_t *object, const char *key, double value) {
    put(making, object, key, cb_json_of_real(value));
}

/* The member of an object that is an object; it is made if it is not there. */
static json_t *inner(struct making *making, json_t *object, const char *key) {
    if (!json_object_get(object, key))
        put(making, object, key, json_object());
    return json_object_get(object, key);
}

/* {"hydro": {"Furnas": {"subsystem": "SE", "turbined": 310, "turbined_by_block": {"peak": 400}}}} */
static void add_element(struct making *making, json_t *decision, const cobre_sddp_figure *figure) {
    json_t *element = inner(making, inner(making, decision, figure->type), figure->element);
    const char *kind = *figure->kind ? figure->kind : "value";
    char key[160];
    if (*figure->subsystem && strcmp(figure->subsystem, figure->element) != 0)
        put(making, element, "subsystem", cb_json_of_text(figure->subsystem));
    if (strcmp(figure->level, "block") == 0) {
        snprintf(key, sizeof key, "%.120s_by_block", kind);
        put_real(making, inner(making, element, key), figure->block, figure->value);
        return;
    }
    snprintf(key, sizeof key, "%.120s%s", kind, strcmp(figure->level, "before") == 0 ? "_before" : "");
    put_real(making, element, key, figure->value);
}

static void on_figure(void *arg, const cobre_sddp_figure *figure) {
    struct making *making = arg;
    json_t *answer = making->answer, *decision = inner(making, answer, "decision");
    if (*figure->unit)
        put(making, inner(making, answer, "units"), *figure->kind ? figure->kind : "value",
            cb_json_of_text(figure->unit));
    if (strcmp(figure->level, "component") == 0)
        put_real(making, inner(making, answer, "cost_by_component"), figure->element, figure->value);
    else if (strcmp(figure->level, "subsystem") == 0)
        put_real(making, inner(making, inner(making, decision, "subsystem"), figure->element), figure->kind,
                 figure->value);
    else if (strcmp(figure->level, "system") == 0 && strcmp(figure->kind, "cost") != 0 &&
             strcmp(figure->kind, "future_cost") != 0)
        put_real(making, inner(making, answer, "system"), figure->kind, figure->value);
    else if (strcmp(figure->level, "system") != 0)
        add_element(making, decision, figure);
}

/* What comes after the horizon is a cost of the last stage to the training; to people it is one of the future. */
static void move_terminal(struct making *making) {
    json_t *answer = making->answer, *components = json_object_get(answer, "cost_by_component");
    double terminal = json_number_value(json_object_get(components, "terminal"));
    if (!json_object_get(components, "terminal"))
        return;
    put_real(making, answer, "cost", json_number_value(json_object_get(answer, "cost")) - terminal);
    put_real(making, answer, "future_cost", json_number_value(json_object_get(answer, "future_cost")) + terminal);
    json_object_del(components, "terminal");
}

static void on_stage(void *arg, const cobre_sddp_stage *stage) {
    struct making *making = arg;
    const cobre_sddp_problem *problem = making->problem;
    json_t *answer = making->answer;
    const char *date = cobre_sddp_problem_node_date(problem, stage->node);
    put(making, answer, "stage", cb_json_of_number(cobre_sddp_problem_node_stage(problem, stage->node)));
    put(making, answer, "node", cb_json_of_text(cobre_sddp_problem_node_name(problem, stage->node)));
    put(making, answer, "date", *date ? cb_json_of_text(date) : json_null());
    put_real(making, answer, "duration", cobre_sddp_problem_node_duration(problem, stage->node));
    put(making, answer, "time_unit", cb_json_of_text(cobre_sddp_problem_time_unit(problem)));
    put(making, answer, "cost_unit", cb_json_of_text(cobre_sddp_problem_cost_unit(problem)));
    put_real(making, answer, "cost", stage->stage_cost);
    put_real(making, answer, "future_cost", stage->future_cost + 0.0); /* no "-0" */
    making->status = cobre_sddp_figures(problem, stage, making, on_figure);
    move_terminal(making);
}

cobre_status cb_decision_find(const cobre_sddp_problem *problem, struct cb_decision *decision) {
    CB_TRY(cb_begin_find(problem, &decision->begin, &decision->beginning));
    CB_TRY(cb_begin_decision(problem, &decision->beginning, &decision->node));
    size_t randoms = cobre_sddp_problem_randoms(problem, decision->node);
    decision->noise = malloc((randoms + 1) * sizeof *decision->noise);
    if (!decision->noise)
        return cb_no_memory("inflows", randoms * sizeof *decision->noise);
    CB_TRY(cobre_sddp_problem_mean_noise(problem, decision->node, decision->noise));
    if (!decision->inflow)
        return COBRE_OK;
    return cobre_sddp_noise_from_text(problem, decision->node, decision->beginning.state, decision->inflow,
                                      decision->noise);
}

cobre_status cb_decision_make(const cobre_sddp_problem *problem, cobre_sddp_policy *policy,
                              const struct cb_decision *decision, const char *policy_path, json_t **answer) {
    struct making making = {.problem = problem, .answer = json_object(), .good = true};
    const char *difference = cobre_sddp_policy_difference(policy);
    put(&making, making.answer, "case", cb_json_of_text(cobre_sddp_problem_name(problem)));
    put(&making, making.answer, "policy", cb_json_of_text(policy_path));
    cobre_status status =
        cobre_sddp_decide(policy, &(cobre_sddp_decide_options){.struct_size = sizeof(cobre_sddp_decide_options),
                                                               .node = decision->node,
                                                               .state = decision->beginning.state,
                                                               .noise = decision->noise,
                                                               .solver = decision->solver,
                                                               .lp_folder = decision->lp_folder,
                                                               .arg = &making,
                                                               .stage = on_stage});
    put(&making, making.answer, "difference", difference ? cb_json_of_text(difference) : json_null());
    status = status ? status : making.status;
    if (!status && !making.good)
        status = cb_no_memory("a decision", 0);
    *answer = cb_json_whole(making.answer, !status);
    return status;
}

void cb_decision_free(struct cb_decision *decision) {
    cb_begin_free(&decision->beginning);
    free(decision->noise);
}
