/* SPDX-License-Identifier: Apache-2.0 */
/* training.h: the files of a training besides the policy. They are a stream of events, events.jsonl, which
 * docs/events.md describes. The tables are made of the same events: training.csv, a row per iteration; times.csv,
 * seconds by rank and phase; summary.csv, a key and a value per row.
 *
 * All calls except cb_training_finished are for rank 0. Each returns a status; after a failure cobre_last_error() names
 * the file. Lines that cannot be written are kept, and tried again by the next call. */
#ifndef COBRE_SDDP_RUN_TRAINING_H
#define COBRE_SDDP_RUN_TRAINING_H

#include "sddp/run/trail.h"

/* The caller sets the members before `events`; the rest is zero at first. */
struct cb_training {
    const char *folder; /* NULL: events go to `event` only */
    const char *policy; /* its file; NULL: there is none */
    const char *case_path;
    cobre_comm *comm;
    const cobre_sddp_problem *problem;
    const cobre_sddp_train_options *options; /* whose rules may change */
    void *arg;
    void (*event)(void *arg, const char *line, size_t length); /* also gets the line of each event; may be NULL */
    struct cb_trail events, trace;                             /* trace: training.csv */
    char older[PATH_MAX];                                      /* folder of the run that this one continues */
    struct json_t *started;                                    /* the first event, for summary.csv */
    double start_time;
    double event_seconds, steer_seconds; /* time spent on events; and on steering, which train_steer.c adds */
    struct json_t *record;               /* run.json, as of the start (record.h) */
    bool steered;                        /* rules have changed */
};

/* iterations: those before this training, if it was resumed. */
cobre_status cb_training_started(struct cb_training *training, uint64_t iterations);
cobre_status cb_training_iteration(struct cb_training *training, const cobre_sddp_progress *progress);
cobre_status cb_training_checkpoint(struct cb_training *training, uint64_t iteration);
cobre_status cb_training_warning(struct cb_training *training, const char *message, const char *suggestion);
/* words: "rule iterations 200"; the first of them is the command. */
cobre_status cb_training_steered(struct cb_training *training, uint64_t iteration, const char *words);

/* The last one of these two ends all files. finished is collective. */
cobre_status cb_training_finished(struct cb_training *training, const cobre_sddp_training *result,
                                  const cobre_sddp_policy *policy);
cobre_status cb_training_failed(struct cb_training *training, const cobre_error *error);

/* The rules that are set, as on the command line: {"iterations": "100"}. */
struct json_t *cb_rules_json(const cobre_sddp_train_options *options);

/* tables.c: a table that is made of an event. */
int cb_trace_row(const struct json_t *iteration, char *row, size_t room); /* of training.csv; its length */
cobre_status cb_times_write(const char *folder, const struct json_t *finished);
cobre_status cb_summary_write(const char *folder, const struct json_t *started, const struct json_t *finished);
cobre_status cb_tables_of_events(const char *folder,
                                 const struct json_t *events); /* all of them, of a list of events */

#endif
