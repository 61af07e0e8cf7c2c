/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c: reads terminal cuts from a policy file, or from a table (*.csv) with the columns of `cobre policy --export
 * csv`. It takes the cuts of one node: the one that is asked for, the only one with cuts, or the one of the same time of the
 * year (by_season). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sddp/grow.h"
#include "sddp/policy/policy.h"
#include "sddp/read/csv.h"
#include "sddp/read/reader.h"
#include "sddp/usual_floats.h"

/* A node of the file that has cuts. */
typedef struct {
    const char *name; /* may be "" in a table */
    size_t stage;     /* 0: not known */
    size_t index;     /* among all nodes of a policy */
} owner;

typedef struct {
    cobre_sddp_builder *builder;
    const cb_place *at; /* of the wish */
    const cb_terminal *wish;
    size_t node;   /* that gets the cuts */
    double *slope; /* of one cut */
    owner *owner;
    size_t owners, owners_room;
    size_t seasons, first_season; /* of the file's case; 0: it has none, or they are not known */
} reader;

static const char no_multi_cuts[] =
    "train without --multi-cut, or weight the cuts of the outcomes by their probabilities and add them up";

/* "1, 2, 3 and 20 more" */
static const char *list_owners(const reader *r, char text[512]) {
    enum { MOST = 12, SIZE = 512 };
    size_t shown = r->owners < MOST ? r->owners : MOST, length = 0;
    for (size_t i = 0; i < shown && length < SIZE; i++)
        length += (size_t)snprintf(text + length, SIZE - length, "%s%.40s", i ? ", " : "",
                                   *r->owner[i].name ? r->owner[i].name : "a node without a name");
    if (r->owners > shown && length < SIZE)
        snprintf(text + length, SIZE - length, " and %zu more", r->owners - shown);
    return text;
}

static void add_owner(reader *r, owner new) {
    if (CB_GROW(r->builder, r->owner, r->owners, r->owners_room))
        r->owner[r->owners++] = new;
}

/* Without stages a number may be a name. */
static bool is_wanted(const reader *r, const owner *o) {
    if (r->wish->node)
        return strcmp(o->name, r->wish->node) == 0;
    return o->stage > 0 ? o->stage == r->wish->stage : strcmp(o->name, CB_TEXT("%zu", r->wish->stage)) == 0;
}

static size_t by_wish(reader *r) {
    char all[512];
    for (size_t i = 0; i < r->owners; i++)
        if (is_wanted(r, &r->owner[i]))
            return i;
    cb_error_at(r->builder, r->at,
                "take one of these; the last stage of a policy has none, because nothing comes after it",
                "%s has no cuts of %s \"%s\", but of %s", r->wish->file, r->wish->node ? "node" : "stage",
                r->wish->node ? r->wish->node : CB_TEXT("%zu", r->wish->stage), list_owners(r, all));
    return CB_NONE;
}

static bool have_seasons(const reader *r) {
    return r->seasons > 0 && r->seasons == r->builder->seasons;
}

/* The stage of the file that lies at the same time, if both cases began within one cycle of seasons; else the last one
 * before it that lies in the same season. */
static size_t by_season(const reader *r) {
    size_t shift = (r->builder->first_season + r->seasons - r->first_season) % r->seasons, found = CB_NONE;
    size_t wanted = r->builder->node[r->node].stage + shift;
    for (size_t i = 0; i < r->owners; i++) {
        size_t stage = r->owner[i].stage;
        if (stage <= wanted && (wanted - stage) % r->seasons == 0 &&
            (found == CB_NONE || stage > r->owner[found].stage))
            found = i;
    }
    return found;
}

static size_t season_of(size_t stage, size_t first, size_t seasons) {
    return (stage - 1 + first - 1) % seasons + 1;
}

/* A future cost depends on the season in which it begins. */
static bool check_season(reader *r, const owner *o) {
    if (!have_seasons(r))
        return true;
    size_t there = season_of(o->stage, r->first_season, r->seasons);
    size_t here = season_of(r->builder->node[r->node].stage, r->builder->first_season, r->seasons);
    if (there != here)
        cb_error_at(r->builder, r->at, CB_TEXT("take a stage of season %zu", here),
                    "stage %zu of %s lies in season %zu, and the last stage of this case in season %zu", o->stage,
                    r->wish->file, there, here);
    return there == here;
}

/* Whose cuts? CB_NONE: reported. */
static size_t choose(reader *r) {
    char all[512];
    size_t found = CB_NONE;
    if (r->owners == 0)
        cb_error_at(r->builder, r->at, "give a policy with cuts, or a table of them", "%s has no cuts", r->wish->file);
    else if (r->wish->node || r->wish->stage)
        found = by_wish(r);
    else if (r->owners == 1)
        found = 0;
    else if (!have_seasons(r) || (found = by_season(r)) == CB_NONE)
        cb_error_at(r->builder, r->at,
                    CB_TEXT("say whose: {\"file\": ..., \"node\": \"%s\"}", r->owner[r->owners - 1].name),
                    "%s has cuts of %zu nodes, %s, and it is not clear whose are meant", r->wish->file, r->owners,
                    list_owners(r, all));
    return found != CB_NONE && check_season(r, &r->owner[found]) ? found : CB_NONE;
}

/* known: of each state, has the file slopes of it? */
static void warn_of_states(const reader *r, const cb_place *at, const size_t *known) {
    size_t lacks = 0;
    const char *first = "";
    for (size_t s = r->builder->states; s-- > 0;)
        if (known[s] == CB_NONE) {
            first = r->builder->state[s].name;
            lacks++;
        }
    if (lacks > 0)
        cb_warn_at(r->builder, at, "use cuts of all states, with slopes of 0 where that is meant",
                   "%s has no slopes of state %s%s: its value at the end counts for nothing", r->wish->file, first,
                   lacks > 1 ? CB_TEXT(" and %zu more", lacks - 1) : "");
}

/* A number of the table; 0: reported, or there is no such column. */
static double number_at(reader *r, const cb_csv *table, size_t row, size_t column) {
    const char *text = cb_csv_text(table, row, column);
    double value = 0;
    if (column == CB_NONE || cb_csv_number(text, &value))
        return value;
    cb_place at = cb_csv_place(table, row, column);
    if (*text)
        cb_csv_not_a_number(r->builder, &at, text);
    else
        cb_error_at(r->builder, &at, "give a number", "is empty");
    return 0;
}

/* The nodes of the table, in the order in which they first appear. false: it has multi-cuts. */
static bool find_in_table(reader *r, const cb_csv *table, size_t node, size_t outcome) {
    for (size_t row = 0; row < table->rows; row++) {
        const char *name = cb_csv_text(table, row, node);
        size_t i = r->owners;
        while (i > 0 && strcmp(r->owner[i - 1].name, name) != 0)
            i--;
        if (i == 0)
            add_owner(r, (owner){.name = name});
        if (*cb_csv_text(table, row, outcome)) {
            cb_error_at(r->builder, CB_CSV_AT(table, row, outcome), no_multi_cuts,
                        "is a cut of one outcome: how likely the outcomes are is not known here");
            return false;
        }
    }
    return !r->builder->no_memory;
}

static void add_rows(reader *r, const cb_csv *table, size_t node, size_t intercept, const size_t *column) {
    size_t chosen = choose(r);
    for (size_t row = 0; chosen != CB_NONE && row < table->rows && !r->builder->no_memory; row++) {
        if (strcmp(cb_csv_text(table, row, node), r->owner[chosen].name) != 0)
            continue;
        for (size_t s = 0; s < r->builder->states; s++)
            r->slope[s] = number_at(r, table, row, column[s]);
        cb_place at = cb_csv_place(table, row, CB_NONE);
        cb_add_terminal_cut(r->builder, &at, r->node, number_at(r, table, row, intercept), r->slope);
    }
}

static void read_table(reader *r) {
    cb_csv table;
    size_t *column = cb_builder_alloc(r->builder, r->builder->states, sizeof *column);
    if (cb_csv_read(r->builder, r->wish->file, false, &table) && column) {
        size_t node = cb_csv_find(&table, "node"), outcome = cb_csv_find(&table, "outcome");
        cb_csv_find(&table, "iteration");
        size_t intercept = cb_csv_column(r->builder, &table, "intercept", true);
        for (size_t s = 0; s < r->builder->states; s++)
            column[s] = cb_csv_find(&table, r->builder->state[s].name);
        cb_csv_check_columns(r->builder, &table);
        if (cb_csv_sound(r->builder, &table) && find_in_table(r, &table, node, outcome)) {
            add_rows(r, &table, node, intercept, column);
            warn_of_states(r, CB_CSV_AT(&table, CB_NONE, CB_NONE), column);
        }
    }
    cb_csv_free(&table);
}

/* The states of a case and of a policy, by name: each of one in the other; CB_NONE: it is not there. */
typedef struct {
    size_t *here, *there;
} match;

static match match_states(const reader *r, const cobre_sddp_policy *policy) {
    match m = {.here = cb_builder_alloc(r->builder, policy->names.states, sizeof *m.here),
               .there = cb_builder_alloc(r->builder, r->builder->states, sizeof *m.there)};
    for (size_t s = 0; m.there && s < r->builder->states; s++)
        m.there[s] = CB_NONE;
    for (size_t s = 0; m.here && m.there && s < policy->names.states; s++) {
        m.here[s] = cb_find_state(r->builder, cobre_sddp_policy_state_name(policy, s));
        if (m.here[s] != CB_NONE)
            m.there[m.here[s]] = s;
    }
    return m;
}

/* The slopes of a cut for the case's states. A state that the case does not have must not matter: false, reported. */
static bool take_slopes(reader *r, const cobre_sddp_policy *policy, const match *m, const double *slope) {
    for (size_t s = 0; s < policy->names.states; s++) {
        if (m->here[s] != CB_NONE) {
            r->slope[m->here[s]] = slope[s];
        } else if (slope[s] != 0) {
            cb_error_at(r->builder, r->at, "use a policy of a case with the same plants and lags",
                        "the cuts of %s depend on state %s, which this case does not have", r->wish->file,
                        cobre_sddp_policy_state_name(policy, s));
            return false;
        }
    }
    return true;
}

static void add_cuts(reader *r, const cobre_sddp_policy *policy, size_t node) {
    match m = match_states(r, policy);
    double *slope = cb_builder_alloc(r->builder, policy->names.states, sizeof *slope);
    for (uint64_t i = 0; i < cobre_sddp_policy_cuts(policy) && !r->builder->no_memory; i++) {
        cobre_sddp_cut cut = {.struct_size = sizeof cut};
        cobre_sddp_policy_cut(policy, i, &cut, slope);
        if (cut.node != node)
            continue;
        if (!take_slopes(r, policy, &m, slope))
            return;
        cb_add_terminal_cut(r->builder, r->at, r->node, cut.intercept, r->slope);
    }
    if (!r->builder->no_memory)
        warn_of_states(r, r->at, m.there);
}

/* The nodes of the policy that have cuts. */
static void find_in_policy(reader *r, const cobre_sddp_policy *policy) {
    bool *has = cb_builder_alloc(r->builder, policy->names.nodes, sizeof *has);
    for (uint64_t i = 0; has && i < cobre_sddp_policy_cuts(policy); i++) {
        cobre_sddp_cut cut = {.struct_size = sizeof cut};
        cobre_sddp_policy_cut(policy, i, &cut, NULL);
        has[cut.node] = true;
    }
    for (size_t n = 0; has && n < policy->names.nodes; n++)
        if (has[n])
            add_owner(r, (owner){.name = cobre_sddp_policy_node_name(policy, n),
                                 .stage = cobre_sddp_policy_node_stage(policy, n),
                                 .index = n});
    r->seasons = policy->names.seasons;
    r->first_season = policy->names.first_season;
}

static bool check_policy(reader *r, const cobre_sddp_policy *policy) {
    const char *file = r->wish->file;
    if (policy->names.maximise != r->builder->maximise)
        cb_error_at(r->builder, r->at, "use a policy of the same sense", "the problem of %s %s, and this one does not",
                    file, policy->names.maximise ? "maximises" : "minimises");
    else if (policy->kind.multi_cut)
        cb_error_at(r->builder, r->at, no_multi_cuts,
                    "%s has multi-cuts, each of one outcome: how likely the outcomes are is not known here", file);
    else
        return true;
    return false;
}

static void read_policy(reader *r) {
    cobre_sddp_policy *policy;
    if (cobre_sddp_policy_read(r->wish->file, &policy)) {
        cb_error_at(r->builder, r->at, cobre_last_error()->suggestion, "%s", cobre_last_error()->message);
        return;
    }
    if (check_policy(r, policy)) {
        find_in_policy(r, policy);
        size_t chosen = r->builder->no_memory ? CB_NONE : choose(r);
        if (chosen != CB_NONE)
            add_cuts(r, policy, r->owner[chosen].index);
    }
    cobre_sddp_policy_free(&policy);
}

static bool is_table(const char *path) {
    const char *end = strrchr(path, '.');
    return end && strcasecmp(end, ".csv") == 0;
}

void cb_read_terminal(cobre_sddp_builder *builder, const cb_place *at, size_t node, const cb_terminal *wish) {
    reader r = {.builder = builder, .at = at, .wish = wish, .node = node};
    r.slope = cb_builder_alloc(builder, builder->states, sizeof *r.slope);
    if (r.slope)
        (is_table(wish->file) ? read_table : read_policy)(&r);
    free(r.owner);
}

void cobre_sddp_add_terminal(cobre_sddp_builder *builder, size_t node, const char *path, const char *of) {
    CB_USUAL_FLOATS();
    const cb_place at = {.file = path ? path : ""};
    if (!builder || node == CB_NONE)
        return;
    if (node >= builder->nodes)
        cb_error_at(builder, &at, "use an index that an add returned", "there is no node %zu", node);
    else if (!path)
        cb_error_at(builder, &at, "give the file of a policy, or a table of cuts", "node %s: the file is missing",
                    builder->node[node].name);
    else
        cb_read_terminal(builder, &at, node, &(cb_terminal){.file = path, .node = of});
}
