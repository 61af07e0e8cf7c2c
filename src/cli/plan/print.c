/* SPDX-License-Identifier: Apache-2.0 */
/* print.c: prints errors of a case, for several commands. */
#include "cli/plan/session.h"

void cb_write_issue(FILE *file, const cobre_sddp_issue *issue) {
    fprintf(file, "%s:", issue->file && *issue->file ? issue->file : "case");
    if (issue->line)
        fprintf(file, "%zu:", issue->line);
    if (issue->place && *issue->place)
        fprintf(file, " %s:", issue->place);
    fprintf(file, "%s %s%s%s\n", issue->warning ? " warning:" : "", issue->message, *issue->suggestion ? " -- " : "",
            issue->suggestion);
    if (issue->more)
        fprintf(file, "%s: and %zu more like that\n", issue->file && *issue->file ? issue->file : "case", issue->more);
}
