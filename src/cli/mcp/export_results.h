/* SPDX-License-Identifier: Apache-2.0 */
/* export_results.h: the parts of the tool export_results. */
#ifndef COBRE_CLI_MCP_EXPORT_RESULTS_H
#define COBRE_CLI_MCP_EXPORT_RESULTS_H

#include "cli/mcp/jobs.h"
#include "cli/mcp/study.h"
#include "sddp/run/files.h"

struct cb_export {
    struct cb_mcp_call *call;
    struct cb_place run, folder; /* folder: of the export */
    struct cb_results results;   /* of the run: its facts */
    json_t *record;              /* its run.json; NULL: it has none */
    bool netcdf;
    bool wanted[CB_TABLES]; /* tables that were asked for */
    const char *tables;     /* as they were asked for; NULL: they were not */
};

/* Makes the folder. False: the call has been refused. */
bool cb_export_open(struct cb_export *export);

/* Removes it again, before the call is refused: then nothing is left behind. */
void cb_export_drop(struct cb_export *export);

/* Answers: the files of the folder; or, of a job that still simulates, where they will be. */
void cb_export_answer(struct cb_export *export, bool simulated);
void cb_export_later(struct cb_mcp_call *call, const struct cb_job *job);

/* export_simulate.c: starts a job that simulates again, with the options of the run, into a folder that it makes. */
void cb_export_simulate(struct cb_export *export);

#endif
