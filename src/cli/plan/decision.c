/* SPDX-License-Identifier: Apache-2.0 */
/* decision.c: what a policy decides, as JSON. */
#include "cli/plan/decision.h"

#include "sddp/error.h"

#include <stdlib.h>
#include <string.h>

/* The member of an object that is an object; it is made if it is not there. */
static json_t *inner(json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);
    if (!value) {
        cb_json_set(object, key, json_object());
        value = json_object_get(object, key);
    }
    return value;
}

/* {"hydro": {"Furnas": {"subsystem": "SE", "turbined": 310, "turbined_by_block": {"peak": 400}}}} */
static void add_element(json_t *decision, const cobre_sddp_figure *figure) {
    json_t *element = inner(inner(decision, figure->type), figure->element);
    const char *kind = *figure->kind ? figure->kind : "value";
    char key[160];
    if (*figure->subsystem && strcmp(figure->subsystem, figure->element) != 0)
        cb_json_set(element, "subsystem", cb_json_text(figure->subsystem));
    if (strcmp(figure->level, "block") == 0) {
        snprintf(key, sizeof key, "%.120s_by_block", kind);
        cb_json_set(inner(element, key), figure->block, cb_json_real(figure->value));
        return;
    }
    snprintf(key, sizeof key, "%.120s%s", kind, strcmp(figure->level, "before") == 0 ? "_before" : "");
    cb_json_set(element, key, cb_json_real(figure->value));
}

static void on_figure(void *arg, const cobre_sddp_figure *figure) {
    json_t *answer = arg, *decision = inner(answer, "decision");
    if (*figure->unit)
        cb_json_set(inner(answer, "units"), *figure->kind ? figure->kind : "value", cb_json_text(figure->unit));
    if (strcmp(figure->level, "component") == 0)
        cb_json_set(inner(answer, "cost_by_component"), figure->element, cb_json_real(figure->value));
    else if (strcmp(figure->level, "subsystem") == 0)
        cb_json_set(inner(inner(decision, "subsystem"), figure->element), figure->kind, cb_json_real(figure->value));
    else if (strcmp(figure->level, "system") == 0 && strcmp(figure->kind, "cost") != 0 &&
             strcmp(figure->kind, "future_cost") != 0)
        cb_json_set(inner(answer, "system"), figure->kind, cb_json_real(figure->value));
    else if (strcmp(figure->level, "system") != 0)
        add_element(decision, figure);
}

/* What comes after the horizon is a cost of the last stage to the training; to people it is one of the future. */
static void move_terminal(json_t *answer) {
    json_t *components = json_object_get(answer, "cost_by_component");
    double terminal = json_number_value(json_object_get(components, "terminal"));
    if (!json_object_get(components, "terminal"))
        return;
    cb_json_set(answer, "cost", cb_json_real(json_number_value(json_object_get(answer, "cost")) - terminal));
    cb_json_set(answer, "future_cost",
                cb_json_real(json_number_value(json_object_get(answer, "future_cost")) + terminal));
    json_object_del(components, "terminal");
}

struct making {
    const cobre_sddp_problem *problem;
    json_t *answer;
    bool failed;
};

static void on_stage(void *arg, const cobre_sddp_stage *stage) {
    struct making *making = arg;
    const cobre_sddp_problem *problem = making->problem;
    json_t *answer = making->answer;
    const char *date = cobre_sddp_problem_node_date(problem, stage->node);
    cb_json_set(answer, "stage", cb_json_count(cobre_sddp_problem_node_stage(problem, stage->node)));
    cb_json_set(answer, "node", cb_json_text(cobre_sddp_problem_node_name(problem, stage->node)));
    cb_json_set(answer, "date", *date ? cb_json_text(date) : json_null());
    cb_json_set(answer, "duration", cb_json_real(cobre_sddp_problem_node_duration(problem, stage->node)));
    cb_json_set(answer, "time_unit", cb_json_text(cobre_sddp_problem_time_unit(problem)));
    cb_json_set(answer, "cost_unit", cb_json_text(cobre_sddp_problem_cost_unit(problem)));
    cb_json_set(answer, "cost", cb_json_real(stage->stage_cost));
    cb_json_set(answer, "future_cost", cb_json_real(stage->future_cost + 0.0)); /* no "-0" */
    if (cobre_sddp_figures(problem, stage, answer, on_figure) != COBRE_OK)
        making->failed = true;
    move_terminal(answer);
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
    struct making making = {.problem = problem, .answer = json_object()};
    const char *difference = cobre_sddp_policy_difference(policy);
    cb_json_set(making.answer, "case", cb_json_text(cobre_sddp_problem_name(problem)));
    cb_json_set(making.answer, "policy", cb_json_text(policy_path));
    cobre_status status =
        cobre_sddp_decide(policy, &(cobre_sddp_decide_options){.struct_size = sizeof(cobre_sddp_decide_options),
                                                               .node = decision->node,
                                                               .state = decision->beginning.state,
                                                               .noise = decision->noise,
                                                               .solver = decision->solver,
                                                               .lp_folder = decision->lp_folder,
                                                               .arg = &making,
                                                               .stage = on_stage});
    cb_json_set(making.answer, "difference", difference ? cb_json_text(difference) : json_null());
    if (!status && !making.failed) {
        *answer = making.answer;
        return COBRE_OK;
    }
    json_decref(making.answer);
    return status ? status : cobre_last_error()->status;
}

void cb_decision_free(struct cb_decision *decision) {
    cb_begin_free(&decision->beginning);
    free(decision->noise);
}
