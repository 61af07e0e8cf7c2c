/* SPDX-License-Identifier: Apache-2.0 */
/* start_case.h: the files of cases/start, which the build packs into the command. */
#ifndef COBRE_CLI_PLAN_START_CASE_H
#define COBRE_CLI_PLAN_START_CASE_H

struct cb_start_file {
    const char *name, *text; /* name NULL: there are no more */
};
extern const struct cb_start_file cb_start_files[];

#endif
