/* SPDX-License-Identifier: Apache-2.0 */
/* export_results.c: the tool export_results: the tables of a run as files in the output folder. */
#include "cli/mcp/export_results.h"

#include "cli/mcp/case_files.h"
#include "sddp/run/record.h"
#include "sddp/run/simulation.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct cb_mcp_field input[] = {
    CB_MCP_RUN_FIELD(true),
    {.name = "format",
     .kind = CB_MCP_TEXT,
     .required = true,
     .choices = (const char *const[]){"csv", "netcdf", NULL},
     .help = "csv: a file for each table; netcdf: all of them in one file, simulation.nc"},
    {.name = "tables",
     .kind = CB_MCP_TEXT,
     .help = "some of stages,states,variables,duals,noise, or all; without it: csv, what the run has; netcdf, all. "
             "Those that the "
             "run does not have are simulated again, with the same options"},
    {.name = "case",
     .kind = CB_MCP_TEXT,
     .help =
         "the case of the run, for what must be simulated again; without it: where it was when the run was trained"},
    {.name = "policy", .kind = CB_MCP_TEXT, .help = "the policy of the run; without it: the one in its folder"},
    {.name = "name",
     .kind = CB_MCP_TEXT,
     .help = "of the new folder, in the output folder; it must not be there yet. Without it: NAME-export, or "
             "NAME-export-2, ..."},
    {.name = NULL},
};

static const struct cb_mcp_field file_fields[] = {
    {.name = "file", .kind = CB_MCP_TEXT, .required = true, .help = "its name"},
    {.name = "rows", .kind = CB_MCP_WHOLE, .required = true, .nullable = true, .help = "of data; null: it is no table"},
    {.name = "bytes", .kind = CB_MCP_WHOLE, .required = true, .help = "of the file"},
    {.name = NULL},
};

static const struct cb_mcp_field output[] = {
    {.name = "run", .kind = CB_MCP_TEXT, .required = true, .help = "the path, without symbolic links"},
    {.name = "folder", .kind = CB_MCP_TEXT, .required = true, .help = "the path of the new folder"},
    {.name = "simulated",
     .kind = CB_MCP_YES_NO,
     .required = true,
     .help = "the run was simulated again, to the same costs; false: its files were copied"},
    {.name = "files",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = file_fields,
     .required = true,
     .help = "in it; none while job_id simulates"},
    {.name = "job_id",
     .kind = CB_MCP_TEXT,
     .nullable = true,
     .help = "of a simulation that still runs: ask job_status"},
    {.name = NULL},
};

static bool is_there(const struct cb_export *export, const char *name) {
    struct stat status;
    return fstatat(export->run.fd, name, &status, 0) == 0 && S_ISREG(status.st_mode);
}

static const char *file_of(size_t table, char name[64]) {
    snprintf(name, 64, "%s.csv", cb_table_name[table]);
    return name;
}

/* All that was asked for is in the run's folder. */
static bool has_all(const struct cb_export *export) {
    char name[64];
    bool all = !export->netcdf || is_there(export, CB_FILE_NETCDF);
    for (size_t table = 0; table < CB_TABLES && export->tables && !export->netcdf; table++)
        all = all && (!export->wanted[table] || is_there(export, file_of(table, name)));
    return all;
}

/* The folder. */

bool cb_export_open(struct cb_export *export) {
    return cb_study_folder(export->call, export->run.path, "export", &export->folder);
}

static int is_file(const struct dirent *entry) {
    return entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
}

/* Calls `each` with the files of the new folder, in the order of their names. */
static void walk(const struct cb_export *export,
                 void each(const struct cb_export *export, const char *name, json_t *list), json_t *list) {
    struct dirent **entry = NULL;
    int count = scandirat(export->folder.fd, ".", &entry, is_file, alphasort);
    for (int i = 0; i < count; i++) {
        each(export, entry[i]->d_name, list);
        free(entry[i]);
    }
    free(entry);
}

static void remove_file(const struct cb_export *export, const char *name, json_t *list) {
    (void)list;
    unlinkat(export->folder.fd, name, 0);
}

void cb_export_drop(struct cb_export *export) {
    if (export->folder.fd < 0)
        return;
    walk(export, remove_file, NULL);
    rmdir(export->folder.path);
    cb_place_close(&export->folder);
}

/* Copying. */

static bool copy_bytes(int from, int to) {
    char part[1 << 16];
    for (ssize_t count; (count = read(from, part, sizeof part)) != 0;)
        for (ssize_t done = 0, written; count < 0 || done < count; done += written)
            if (count < 0 || (written = write(to, part + done, (size_t)(count - done))) < 0)
                return false;
    return true;
}

/* True also if it is not there. */
static bool copy_file(struct cb_export *export, const char *name) {
    char path[PATH_MAX + 64], why[CB_PLACE_WHY];
    struct cb_place place;
    if (!is_there(export, name))
        return true;
    snprintf(path, sizeof path, "%s/%s", export->run.path, name);
    if (!cb_place_find(&export->call->server->places, path, CB_PLACE_FILE, &place, why)) {
        cb_export_drop(export);
        cb_mcp_refuse(export->call, "list_studies names the runs that are there", "%s", why);
        return false;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", place.fd); /* what was checked, whatever becomes of the path */
    int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int to = openat(export->folder.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    bool good = from >= 0 && to >= 0 && copy_bytes(from, to);
    const char *reason = strerror(errno);
    if (from >= 0)
        close(from);
    if (to >= 0 && close(to) < 0)
        good = false;
    cb_place_close(&place);
    if (!good) {
        cb_export_drop(export);
        cb_mcp_refuse(export->call, "see to the output folder, and try again", "%s cannot be copied: %s", name, reason);
    }
    return good;
}

static bool copy_files(struct cb_export *export) {
    static const char *const always[] = {CB_FILE_STATISTICS, CB_FILE_SIMULATION, CB_FILE_TRAINING, CB_FILE_SUMMARY,
                                         CB_FILE_TIMES};
    char name[64];
    bool good = !export->netcdf || copy_file(export, CB_FILE_NETCDF);
    for (size_t i = 0; good && i < sizeof always / sizeof *always; i++)
        good = copy_file(export, always[i]);
    for (size_t table = 0; good && !export->netcdf && table < CB_TABLES; table++)
        if (!export->tables || export->wanted[table])
            good = copy_file(export, file_of(table, name));
    return good;
}

/* Lines without the header; -1: it is no table. */
static long long count_rows(const struct cb_export *export, const char *name) {
    size_t length = strlen(name);
    int fd = length > 4 && strcmp(name + length - 4, ".csv") == 0
                 ? openat(export->folder.fd, name, O_RDONLY | O_CLOEXEC)
                 : -1;
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    long long rows = -1;
    char part[1 << 16];
    for (size_t count; file && (count = fread(part, 1, sizeof part, file)) > 0;)
        for (char *at = part; (at = memchr(at, '\n', (size_t)(part + count - at))); at++)
            rows++;
    if (file)
        fclose(file);
    return rows;
}

static void list_file(const struct cb_export *export, const char *name, json_t *list) {
    struct stat status;
    long long rows = count_rows(export, name);
    json_t *file = json_object();
    cb_json_set(file, "file", cb_json_text(name));
    cb_json_set(file, "rows", rows < 0 ? json_null() : json_integer(rows));
    cb_json_set(file, "bytes",
                cb_json_count(fstatat(export->folder.fd, name, &status, 0) == 0 ? (uint64_t)status.st_size : 0));
    cb_json_append(list, file);
}

void cb_export_answer(struct cb_export *export, bool simulated) {
    json_t *facts = json_object(), *files = json_array();
    walk(export, list_file, files);
    cb_json_set(facts, "run", cb_json_text(export->run.path));
    cb_json_set(facts, "folder", cb_json_text(export->folder.path));
    cb_json_set(facts, "simulated", json_boolean(simulated));
    cb_json_set(facts, "files", files);
    cb_mcp_answer(export->call, facts, "%zu files are in %s.%s", json_array_size(files), export->folder.path,
                  simulated ? " The run was simulated again, to the same costs." : "");
}

void cb_export_later(struct cb_mcp_call *call, const struct cb_job *job) {
    json_t *facts = json_object();
    cb_json_set(facts, "run", cb_json_text(cb_mcp_text(call, "run")));
    cb_json_set(facts, "folder", cb_json_text(job->out));
    cb_json_set(facts, "simulated", json_true());
    cb_json_set(facts, "files", json_array());
    cb_json_set(facts, "job_id", cb_json_text(job->id));
    cb_mcp_answer(
        call, facts,
        "%s still simulates the run again. job_status with job_id %s waits for its end; then the files are in %s.",
        job->id, job->id, job->out);
}

/* What was asked for; false: the call has been refused. */
static bool choose(struct cb_export *export) {
    struct cb_tables chosen;
    const char *format = cb_mcp_text(export->call, "format");
    export->netcdf = strcmp(format, "netcdf") == 0;
    export->tables = cb_mcp_text(export->call, "tables");
    cobre_sddp_simulate_options options = {
        .struct_size = sizeof options, .tables = export->tables, .netcdf = export->netcdf};
    if (cb_tables_choose(&options, &chosen) != COBRE_OK) {
        const cobre_error *error = cobre_last_error();
        cb_mcp_mistake(export->call,
                       &(struct cb_mcp_mistake){.field = "tables",
                                                .received = export->tables ? export->tables : format,
                                                .problem = error->message,
                                                .allowed = "stages, states, variables, duals, noise, all, none",
                                                .next = error->suggestion});
        return false;
    }
    memcpy(export->wanted, chosen.wanted, sizeof export->wanted);
    if (export->results.simulation.count > 0 || (!export->tables && !export->netcdf))
        return true;
    cb_mcp_mistake(export->call,
                   &(struct cb_mcp_mistake){.field = "run",
                                            .received = export->run.path,
                                            .problem = "this run was not simulated: it has no tables",
                                            .next = "call simulate with the case and the policy of this run"});
    return false;
}

static void make(struct cb_export *export) {
    if (!has_all(export))
        cb_export_simulate(export);
    else if (cb_export_open(export) && copy_files(export))
        cb_export_answer(export, false);
    cb_place_close(&export->folder);
}

static json_t *read_record(struct cb_export *export) {
    char path[PATH_MAX + 32], why[CB_PLACE_WHY];
    size_t size;
    snprintf(path, sizeof path, "%s/" CB_FILE_RUN, export->run.path);
    char *text = cb_case_read(&export->call->server->places, path, 1 << 20, &size, why);
    json_t *record = text ? json_loadb(text, size, 0, NULL) : NULL;
    free(text);
    return record;
}

static void call(struct cb_mcp_call *call) {
    struct cb_export export = {.call = call, .folder.fd = -1};
    if (!cb_study_run(call, &export.run, &export.results))
        return;
    export.record = read_record(&export);
    if (choose(&export))
        make(&export);
    json_decref(export.record);
    cb_results_free(&export.results);
    cb_place_close(&export.run);
}

const struct cb_mcp_tool cb_mcp_export_results = {
    .name = "export_results",
    .title = "Export results",
    .description =
        "Writes the tables of a run into a new folder of the output folder, as CSV or NetCDF, and names the files with "
        "rows and bytes. Detailed tables that the run does not have are simulated again with the same options: "
        "after 45 s a job_id is returned for job_status, and the files are there when that job has ended.",
    .input = input,
    .output = output,
    .writes = true,
    .call = call,
};
