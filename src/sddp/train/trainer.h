/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h: the data of one rank in a training. */
#ifndef COBRE_SDDP_TRAIN_TRAINER_H
#define COBRE_SDDP_TRAIN_TRAINER_H

#include "sddp/clock.h"
#include "sddp/policy/policy.h"
#include "sddp/problem/path.h"
#include "sddp/train/team.h"

/* The LPs of all nodes on this rank. Each is made when it is first needed. One is in use at a time; the others rest. */
typedef struct {
    const cb_stage_kind *kind;
    cb_stage **stage;
    cb_stage *last; /* the one in use */
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
    double asked;   /* a request to stop: the result of cobre_sddp_train_options.stop */
    double seconds; /* since the start */
    double bound;   /* internal sense; this and all below come from rank 0 */
    double start_bytes;
    double pause, rules; /* steering: a pause is asked for, rules have changed */
} cb_news;

/* The work of ranks, which they tell each other after each iteration (effort.c). Seconds of the operations follow those of
 * the efforts. */
enum { CB_TALLIES = COBRE_SDDP_EFFORTS + COBRE_SDDP_OPERATIONS };
typedef struct {
    double spent[CB_TALLIES], told[CB_TALLIES];        /* by this rank: so far, and at its last report */
    cobre_sddp_traffic since[COBRE_SDDP_OPERATIONS];   /* by this rank, since its last report */
    cobre_sddp_traffic traffic[COBRE_SDDP_OPERATIONS]; /* as in cobre_sddp_progress */
    double told_time, memory_time; /* the times of the last report, and of the last look at memory use */
    double cpu_before;             /* CPU time of the process before it trained */
    double *all, *effort;          /* of all ranks: by rank, by kind */

    size_t *counts, *displs;
    size_t stages;
    size_t *node_place, *function_place; /* the index of their stage, in the order of stages */
    uint64_t *made, *kept, *active;      /* cuts of each stage */
    uint64_t counted;                    /* cuts that `made` includes */
} cb_tally;

/* The state where a cut was made, and the highest cut there; level-one, drop.c. */
typedef struct {
    uint32_t cut, highest; /* ids */
    bool compared;         /* `highest` is set, */
    double value;          /* and the value there */
} cb_visit;

typedef struct {
    cb_visit *at; /* in the order of ids */
    size_t count, room;
    size_t compared; /* cuts that the older ones were compared with */
} cb_visits;

typedef struct {
    cb_arena memory; /* of all arrays here but `starts`, and of the team's own */
    cobre_comm *comm;
    size_t rank, ranks;
    cobre_sddp_policy *policy;
    const cobre_sddp_problem *problem;
    cobre_sddp_train_options options; /* with defaults filled in */
    cb_stages stages;
    cb_team team;
    cb_path *path;                   /* of every trajectory */
    size_t steps;                    /* of the longest path */
    size_t *piece, *cut;             /* of one step: the first of each trajectory of this node, then the total */
    size_t *count;                   /* cuts of one step, by rank */
    uint32_t *own_cut;               /* of each trajectory of this node: the id of the cut it made last */
    double *probability, *weight;    /* of all outcomes of a node's children */
    uint64_t unproven, all_unproven; /* solves that proved no cut: of this rank, and of all */
    const double **worst;            /* scratch of cb_risk_weights */
    cb_start scratch;                /* being copied to or from the team's heap */
    unsigned char *starts;           /* being sent from rank 0 */
    size_t starts_room;              /* the same on all ranks */
    cb_start *next;                  /* of each node: the policy's next start */
    cb_start *ended;                 /* rank 0, of each node: where trajectory 0's last solves there ended */
    double bound;                    /* internal sense; on rank 0 */
    cb_news news;                    /* of the last iteration */
    double start_time;
    double saved_time; /* rank 0: when a checkpoint was last tried */
    uint64_t saved;    /* rank 0: the iteration of the last checkpoint; 0: none */
    cb_tally tally;
    cb_visits *visits;               /* drop.c: of each function */
    uint64_t visited;                /* cuts that are in there */
    cobre_sddp_train_options wished; /* rank 0: the options as changed from outside, */
    bool pause, save;                /* and other requests */
} cb_trainer;

cobre_status cb_trainer_init(cb_trainer *trainer, cobre_sddp_policy *policy, const cobre_sddp_train_options *options);
void cb_trainer_free(cb_trainer *trainer);

/* CB_STOPPED: this rank is asked to end, at least as urgently as `wish`: 1, or 2 for at once (sddp.h). */
cobre_status cb_trainer_stopped(const cb_trainer *trainer, int wish);

/* cb_stage_solve, unless this rank is asked to end at once. */
cobre_status cb_trainer_solve(const cb_trainer *trainer, cb_stage *stage, size_t outcome, const double *noise);

/* After a piece of work: a rank that failed leaves no more work to the others. Returns the status. */
cobre_status cb_trainer_worked(cb_trainer *trainer, cobre_status status);

/* The number of chains in which the outcomes of a node are solved (backward.c); shorter: of half the length. */
size_t cb_pieces(const cb_node *node, bool shorter);

/* The LP of a node on this rank, set to a start. */
cobre_status cb_trainer_start(cb_trainer *trainer, size_t node, const cb_start *start, cb_stage **stage);

/* The parts of an iteration, each collective. The forward and backward passes fail on all ranks alike; the solves for the
 * bound may fail on this rank alone. */
cobre_status cb_forward(cb_trainer *trainer, uint64_t iteration);
cobre_status cb_backward(cb_trainer *trainer, uint64_t iteration);
cobre_status cb_solve_first(cb_trainer *trainer);

/* On rank 0, after the ranks met: the bound; and the starts of the next iteration, as bytes (NULL: no memory). */
void cb_lower_bound(cb_trainer *trainer);
unsigned char *cb_next_starts(cb_trainer *trainer, size_t *bytes);

/* The ranks meet: cb_agree, whose time counts as waiting. */
cobre_status cb_trainer_agree(cb_trainer *trainer, cobre_status status);

/* The same; afterwards all ranks of a node can read what they have written to shared memory. */
cobre_status cb_trainer_settle(cb_trainer *trainer, cobre_status status);

/* effort.c: notes a collective that began at `begin`, has ended, and carried so many bytes in so many calls. */
void cb_tally_operation(cb_trainer *trainer, cobre_sddp_operation operation, size_t calls, size_t bytes, double begin);
void cb_tally_leave_out(cb_trainer *trainer, const cb_tally *before, double seconds); /* of a pause */
void cb_tally_add(cb_trainer *trainer, cobre_sddp_effort effort, double begin);       /* adds the time since then */
bool cb_tally_init(cb_trainer *trainer);                                              /* false: no memory */
cobre_status cb_tally_tell(cb_trainer *trainer); /* after an iteration. Collective */
void cb_tally_close(cb_trainer *trainer);        /* spent[] then covers the whole training */
void cb_tally_show(const cb_trainer *trainer, cobre_sddp_progress *progress);

/* drop.c: drops cuts from the lists of the pool, by the policy's rule: after each iteration, and before the first one of a
 * resumed training. At the end all cuts are listed again. Both are collective. */
bool cb_drop_init(cb_trainer *trainer); /* false: no memory */
void cb_drop_free(cb_trainer *trainer);
cobre_status cb_drop_cuts(cb_trainer *trainer);
cobre_status cb_drop_end(cb_trainer *trainer);

/* steer.c: before the news rank 0 asks for requests; then all ranks change their rules, and pause. All but the first are
 * collective. */
void cb_steer_ask(cb_trainer *trainer);
cobre_status cb_steer_take(cb_trainer *trainer);
cobre_status cb_steer_pause(cb_trainer *trainer);

/* Exchanges the news: from this rank's to those of all. Collective. */
cobre_status cb_news_exchange(cb_trainer *trainer, double start_bytes);

/* train.c: rank 0 writes a checkpoint, if one is due. */
void cb_checkpoint(cb_trainer *trainer);

/* Mean and deviation of values spread over the ranks, by exact sums. Collective. */
cobre_status cb_mean_deviation(cobre_comm *comm, const double *value, size_t count, size_t total, double *mean,
                               double *deviation);

/* The costs of trajectories [first, last) of a simulation with the present policy. Not collective. */
cobre_status cb_simulate_costs(cobre_sddp_policy *policy, cb_stages *stages, uint64_t seed, cb_rng_purpose purpose,
                               uint32_t a, size_t first, size_t last, double *cost);

/* rules.c: the time limit has passed, and that alone ends the training. */
bool cb_rules_late(const cb_trainer *trainer);

/* rules.c: does training end after this iteration? Collective if the simulation rule is due. */
cobre_status cb_rules_check(cb_trainer *trainer, cobre_sddp_stop *stop);

#endif
