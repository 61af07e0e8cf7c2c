/* SPDX-License-Identifier: Apache-2.0 */
/* print.c: what several commands print: errors of a case, its size. */
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

size_t cb_stages(const cobre_sddp_problem *problem) {
    size_t last = 0;
    for (size_t i = 0; i < cobre_sddp_problem_nodes(problem); i++)
        if (cobre_sddp_problem_node_stage(problem, i) > last)
            last = cobre_sddp_problem_node_stage(problem, i);
    return last;
}

void cb_write_problem_size(FILE *to, const cobre_sddp_problem *problem) {
    cb_write_size(to, cb_stages(problem), cobre_sddp_problem_nodes(problem), cobre_sddp_problem_states(problem));
}

void cb_write_size(FILE *to, size_t stages, size_t nodes, size_t states) {
    fprintf(to, "%zu stage%s, %zu node%s, %zu state%s", stages, stages == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s",
            states, states == 1 ? "" : "s");
}
