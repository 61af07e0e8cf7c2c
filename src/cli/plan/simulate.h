/* simulate.h: the parts of `cobre simulate`. */
#ifndef COBRE_CLI_PLAN_SIMULATE_H
#define COBRE_CLI_PLAN_SIMULATE_H

#include "cli/plan/session.h"

/* X(code, name, header): the tables of a simulation, DIR/name.csv. All but the first may be left out. */
#define CB_TABLE_MAP(X)                                                                                                \
    X(COSTS, "costs", "trajectory,steps,cost")                                                                         \
    X(STAGES, "stages", "trajectory,step,stage,node,outcome,cost,future_cost,discount")                                \
    X(STATES, "states", "trajectory,step,kind,element,in,out")                                                         \
    X(VARIABLES, "variables", "trajectory,step,kind,element,value")                                                    \
    X(DUALS, "duals", "trajectory,step,kind,element,value")                                                            \
    X(NOISE, "noise", "trajectory,step,kind,element,value")

enum cb_table {
#define CB_TABLE_ENUM(code, name, header) CB_TABLE_##code,
    CB_TABLE_MAP(CB_TABLE_ENUM)
#undef CB_TABLE_ENUM
        CB_TABLES
};

extern const char *const cb_table_name[CB_TABLES];

/* What one rank has simulated so far. Each table collects in an unnamed file of this host, because only the owner of a
 * trajectory has its stages, and the hosts need not share a file system. */
struct spool {
    const cobre_sddp_problem *problem;
    bool wanted[CB_TABLES];
    FILE *file[CB_TABLES];
    struct piece *pieces; /* one a trajectory, in the order of their simulation */
    size_t count, room, next;
    size_t steps; /* of the newest trajectory, and its discounted cost */
    double cost;
    char ***labels[CB_TABLES]; /* "kind,element" of each column, row, ... of each node; made when first needed */
    bool failed;               /* out of memory or disk; errno says which */
};

bool cb_spool_open(struct spool *spool, const cobre_sddp_problem *problem);
void cb_spool_stage(void *spool, const cobre_sddp_stage *stage); /* for cobre_sddp_simulate_options */
void cb_spool_close(struct spool *spool);

/* Rank 0 writes all ranks' trajectories in order. False, after a message, on all ranks alike. Collective. */
bool cb_spool_write(struct spool *spool, const struct session *session, const char *folder);

#endif
