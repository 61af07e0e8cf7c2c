/* SPDX-License-Identifier: Apache-2.0 */
/* decide.c: the tool decide: the decision of a policy at a node, from a state. */
#include "cli/mcp/study.h"
#include "sddp/run/decision.h"
#include "sddp/run/json.h"
#include "sddp/run/numbers.h"

#include <inttypes.h>
#include <string.h>

static const struct cb_mcp_field input[] = {
    CB_MCP_CASE_FIELD(true),
    CB_MCP_POLICY_FIELD(true),
    {.name = "stage",
     .kind = CB_MCP_WHOLE,
     .limited = true,
     .least = 1,
     .most = 1e6,
     .help = "of the decision, from 1; without stage, date and node: the first"},
    {.name = "date",
     .kind = CB_MCP_TEXT,
     .help = "the same by a date, 2027-03 or 2027-03-15: the stage under way then"},
    {.name = "node", .kind = CB_MCP_TEXT, .help = "the same by the name of a node, for a stage that has several"},
    {.name = "state",
     .kind = CB_MCP_TEXT,
     .help = "what comes in: \"Furnas=40%,Serra Alta=2300\"; 50% is halfway from storage_min to storage_max; states "
             "that are not named are as the case begins"},
    {.name = "inflow",
     .kind = CB_MCP_TEXT,
     .help =
         "of the stage: \"Furnas=80%,Serra Alta=310\"; a percentage is one of the mean; those that are not named have "
         "the mean"},
    {.name = "element", .kind = CB_MCP_TEXT, .help = "tells of this element only: a plant, a subsystem, a line"},
    CB_MCP_PAGE_FIELDS("100"),
    {.name = NULL},
};

static const struct cb_mcp_field output[] = {
    {.name = "case", .kind = CB_MCP_TEXT, .required = true, .help = "its name"},
    {.name = "policy", .kind = CB_MCP_TEXT, .required = true, .help = "the path, without symbolic links"},
    {.name = "stage", .kind = CB_MCP_WHOLE, .required = true, .help = "of the decision"},
    {.name = "node", .kind = CB_MCP_TEXT, .required = true, .help = "its name"},
    {.name = "date", .kind = CB_MCP_TEXT, .required = true, .nullable = true, .help = "when the stage begins"},
    {.name = "duration", .kind = CB_MCP_NUMBER, .required = true, .nullable = true, .help = "of the stage"},
    {.name = "time_unit", .kind = CB_MCP_TEXT, .required = true, .help = "of the duration"},
    {.name = "cost_unit", .kind = CB_MCP_TEXT, .required = true, .help = "of costs"},
    {.name = "cost", .kind = CB_MCP_NUMBER, .required = true, .nullable = true, .help = "of this stage"},
    {.name = "future_cost",
     .kind = CB_MCP_NUMBER,
     .required = true,
     .nullable = true,
     .help = "expected from then on, as the policy estimates it"},
    {.name = "cost_by_component", .kind = CB_MCP_OBJECT, .help = "what the cost of the stage is due to"},
    {.name = "system", .kind = CB_MCP_OBJECT, .help = "sums over all subsystems, by kind"},
    {.name = "units", .kind = CB_MCP_OBJECT, .help = "of each kind of figures"},
    {.name = "decision",
     .kind = CB_MCP_OBJECT,
     .required = true,
     .help = "by type (subsystem, hydro, thermal, ...) and name: figures by kind, as marginal_cost, turbined, storage, "
             "water_value; what ends in _by_block is by load block, what ends in _before came in"},
    {.name = "difference",
     .kind = CB_MCP_TEXT,
     .required = true,
     .nullable = true,
     .help = "from the case that the policy was trained for; null: there is none"},
    {.name = "elements", .kind = CB_MCP_WHOLE, .required = true, .help = "that there are; some may be on other pages"},
    CB_MCP_NEXT_FIELD,
    {.name = NULL},
};

/* A page of the elements, in the same tree. */
struct page {
    json_t *decision, *names; /* names: of all elements */
    const char *wanted;       /* NULL: all */
    size_t first, count, all, shown, length;
};

static void add_element(struct page *page, const char *type, const char *name, json_t *element) {
    enum { ROOM = 15000 };
    cb_json_set(page->names, name, json_true());
    if (page->wanted && strcmp(page->wanted, name) != 0)
        return;
    size_t at = page->all++;
    if (at < page->first || page->shown >= page->count || page->length > ROOM)
        return;
    page->length += cb_study_length(element) + strlen(name) + 8;
    if (page->length > ROOM && page->shown > 0)
        return;
    if (!json_object_get(page->decision, type))
        cb_json_set(page->decision, type, json_object());
    cb_json_set(json_object_get(page->decision, type), name, json_incref(element));
    page->shown++;
}

static void cut(struct page *page, json_t *decision) {
    const char *type, *name;
    json_t *elements, *element;
    json_object_foreach(decision, type, elements) {
        json_object_foreach(elements, name, element) add_element(page, type, name, element);
    }
}

/* Takes the facts. What the policy is not made for comes first. */
static void say(struct cb_mcp_call *call, json_t *facts) {
    char cost[32], future[32];
    const char *difference = cb_json_text_in(facts, "difference"), *unit = cb_json_text_in(facts, "cost_unit");
    cb_mcp_answer(
        call, facts, "%s%s%sThe policy decides at stage %" PRIu64 ": cost %s%s%s now, %s%s%s expected from then on.",
        *difference ? "The policy was trained for another case: " : "", difference, *difference ? ". " : "",
        cb_json_count_in(facts, "stage"), cb_short_text(cb_json_real_in(facts, "cost"), 8, cost), cb_unit_blank(unit),
        unit, cb_short_text(cb_json_real_in(facts, "future_cost"), 8, future), cb_unit_blank(unit), unit);
}

static void answer(struct cb_mcp_call *call, json_t *facts) {
    struct page page = {.decision = json_object(),
                        .names = json_object(),
                        .wanted = cb_mcp_text(call, "element"),
                        .first = (size_t)cb_mcp_number(call, "offset", 0),
                        .count = (size_t)cb_mcp_number(call, "limit", 100)};
    cut(&page, json_object_get(facts, "decision"));
    if (page.wanted && page.all == 0) {
        cb_study_unknown(call, "element", page.wanted, "element", page.names, "give one of these, or none");
        json_decref(page.decision);
        json_decref(facts);
    } else {
        cb_json_set(facts, "decision", page.decision);
        cb_json_set(facts, "elements", cb_json_count(page.all));
        cb_json_set(facts, "next_offset", cb_study_next(call, page.shown, page.all));
        say(call, facts);
    }
    json_decref(page.names);
}

static bool question_of(struct cb_mcp_call *call, struct cb_decision *decision) {
    *decision = (struct cb_decision){.begin = {.stage = (size_t)cb_mcp_number(call, "stage", 0),
                                               .date = cb_mcp_text(call, "date"),
                                               .node = cb_mcp_text(call, "node"),
                                               .state = cb_mcp_text(call, "state")},
                                     .inflow = cb_mcp_text(call, "inflow"),
                                     .lp_folder = CB_STUDY_NO_FOLDER};
    if (cb_begin_is_clear(&decision->begin))
        return cb_study_no_file(call, "state") && cb_study_no_file(call, "inflow");
    cb_mcp_mistake(
        call, &(struct cb_mcp_mistake){.field = decision->begin.date ? "date" : "node",
                                       .received = decision->begin.date ? decision->begin.date : decision->begin.node,
                                       .problem = "stage, date and node: only one of them can be given",
                                       .next = "give one of them"});
    return false;
}

static void call(struct cb_mcp_call *call) {
    struct cb_study study = cb_study_none;
    struct cb_decision decision;
    json_t *facts;
    if (!question_of(call, &decision))
        return;
    if (cb_study_case(call, &study)) {
        if (cb_decision_find(study.problem, &decision) != COBRE_OK)
            cb_study_wrong(call, decision.noise ? "inflow" : "state");
        else if (cb_study_policy(call, &study)) {
            if (cb_decision_make(study.problem, study.policy, &decision, study.policy_place.path, &facts) == COBRE_OK)
                answer(call, facts);
            else
                cb_mcp_failed(call);
        }
    }
    cb_decision_free(&decision);
    cb_study_close(&study);
}

const struct cb_mcp_tool cb_mcp_decide = {
    .name = "decide",
    .title = "Decide from a state",
    .description =
        "Says what a trained policy decides now, from a state that you may give: releases, generation, exchanges, "
        "deficit, costs, marginal costs and water values, with their units. Nothing is written.",
    .input = input,
    .output = output,
    .repeatable = true,
    .call = call,
};
