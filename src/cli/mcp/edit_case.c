/* SPDX-License-Identifier: Apache-2.0 */
/* edit_case.c: the tool edit_case: a copy of a case with changed numbers, below the output folder. The case itself is never
 * written to. Everything else keeps its bytes. */
#include "cli/mcp/edit_changes.h"
#include "cli/mcp/edit_json.h"
#include "cli/mcp/issues.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const struct cb_mcp_field change_fields[] = {
    {.name = "table",
     .kind = CB_MCP_TEXT,
     .required = true,
     .help = "a file of the case: hydros.csv, thermals.csv, ..., or case.json"},
    {.name = "row",
     .kind = CB_MCP_OBJECT,
     .help =
         "which rows of a table: {\"hydro\": \"Furnas\"} selects all rows with these values, {} all rows; the value "
         "goes to each of them. Not for case.json"},
    {.name = "row_number",
     .kind = CB_MCP_WHOLE,
     .limited = true,
     .least = 1,
     .most = 1e9,
     .help = "instead of row: the number of the row of data, from 1"},
    {.name = "column",
     .kind = CB_MCP_TEXT,
     .required = true,
     .help = "of the table; of case.json a key, or a path of keys: \"inflow.openings\""},
    {.name = "value",
     .kind = CB_MCP_TEXT,
     .required = true,
     .help = "what stands there then: a number (1200 or \"1200\"), or a text; \"\": the default. \"*1.1\", \"+10%\" or "
             "\"-5%\" changes the number that is there, in each row by itself. Of case.json also JSON: risk is "
             "{\"beta\": 0.5, \"alpha\": 0.1}, beta the weight of the mean, alpha the share of the worst outcomes"},
    {.name = NULL},
};

static const struct cb_mcp_field input[] = {
    CB_MCP_CASE_FIELD(true),
    {.name = "changes",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = change_fields,
     .longest = 200,
     .required = true,
     .help = "what is to be different in the copy"},
    {.name = "name",
     .kind = CB_MCP_TEXT,
     .help = "of the new folder, in the output folder; it must not be there yet. Without it: CASE-edit, or "
             "CASE-edit-2, ..."},
    {.name = NULL},
};

static const struct cb_mcp_field difference_fields[] = {
    {.name = "file", .kind = CB_MCP_TEXT, .required = true, .help = "of the case"},
    {.name = "line", .kind = CB_MCP_WHOLE, .required = true, .help = "in the file, from 1"},
    {.name = "place", .kind = CB_MCP_TEXT, .required = true, .help = "row and column, or the path of keys"},
    {.name = "old",
     .kind = CB_MCP_TEXT,
     .required = true,
     .nullable = true,
     .help = "as it was written; null: it was empty, or not there"},
    {.name = "new", .kind = CB_MCP_TEXT, .required = true, .help = "as it is written"},
    {.name = NULL},
};

static const struct cb_mcp_field count_fields[] = {
    {.name = "file", .kind = CB_MCP_TEXT, .required = true, .help = "of the case"},
    {.name = "column", .kind = CB_MCP_TEXT, .required = true, .help = "of a table; of case.json the path of keys"},
    {.name = "count", .kind = CB_MCP_WHOLE, .required = true, .help = "of differences"},
    {.name = NULL},
};

static const struct cb_mcp_field output[] = {
    {.name = "case", .kind = CB_MCP_TEXT, .required = true, .help = "the path of the copy"},
    {.name = "original", .kind = CB_MCP_TEXT, .required = true, .help = "the path of the case, which is as it was"},
    {.name = "differences",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = difference_fields,
     .required = true,
     .help = "between the two; of many the first 50"},
    {.name = "difference_count", .kind = CB_MCP_WHOLE, .required = true, .help = "of all of them"},
    {.name = "changed",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = count_fields,
     .required = true,
     .help = "all differences, counted by file and column"},
    {.name = "notes",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_TEXT,
     .required = true,
     .help = "what may not be meant: one value for rows that had different ones"},
    {.name = "warnings",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = cb_mcp_issue_fields,
     .required = true,
     .help = "about the copy, which is valid"},
    {.name = NULL},
};

/* The folder of the copy while it is made. */
struct copy {
    struct cb_mcp_call *call;
    const struct cb_case_files *files;
    const struct cb_edits *edits;
    struct cb_place place;
};

static bool write_file(const struct copy *copy, const struct cb_case_file *file) {
    int fd = openat(copy->place.fd, file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
    if (to)
        cb_edits_write(copy->edits, file, to);
    else if (fd >= 0)
        close(fd);
    bool good = to && !ferror(to);
    return to && fclose(to) == 0 && good;
}

static void remove_copy(const struct copy *copy) {
    for (size_t i = 0; i < copy->files->count; i++)
        unlinkat(copy->place.fd, copy->files->at[i].name, 0);
    rmdir(copy->place.path);
}

static bool write_files(const struct copy *copy) {
    for (size_t i = 0; i < copy->files->count; i++)
        if (!write_file(copy, &copy->files->at[i])) {
            const char *reason = strerror(errno);
            remove_copy(copy);
            cb_mcp_refuse(copy->call, "see to the output folder, and try again", "%s/%s cannot be written: %s",
                          copy->place.path, copy->files->at[i].name, reason);
            return false;
        }
    return true;
}

/* "hydros.csv, line 3, column storage_max: ..." */
static void write_issue(FILE *to, const json_t *issue) {
    const char *file = json_string_value(json_object_get(issue, "file")), *slash = strrchr(file, '/');
    const char *place = json_string_value(json_object_get(issue, "place"));
    const char *remedy = json_string_value(json_object_get(issue, "remedy"));
    json_int_t line = json_integer_value(json_object_get(issue, "line"));
    fprintf(to, "\n%s", slash ? slash + 1 : file);
    if (line)
        fprintf(to, ", line %lld", (long long)line);
    fprintf(to, "%s%s: %s%s%s", *place ? ", " : "", place, json_string_value(json_object_get(issue, "message")),
            *remedy ? "; " : "", remedy);
}

static void refuse_invalid(const struct copy *copy, const struct cb_mcp_issues *issues) {
    char *text = NULL;
    size_t size, i, told = 0;
    json_t *issue;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return;
    fputs("the changed case would not be valid; nothing has been written.", to);
    json_array_foreach(issues->list, i, issue) if (!json_is_true(json_object_get(issue, "warning")) && told++ < 10)
        write_issue(to, issue);
    fclose(to);
    cb_mcp_mistake(copy->call, &(struct cb_mcp_mistake){.field = "changes",
                                                        .problem = text,
                                                        .next = "correct these values, or change others with them"});
    free(text);
}

static json_t *count_list(const struct copy *copy) {
    json_t *list = json_array(), *columns, *count;
    const char *file, *column;
    json_object_foreach(copy->edits->counts, file, columns) json_object_foreach(columns, column, count) {
        json_t *entry = json_object();
        cb_json_set(entry, "file", cb_json_text(file));
        cb_json_set(entry, "column", cb_json_text(column));
        cb_json_set(entry, "count", json_incref(count));
        cb_json_append(list, entry);
    }
    json_t *page = cb_mcp_page(copy->call, list, 100, 3000);
    json_decref(list);
    return page;
}

static void answer(const struct copy *copy, const char *path, const char *original, json_t *warnings) {
    json_t *facts = json_object(), *notes = cb_mcp_page(copy->call, copy->edits->notes, 20, 2000);
    size_t count = json_array_size(copy->edits->differences), noted = json_array_size(copy->edits->notes);
    cb_json_set(facts, "case", cb_json_text(path));
    cb_json_set(facts, "original", cb_json_text(original));
    cb_json_set(facts, "differences", cb_mcp_page(copy->call, copy->edits->differences, 50, 8000));
    cb_json_set(facts, "difference_count", cb_json_count(count));
    cb_json_set(facts, "changed", count_list(copy));
    cb_json_set(facts, "notes", notes);
    cb_json_set(facts, "warnings", cb_mcp_page(copy->call, warnings, 20, 4000));
    cb_mcp_answer(copy->call, facts, "The copy %s is valid, and differs in %zu place%s.%s%s%s", path, count,
                  count == 1 ? "" : "s", noted ? " Note: " : "",
                  noted ? json_string_value(json_array_get(notes, 0)) : "", noted ? "." : "");
}

/* A StochOptFormat file is a case by itself. */
static void validate(const struct copy *copy, const struct cb_place *original) {
    struct cb_mcp_issues issues;
    cobre_sddp_problem *problem = NULL;
    char path[PATH_MAX + NAME_MAX + 2];
    if (original->folder)
        snprintf(path, sizeof path, "%s", copy->place.path);
    else
        snprintf(path, sizeof path, "%s/%s", copy->place.path, copy->files->at[0].name);
    bool valid = cb_mcp_find_issues(copy->call->server->comm, path, NULL, &issues, &problem);
    cobre_sddp_problem_free(&problem);
    if (valid) {
        answer(copy, path, original->path, issues.list);
    } else {
        remove_copy(copy);
        refuse_invalid(copy, &issues);
    }
    json_decref(issues.list);
}

/* The end of the horizon may be a file that lies beside the folder: the copy is elsewhere. */
static void move_terminal(const struct cb_case_files *files, struct cb_edits *edits) {
    const struct cb_case_file *file = cb_case_file_find(files, "case.json");
    json_t *json = file ? json_loadb(file->text, file->size, 0, NULL) : NULL,
           *terminal = json_object_get(json, "terminal");
    const char *path = json_string_value(json_is_object(terminal) ? json_object_get(terminal, "file") : terminal);
    struct cb_spot spot;
    if (path && *path != '/' && !cb_case_file_find(files, path) &&
        cb_spot_find(file->text, json_is_object(terminal) ? "terminal.file" : "terminal", &spot) &&
        !cb_edits_has(edits, file, spot.value)) {
        char full[2 * PATH_MAX];
        snprintf(full, sizeof full, "%s/%.4000s", files->folder, path);
        json_t *text = cb_json_text(full);
        cb_edits_add(edits, file, spot.value, "terminal", json_dumps(text, JSON_ENCODE_ANY), full);
        json_decref(text);
    }
    json_decref(json);
}

static void edit(struct cb_mcp_call *call, const struct cb_place *original, const struct cb_case_files *files) {
    struct cb_edits edits;
    struct copy copy = {.call = call, .files = files, .edits = &edits, .place.fd = -1};
    bool found = cb_edits_find(call, files, &edits);
    if (found && edits.count == 0) {
        bool none = json_array_size(json_object_get(call->arguments, "changes")) == 0;
        cb_mcp_refuse(call, none ? "give at least one change" : "give other values, or use the case as it is",
                      none ? "there is nothing to change" : "the case has all of these values already");
        found = false;
    }
    if (found)
        move_terminal(files, &edits);
    if (found && cb_study_folder(call, original->path, "edit", &copy.place)) {
        if (write_files(&copy))
            validate(&copy, original);
        cb_place_close(&copy.place);
    }
    cb_edits_free(&edits);
}

static void call(struct cb_mcp_call *call) {
    struct cb_place place;
    struct cb_case_files files;
    char why[CB_PLACE_WHY];
    if (!cb_mcp_place(call, "case", CB_PLACE_ANY, &place))
        return;
    if (cb_case_files_read(&call->server->places, &place, &files, why))
        edit(call, &place, &files);
    else
        cb_mcp_refuse(call, "list_studies names the cases that are there", "%s", why);
    cb_case_files_free(&files);
    cb_place_close(&place);
}

const struct cb_mcp_tool cb_mcp_edit_case = {
    .name = "edit_case",
    .title = "Edit a copy of a case",
    .description =
        "Copies a case into the output folder and changes numbers in the copy: a list of table, row, column and "
        "value. One value goes to all rows that `row` selects. 10 % more load: {\"table\": \"load.csv\", \"row\": {}, "
        "\"column\": \"north\", \"value\": \"+10%\"}. The copy is validated; if it is not valid, or a change cannot be "
        "made, "
        "nothing is left behind. Returns the differences with file and line. The original is never touched.",
    .input = input,
    .output = output,
    .writes = true,
    .call = call,
};
