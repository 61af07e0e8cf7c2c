/* SPDX-License-Identifier: Apache-2.0 */
/* files.h: the names in a run folder: its files, their columns, and the phases of times.csv. Writers and readers take the
 * names from here. */
#ifndef COBRE_SDDP_RUN_FILES_H
#define COBRE_SDDP_RUN_FILES_H

#define CB_FILE_POLICY "policy.cobre"
#define CB_FILE_TRAINING "training.csv"
#define CB_FILE_EVENTS "events.jsonl" /* the files of a training below are made of it: training.h */
#define CB_FILE_STEER "steer.sock"    /* while it trains: steering.h */
#define CB_FILE_TIMES "times.csv"
#define CB_FILE_SUMMARY "summary.csv"
#define CB_FILE_SIMULATION "simulation.csv"
#define CB_FILE_STATISTICS "statistics.csv" /* of all trajectories: statistics.c */
#define CB_FILE_NETCDF "simulation.nc"      /* all tables in one: netcdf.c */
#define CB_FILE_RUN "run.json"              /* the record of the other files: record.h */
#define CB_FILE_REPORT "report.html"        /* where `cobre report` writes it by default */
#define CB_FILE_COMPARE "compare.html"      /* ... and one of several runs: into the current folder */

#define CB_COLUMNS_TRAINING "iteration,bound,mean,deviation,window_mean,window_half,window_passes,cuts,solves,seconds"
#define CB_COLUMNS_TIMES "rank,phase,seconds"
#define CB_COLUMNS_FACTS "key,value" /* summary.csv and simulation.csv */

/* Of statistics.csv. The step is empty in rows about whole trajectories. */
#define CB_COLUMNS_STATISTICS                                                                                          \
    "table,kind,level,element,unit,step,stage,date,count,mean,deviation,minimum,p5,p25,p50,p75,p95,maximum,positive"

/* X(code, name, title): the phases of a rank's time, as in COBRE_SDDP_EFFORT_MAP. */
#define CB_PHASE_MAP(X)                                                                                                \
    X(FORWARD, "forward", "Forward")                                                                                   \
    X(BACKWARD, "backward", "Backward")                                                                                \
    X(BOUND, "bound", "Bound")                                                                                         \
    X(COMMUNICATION, "communication", "Communication")                                                                 \
    X(WAITING, "waiting", "Waiting")                                                                                   \
    X(SIMULATION, "simulation", "Simulation")                                                                          \
    X(OTHER, "other", "Other")

enum cb_phase {
#define CB_PHASE_ENUM(code, name, title) CB_PHASE_##code,
    CB_PHASE_MAP(CB_PHASE_ENUM)
#undef CB_PHASE_ENUM
        CB_PHASES
};

/* X(code, name, columns): the tables of a simulation, name.csv. The first is always there; the others are on request. */
#define CB_TABLE_MAP(X)                                                                                                \
    X(COSTS, "costs", "trajectory,steps,cost")                                                                         \
    X(STAGES, "stages", "trajectory,step,stage,date,node,outcome,cost,future_cost,discount,unit")                      \
    X(STATES, "states", "trajectory,step,stage,date,kind,element,in,out,unit")                                         \
    X(VARIABLES, "variables", "trajectory,step,stage,date,block,share,kind,element,value,unit")                        \
    X(DUALS, "duals", "trajectory,step,stage,date,block,share,kind,element,value,unit")                                \
    X(NOISE, "noise", "trajectory,step,stage,date,kind,element,value,unit")

/* In simulation.c. */
extern const char *const cb_table_name[];

enum cb_table {
#define CB_TABLE_ENUM(code, name, columns) CB_TABLE_##code,
    CB_TABLE_MAP(CB_TABLE_ENUM)
#undef CB_TABLE_ENUM
        CB_TABLES
};

#endif
