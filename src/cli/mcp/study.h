/* SPDX-License-Identifier: Apache-2.0 */
/* study.h: functions that tools share to open a case, a policy or a run. Each function that returns false has refused
 * the call. */
#ifndef COBRE_CLI_MCP_STUDY_H
#define COBRE_CLI_MCP_STUDY_H

#include "cli/mcp/mcp.h"
#include "sddp/run/results.h"

#define CB_MCP_CASE_FIELD(must)                                                                                        \
    {                                                                                                                  \
        .name = "case", .kind = CB_MCP_TEXT, .required = must,                                                         \
        .help = "the case: a folder with case.json, or a *.sof.json file; absolute or below a root"                    \
    }
#define CB_MCP_POLICY_FIELD(must)                                                                                      \
    {                                                                                                                  \
        .name = "policy", .kind = CB_MCP_TEXT, .required = must,                                                       \
        .help = "the policy: a file policy.cobre, or the folder of the run that has it; absolute or below a root"      \
    }
#define CB_MCP_RUN_FIELD(must)                                                                                         \
    {                                                                                                                  \
        .name = "run", .kind = CB_MCP_TEXT, .required = must,                                                          \
        .help = "the folder of a run, of train or simulate; absolute or below a root"                                  \
    }
/* Where an LP without a solution is written: nowhere. Without a folder it would be the current one. */
#define CB_STUDY_NO_FOLDER "/dev/null"

struct cb_study {
    struct cb_place case_place, policy_place;
    cobre_sddp_problem *problem;
    cobre_sddp_policy *policy;
};
extern const struct cb_study cb_study_none;

/* The argument "case", loaded. */
bool cb_study_case(struct cb_mcp_call *call, struct cb_study *study);
bool cb_study_load(struct cb_mcp_call *call, struct cb_study *study); /* the second half of it: the place is known */

/* The argument "policy": loaded for the problem, or by itself where there is none. */
bool cb_study_policy(struct cb_mcp_call *call, struct cb_study *study);
void cb_study_close(struct cb_study *study);

/* The argument "policy": the file, also where the folder of a run is given. */
bool cb_study_policy_file(struct cb_mcp_call *call, struct cb_place *place);
bool cb_study_policy_of(struct cb_mcp_call *call, const char *field, struct cb_place *place); /* of another argument */

/* The argument "run", read. The caller frees the results, and closes the place. */
bool cb_study_run(struct cb_mcp_call *call, struct cb_place *place, struct cb_results *results);

/* Makes a new folder in the output folder: the argument "name"; without it that of `path`, a case or a run, with an ending
 * ("rio-edit"), and with a number where that is taken ("rio-edit-2"). */
bool cb_study_folder(struct cb_mcp_call *call, const char *path, const char *ending, struct cb_place *place);
/* Refuses a folder whose files do not belong together, or cannot be read: cobre_last_error() says why. */
void cb_study_unfit(struct cb_mcp_call *call, const char *field, const char *folder);

/* Refuses the argument that cobre_last_error() is about. text: the argument that was read as a text of values. */
void cb_study_wrong(struct cb_mcp_call *call, const char *text);

/* States and inflows can be given by a table, too: that would be a file which nobody has checked. */
bool cb_study_no_file(struct cb_mcp_call *call, const char *field);

/* Refuses a name that is none of those known: {"name": ...}. */
void cb_study_unknown(struct cb_mcp_call *call, const char *field, const char *received, const char *what,
                      const json_t *known, const char *next);

/* The offset of the next page, or null. shown: rows of this page; all: of all pages. */
json_t *cb_study_next(const struct cb_mcp_call *call, size_t shown, size_t all);

/* How many characters the JSON of a value has. */
size_t cb_study_length(const json_t *value);

#endif
