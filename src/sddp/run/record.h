/* SPDX-License-Identifier: Apache-2.0 */
/* record.h: run.json, the record of a run folder. It holds the case, the options that change results, the LP solvers, how
 * the run ended, and the SHA-256 of each file. It holds no time, host or number of ranks, so the same run has the same
 * bytes.
 *
 *     {"format": 1,
 *      "hash": a text about the hashes,
 *      "training": {"version", "case": {"name", "fingerprint"}, "options", "rules", "state",
 *                   "stop" or "error", "iterations", "solvers", "files"},
 *      "simulation": {"version", "policy": its hash, "options", "solvers", "files"}}
 *
 * A training that is "running" has no files yet, and one that was killed stays so. All calls are for rank 0. After a
 * failure cobre_last_error() tells why. */
#ifndef COBRE_SDDP_RUN_RECORD_H
#define COBRE_SDDP_RUN_RECORD_H

#include "sddp/run/simulation.h"
#include "sddp/run/training.h"
#include "sddp/sha256.h"

enum { CB_RECORD_SENTENCE = 4096 };

/* The contents of a folder. */
struct cb_record {
    bool known;     /* a training that is in run.json */
    bool finished;  /* a training that has finished */
    bool policy;    /* a policy */
    bool simulated; /* the tables of a simulation */
    bool same;      /* a policy from which a training of this case with these options could go on */
};
/* problem NULL: `same` is not found. */
cobre_status cb_record_look(const char *folder, const cobre_sddp_problem *problem,
                            const cobre_sddp_train_options *options, struct cb_record *record);

/* A training starts. Removes files of an older run, except those that a training resumed in place continues; and
 * incomplete files of a killed run. */
cobre_status cb_record_begin(struct cb_training *training, bool in_place);

/* It has ended. result and policy are NULL after a failure; error: the failure. *iterations: those in the folder's
 * policy, 0 without one. */
cobre_status cb_record_end(struct cb_training *training, const cobre_sddp_training *result,
                           const cobre_sddp_policy *policy, const cobre_error *error, uint64_t *iterations);

/* The hash of a policy for a simulation. Fails if the folder for the tables holds another policy. */
cobre_status cb_record_policy(const char *folder, const char *policy, char hash[CB_SHA256_TEXT]);

/* The same for a policy that is in memory only. */
cobre_status cb_record_own_policy(const char *folder, const cobre_sddp_policy *policy, char hash[CB_SHA256_TEXT]);

/* A simulation has written its tables. hash: of its policy. scenarios: their table, or NULL. */
cobre_status cb_record_simulation(const char *folder, const char *hash, const cobre_sddp_simulate_options *options,
                                  const char *sampling, const char *scenarios, const cobre_sddp_policy *policy,
                                  const cobre_sddp_simulation *result);

/* Fails if files of the folder do not belong together. */
cobre_status cb_record_check(const char *folder);

/* *known is false if there is no record of its training, so that nothing can be checked. */
cobre_status cb_record_known(const char *folder, bool *known);

/* The recorded case of the training ("case") and options of the simulation ("options"); missing members are null. The caller
 * frees it by json_decref; NULL: no memory, or no record. */
struct json_t *cb_record_origin(const char *folder);

/* A sentence about a training that has failed, or not ended; empty: there is none. */
void cb_record_unfinished(const char *folder, char sentence[CB_RECORD_SENTENCE]);

#endif
