/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h: one rank's share of a training run. */
#ifndef COBRE_SDDP_TRAIN_TRAINER_H
#define COBRE_SDDP_TRAIN_TRAINER_H

#include "sddp/clock.h"
#include "sddp/policy/policy.h"
#include "sddp/problem/path.h"

/* The LPs of all nodes on this rank. Made when first needed. */
typedef struct {
    const cb_stage_kind *kind;
    cb_stage **stage;
} cb_stages;

cobre_status cb_stages_init(cb_stages *stages, const cb_stage_kind *kind);
void cb_stages_free(cb_stages *stages);
cobre_status cb_stages_get(cb_stages *stages, size_t node, cb_stage **stage);
uint64_t cb_stages_solves(const cb_stages *stages);

/* Of `count` trajectories, rank r of R has [*first, *last): blocks in rank order, the first ones longer by at most one.
 * Trajectory 0 is rank 0's. */
void cb_block(size_t count, size_t rank, size_t ranks, size_t *first, size_t *last);

/* What the ranks tell each other after an iteration, by one maximum of doubles. */
typedef struct {
    double asked;   /* to stop: what cobre_sddp_train_options.stop returned */
    double seconds; /* since the start */
    double bound;   /* internal sense; from here on they are rank 0's */
    double start_bytes;
    double pause, rules; /* steering: it is paused, rules have changed */
} cb_news;

/* What ranks have done, and tell each other about each iteration (effort.c). Seconds of the operations come behind the
 * efforts. */
enum { CB_TALLIES = COBRE_SDDP_EFFORTS + COBRE_SDDP_OPERATIONS };
typedef struct {
    double spent[CB_TALLIES], told[CB_TALLIES];        /* by this rank, so far; and when it last told */
    cobre_sddp_traffic since[COBRE_SDDP_OPERATIONS];   /* by this rank, since then */
    cobre_sddp_traffic traffic[COBRE_SDDP_OPERATIONS]; /* as in cobre_sddp_progress */
    double told_time, memory_time;                     /* when it told, and looked at its memory */
    double cpu_before;                                 /* CPU time of the process before it trained */
    double *all, *effort;                              /* of all ranks: by rank, by kind */

    size_t *counts, *displs;
    size_t stages;
    size_t *node_place, *function_place; /* which stage, in the order of stages */
    uint64_t *made, *kept, *active;      /* cuts of each stage */
    uint64_t counted;                    /* those that are in `made` */
} cb_tally;

typedef struct {
    cb_arena memory; /* of all arrays here but `starts` */
    cobre_comm *comm;
    size_t rank, ranks;
    cobre_status status; /* of this rank, until the ranks meet: see cb_agree */
    cobre_sddp_policy *policy;
    const cobre_sddp_problem *problem;
    cobre_sddp_train_options options; /* with defaults filled in */
    cb_stages stages;
    size_t first, last; /* the trajectories of this rank */
    cb_path *path;      /* of every trajectory */
    size_t steps;       /* of the longest path */
    cb_start *chain;    /* of each own trajectory, at each node: where its last solve there ended */
    double **state;     /* of each own trajectory: before each step, and after the last */
    size_t *state_room;
    double *cost;                      /* of each own trajectory */
    double *record;                    /* this rank's new cuts of one step */
    size_t *count;                     /* cuts of one step, by rank */
    double *probability, *weight;      /* of all outcomes of a node's children */
    double *value, *intercept, *slope; /* what they prove: at the state, and as cuts */
    uint64_t unproven, all_unproven;   /* solves of this rank, and of all, that proved no cut */
    const double **worst;              /* scratch of cb_risk_weights */
    unsigned char *starts;             /* on their way from rank 0 */
    size_t starts_room;                /* the same on all ranks */
    cb_start *next;                    /* of each node: a start that becomes the policy's */
    double bound;                      /* internal sense; on rank 0 */
    cb_news news;                      /* of the last iteration */
    double start_time;
    double saved_time; /* rank 0: when a checkpoint was last tried */
    uint64_t saved;    /* rank 0: as of which iteration there is one; 0: none */
    cb_tally tally;
    cobre_sddp_train_options wished; /* rank 0: options as they are changed from outside, */
    bool pause, save;                /* and what else is wished */
} cb_trainer;

cobre_status cb_trainer_init(cb_trainer *trainer, cobre_sddp_policy *policy, const cobre_sddp_train_options *options);
void cb_trainer_free(cb_trainer *trainer);

static inline cb_start *cb_trainer_chain(cb_trainer *trainer, size_t trajectory, size_t node) {
    return &trainer->chain[(trajectory - trainer->first) * trainer->problem->nodes + node];
}

/* CB_STOPPED: this rank is asked to end, and that as urgently as `wish` at least: 1, or 2 for now (sddp.h). */
cobre_status cb_trainer_stopped(const cb_trainer *trainer, int wish);

/* cb_stage_solve, unless this rank is asked to end now. */
cobre_status cb_trainer_solve(const cb_trainer *trainer, cb_stage *stage, size_t outcome, const double *noise);

/* Trajectory m's LP of `node`, started where m left it this iteration, else where the iteration starts. */
cobre_status cb_trainer_lp(cb_trainer *trainer, size_t trajectory, size_t node, cb_stage **stage);

/* The parts of an iteration. The backward pass is collective and fails on all ranks alike; the others may fail on this
 * rank alone. */
cobre_status cb_forward(cb_trainer *trainer, uint64_t iteration);
cobre_status cb_backward(cb_trainer *trainer, uint64_t iteration);
cobre_status cb_lower_bound(cb_trainer *trainer); /* on rank 0 */

/* Where the ranks meet: cb_agree, whose time is that of waiting. */
cobre_status cb_trainer_agree(cb_trainer *trainer, cobre_status status);

/* effort.c: a collective since `begin` is over, which carried so many bytes; operations in one: so many calls. */
void cb_tally_operation(cb_trainer *trainer, cobre_sddp_operation operation, size_t calls, size_t bytes, double begin);
void cb_tally_leave_out(cb_trainer *trainer, const cb_tally *before, double seconds); /* what came since: a pause */
void cb_tally_add(cb_trainer *trainer, cobre_sddp_effort effort, double begin);       /* the time since then */
bool cb_tally_init(cb_trainer *trainer);                                              /* false: no memory */
cobre_status cb_tally_tell(cb_trainer *trainer); /* after an iteration. Collective */
void cb_tally_close(cb_trainer *trainer);        /* spent[] is then of all of the training */
void cb_tally_show(const cb_trainer *trainer, cobre_sddp_progress *progress);

/* steer.c: rank 0 asks what is wished, before the news; then all take changes of rules; and pause. Collective but for
 * the first. */
void cb_steer_ask(cb_trainer *trainer);
cobre_status cb_steer_take(cb_trainer *trainer);
cobre_status cb_steer_pause(cb_trainer *trainer);

/* The news of this rank, and then of all. Collective. */
cobre_status cb_news_exchange(cb_trainer *trainer, double start_bytes);

/* train.c: rank 0 writes a checkpoint, if one is due. */
void cb_checkpoint(cb_trainer *trainer);

/* Mean and deviation of values spread over the ranks, by exact sums. Collective. */
cobre_status cb_mean_deviation(cobre_comm *comm, const double *value, size_t count, size_t total, double *mean,
                               double *deviation);

/* Costs of trajectories [first, last) of a simulation with the policy as it is. Not collective. */
cobre_status cb_simulate_costs(cobre_sddp_policy *policy, cb_stages *stages, uint64_t seed, cb_rng_purpose purpose,
                               uint32_t a, size_t first, size_t last, double *cost);

/* rules.c: the limit of time has passed, and is enough to end it. */
bool cb_rules_late(const cb_trainer *trainer);

/* rules.c: after an iteration. Collective when the simulation rule is due. */
cobre_status cb_rules_check(cb_trainer *trainer, cobre_sddp_stop *stop);

#endif
