/* SPDX-License-Identifier: Apache-2.0 */
/* resource_table.c: the resources: the format of cases, the tables of a case, the results of a run. */
#include "cli/mcp/mcp.h"
#include "cli/mcp/texts.h"
#include "sddp/report/report.h"
#include "sddp/run/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 4 << 20 };

static char *read_format(struct cb_mcp *server, const char *const *value, char why[CB_MCP_WHY]) {
    (void)server;
    (void)value;
    (void)why;
    return strdup(cb_mcp_case_format);
}

static char *read_case_schema(struct cb_mcp *server, const char *const *value, char why[CB_MCP_WHY]) {
    (void)server;
    (void)value;
    (void)why;
    return strdup(cb_mcp_case_schema);
}

static char *read_events_schema(struct cb_mcp *server, const char *const *value, char why[CB_MCP_WHY]) {
    (void)server;
    (void)value;
    (void)why;
    return strdup(cb_mcp_events_schema);
}

/* All of a descriptor; NULL: it cannot be read. */
static char *read_all(int fd, size_t size) {
    char *text = malloc(size + 1);
    size_t length = 0;
    ssize_t count = 1;
    while (text && length < size && count > 0) {
        count = read(fd, text + length, size - length);
        length += count > 0 ? (size_t)count : 0;
    }
    if (text)
        text[length] = 0;
    return text;
}

/* A file of a folder. It is opened by the descriptor that was checked. */
static char *read_file(struct cb_mcp *server, const char *folder, const char *name, char why[CB_MCP_WHY]) {
    char path[PATH_MAX], reason[CB_PLACE_WHY];
    struct cb_place place;
    struct stat status;
    bool fits = !strchr(name, '/') && snprintf(path, sizeof path, "%s/%s", folder, name) < PATH_MAX;
    if (!fits || !cb_place_find(&server->places, path, CB_PLACE_FILE, &place, reason)) {
        snprintf(why, CB_MCP_WHY, "%.1000s", fits ? reason : "a table is the name of a file in the folder of a case");
        return NULL;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", place.fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    cb_place_close(&place);
    char *text = NULL;
    if (fd < 0 || fstat(fd, &status) < 0)
        snprintf(why, CB_MCP_WHY, "%.500s/%.200s: %s", folder, name, strerror(errno));
    else if (status.st_size > MOST_BYTES)
        snprintf(why, CB_MCP_WHY, "%.500s/%.200s has more than 4 MiB", folder, name);
    else if (!(text = read_all(fd, (size_t)status.st_size)))
        snprintf(why, CB_MCP_WHY, "no memory");
    if (fd >= 0)
        close(fd);
    return text;
}

/* Only what a case consists of: its tables, and case.json. */
static char *read_table(struct cb_mcp *server, const char *const *value, char why[CB_MCP_WHY]) {
    size_t length = strlen(value[0]);
    if (strcmp(value[0], "case.json") != 0 && (length < 5 || strcmp(value[0] + length - 4, ".csv") != 0)) {
        snprintf(why, CB_MCP_WHY, "%.200s is no table of a case: give case.json, or a name like hydros.csv", value[0]);
        return NULL;
    }
    return read_file(server, value[1], value[0], why);
}

/* Fields that are no number, such as nan, become empty: NaN is no word of the wire. In place. */
static char *without_nan(char *text) {
    static const char *const words[] = {"nan", "-nan", "inf", "-inf"};
    char *to = text;
    bool begins = true;
    for (const char *at = text; at && *at;) {
        size_t length = begins ? strcspn(at, ",\r\n") : 0;
        for (size_t i = 0; length > 0 && i < sizeof words / sizeof *words; i++)
            if (strlen(words[i]) == length && strncmp(at, words[i], length) == 0) {
                at += length;
                length = 0;
            }
        begins = *at == ',' || *at == '\n';
        if (*at)
            *to++ = *at++;
    }
    if (text)
        *to = 0;
    return text;
}

/* The facts of the training, and of the simulation, if there was one. */
static char *read_summary(struct cb_mcp *server, const char *const *value, char why[CB_MCP_WHY]) {
    char *training = read_file(server, value[0], CB_FILE_SUMMARY, why);
    char *simulation = read_file(server, value[0], CB_FILE_SIMULATION, why), *both = NULL;
    if ((training || simulation) &&
        asprintf(&both, "%s%s%s%s", training ? "# " CB_FILE_SUMMARY "\n" : "", training ? training : "",
                 simulation ? "# " CB_FILE_SIMULATION "\n" : "", simulation ? simulation : "") < 0)
        both = NULL;
    free(training);
    free(simulation);
    return without_nan(both);
}

static char *read_convergence(struct cb_mcp *server, const char *const *value, char why[CB_MCP_WHY]) {
    return without_nan(read_file(server, value[0], CB_FILE_TRAINING, why));
}

/* The page of a run as it is now; nothing is written. */
static char *read_report(struct cb_mcp *server, const char *const *value, char why[CB_MCP_WHY]) {
    struct cb_place run;
    char reason[CB_PLACE_WHY], *page = NULL;
    size_t size;
    if (!cb_place_find(&server->places, value[0], CB_PLACE_FOLDER, &run, reason)) {
        snprintf(why, CB_MCP_WHY, "%.1000s", reason);
        return NULL;
    }
    FILE *to = open_memstream(&page, &size);
    bool made = to && cb_report_write((const char *const[]){run.path}, 1, to) == COBRE_OK;
    if (!made)
        snprintf(why, CB_MCP_WHY, "%.1000s", to ? cobre_last_error()->message : "no memory");
    if (to)
        fclose(to);
    cb_place_close(&run);
    if (!made)
        free(page);
    return made ? page : NULL;
}

const struct cb_mcp_resource cb_mcp_resources[] = {
    {.uri = "cobre://case-format",
     .name = "case-format",
     .title = "Format of cases",
     .description =
         "what a hydrothermal case consists of: case.json and its tables, with all columns, units and limits",
     .mime = "text/markdown",
     .read = read_format,
     .steady = true},
    {.uri = "cobre://schema/case",
     .name = "case-schema",
     .title = "Schema of case.json",
     .description = "JSON schema of case.json, the settings of a hydrothermal case",
     .mime = "application/json",
     .read = read_case_schema,
     .steady = true},
    {.uri = "cobre://events-schema",
     .name = "events-schema",
     .title = "Schema of events",
     .description = "JSON schema of the events that a training writes to events.jsonl",
     .mime = "application/json",
     .read = read_events_schema,
     .steady = true},
    {.uri = "cobre://table/{table}/{+case}",
     .name = "case-table",
     .title = "Table of a case",
     .description =
         "a table of a case as it is, such as hydros.csv, or case.json; {case} is a path, absolute or below a root",
     .mime = "text/csv",
     .read = read_table},
    {.uri = "cobre://summary/{+run}",
     .name = "run-summary",
     .title = "Summary of a run",
     .description = "what a training and its simulation have come to: key,value",
     .mime = "text/csv",
     .read = read_summary},
    {.uri = "cobre://convergence/{+run}",
     .name = "run-convergence",
     .title = "Convergence of a run",
     .description = "a row per iteration: bound, costs, cuts, seconds",
     .mime = "text/csv",
     .read = read_convergence},
    {.uri = "cobre://report/{+run}",
     .name = "run-report",
     .title = "Report of a run",
     .description = "the page of a run, as HTML with charts",
     .mime = "text/html",
     .read = read_report},
    {.uri = NULL},
};
