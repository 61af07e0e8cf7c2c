/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h: has a run converged? The answer is a word, and a sentence with the reason and a remedy. It is the same in all
 * front ends. */
#ifndef COBRE_SDDP_RUN_VERDICT_H
#define COBRE_SDDP_RUN_VERDICT_H

#include "sddp/run/results.h"

enum cb_convergence {
    CB_CONVERGED, /* the sample could not show that another policy is better */
    CB_NOT_YET,   /* more training would help, or something else is wrong */
    CB_UNKNOWN,   /* the results do not tell */
    CB_AVERSE     /* with a risk measure there is no gap to judge by */
};

/* The input of the verdict. Unknown numbers are NaN. */
struct cb_evidence {
    const char *unfinished; /* a sentence about a training that has failed or not ended; "": it has ended */
    bool trained;           /* the training is known */
    bool maximises, averse;
    bool unproven;           /* the bound is, because of cuts of another case */
    bool simulated, sampled; /* sampled: the trajectories are a sample, and complete */
    bool other_noise;        /* the trajectories have other noise than the training */
    bool other_case;         /* they are of another case than the training */
    const char *start;       /* their beginning; "": that of the training */
    double bound, mean, half;
    uint64_t trajectories;
    const struct cb_iteration *trace; /* of the training; only the bounds are used */
    size_t iterations;
    double without_cut; /* the number of LPs that gave no cut */
};

enum { CB_VERDICT_SENTENCE = 4608 };
struct cb_run_verdict {
    enum cb_convergence word;
    char sentence[CB_VERDICT_SENTENCE];
    bool beyond; /* the mean lies beyond the bound by more than its interval */
};

void cb_judge(const struct cb_evidence *evidence, struct cb_run_verdict *verdict);

/* The same for a run folder. */
void cb_results_judge(const struct cb_results *results, struct cb_run_verdict *verdict);

const char *cb_convergence_name(enum cb_convergence word); /* "converged", "not yet", "unknown", "risk-averse" */

/* The relative change of the bound in its last iterations. *over: their number. NaN: there are too few. */
double cb_bound_moved(const struct cb_iteration *trace, size_t iterations, size_t *over);

#endif
