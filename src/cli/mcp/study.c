/* SPDX-License-Identifier: Apache-2.0 */
/* study.c: cases, policies and runs that calls name. */
#include "cli/mcp/study.h"

#include "cli/mcp/server.h"
#include "comm/utf8.h"
#include "sddp/run/files.h"
#include "sddp/run/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct cb_study cb_study_none = {.case_place.fd = -1, .policy_place.fd = -1};

bool cb_study_load(struct cb_mcp_call *call, struct cb_study *study) {
    if (cobre_sddp_load(call->server->comm, study->case_place.path, NULL, &study->problem) == COBRE_OK)
        return true;
    cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = "case",
                                                  .received = study->case_place.path,
                                                  .problem = cobre_last_error()->message,
                                                  .next = "validate_case lists every problem of a case"});
    return false;
}

bool cb_study_case(struct cb_mcp_call *call, struct cb_study *study) {
    return cb_mcp_place(call, "case", CB_PLACE_ANY, &study->case_place) && cb_study_load(call, study);
}

bool cb_study_policy_of(struct cb_mcp_call *call, const char *field, struct cb_place *place) {
    char path[PATH_MAX + 32], why[CB_PLACE_WHY];
    if (!cb_mcp_place(call, field, CB_PLACE_ANY, place))
        return false;
    if (!place->folder)
        return true;
    snprintf(path, sizeof path, "%s/" CB_FILE_POLICY, place->path);
    cb_place_close(place);
    if (cb_place_find(&call->server->places, path, CB_PLACE_FILE, place, why))
        return true;
    cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = field,
                                                  .received = cb_mcp_text(call, field),
                                                  .problem = why,
                                                  .allowed = "a policy file, or a folder that has policy.cobre",
                                                  .next = "train makes one; list_studies names those that are there"});
    return false;
}

bool cb_study_policy_file(struct cb_mcp_call *call, struct cb_place *place) {
    return cb_study_policy_of(call, "policy", place);
}

bool cb_study_policy(struct cb_mcp_call *call, struct cb_study *study) {
    if (!cb_study_policy_file(call, &study->policy_place))
        return false;
    const char *path = study->policy_place.path;
    cobre_status status = study->problem ? cobre_sddp_policy_load(study->problem, path, &study->policy)
                                         : cobre_sddp_policy_read(path, &study->policy);
    if (status == COBRE_OK)
        return true;
    const cobre_error *error = cobre_last_error();
    cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = "policy",
                                                  .received = path,
                                                  .problem = error->message,
                                                  .next = error->suggestion[0]
                                                              ? error->suggestion
                                                              : "list_studies names the policies that are there"});
    return false;
}

void cb_study_close(struct cb_study *study) {
    cobre_sddp_policy_free(&study->policy);
    cobre_sddp_problem_free(&study->problem);
    cb_place_close(&study->case_place);
    cb_place_close(&study->policy_place);
}

void cb_study_unfit(struct cb_mcp_call *call, const char *field, const char *folder) {
    cobre_error error = *cobre_last_error();
    struct cb_results results;
    char next[PATH_MAX + sizeof error.suggestion + 64];
    cb_results_facts(&results, folder);
    const char *its = cb_fact(&results.summary, "case");
    snprintf(next, sizeof next, "%s%s%s", error.suggestion, *its ? "; its case is " : "", its);
    cb_mcp_mistake(
        call, &(struct cb_mcp_mistake){.field = field, .received = folder, .problem = error.message, .next = next});
    cb_results_free(&results);
}

void cb_study_wrong(struct cb_mcp_call *call, const char *text) {
    const cobre_error *error = cobre_last_error();
    const char *field = strcmp(error->subject, "text") == 0 ? text : error->subject;
    const json_t *given = json_object_get(call->arguments, field);
    char *received = json_dumps(given, JSON_ENCODE_ANY);
    if (given)
        cb_mcp_mistake(call,
                       &(struct cb_mcp_mistake){
                           .field = field, .received = received, .problem = error->message, .next = error->suggestion});
    else
        cb_mcp_failed(call);
    free(received);
}

bool cb_study_run(struct cb_mcp_call *call, struct cb_place *place, struct cb_results *results) {
    if (!cb_mcp_place(call, "run", CB_PLACE_FOLDER, place))
        return false;
    if (cb_record_check(place->path) != COBRE_OK) {
        cb_study_unfit(call, "run", place->path);
        cb_place_close(place);
        return false;
    }
    bool read = cb_results_read(results, place->path) == COBRE_OK;
    if (read && (results->iterations || results->summary.count || results->simulation.count))
        return true;
    if (read)
        cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = "run",
                                                      .received = place->path,
                                                      .problem = "this folder holds no results of a run",
                                                      .next = "list_studies with kind \"run\" names those that do"});
    else
        cb_mcp_failed(call);
    cb_results_free(results);
    cb_place_close(place);
    return false;
}

/* "rio-edit", of /cases/rio or /cases/rio.sof.json; of a long name its first letters. */
static void usual_name(const char *path, const char *ending, char name[128]) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *end = strstr(base, ".sof.json");
    size_t length = 0, letter = 1;
    while (length < 80 && base[length] && base + length != end && letter > 0)
        length += letter = cb_utf8_length((const unsigned char *)base + length);
    snprintf(name, 128, "%.*s-%s", (int)length, base, ending);
}

/* False: see errno and `why`. */
static bool make_usual(struct cb_places *places, const char *usual, struct cb_place *place, char why[CB_PLACE_WHY]) {
    char name[160];
    bool made = cb_place_make(places, usual, true, place, why);
    for (unsigned i = 2; !made && errno == EEXIST && i < 1000000; i++) {
        snprintf(name, sizeof name, "%s-%u", usual, i);
        made = cb_place_make(places, name, true, place, why);
    }
    return made;
}

bool cb_study_folder(struct cb_mcp_call *call, const char *path, const char *ending, struct cb_place *place) {
    struct cb_places *places = &call->server->places;
    const char *name = cb_mcp_text(call, "name");
    char why[CB_PLACE_WHY] = "this is not a valid name of a folder", usual[128];
    bool good = !name || (*name && *name != '.' && !strchr(name, '/') && strlen(name) <= 100);
    usual_name(path, ending, usual);
    if (good && (name ? cb_place_make(places, name, true, place, why) : make_usual(places, usual, place, why)))
        return true;
    bool there = good && errno == EEXIST;
    cb_mcp_mistake(call, &(struct cb_mcp_mistake){
                             .field = "name",
                             .received = name ? name : "nothing",
                             .problem = there ? "there is such a folder already, and it is not replaced" : why,
                             .allowed = "a name of at most 100 bytes, without '/', that is not used yet",
                             .next = "give another name, or leave it out"});
    return false;
}

bool cb_study_no_file(struct cb_mcp_call *call, const char *field) {
    const char *text = cb_mcp_text(call, field);
    size_t length = text ? strlen(text) : 0;
    if (length < 4 || strcasecmp(text + length - 4, ".csv") != 0)
        return true;
    cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = field,
                                                  .received = text,
                                                  .problem = "a table cannot be given here",
                                                  .allowed = "NAME=VALUE,NAME=VALUE%",
                                                  .next = "write the values themselves"});
    return false;
}

/* The first names, and how many more there are. */
static void list_names(const json_t *known, char *text, size_t size) {
    size_t length = 0, shown = 0;
    const char *name;
    json_t *value;
    *text = 0;
    json_object_foreach((json_t *)known, name, value) {
        if (length + strlen(name) + 32 > size)
            break;
        length += (size_t)snprintf(text + length, size - length, "%s%s", shown ? ", " : "", name);
        shown++;
    }
    if (shown < json_object_size(known))
        snprintf(text + length, size - length, ", and %zu more", json_object_size(known) - shown);
}

void cb_study_unknown(struct cb_mcp_call *call, const char *field, const char *received, const char *what,
                      const json_t *known, const char *next) {
    char problem[512], allowed[4096];
    snprintf(problem, sizeof problem, "there is no %.100s \"%.200s\"", what, received);
    list_names(known, allowed, sizeof allowed);
    cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = field,
                                                  .received = received,
                                                  .problem = problem,
                                                  .allowed = *allowed ? allowed : "there are none",
                                                  .nearest = cb_mcp_nearest(received, known),
                                                  .next = next});
}

json_t *cb_study_next(const struct cb_mcp_call *call, size_t shown, size_t all) {
    size_t next = (size_t)cb_mcp_number(call, "offset", 0) + shown;
    return shown > 0 && next < all ? cb_json_count(next) : json_null();
}

size_t cb_study_length(const json_t *value) {
    return json_dumpb(value, NULL, 0, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
}
