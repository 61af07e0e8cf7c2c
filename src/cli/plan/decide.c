/* SPDX-License-Identifier: Apache-2.0 */
/* decide.c: `cobre decide`: the decision of a policy at a node, from a state. The answer is made as JSON; people get
 * the same as tables. */
#include "cli/json.h"
#include "cli/plan/session.h"
#include "sddp/run/decision.h"

#include <string.h>

static const char intro[] =
    "usage: cobre decide CASE [--policy FILE] [--stage N | --date DATE]\n"
    "                         [--state TEXT] [--inflow TEXT] [option ...]\n"
    "\n"
    "Says what a trained policy decides now: releases, generation, exchanges, deficit, costs, marginal costs and "
    "water\n"
    "values.\n"
    "\n";

struct decide {
    struct session base;
    struct cb_decision decision;
    const char *policy_path;
    char policy[PATH_MAX], folder[PATH_MAX];
    json_t *answer;
};

static const struct cb_option own_rows[] = {
    {.name = "policy",
     .help = "the policy (default: NAME-out/policy.cobre, where `cobre train CASE` leaves it)",
     .value = {{.name = "FILE", .kind = CB_VALUE_TEXT, .field = CB_FIELD(struct decide, policy_path)}}},
    {.name = NULL},
};

const struct command_line cb_line_decide = {.command = "decide",
                                            .intro = intro,
                                            .end = "\nSee cobre-decide(1).\n",
                                            .table = {{own_rows, 0},
                                                      {cb_begin_rows, offsetof(struct decide, decision.begin)},
                                                      {cb_decide_rows, offsetof(struct decide, decision)},
                                                      {cb_json_rows, offsetof(struct decide, base)}},
                                            .needs = "case",
                                            .words = 1};

static int read_options(int argc, char **argv, struct decide *decide) {
    *decide = (struct decide){.base.self.command = "decide"};
    int code = cb_line_read(&cb_line_decide, argc, argv, decide, &decide->base.given);
    if (code != CB_GO_ON)
        return code;
    decide->base.case_path = decide->base.given.words[0];
    if (!cb_begin_is_clear(&decide->decision.begin))
        return cb_usage_error("decide", "--stage, --date and --node: give one of them");
    if (cb_folder_policy(decide->base.case_path, decide->policy_path, decide->policy) != COBRE_OK)
        return cb_session_refused(&decide->base);
    cb_folder_of(decide->policy, decide->folder);
    decide->decision.lp_folder = decide->folder;
    return CB_GO_ON;
}

/* The columns of a table: the keys of its elements, in the order of their first use. What is by block, and what never
 * changes, is for programs. */
static json_t *columns_of(const json_t *elements) {
    json_t *columns = json_object(), *element, *value;
    const char *name, *key;
    json_object_foreach((json_t *)elements, name, element) {
        json_object_foreach(element, key, value) {
            if (json_is_number(value) && !strstr(key, "_capacity") && !strstr(key, "_minimum"))
                json_object_set_new(columns, key, json_null());
        }
    }
    return columns;
}

static const char *unit_of(const json_t *answer, const char *key) {
    char kind[160];
    snprintf(kind, sizeof kind, "%s", key);
    size_t length = strlen(kind), ending = strlen("_before");
    if (length > ending && strcmp(kind + length - ending, "_before") == 0)
        kind[length - ending] = '\0';
    const char *unit = json_string_value(json_object_get(json_object_get(answer, "units"), kind));
    return unit ? unit : "";
}

enum { LINE = 80, LEAST_WIDTH = 9, NAME_WIDTH = 18, HEADING_LINES = 3 };

/* A heading has its words below each other: "hydro_generation" takes two lines. */
static const char *heading_line(const char *key, int line, int *length) {
    for (; line > 0 && *key; line--) {
        key += strcspn(key, "_");
        key += *key == '_';
    }
    *length = line < HEADING_LINES - 1 ? (int)strcspn(key, "_") : (int)strlen(key);
    return key;
}

static int width_of(const char *key) {
    int width = LEAST_WIDTH, length;
    for (int line = 0; line < HEADING_LINES; line++) {
        heading_line(key, line, &length);
        width = length > width ? length : width;
    }
    return width;
}

static void print_row(const char *name, json_t *element, json_t *columns) {
    const char *key;
    json_t *unused;
    printf("%-*.*s", NAME_WIDTH, NAME_WIDTH, name);
    json_object_foreach(columns, key, unused) {
        char text[32];
        const json_t *value = json_object_get(element, key);
        double number = json_number_value(value);
        printf("  %*s", width_of(key), !value ? "" : number == 0 ? "0" : cb_short_text(number, 6, text));
    }
    printf("\n");
}

static const char *heading_text(const json_t *answer, const char *key, int line, int *length) {
    if (line < HEADING_LINES)
        return heading_line(key, line, length);
    *length = (int)strlen(unit_of(answer, key));
    return unit_of(answer, key);
}

static void print_headings(const json_t *answer, const char *type, json_t *columns) {
    const char *key;
    json_t *unused;
    for (int line = 0; line <= HEADING_LINES; line++) { /* the last one has the units */
        int length, longest = 0;
        json_object_foreach(columns, key, unused) {
            heading_text(answer, key, line, &length);
            longest = length > longest ? length : longest;
        }
        if (longest == 0)
            continue;
        printf("%-*s", NAME_WIDTH, line == 0 ? type : "");
        json_object_foreach(columns, key, unused) {
            const char *text = heading_text(answer, key, line, &length);
            printf("  %*.*s", width_of(key), length, text);
        }
        printf("\n");
    }
}

static bool is_all_zero(json_t *elements) {
    json_t *element, *value;
    const char *name, *key;
    json_object_foreach(elements, name, element) {
        json_object_foreach(element, key, value) {
            if (json_is_number(value) && json_number_value(value) != 0)
                return false;
        }
    }
    return true;
}

/* Moves the first columns, as many as a line has room for, to another object. */
static json_t *take_columns(json_t *columns) {
    json_t *taken = json_object();
    int width = NAME_WIDTH;
    for (void *first; (first = json_object_iter(columns));) {
        const char *key = json_object_iter_key(first);
        width += 2 + width_of(key);
        if (width > LINE && json_object_size(taken) > 0)
            break;
        json_object_set_new(taken, key, json_null());
        json_object_del(columns, key);
    }
    return taken;
}

static void print_table(const json_t *answer, const char *type, json_t *elements) {
    json_t *columns = columns_of(elements), *element;
    const char *name;
    if (strcmp(type, "tier") == 0 && is_all_zero(elements)) {
        printf("\n%-*s  none\n", NAME_WIDTH, "deficit");
        json_decref(columns);
        return;
    }
    do {
        json_t *fit = take_columns(columns);
        printf("\n");
        print_headings(answer, type, fit);
        json_object_foreach(elements, name, element) {
            print_row(name, element, fit);
        }
        json_decref(fit);
    } while (json_object_size(columns) > 0);
    json_decref(columns);
}

static void print_costs(const json_t *answer) {
    char cost[32], future[32], text[32];
    const char *unit = json_string_value(json_object_get(answer, "cost_unit")), *kind;
    json_t *value;
    bool first = true;
    printf("cost      %s%s%s now, %s%s%s expected from then on\n",
           cb_short_text(json_number_value(json_object_get(answer, "cost")), 8, cost), cb_unit_blank(unit), unit,
           cb_short_text(json_number_value(json_object_get(answer, "future_cost")), 8, future), cb_unit_blank(unit),
           unit);
    json_object_foreach(json_object_get(answer, "cost_by_component"), kind, value) {
        if (json_number_value(value) == 0)
            continue;
        printf("%s", first ? "of it     " : ", ");
        for (const char *at = kind; *at; at++)
            putchar(*at == '_' ? ' ' : *at);
        printf(" %s", cb_short_text(json_number_value(value), 6, text));
        first = false;
    }
    printf("%s", first ? "" : "\n");
}

static void print_answer(const struct decide *decide) {
    const json_t *answer = decide->answer;
    const char *date = json_string_value(json_object_get(answer, "date")), *type;
    json_t *elements;
    printf("%s: stage %lld", json_string_value(json_object_get(answer, "case")),
           (long long)json_integer_value(json_object_get(answer, "stage")));
    if (date)
        printf(" (%s)", date);
    printf(", %s%s, %s\n\n",
           decide->decision.begin.state ? decide->decision.beginning.text + decide->decision.beginning.said
                                        : "from the case's initial state",
           decide->decision.begin.state && !decide->decision.beginning.complete ? ", the others as the case begins"
                                                                                : "",
           decide->decision.inflow ? "with the given inflow" : "with the mean of its outcomes");
    print_costs(answer);
    json_t *decision = json_object_get(answer, "decision"), *subsystems = json_object_get(decision, "subsystem");
    if (subsystems)
        print_table(answer, "subsystem", subsystems);
    json_object_foreach(decision, type, elements) {
        if (elements != subsystems)
            print_table(answer, type, elements);
    }
}

static int answer(struct decide *decide, cobre_sddp_policy *policy) {
    struct session *base = &decide->base;
    const char *difference = cobre_sddp_policy_difference(policy);
    if (difference)
        fprintf(stderr, "cobre decide: %s was trained for another case: %s\n", decide->policy, difference);
    if (cb_decision_make(base->problem, policy, &decide->decision, decide->policy, &decide->answer) != COBRE_OK)
        return cb_session_failed(base);
    if (base->json)
        cb_json_print(json_incref(decide->answer), 0);
    else
        print_answer(decide);
    return 0;
}

int cb_command_decide(int argc, char **argv) {
    struct decide decide;
    int code = read_options(argc, argv, &decide);
    if (code == CB_GO_ON)
        code = cb_session_alone(&decide.base);
    if (code != CB_GO_ON)
        return code;
    cobre_sddp_policy *policy = NULL;
    code = cb_session_load(&decide.base);
    if (code == CB_GO_ON && cb_decision_find(decide.base.problem, &decide.decision) != COBRE_OK)
        code = cb_session_failed(&decide.base);
    if (code == CB_GO_ON)
        code = cb_session_policy(&decide.base, decide.policy, decide.policy_path, &policy);
    if (code == CB_GO_ON)
        code = answer(&decide, policy);
    cobre_sddp_policy_free(&policy);
    cb_decision_free(&decide.decision);
    json_decref(decide.answer);
    cb_session_close(&decide.base);
    return code;
}
