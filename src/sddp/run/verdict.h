/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h: has a run converged? A word, and a sentence with the reason and with what to do. All front ends say the
 * same. */
#ifndef COBRE_SDDP_RUN_VERDICT_H
#define COBRE_SDDP_RUN_VERDICT_H

#include "sddp/run/results.h"

enum cb_convergence {
    CB_CONVERGED, /* a better policy could not be told from this one */
    CB_NOT_YET,   /* training more would help, or something else is wrong with it */
    CB_UNKNOWN,   /* what is there does not tell */
    CB_AVERSE     /* with a risk measure there is no gap to judge by */
};

/* What it is judged by. Numbers that are not known are NaN. */
struct cb_evidence {
    const char *unfinished; /* a sentence about a training that has failed or not ended; "": it has ended */
    bool trained;           /* the training is known */
    bool maximises, averse;
    bool unproven;           /* the bound, because of cuts of another case */
    bool simulated, sampled; /* sampled: the trajectories are a sample, and go from the start to the end */
    bool other_noise;        /* of the trajectories, than the training had */
    bool other_case;         /* they are of another case than the training */
    const char *start;       /* where they begin; "": where the training does */
    double bound, mean, half;
    uint64_t trajectories;
    const struct cb_iteration *trace; /* of the training; the bounds are what counts */
    size_t iterations;
    double without_cut; /* LPs that gave none */
};

enum { CB_VERDICT_SENTENCE = 4608 };
struct cb_run_verdict {
    enum cb_convergence word;
    char sentence[CB_VERDICT_SENTENCE];
    bool beyond; /* the mean lies beyond the bound, further than its interval */
};

void cb_judge(const struct cb_evidence *evidence, struct cb_run_verdict *verdict);

/* The same of a run folder. */
void cb_results_judge(const struct cb_results *results, struct cb_run_verdict *verdict);

const char *cb_convergence_name(enum cb_convergence word); /* "converged", "not yet", "unknown", "risk-averse" */

/* By how much the bound moved in its last iterations, as a share of itself. *over: in how many. NaN: there are too few. */
double cb_bound_moved(const struct cb_iteration *trace, size_t iterations, size_t *over);

#endif
