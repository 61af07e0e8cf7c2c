/* SPDX-License-Identifier: Apache-2.0 */
/* record.c: run.json of a run folder. */
#include "sddp/run/record.h"

#include "sddp/draft.h"
#include "sddp/error.h"
#include "sddp/open.h"
#include "sddp/policy/policy.h"
#include "sddp/run/files.h"
#include "sddp/run/folder.h"
#include "sddp/run/json.h"
#include "sddp/run/numbers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char hash_text[] =
    "SHA-256; of training.csv without its last column, of summary.csv without the rows "
    "date, case, ranks, backend and seconds; of tables of a simulation that are larger than "
    "8 MiB their first and last MiB, between them their bytes as a decimal number";

/* The files of a training and of a simulation that have a hash. */
static const char *const trained[] = {CB_FILE_POLICY, CB_FILE_TRAINING, CB_FILE_SUMMARY, NULL};
#define TABLE_FILE(code, name, columns) name ".csv",
static const char *const simulated[] = {CB_TABLE_MAP(TABLE_FILE) CB_FILE_STATISTICS, CB_FILE_NETCDF, CB_FILE_SIMULATION,
                                        NULL};

static cobre_status no_memory(void) {
    return cb_no_memory(CB_FILE_RUN, 0);
}

static bool is_there(const char *folder, const char *name) {
    char path[PATH_MAX];
    return !cb_folder_join(folder, name, path) && access(path, F_OK) == 0;
}

/* What of a line is the same whenever and wherever the run is repeated. */
static size_t lasting(const char *name, const char *line, size_t length) {
    static const char *const passing[] = {"date,", "case,", "ranks,", "backend,", "seconds,"};
    if (strcmp(name, CB_FILE_TRAINING) == 0) {
        const char *comma = memrchr(line, ',', length);
        return comma ? (size_t)(comma - line) : length;
    }
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (strncmp(line, passing[i], strlen(passing[i])) == 0)
            return 0;
    return length;
}

static void add_lines(struct cb_sha256 *sha, FILE *file, const char *name) {
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) >= 0) {
        size_t kept = lasting(name, line, strcspn(line, "\n"));
        cb_sha256_add(sha, line, kept);
        if (kept > 0)
            cb_sha256_add(sha, "\n", 1);
    }
    free(line);
}

static void add_bytes(struct cb_sha256 *sha, FILE *file) {
    unsigned char part[1 << 16];
    for (size_t count; (count = fread(part, 1, sizeof part, file)) > 0;)
        cb_sha256_add(sha, part, count);
}

/* A table of a simulation can have gigabytes: to read all of it would take as long as to write it. */
static bool is_long(const char *name, FILE *file) {
    enum { LONG = 8 << 20 };
    struct stat status;
    return strcmp(name, CB_FILE_POLICY) != 0 && *name && fstat(fileno(file), &status) == 0 && status.st_size > LONG;
}

static void add_ends(struct cb_sha256 *sha, FILE *file) {
    enum { END = 1 << 20 };
    unsigned char *part = malloc(END);
    char size[32] = "";
    bool good = part && fread(part, 1, END, file) == END;
    if (good)
        cb_sha256_add(sha, part, END);
    good = good && fseeko(file, -END, SEEK_END) == 0;
    snprintf(size, sizeof size, "%lld", (long long)ftello(file) + END);
    cb_sha256_add(sha, size, strlen(size));
    if (good && fread(part, 1, END, file) == END)
        cb_sha256_add(sha, part, END);
    free(part);
}

static cobre_status hash_file(const char *path, const char *name, char hash[CB_SHA256_TEXT]) {
    struct cb_sha256 sha;
    FILE *file = cb_open_stream(path, "rb");
    if (!file)
        return cb_file_failed(path);
    cb_sha256_begin(&sha);
    if (strcmp(name, CB_FILE_TRAINING) == 0 || strcmp(name, CB_FILE_SUMMARY) == 0)
        add_lines(&sha, file, name);
    else if (is_long(name, file))
        add_ends(&sha, file);
    else
        add_bytes(&sha, file);
    cobre_status status = ferror(file) ? cb_file_failed(path) : COBRE_OK;
    fclose(file);
    cb_sha256_end(&sha, hash);
    return status;
}

static cobre_status hash_in(const char *folder, const char *name, char hash[CB_SHA256_TEXT]) {
    char path[PATH_MAX];
    CB_TRY(cb_folder_join(folder, name, path));
    return hash_file(path, name, hash);
}

/* {"training.csv": "5e88...", ...} of those that are there. */
static cobre_status hash_files(const char *folder, const char *const *names, json_t *files) {
    char hash[CB_SHA256_TEXT];
    for (; *names; names++) {
        if (!is_there(folder, *names))
            continue;
        CB_TRY(hash_in(folder, *names, hash));
        if (!cb_put(files, *names, json_string(hash)))
            return no_memory();
    }
    return COBRE_OK;
}

/* The record of a folder; NULL in *record: it has none. */
static cobre_status read_record(const char *folder, json_t **record) {
    char path[PATH_MAX];
    json_error_t error;
    *record = NULL;
    CB_TRY(cb_folder_join(folder, CB_FILE_RUN, path));
    if (access(path, F_OK) != 0)
        return COBRE_OK;
    FILE *file = cb_open_stream(path, "r");
    *record = file ? json_loadf(file, 0, &error) : NULL;
    if (file)
        fclose(file);
    if (json_integer_value(json_object_get(*record, "format")) == 1)
        return COBRE_OK;
    bool newer = *record != NULL;
    json_decref(*record);
    *record = NULL;
    return cb_fail_at(COBRE_FILE_FAILED, path, 0, "remove it, and the files beside it cannot be checked", "%s: %s",
                      path, newer ? "written by another version of cobre" : "it cannot be read, or is damaged");
}

static cobre_status write_record(const char *folder, const json_t *record) {
    char path[PATH_MAX];
    struct cb_draft draft;
    CB_TRY(cb_folder_join(folder, CB_FILE_RUN, path));
    CB_TRY(cb_draft_open(&draft, path));
    int failed = json_dumpf(record, draft.file, JSON_INDENT(2));
    putc('\n', draft.file);
    return cb_draft_close(&draft, failed && !ferror(draft.file) ? no_memory() : COBRE_OK);
}

/* Replaces one part of the record, and keeps the other. */
static cobre_status write_part(const char *folder, const char *part, json_t *value) {
    json_t *old = NULL, *record = json_pack("{s:i, s:s}", "format", 1, "hash", hash_text);
    cobre_status status = record ? read_record(folder, &old) : no_memory();
    for (const char *const *key = (const char *const[]){"training", "simulation", NULL}; !status && *key; key++) {
        json_t *member = strcmp(*key, part) == 0 ? value : json_object_get(old, *key);
        if (member && json_object_set(record, *key, member) != 0)
            status = no_memory();
    }
    if (!status)
        status = write_record(folder, record);
    json_decref(old);
    json_decref(record);
    return status;
}

/* Numbers that are not whole are texts: as they are written on the command line. */
static json_t *real_json(double value) {
    char text[32];
    return json_string(cb_exact_text(value, text));
}

static json_t *pair_json(double first, double second) {
    char text[2][32], both[80];
    snprintf(both, sizeof both, "%s,%s", cb_exact_text(first, text[0]), cb_exact_text(second, text[1]));
    return json_string(both);
}

/* What changes results, but for the solvers. */
static cobre_status options_json(const cobre_sddp_train_options *options, json_t **result) {
    char hash[CB_SHA256_TEXT];
    json_t *json = *result = json_object();
    size_t passes = options->forward_passes ? options->forward_passes : 1;
    bool good = cb_put(json, "seed", cb_json_of_count(options->seed)) &&
                cb_put(json, "forward_passes", cb_json_of_count(passes)) &&
                cb_put(json, "multi_cut", json_boolean(options->multi_cut));
    if (options->has_risk)
        good &= cb_put(json, "cvar", pair_json(options->risk_alpha, options->risk_beta));
    if (options->has_value_bound)
        good &= cb_put(json, "value_bound", real_json(options->value_bound));
    if (options->warm_start) {
        CB_TRY(hash_file(options->warm_start, CB_FILE_POLICY, hash));
        good &= cb_put(json, "warm_start", json_string(hash));
    }
    return good ? COBRE_OK : no_memory();
}

static json_t *solver_json(const char *name, const char *version) {
    return json_pack("{s:s, s:s}", "name", name, "version", version);
}

/* The solver and, if there is one, what takes over from it. */
static json_t *solvers_json(const cb_lp_names *names) {
    json_t *first = solver_json(names->solver, names->solver_version);
    if (!*names->fallback)
        return json_pack("[o]", first);
    return json_pack("[o, o]", first, solver_json(names->fallback, names->fallback_version));
}

/* NULL: it has none that can be read. */
static cobre_sddp_policy *read_policy(const char *folder) {
    char path[PATH_MAX];
    cobre_sddp_policy *policy = NULL;
    if (is_there(folder, CB_FILE_POLICY) && !cb_folder_join(folder, CB_FILE_POLICY, path))
        cobre_sddp_policy_read(path, &policy);
    return policy;
}

/* Whether a training of this case with these options could go on from the policy that the folder holds. */
static bool is_same(const char *folder, const cobre_sddp_problem *problem, const cobre_sddp_train_options *options,
                    const json_t *old) {
    json_t *now = NULL;
    bool same = options_json(options, &now) == COBRE_OK && json_equal(now, old);
    json_decref(now);
    cobre_sddp_policy *policy = same ? read_policy(folder) : NULL;
    same = policy && policy->names.fingerprint == problem->fingerprint &&
           (!options->solver || strcmp(options->solver, cobre_sddp_policy_solver(policy)) == 0);
    cobre_sddp_policy_free(&policy);
    return same;
}

cobre_status cb_record_look(const char *folder, const cobre_sddp_problem *problem,
                            const cobre_sddp_train_options *options, struct cb_record *record) {
    json_t *json;
    *record = (struct cb_record){.policy = is_there(folder, CB_FILE_POLICY)};
    for (const char *const *name = simulated; *name; name++)
        record->simulated |= is_there(folder, *name);
    CB_TRY(read_record(folder, &json));
    const json_t *training = json_object_get(json, "training");
    const char *state = json_string_value(json_object_get(training, "state"));
    record->known = training != NULL;
    record->finished = state && strcmp(state, "finished") == 0;
    record->same = problem && record->policy && is_same(folder, problem, options, json_object_get(training, "options"));
    json_decref(json);
    return COBRE_OK;
}

static void remove_files(const char *folder, const char *const *names) {
    char path[PATH_MAX];
    for (; *names; names++)
        if (!cb_folder_join(folder, *names, path))
            cb_remove(path);
}

cobre_status cb_record_begin(struct cb_training *training, bool in_place) {
    static const char *const ends[] = {CB_FILE_SUMMARY, CB_FILE_TIMES, NULL};
    static const char *const others[] = {CB_FILE_EVENTS, CB_FILE_TRAINING, CB_FILE_REPORT, CB_FILE_RUN, NULL};
    static const char *const policy[] = {CB_FILE_POLICY, NULL};
    char fingerprint[32];
    json_t *options = NULL;
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, training->problem->fingerprint);
    cobre_status status = options_json(training->options, &options);
    if (!status)
        training->record =
            json_pack("{s:s, s:{s:o, s:s}, s:O, s:o, s:s}", "version", cobre_version(), "case", "name",
                      cb_json_of_text(cobre_sddp_problem_name(training->problem)), "fingerprint", fingerprint,
                      "options", options, "rules", cb_rules_json(training->options), "state", "running");
    json_decref(options);
    CB_TRY(status);
    if (!training->record)
        return no_memory();
    cb_folder_remove_drafts(training->folder);
    if (!in_place) {
        remove_files(training->folder, policy); /* first: nothing else is of use without it */
        remove_files(training->folder, simulated);
        remove_files(training->folder, others);
    }
    remove_files(training->folder, ends);
    return write_part(training->folder, "training", training->record);
}

/* Which rank has failed says nothing about the run. */
static const char *what_failed(const cobre_error *error) {
    size_t rank;
    int length = 0;
    if (error->status == COBRE_COLLECTIVE_FAILED)
        return "the ranks lost each other";
    return sscanf(error->message, "rank %zu: %n", &rank, &length) == 1 ? error->message + length : error->message;
}

static cobre_status end_json(json_t *json, const char *folder, const cobre_sddp_training *result,
                             const cobre_sddp_policy *policy, const cobre_error *error) {
    json_t *files = json_object();
    bool good = cb_put(json, "state", json_string(result ? "finished" : "failed"));
    if (result)
        good &= cb_put(json, "stop", json_string(cobre_sddp_stop_name(result->stop)));
    else
        good &= cb_put(json, "error", cb_json_of_text(what_failed(error)));
    if (policy)
        good &= cb_put(json, "iterations", cb_json_of_count(cobre_sddp_policy_iterations(policy))) &&
                cb_put(json, "solvers", solvers_json(&policy->solvers));
    cobre_status status = hash_files(folder, trained, files);
    good &= cb_put(json, "files", files);
    return status || good ? status : no_memory();
}

cobre_status cb_record_end(struct cb_training *training, const cobre_sddp_training *result,
                           const cobre_sddp_policy *policy, const cobre_error *error, uint64_t *iterations) {
    json_t *json = training->record;
    training->record = NULL;
    *iterations = 0;
    if (!json)
        return no_memory();
    if (training->steered && !cb_put(json, "rules", cb_rules_json(training->options)))
        return no_memory();
    cobre_sddp_policy *saved = policy ? NULL : read_policy(training->folder);
    policy = policy ? policy : saved;
    *iterations = cobre_sddp_policy_iterations(policy);
    cobre_status status = end_json(json, training->folder, result, policy, error);
    if (!status)
        status = write_part(training->folder, "training", json);
    cobre_sddp_policy_free(&saved);
    json_decref(json);
    return status;
}

/* name: of the policy with that hash. */
static cobre_status check_policy(const char *folder, const char *name, const char *hash) {
    char path[PATH_MAX], other[CB_SHA256_TEXT];
    CB_TRY(cb_folder_join(folder, CB_FILE_POLICY, path));
    if (strcmp(path, name) == 0 || access(path, F_OK) != 0)
        return COBRE_OK;
    CB_TRY(hash_file(path, CB_FILE_POLICY, other));
    if (strcmp(hash, other) == 0)
        return COBRE_OK;
    return cb_fail_at(COBRE_FILE_FAILED, folder, 0, "give another folder by --out",
                      "%s holds another policy: a simulation of %s does not belong there", folder, name);
}

cobre_status cb_record_policy(const char *folder, const char *policy, char hash[CB_SHA256_TEXT]) {
    CB_TRY(hash_file(policy, CB_FILE_POLICY, hash));
    return check_policy(folder, policy, hash);
}

cobre_status cb_record_own_policy(const char *folder, const cobre_sddp_policy *policy, char hash[CB_SHA256_TEXT]) {
    int memory = memfd_create(CB_FILE_POLICY, MFD_CLOEXEC);
    if (memory < 0)
        return no_memory();
    const char *path = CB_TEXT("/proc/self/fd/%d", memory);
    cobre_status status = cb_policy_write(policy, path);
    if (!status)
        status = hash_file(path, CB_FILE_POLICY, hash);
    close(memory);
    return status ? status : check_policy(folder, "this policy", hash);
}

/* {"storage[Furnas]": 2300, ...} */
static json_t *state_json(const cobre_sddp_problem *problem, const double *state) {
    json_t *json = json_object();
    bool good = json;
    for (size_t s = 0; good && s < problem->states; s++)
        good = cb_put(json, problem->state[s].name, json_real(state[s]));
    if (!good)
        json_decref(json);
    return good ? json : NULL;
}

static cobre_status simulation_json(json_t *json, const char *folder, const cobre_sddp_simulate_options *options,
                                    const char *scenarios, const cobre_sddp_policy *policy) {
    char hash[CB_SHA256_TEXT];
    cb_lp_names names = policy->solvers;
    cb_lp_pair pair;
    json_t *given = json_object_get(json, "options");
    if (options->solver) { /* it was found before */
        CB_TRY(cb_lp_choose(options->solver, (int)cb_usual_rows(policy->problem), &pair));
        names = cb_lp_names_of(&pair);
    }
    bool good = cb_put(json, "solvers", solvers_json(&names)) && cb_put(json, "files", json_object());
    if (options->max_steps)
        good &= cb_put(given, "max_steps", cb_json_of_count(options->max_steps));
    if (options->has_node)
        good &= cb_put(given, "node", cb_json_of_text(policy->problem->node[options->node].name));
    if (options->state)
        good &= cb_put(given, "state", state_json(policy->problem, options->state));
    if (scenarios) {
        CB_TRY(hash_file(scenarios, "", hash));
        good &= cb_put(given, "scenarios", json_string(hash));
    }
    CB_TRY(hash_files(folder, simulated, json_object_get(json, "files")));
    return good ? COBRE_OK : no_memory();
}

cobre_status cb_record_simulation(const char *folder, const char *hash, const cobre_sddp_simulate_options *options,
                                  const char *sampling, const char *scenarios, const cobre_sddp_policy *policy,
                                  const cobre_sddp_simulation *result) {
    json_t *json = json_pack("{s:s, s:s, s:{s:s, s:o, s:o}}", "version", cobre_version(), "policy", hash, "options",
                             "sampling", sampling, "seed", cb_json_of_count(options->seed), "trajectories",
                             cb_json_of_count(result->trajectories));
    cobre_status status = json ? simulation_json(json, folder, options, scenarios, policy) : no_memory();
    if (!status)
        status = write_part(folder, "simulation", json);
    json_decref(json);
    return status;
}

static cobre_status not_of_it(const char *folder, const char *name, const char *why) {
    return cb_fail_at(COBRE_FILE_FAILED, folder, 0,
                      "train or simulate again; " CB_FILE_RUN " lists the files that belong together",
                      "%s/%s does not belong to the run in " CB_FILE_RUN ": %s", folder, name, why);
}

/* Each file is the one that the run left, and there is no other. */
static cobre_status check_files(const char *folder, const char *const *names, const json_t *files) {
    char hash[CB_SHA256_TEXT];
    for (; *names; names++) {
        const char *listed = json_string_value(json_object_get(files, *names));
        bool there = is_there(folder, *names);
        if (there != (listed != NULL))
            return not_of_it(folder, *names, there ? "it is from another run" : "it is missing");
        if (!there)
            continue;
        CB_TRY(hash_in(folder, *names, hash));
        if (strcmp(hash, listed) != 0)
            return not_of_it(folder, *names, "it has changed since, or is from another run");
    }
    return COBRE_OK;
}

static cobre_status check_training(const char *folder, const json_t *training) {
    const char *state = json_string_value(json_object_get(training, "state"));
    if (!state || strcmp(state, "running") != 0)
        return check_files(folder, trained, json_object_get(training, "files"));
    return is_there(folder, CB_FILE_SUMMARY) ? not_of_it(folder, CB_FILE_SUMMARY, "that has not ended") : COBRE_OK;
}

static cobre_status check_simulation(const char *folder, const json_t *simulation) {
    char hash[CB_SHA256_TEXT];
    CB_TRY(check_files(folder, simulated, json_object_get(simulation, "files")));
    const char *policy = json_string_value(json_object_get(simulation, "policy"));
    if (!policy || !is_there(folder, CB_FILE_POLICY))
        return COBRE_OK;
    CB_TRY(hash_in(folder, CB_FILE_POLICY, hash));
    if (strcmp(hash, policy) == 0)
        return COBRE_OK;
    return cb_fail_at(COBRE_FILE_FAILED, folder, 0, CB_TEXT("simulate %s/" CB_FILE_POLICY " again", folder),
                      "%s: the simulation is of another policy than " CB_FILE_POLICY ", as after a training went on",
                      folder);
}

cobre_status cb_record_known(const char *folder, bool *known) {
    json_t *record;
    CB_TRY(read_record(folder, &record));
    *known = json_object_get(record, "training") ||
             (record && !is_there(folder, CB_FILE_TRAINING) && !is_there(folder, CB_FILE_SUMMARY));
    json_decref(record);
    return COBRE_OK;
}

cobre_status cb_record_check(const char *folder) {
    json_t *record;
    CB_TRY(read_record(folder, &record));
    const json_t *training = json_object_get(record, "training");
    cobre_status status = training ? check_training(folder, training) : COBRE_OK;
    if (!status && record)
        status = check_simulation(folder, json_object_get(record, "simulation"));
    json_decref(record);
    return status;
}

json_t *cb_record_origin(const char *folder) {
    json_t *record;
    if (read_record(folder, &record) != COBRE_OK || !record)
        return NULL;
    json_t *origin = json_pack("{s:O?, s:O?}", "case", json_object_get(json_object_get(record, "training"), "case"),
                               "options", json_object_get(json_object_get(record, "simulation"), "options"));
    json_decref(record);
    return origin;
}

void cb_record_unfinished(const char *folder, char sentence[CB_RECORD_SENTENCE]) {
    json_t *record;
    *sentence = '\0';
    if (read_record(folder, &record) != COBRE_OK)
        return;
    const json_t *training = json_object_get(record, "training");
    const char *state = json_string_value(json_object_get(training, "state"));
    const char *error = json_string_value(json_object_get(training, "error"));
    if (state && strcmp(state, "failed") == 0)
        snprintf(sentence, CB_RECORD_SENTENCE, "This training has failed: %s.",
                 error ? error : "the reason is not known");
    if (state && strcmp(state, "running") == 0)
        snprintf(sentence, CB_RECORD_SENTENCE, "This training has not ended: it is running, or was killed.");
    json_decref(record);
}
