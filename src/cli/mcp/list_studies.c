/* SPDX-License-Identifier: Apache-2.0 */
/* list_studies.c: the tool list_studies: the cases, runs and policies below the allowed folders.
 *
 * The folders are walked by descriptors; symbolic links are not followed, and hidden folders are left out. The walk ends when it has
 * gone deep enough, or has seen enough. */
#include "cli/mcp/server.h"
#include "cli/mcp/study.h"
#include "comm/utf8.h"
#include "sddp/run/files.h"
#include "sddp/run/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 6, MOST_ENTRIES = 50000, MOST_FOUND = 5000, MOST_RECORD = 1 << 20, LONGEST_NAME = 100, ROOM = 14000 };

static const char *const kinds[] = {"case", "run", "policy", NULL};

static const struct cb_mcp_field input[] = {
    {.name = "kind", .kind = CB_MCP_TEXT, .choices = kinds, .help = "only this kind (default: all)"},
    {.name = "name", .kind = CB_MCP_TEXT, .help = "only those whose path has this text in it, in any case of letters"},
    CB_MCP_PAGE_FIELDS("50"),
    {.name = NULL},
};

static const struct cb_mcp_field study_fields[] = {
    {.name = "kind", .kind = CB_MCP_TEXT, .required = true, .choices = kinds, .help = "case, run or policy"},
    {.name = "path", .kind = CB_MCP_TEXT, .required = true, .help = "for the arguments case, run and policy"},
    {.name = "name", .kind = CB_MCP_TEXT, .help = "of a case; of a run: of its case. A long one is cut"},
    {.name = "case",
     .kind = CB_MCP_TEXT,
     .help = "of a run: the path of its case when it was trained, if that is known"},
    {.name = "state", .kind = CB_MCP_TEXT, .help = "of the training of a run: running, finished or failed"},
    {.name = "iterations", .kind = CB_MCP_WHOLE, .help = "of the training of a run"},
    {.name = "risk",
     .kind = CB_MCP_TEXT,
     .help = "of the training of a run: none, its cvar, that of the case, or averse"},
    {.name = "policy", .kind = CB_MCP_TEXT, .help = "of a run: the path of its policy, if it has one"},
    {.name = "simulated", .kind = CB_MCP_YES_NO, .help = "of a run: there are results of a simulation"},
    {.name = "start", .kind = CB_MCP_TEXT, .help = "of a simulated run: where the simulation begins"},
    {.name = NULL},
};

static const struct cb_mcp_field output[] = {
    {.name = "roots",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_TEXT,
     .required = true,
     .help = "the folders that may be read"},
    {.name = "output", .kind = CB_MCP_TEXT, .required = true, .help = "the folder that results go to"},
    {.name = "count", .kind = CB_MCP_WHOLE, .required = true, .help = "how many were found"},
    {.name = "complete",
     .kind = CB_MCP_YES_NO,
     .required = true,
     .help = "false: the folders have more than was looked at"},
    {.name = "left_out",
     .kind = CB_MCP_WHOLE,
     .required = true,
     .help = "studies that cannot be named here: their paths are no UTF-8"},
    {.name = "studies",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = study_fields,
     .required = true,
     .help = "a page of them"},
    CB_MCP_NEXT_FIELD,
    {.name = NULL},
};

struct walk {
    json_t *found;
    const char *kind, *name; /* that are asked for; NULL: any */
    size_t seen, left_out;
    bool cut;
};

static bool is_there(int folder, const char *name) {
    struct stat status;
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name), tail = strlen(end);
    return length > tail && strcmp(name + length - tail, end) == 0;
}

static bool is_utf8(const char *text) {
    size_t length = 1;
    while (*text && (length = cb_utf8_length((const unsigned char *)text)) > 0)
        text += length;
    return length > 0;
}

static void add(struct walk *walk, const char *kind, const char *path) {
    bool wanted = (!walk->kind || strcmp(walk->kind, kind) == 0) && (!walk->name || strcasestr(path, walk->name));
    if (wanted && !is_utf8(path)) {
        walk->left_out++;
        return;
    }
    if (!wanted || json_array_size(walk->found) >= MOST_FOUND) {
        walk->cut |= wanted;
        return;
    }
    json_t *study = json_object();
    cb_json_set(study, "kind", cb_json_text(kind));
    cb_json_set(study, "path", cb_json_text(path));
    cb_json_append(walk->found, study);
}

/* A small JSON file, or NULL. */
static json_t *read_json(int folder, const char *name) {
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    json_t *json = NULL;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < MOST_RECORD)
        json = json_loadfd(fd, 0, NULL);
    if (fd >= 0)
        close(fd);
    return json;
}

/* Some names are sentences. */
static void put_name(json_t *study, const char *name) {
    char text[4 * LONGEST_NAME + 4], *to = text;
    size_t letters = 0;
    for (size_t length; *name && (length = cb_utf8_length((const unsigned char *)name)) > 0; name += length) {
        if (letters++ == LONGEST_NAME) {
            to = stpcpy(to, "...");
            break;
        }
        memcpy(to, name, length);
        to += length;
    }
    *to = 0;
    if (*text)
        cb_json_set(study, "name", cb_json_text(text));
}

/* What the two tables of facts tell. */
static void put_facts(json_t *run, const struct cb_results *results, const json_t *options) {
    const struct cb_facts *training = &results->summary, *simulation = &results->simulation;
    const char *cvar = cb_json_text_in(options, "cvar"), *iterations = cb_fact(training, "iterations"),
               *start = cb_fact(simulation, "start");
    const char *name = cb_fact(training, "name"), *path = cb_fact(training, "case");
    bool averse = strcmp(cb_fact(training, "averse"), "yes") == 0;
    char risk[160];
    put_name(run, *name ? name : cb_fact(simulation, "name"));
    if (*path)
        cb_json_set(run, "case", cb_json_text(path));
    if (*iterations)
        cb_json_set(run, "iterations", json_integer(strtoll(iterations, NULL, 10)));
    snprintf(risk, sizeof risk, "%s%.100s",
             *cvar     ? "cvar "
             : !averse ? "none"
             : options ? "that of the case"
                       : "averse",
             cvar);
    if (training->count)
        cb_json_set(run, "risk", cb_json_text(risk));
    cb_json_set(run, "simulated", json_boolean(simulation->count > 0));
    if (simulation->count)
        cb_json_set(run, "start", cb_json_text(*start ? start : "where the case begins"));
}

/* What is known of a run. */
static void put_run(json_t *run, const struct cb_place *place) {
    struct cb_results results;
    json_t *record = read_json(place->fd, CB_FILE_RUN);
    const json_t *training = json_object_get(record, "training");
    char policy[PATH_MAX + 32];
    snprintf(policy, sizeof policy, "%s/" CB_FILE_POLICY, place->path);
    put_name(run, cb_json_text_in(json_object_get(training, "case"), "name"));
    if (training)
        cb_json_set(run, "state", cb_json_text(cb_json_text_in(training, "state")));
    if (is_there(place->fd, CB_FILE_POLICY))
        cb_json_set(run, "policy", cb_json_text(policy));
    if (cb_results_facts(&results, place->path) == COBRE_OK)
        put_facts(run, &results, json_object_get(training, "options"));
    cb_results_free(&results);
    json_decref(record);
}

/* Of a StochOptFormat file that is large, or compressed, it is not read. */
static void put_case(json_t *study, const struct cb_place *place) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", place->fd);
    int fd = place->folder ? -1 : open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    json_t *json = place->folder ? read_json(place->fd, "case.json") : NULL;
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size < MOST_RECORD)
        json = json_loadfd(fd, 0, NULL);
    if (fd >= 0)
        close(fd);
    put_name(study, cb_json_text_in(json, "name"));
    json_decref(json);
}

/* A case and a run have no studies in them. */
static bool is_study(struct walk *walk, int folder, const char *path) {
    if (is_there(folder, "case.json"))
        add(walk, "case", path);
    else if (is_there(folder, CB_FILE_RUN) || is_there(folder, CB_FILE_TRAINING) ||
             is_there(folder, CB_FILE_SIMULATION))
        add(walk, "run", path);
    else
        return false;
    return true;
}

static void look_at_file(struct walk *walk, const char *path, const char *name) {
    if (ends_with(name, ".sof.json") || ends_with(name, ".sof.json.gz"))
        add(walk, "case", path);
    else if (ends_with(name, ".cobre"))
        add(walk, "policy", path);
}

static int by_name(const void *one, const void *other) {
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/* The names in a folder, in their order, without hidden ones. */
static char **names_in(int folder, size_t *count) {
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    char **names = NULL;
    struct dirent *entry;
    *count = 0;
    while (dir && *count < MOST_ENTRIES && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        char **more =
            *count & (*count - 1) && *count ? names : realloc(names, (*count ? 2 * *count : 1) * sizeof *names);
        if (!more || !((names = more)[*count] = strdup(entry->d_name)))
            break;
        ++*count;
    }
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    if (names)
        qsort(names, *count, sizeof *names, by_name);
    return names;
}

static void walk_folder(struct walk *walk, int folder, const char *path, size_t depth);

static void look_at(struct walk *walk, int folder, const char *path, const char *name, size_t depth) {
    char full[PATH_MAX];
    struct stat status;
    if (walk->seen++ >= MOST_ENTRIES ||
        snprintf(full, sizeof full, "%s/%s", strcmp(path, "/") == 0 ? "" : path, name) >= PATH_MAX ||
        fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        walk->cut = true;
        return;
    }
    if (S_ISREG(status.st_mode))
        look_at_file(walk, full, name);
    if (!S_ISDIR(status.st_mode))
        return;
    int fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (!is_study(walk, fd, full))
        walk_folder(walk, fd, full, depth + 1);
    close(fd);
}

static void walk_folder(struct walk *walk, int folder, const char *path, size_t depth) {
    size_t count;
    if (depth >= DEEPEST) {
        walk->cut = true;
        return;
    }
    char **names = names_in(folder, &count);
    for (size_t i = 0; i < count; i++) {
        look_at(walk, folder, path, names[i], depth);
        free(names[i]);
    }
    free(names);
}

/* One that is below another one has been walked with that. */
static bool is_covered(const struct cb_places *places, size_t at) {
    for (size_t i = 0; i <= places->roots; i++) {
        size_t length = strlen(places->root[i].path);
        bool below = strncmp(places->root[i].path, places->root[at].path, length) == 0 &&
                     (strchr("/", places->root[at].path[length]) || strcmp(places->root[i].path, "/") == 0);
        bool same = strcmp(places->root[i].path, places->root[at].path) == 0;
        if (places->root[i].fd >= 0 && i != at && below && (!same || i < at))
            return true;
    }
    return false;
}

static void put_details(struct cb_places *places, json_t *study) {
    const char *kind = cb_json_text_in(study, "kind");
    struct cb_place place;
    char why[CB_PLACE_WHY];
    if (strcmp(kind, "policy") == 0 ||
        !cb_place_find(places, cb_json_text_in(study, "path"), CB_PLACE_ANY, &place, why))
        return;
    if (strcmp(kind, "run") == 0)
        put_run(study, &place);
    else
        put_case(study, &place);
    cb_place_close(&place);
}

/* Only those that are told are looked at more closely. */
static void put_page(struct cb_mcp_call *call, json_t *facts, const json_t *found) {
    size_t first = (size_t)cb_mcp_number(call, "offset", 0), most = (size_t)cb_mcp_number(call, "limit", 50);
    for (size_t i = first, length = 0; i < json_array_size(found) && i - first < most && length <= ROOM; i++) {
        json_t *study = json_array_get(found, i);
        put_details(&call->server->places, study);
        length += cb_study_length(study);
    }
    cb_mcp_put_page(call, facts, "studies", found, 50, ROOM);
}

static json_t *root_list(const struct cb_places *places) {
    json_t *roots = json_array();
    for (size_t i = 0; i < places->roots; i++)
        cb_json_append(roots, cb_json_text(places->root[i].path));
    return roots;
}

static void walk_all(struct walk *walk, struct cb_places *places) {
    cb_places_look(places);
    for (size_t i = 0; i <= places->roots; i++)
        if (places->root[i].fd >= 0 && !is_covered(places, i) &&
            !is_study(walk, places->root[i].fd, places->root[i].path))
            walk_folder(walk, places->root[i].fd, places->root[i].path, 0);
}

/* The last part of a path. */
static const char *last_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

json_t *cb_mcp_near_study(struct cb_places *places, const char *kind, const char *path) {
    struct walk walk = {.found = json_array(), .kind = kind};
    json_t *names = json_object(), *study, *near = NULL;
    size_t i;
    walk_all(&walk, places);
    json_array_foreach(walk.found, i, study)
        cb_json_set(names, last_of(cb_json_text_in(study, "path")), json_incref(json_object_get(study, "path")));
    const char *name = cb_mcp_nearest(last_of(path), names);
    if (name)
        near = json_incref(json_object_get(names, name));
    json_decref(names);
    json_decref(walk.found);
    return near;
}

/* "12 runs" */
static const char *several(const char *kind, size_t count) {
    if (!kind)
        return "cases, runs and policies";
    bool one = count == 1;
    return strcmp(kind, "case") == 0  ? (one ? "case" : "cases")
           : strcmp(kind, "run") == 0 ? (one ? "run" : "runs")
                                      : (one ? "policy" : "policies");
}

static void call(struct cb_mcp_call *call) {
    struct cb_places *places = &call->server->places;
    struct walk walk = {.found = json_array(), .kind = cb_mcp_text(call, "kind"), .name = cb_mcp_text(call, "name")};
    walk_all(&walk, places);
    json_t *facts = json_object();
    size_t count = json_array_size(walk.found);
    cb_json_set(facts, "roots", root_list(places));
    cb_json_set(facts, "output", cb_json_text(places->output));
    cb_json_set(facts, "count", cb_json_count(count));
    cb_json_set(facts, "complete", json_boolean(!walk.cut));
    cb_json_set(facts, "left_out", cb_json_count(walk.left_out));
    put_page(call, facts, walk.found);
    cb_mcp_answer(call, facts, "%zu %s found below the allowed folders%s%s.", count, several(walk.kind, count),
                  walk.cut ? ", and not all was looked at" : "",
                  walk.left_out ? "; others are left out, as their paths are no UTF-8: rename them" : "");
    json_decref(walk.found);
}

const struct cb_mcp_tool cb_mcp_list_studies = {
    .name = "list_studies",
    .title = "List studies",
    .description =
        "Lists the cases, runs and policy files below the allowed folders, with their paths, and names these folders. "
        "A run tells its case, its risk setting, its policy and its simulation; policy files inside of runs have no "
        "row of "
        "their own. Start here.",
    .input = input,
    .output = output,
    .repeatable = true,
    .call = call,
};
