/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c CASE ITERATIONS PASSES [SOLVER]: trains on the ranks that there are, and says where the time went. trainer.py starts it.
 *
 * Rank 0 prints one line of JSON. The linker sends the trainer's calls of collectives and its choice of a solver through
 * here (--wrap), so that the trainer itself is the one that users have.
 *
 * Collectives. Each call's begin and end are noted on every rank; the clock is the host's. A call costs from the moment
 * when the last rank has come to the moment when the last one goes; what is before that is waiting, for ranks that still
 * solve LPs.
 *
 * The LP solver. Every call that makes, changes or solves an LP is timed; rank 0 tells its own. Reading a solution counts as
 * the trainer's work. Reading the clock takes some 30 ns, twice per call, and an LP of 2,000 columns has thousands of calls: what that
 * takes is measured, and counts for neither. */
#include <cobre/sddp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sddp/lp/plugins.h"

static void *need(void *memory) {
    if (!memory) {
        fputs("trainer: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static double read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double now(void) {
    return read_clock(CLOCK_MONOTONIC);
}

/* The collectives' times. */
struct span {
    double begin, end;
};
static struct span *span;
static size_t spans, span_room;

static cobre_status note(double begin, cobre_status status) {
    if (spans == span_room)
        span = need(realloc(span, (span_room = 2 * span_room + 1024) * sizeof *span));
    span[spans++] = (struct span){begin, now()};
    return status;
}

#define WRAP(name, parameters, arguments)                                                                              \
    cobre_status __real_##name parameters;                                                                             \
    cobre_status __wrap_##name parameters;                                                                             \
    cobre_status __wrap_##name parameters {                                                                            \
        double begin = now();                                                                                          \
        return note(begin, __real_##name arguments);                                                                   \
    }
WRAP(cobre_barrier, (cobre_comm * comm), (comm))
WRAP(cobre_broadcast, (cobre_comm * comm, void *buf, size_t count, cobre_type type, size_t root),
     (comm, buf, count, type, root))
WRAP(cobre_allreduce,
     (cobre_comm * comm, const void *send, size_t send_count, void *recv, size_t recv_count, cobre_type type,
      cobre_op op),
     (comm, send, send_count, recv, recv_count, type, op))
WRAP(cobre_allgatherv,
     (cobre_comm * comm, const void *send, size_t send_count, void *recv, size_t recv_count, const size_t *counts,
      const size_t *displs, cobre_type type),
     (comm, send, send_count, recv, recv_count, counts, displs, type))
WRAP(cobre_allgatherv_region,
     (cobre_comm * comm, const void *send, size_t send_count, cobre_region *region, const size_t *counts,
      const size_t *displs),
     (comm, send, send_count, region, counts, displs))

WRAP(cobre_region_fence, (cobre_region * region), (region))

WRAP(cobre_region_create, (cobre_comm * comm, size_t count, cobre_type type, unsigned flags, cobre_region **region),
     (comm, count, type, flags, region))

/* What all ranks did, from the first noted collective of the training to the last. */
struct account {
    double collectives, waiting; /* waiting: mean over the ranks */
    double mean_work, most_work; /* between two collectives: of the mean rank, of the slowest */
};

static struct account balance(const struct span *all, size_t ranks, size_t count) {
    struct account account = {0};
    for (size_t i = 0; i < count; i++) {
        double last_in = 0, last_out = 0, in = 0, work = 0, most = 0;
        for (size_t r = 0; r < ranks; r++) {
            const struct span *one = &all[r * count + i];
            double own = i > 0 ? one->begin - one[-1].end : 0;
            last_in = one->begin > last_in ? one->begin : last_in;
            last_out = one->end > last_out ? one->end : last_out;
            in += one->begin;
            work += own;
            most = own > most ? own : most;
        }
        account.collectives += last_out - last_in;
        account.waiting += last_in - in / (double)ranks;
        account.mean_work += work / (double)ranks;
        account.most_work += most;
    }
    return account;
}

/* The solver's time: the trainer gets a copy of the solver's table, with a clock around these calls. */
static const cb_lp_solver *solver;
static cb_lp_solver timed;
static double in_solver;
static size_t timings; /* calls that were timed */

/* What one reading of the clock takes. */
static double clock_cost(void) {
    enum { READINGS = 100000 };
    double begin = now();
    for (int i = 0; i < READINGS; i++)
        now();
    return (now() - begin) / READINGS;
}

/* From the end of a reading to the end of the next: one reading too many. */
static void timed_since(double begin) {
    in_solver += now() - begin;
    timings++;
}

#define TIMED(name, parameters, arguments)                                                                             \
    static void timed_##name parameters {                                                                              \
        double begin = now();                                                                                          \
        solver->name arguments;                                                                                        \
        timed_since(begin);                                                                                            \
    }
TIMED(set_column, (cb_lp * lp, int column, double lower, double upper), (lp, column, lower, upper))
TIMED(set_row, (cb_lp * lp, int row, double lower, double upper), (lp, row, lower, upper))
TIMED(set_cost, (cb_lp * lp, int column, double cost), (lp, column, cost))
TIMED(set_entry, (cb_lp * lp, int row, int column, double value), (lp, row, column, value))
TIMED(add_row, (cb_lp * lp, const cb_lp_row *row), (lp, row))
TIMED(start, (cb_lp * lp, const cb_lp_row *rows, int count, const unsigned char *basis), (lp, rows, count, basis))

static cb_lp *timed_create(const cb_lp_model *model) {
    double begin = now();
    cb_lp *lp = solver->create(model);
    timed_since(begin);
    return lp;
}

static cb_lp_outcome timed_solve(cb_lp *lp, int effort) {
    double begin = now();
    cb_lp_outcome outcome = solver->solve(lp, effort);
    timed_since(begin);
    return outcome;
}

cobre_status __real_cb_lp_agree(cobre_comm *comm, const char *name, int rows, cb_lp_pair *pair);
cobre_status __wrap_cb_lp_agree(cobre_comm *comm, const char *name, int rows, cb_lp_pair *pair);
cobre_status __wrap_cb_lp_agree(cobre_comm *comm, const char *name, int rows, cb_lp_pair *pair) {
    cobre_status status = __real_cb_lp_agree(comm, name, rows, pair);
    if (status)
        return status;
    solver = pair->solver;
    timed = *solver;
    timed.create = timed_create;
    timed.set_column = timed_set_column;
    timed.set_row = timed_set_row;
    timed.set_cost = timed_set_cost;
    timed.set_entry = timed_set_entry;
    timed.add_row = timed_add_row;
    timed.start = timed_start;
    timed.solve = timed_solve;
    pair->solver = &timed;
    return COBRE_OK;
}

static void must(cobre_status status) {
    if (!status)
        return;
    fprintf(stderr, "trainer: %s\n", cobre_last_error()->message);
    exit(1);
}

static void must_meet(cobre_status status) {
    if (!status)
        return;
    fprintf(stderr, "trainer: %s\n", cobre_last_error()->message);
    exit(1);
}

static void account_for_time(cobre_comm *comm, cobre_sddp_problem *problem, const cobre_sddp_train_options *options) {
    cobre_sddp_policy *policy;
    cobre_sddp_training result = {.struct_size = sizeof result};
    must_meet(__real_cobre_barrier(comm));
    spans = 0;
    note(now(), COBRE_OK); /* where the work begins */
    in_solver = 0;
    timings = 0;
    double cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    must(cobre_sddp_train(problem, options, &policy, &result));
    cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    double bound = cobre_sddp_policy_bound(policy);
    cobre_sddp_policy_free(&policy);
    size_t ranks = cobre_size(comm), numbers = 2 * spans;
    size_t *counts = need(malloc(2 * ranks * sizeof *counts)), *displs = counts + ranks;
    for (size_t r = 0; r < ranks; r++) {
        counts[r] = numbers;
        displs[r] = r * numbers;
    }
    struct span *all = need(malloc(ranks * numbers * sizeof(double)));
    must_meet(__real_cobre_allgatherv(comm, span, numbers, all, ranks * numbers, counts, displs, COBRE_F64));
    if (cobre_rank(comm) == 0) {
        struct account account = balance(all, ranks, numbers / 2);
        double clock = (double)timings * clock_cost();
        printf("{\"ranks\": %zu, \"solver\": \"%s\", \"seconds\": %.4f, \"cpu\": %.4f, \"solver_seconds\": %.4f, "
               "\"clock_seconds\": %.4f, "
               "\"solves\": %llu, \"bound\": %.17g, \"calls\": %zu, \"collectives\": %.6f, \"waiting\": %.6f, "
               "\"mean_work\": %.6f, \"most_work\": %.6f}\n",
               ranks, solver->name, result.seconds, cpu, in_solver - clock, 2 * clock,
               (unsigned long long)result.solves, bound, numbers / 2, account.collectives, account.waiting,
               account.mean_work, account.most_work);
    }
    free(counts);
    free(all);
}

int main(int argc, char **argv) {
    cobre_comm *comm;
    cobre_sddp_problem *problem;
    if (argc != 4 && argc != 5) {
        fputs("usage: trainer CASE ITERATIONS PASSES [SOLVER]; trainer.py starts it\n", stderr);
        return 2;
    }
    cobre_sddp_train_options options = {.struct_size = sizeof options,
                                        .iterations = strtoull(argv[2], NULL, 10),
                                        .forward_passes = strtoull(argv[3], NULL, 10),
                                        .solver = argc > 4 ? argv[4] : NULL};
    must_meet(cobre_comm_open(NULL, &comm));
    must(cobre_sddp_load(comm, argv[1], NULL, &problem));
    account_for_time(comm, problem, &options);
    cobre_sddp_problem_free(&problem);
    must_meet(cobre_comm_free(&comm));
    return 0;
}
