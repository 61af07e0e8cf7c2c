/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c: the tables of a training, made of its events. */
#include "sddp/draft.h"
#include "sddp/error.h"
#include "sddp/run/files.h"
#include "sddp/run/folder.h"
#include "sddp/run/json.h"
#include "sddp/run/numbers.h"
#include "sddp/run/table.h"
#include "sddp/run/training.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

int cb_trace_row(const json_t *iteration, char *row, size_t room) {
    char bound[32], mean[32], deviation[32], window_mean[32], half[32];
#define REAL(key, text) cb_exact_text(cb_json_real_in(iteration, key), text)
#define COUNT(key) cb_json_count_in(iteration, key)
    return snprintf(row, room, "%" PRIu64 ",%s,%s,%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6f\n",
                    COUNT("iteration"), REAL("bound", bound), REAL("mean", mean), REAL("deviation", deviation),
                    REAL("window_mean", window_mean), REAL("window_half", half), COUNT("window_passes"), COUNT("cuts"),
                    COUNT("solves"), cb_json_real_in(iteration, "seconds"));
#undef REAL
#undef COUNT
}

static cobre_status open_file(const char *folder, const char *name, struct cb_draft *draft) {
    char path[PATH_MAX];
    CB_TRY(cb_folder_join(folder, name, path));
    return cb_draft_open(draft, path);
}

cobre_status cb_times_write(const char *folder, const json_t *finished) {
#define PHASE_NAME(code, name, title) name,
    static const char *const phases[CB_PHASES] = {CB_PHASE_MAP(PHASE_NAME)};
#undef PHASE_NAME
    const json_t *ranks = json_object_get(finished, "per_rank");
    size_t count = json_array_size(json_object_get(ranks, phases[0]));
    struct cb_draft draft;
    CB_TRY(open_file(folder, CB_FILE_TIMES, &draft));
    fputs(CB_COLUMNS_TIMES "\n", draft.file);
    for (size_t i = 0; i < count * CB_PHASES; i++) {
        const json_t *seconds = json_array_get(json_object_get(ranks, phases[i % CB_PHASES]), i / CB_PHASES);
        fprintf(draft.file, "%zu,%s,%.6f\n", i / CB_PHASES, phases[i % CB_PHASES], json_number_value(seconds));
    }
    return cb_draft_close(&draft, COBRE_OK);
}

enum kind { TEXT, COUNT, REAL, SECONDS, YES_NO };

static void write_row(FILE *file, enum kind kind, const json_t *event, const char *key) {
    char number[32];
    fprintf(file, "%s,", key);
    if (kind == TEXT)
        cb_field_write(file, cb_json_text_in(event, key));
    else if (kind == COUNT)
        fprintf(file, "%" PRIu64, cb_json_count_in(event, key));
    else if (kind == SECONDS)
        fprintf(file, "%.6f", cb_json_real_in(event, key));
    else if (kind == REAL)
        fputs(cb_exact_text(cb_json_real_in(event, key), number), file);
    else
        fputs(json_is_true(json_object_get(event, key)) ? "yes" : "no", file);
    putc('\n', file);
}

cobre_status cb_summary_write(const char *folder, const json_t *started, const json_t *finished) {
    static const struct {
        const char *key;
        enum kind kind;
        bool first, optional; /* in `started`, else in `finished` */
    } rows[] = {{"version", TEXT, true, false},
                {"date", TEXT, false, false},
                {"name", TEXT, true, false},
                {"case", TEXT, true, false},
                {"sense", TEXT, true, false},
                {"cost_unit", TEXT, true, true},
                {"nodes", COUNT, true, false},
                {"states", COUNT, true, false},
                {"ranks", COUNT, true, false},
                {"backend", TEXT, true, false},
                {"forward_passes", COUNT, true, false},
                {"value_bound", REAL, true, true},
                {"solver", TEXT, false, false},
                {"seed", COUNT, false, false},
                {"stop", TEXT, false, false},
                {"iterations", COUNT, false, false},
                {"bound", REAL, false, false},
                {"proven", YES_NO, false, false},
                {"averse", YES_NO, false, false},
                {"window_mean", REAL, false, false},
                {"window_half", REAL, false, false},
                {"cuts", COUNT, false, false},
                {"solves", COUNT, false, false},
                {"lps_without_cut", COUNT, false, false},
                {"seconds", SECONDS, false, false}};
    struct cb_draft draft;
    CB_TRY(open_file(folder, CB_FILE_SUMMARY, &draft));
    fputs(CB_COLUMNS_FACTS "\n", draft.file);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const json_t *event = rows[i].first ? started : finished;
        if (!rows[i].optional || json_object_get(event, rows[i].key))
            write_row(draft.file, rows[i].kind, event, rows[i].key);
    }
    return cb_draft_close(&draft, COBRE_OK);
}

static const json_t *last_event(const json_t *events, const char *kind) {
    const json_t *found = NULL, *event;
    size_t i;
    json_array_foreach(events, i, event) {
        found = strcmp(cb_json_text_in(event, "event"), kind) == 0 ? event : found;
    }
    return found;
}

static cobre_status write_trace(const char *folder, const json_t *events) {
    struct cb_draft draft;
    const json_t *event;
    char row[512];
    size_t i;
    CB_TRY(open_file(folder, CB_FILE_TRAINING, &draft));
    fputs(CB_COLUMNS_TRAINING "\n", draft.file);
    json_array_foreach(events, i, event) {
        if (strcmp(cb_json_text_in(event, "event"), "iteration") == 0 && cb_trace_row(event, row, sizeof row) > 0)
            fputs(row, draft.file);
    }
    return cb_draft_close(&draft, COBRE_OK);
}

cobre_status cb_tables_of_events(const char *folder, const json_t *events) {
    const json_t *started = last_event(events, "started"), *finished = last_event(events, "finished");
    CB_TRY(write_trace(folder, events));
    if (!started || !finished)
        return COBRE_OK;
    CB_TRY(cb_times_write(folder, finished));
    return cb_summary_write(folder, started, finished);
}
