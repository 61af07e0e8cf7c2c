/* SPDX-License-Identifier: Apache-2.0 */
/* list_studies.c: the tool list_studies: the cases, runs and policies below the allowed folders.
 *
 * The folders are walked by descriptors; symbolic links are not followed, and hidden folders are left out. The walk ends when it has
 * gone deep enough, or has seen enough. */
#include "cli/mcp/mcp.h"
#include "sddp/run/files.h"
#include "sddp/run/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 6, MOST_ENTRIES = 50000, MOST_FOUND = 5000, MOST_RECORD = 1 << 20 };

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
    {.name = "name", .kind = CB_MCP_TEXT, .help = "of a run: of its case"},
    {.name = "state", .kind = CB_MCP_TEXT, .help = "of the training of a run: running, finished or failed"},
    {.name = "iterations", .kind = CB_MCP_WHOLE, .help = "of the training of a run"},
    {.name = "has_policy", .kind = CB_MCP_YES_NO, .help = "of a run: its folder can be given as `policy`"},
    {.name = "simulated", .kind = CB_MCP_YES_NO, .help = "of a run: there are results of a simulation"},
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
    size_t seen;
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

static void add(struct walk *walk, const char *kind, const char *path) {
    bool wanted = (!walk->kind || strcmp(walk->kind, kind) == 0) && (!walk->name || strcasestr(path, walk->name));
    if (!wanted || json_array_size(walk->found) >= MOST_FOUND) {
        walk->cut |= wanted;
        return;
    }
    json_t *study = json_object();
    cb_json_set(study, "kind", cb_json_text(kind));
    cb_json_set(study, "path", cb_json_text(path));
    cb_json_append(walk->found, study);
}

/* run.json, or NULL. */
static json_t *read_record(int folder) {
    int fd = openat(folder, CB_FILE_RUN, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    json_t *record = NULL;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < MOST_RECORD)
        record = json_loadfd(fd, 0, NULL);
    if (fd >= 0)
        close(fd);
    return record;
}

/* What is known of a run. */
static void put_run(json_t *run, int folder) {
    json_t *record = read_record(folder);
    const json_t *training = json_object_get(record, "training");
    const char *name = cb_json_text_in(json_object_get(training, "case"), "name");
    if (*name)
        cb_json_set(run, "name", cb_json_text(name));
    if (training)
        cb_json_set(run, "state", cb_json_text(cb_json_text_in(training, "state")));
    if (json_is_integer(json_object_get(training, "iterations")))
        cb_json_set(run, "iterations", json_incref(json_object_get(training, "iterations")));
    cb_json_set(run, "has_policy", json_boolean(is_there(folder, CB_FILE_POLICY)));
    cb_json_set(run, "simulated", json_boolean(is_there(folder, CB_FILE_SIMULATION)));
    json_decref(record);
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

/* Only those that are told are looked at more closely. */
static void put_details(struct cb_places *places, json_t *page) {
    struct cb_place place;
    char why[CB_PLACE_WHY];
    json_t *study;
    size_t i;
    json_array_foreach(page, i, study) {
        if (strcmp(cb_json_text_in(study, "kind"), "run") != 0 ||
            !cb_place_find(places, cb_json_text_in(study, "path"), CB_PLACE_FOLDER, &place, why))
            continue;
        put_run(study, place.fd);
        cb_place_close(&place);
    }
}

static json_t *root_list(const struct cb_places *places) {
    json_t *roots = json_array();
    for (size_t i = 0; i < places->roots; i++)
        cb_json_append(roots, cb_json_text(places->root[i].path));
    return roots;
}

static void call(struct cb_mcp_call *call) {
    struct cb_places *places = &call->server->places;
    struct walk walk = {.found = json_array(), .kind = cb_mcp_text(call, "kind"), .name = cb_mcp_text(call, "name")};
    cb_places_look(places);
    for (size_t i = 0; i <= places->roots; i++)
        if (places->root[i].fd >= 0 && !is_covered(places, i) &&
            !is_study(&walk, places->root[i].fd, places->root[i].path))
            walk_folder(&walk, places->root[i].fd, places->root[i].path, 0);
    json_t *facts = json_object();
    size_t count = json_array_size(walk.found);
    cb_json_set(facts, "roots", root_list(places));
    cb_json_set(facts, "output", cb_json_text(places->output));
    cb_json_set(facts, "count", cb_json_count(count));
    cb_json_set(facts, "complete", json_boolean(!walk.cut));
    cb_mcp_put_page(call, facts, "studies", walk.found, 50, 8000);
    put_details(places, json_object_get(facts, "studies"));
    cb_mcp_answer(call, facts, "%zu %s found below the allowed folders%s.", count,
                  walk.kind ? walk.kind : "cases, runs and policies", walk.cut ? ", and not all was looked at" : "");
    json_decref(walk.found);
}

const struct cb_mcp_tool cb_mcp_list_studies = {
    .name = "list_studies",
    .title = "List studies",
    .description =
        "Lists the cases, runs and policy files below the allowed folders, with their paths, and names these folders. "
        "Start here.",
    .input = input,
    .output = output,
    .repeatable = true,
    .call = call,
};
