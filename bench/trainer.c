/* trainer.c: what a training takes, and what it would take without all but the LPs.
 *
 *     trainer CASE ITERATIONS PASSES             trains, on the ranks that there are
 *     trainer CASE ITERATIONS PASSES ROUNDS      one rank: trains and runs the bare loop, in turns
 *
 * Rank 0 prints one line of JSON. The linker sends the trainer's calls of collectives and its choice of a solver through
 * here (--wrap), so that the trainer itself is the one that users have.
 *
 * Collectives. Each call's begin and end are noted on every rank; the clock is the host's. A call costs from the moment
 * when the last rank has come to the moment when the last one goes; what is before that is waiting, for ranks that still
 * solve LPs.
 *
 * The bare loop. One training is recorded: each call of the solver that makes, changes or solves an LP, with its arguments.
 * The bare loop makes these calls again and nothing else: no cuts to look for, no dual values to read, no states to carry.
 * Each solve must have the objective value that it had in the training, to the last bit. */
#include <cobre/sddp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sddp/lp/lp.h"

static void *need(void *memory) {
    if (!memory) {
        fputs("trainer: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
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
    span[spans++] = (struct span){begin, seconds_of(CLOCK_MONOTONIC)};
    return status;
}

#define WRAP(name, parameters, arguments)                                                                              \
    cobre_status __real_##name parameters;                                                                             \
    cobre_status __wrap_##name parameters;                                                                             \
    cobre_status __wrap_##name parameters {                                                                            \
        double begin = seconds_of(CLOCK_MONOTONIC);                                                                    \
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

/* The record of a training: words, each an integer or a double. */
enum call { CREATE, DESTROY, SET_COLUMN, SET_ROW, SET_COST, SET_ENTRY, ADD_ROW, KEEP_ROWS, START, SOLVE };
union word {
    int64_t integer;
    double number;
};
static union word *record;
static size_t words, word_room;

struct known {
    cb_lp *lp;
    int size, extra; /* columns and rows; extra rows now */
};
static struct known known[1024];
static size_t lps;

static void put_integer(int64_t integer) {
    if (words == word_room)
        record = need(realloc(record, (word_room = 2 * word_room + (1 << 20)) * sizeof *record));
    record[words++].integer = integer;
}

static void put_number(double number) {
    union word word = {.number = number};
    put_integer(word.integer);
}

static void put_integers(const int *list, int count) {
    for (int i = 0; i < count; i++)
        put_integer(list[i]);
}

static void put_numbers(const double *list, int count) {
    for (int i = 0; i < count; i++)
        put_number(list[i]);
}

static void put_bytes(const unsigned char *list, int count) {
    put_integer(list != NULL);
    for (int i = 0; list && i < count; i++)
        put_integer(list[i]);
}

static const cb_lp_solver *solver;
static cb_lp_solver recorder;

static struct known *begin_call(enum call call, const cb_lp *lp) {
    size_t id = 0;
    while (id < lps && known[id].lp != lp)
        id++;
    if (id == lps) {
        fputs("trainer: an LP that nobody made\n", stderr);
        exit(1);
    }
    put_integer(call);
    put_integer((int64_t)id);
    return &known[id];
}

static cb_lp *record_create(const cb_lp_model *model) {
    if (lps == sizeof known / sizeof *known) {
        fputs("trainer: more LPs than it can record\n", stderr);
        exit(1);
    }
    known[lps++] = (struct known){.lp = need(solver->create(model)), .size = model->columns + model->rows};
    begin_call(CREATE, known[lps - 1].lp);
    put_integer(model->columns);
    put_integer(model->rows);
    put_integers(model->start, model->columns + 1);
    put_integers(model->index, model->start[model->columns]);
    put_numbers(model->value, model->start[model->columns]);
    put_numbers(model->cost, model->columns);
    put_numbers(model->column_lower, model->columns);
    put_numbers(model->column_upper, model->columns);
    put_numbers(model->row_lower, model->rows);
    put_numbers(model->row_upper, model->rows);
    return known[lps - 1].lp;
}

static void record_destroy(cb_lp *lp) {
    begin_call(DESTROY, lp)->lp = NULL;
    solver->destroy(lp);
}

static void record_bounds(enum call call, cb_lp *lp, int which, double lower, double upper) {
    begin_call(call, lp);
    put_integer(which);
    put_number(lower);
    put_number(upper);
}

static void record_set_column(cb_lp *lp, int column, double lower, double upper) {
    record_bounds(SET_COLUMN, lp, column, lower, upper);
    solver->set_column(lp, column, lower, upper);
}

static void record_set_row(cb_lp *lp, int row, double lower, double upper) {
    record_bounds(SET_ROW, lp, row, lower, upper);
    solver->set_row(lp, row, lower, upper);
}

static void record_set_cost(cb_lp *lp, int column, double cost) {
    begin_call(SET_COST, lp);
    put_integer(column);
    put_number(cost);
    solver->set_cost(lp, column, cost);
}

static void record_set_entry(cb_lp *lp, int row, int column, double value) {
    begin_call(SET_ENTRY, lp);
    put_integer(row);
    put_integer(column);
    put_number(value);
    solver->set_entry(lp, row, column, value);
}

static void put_row(const cb_lp_row *row) {
    put_integer(row->count);
    put_integers(row->index, row->count);
    put_numbers(row->value, row->count);
    put_number(row->lower);
}

static void record_add_row(cb_lp *lp, const cb_lp_row *row) {
    begin_call(ADD_ROW, lp)->extra++;
    put_row(row);
    solver->add_row(lp, row);
}

static void record_keep_rows(cb_lp *lp, const unsigned char *keep) {
    struct known *one = begin_call(KEEP_ROWS, lp);
    int kept = 0;
    put_integer(one->extra);
    put_bytes(keep, one->extra);
    for (int i = 0; keep && i < one->extra; i++)
        kept += keep[i] != 0;
    one->extra = kept;
    solver->keep_rows(lp, keep);
}

static void record_start(cb_lp *lp, const cb_lp_row *rows, int count, const unsigned char *basis) {
    struct known *one = begin_call(START, lp);
    put_integer(count);
    for (int i = 0; i < count; i++)
        put_row(&rows[i]);
    one->extra = count;
    put_integer(one->size + count);
    put_bytes(basis, one->size + count);
    solver->start(lp, rows, count, basis);
}

static cb_lp_outcome record_solve(cb_lp *lp, int effort) {
    begin_call(SOLVE, lp);
    put_integer(effort);
    cb_lp_outcome outcome = solver->solve(lp, effort);
    put_number(outcome == CB_LP_OPTIMAL ? solver->objective(lp) : 0);
    return outcome;
}

static bool recording;
cobre_sddp_status __real_cb_lp_choose(const char *name, int rows, const cb_lp_solver **chosen);
cobre_sddp_status __wrap_cb_lp_choose(const char *name, int rows, const cb_lp_solver **chosen);
cobre_sddp_status __wrap_cb_lp_choose(const char *name, int rows, const cb_lp_solver **chosen) {
    cobre_sddp_status status = __real_cb_lp_choose(name, rows, chosen);
    if (status || !recording)
        return status;
    solver = *chosen;
    recorder = *solver;
    recorder.create = record_create;
    recorder.destroy = record_destroy;
    recorder.set_column = record_set_column;
    recorder.set_row = record_set_row;
    recorder.set_cost = record_set_cost;
    recorder.set_entry = record_set_entry;
    recorder.add_row = record_add_row;
    recorder.keep_rows = record_keep_rows;
    recorder.start = record_start;
    recorder.solve = record_solve;
    *chosen = &recorder;
    return status;
}

/* Taking words back, into room that grows. */
static size_t at;

static int take_integer(void) {
    return (int)record[at++].integer;
}

static double take_number(void) {
    return record[at++].number;
}

static void *grow(void *room, size_t *bytes, size_t wanted) {
    if (wanted <= *bytes)
        return room;
    *bytes = 2 * wanted;
    return need(realloc(room, *bytes));
}

static int *take_integers(int count) {
    static int *room[4];
    static size_t bytes[4], turn;
    size_t which = turn++ % 4;
    room[which] = grow(room[which], &bytes[which], (size_t)count * sizeof(int));
    for (int i = 0; i < count; i++)
        room[which][i] = take_integer();
    return room[which];
}

static const double *take_numbers(int count) { /* they lie in the record as they are */
    const double *numbers = &record[at].number;
    at += (size_t)count;
    return numbers;
}

static const unsigned char *take_bytes(int count) {
    static unsigned char *room;
    static size_t bytes;
    if (!take_integer())
        return NULL;
    room = grow(room, &bytes, (size_t)count);
    for (int i = 0; i < count; i++)
        room[i] = (unsigned char)take_integer();
    return room;
}

static cb_lp *replay_create(void) {
    static cb_lp_model model; /* static for cppcheck, which takes the LP for a part of it */
    model.columns = take_integer();
    model.rows = take_integer();
    model.start = take_integers(model.columns + 1);
    int entries = model.start[model.columns];
    model.index = take_integers(entries);
    model.value = take_numbers(entries);
    model.cost = take_numbers(model.columns);
    model.column_lower = take_numbers(model.columns);
    model.column_upper = take_numbers(model.columns);
    model.row_lower = take_numbers(model.rows);
    model.row_upper = take_numbers(model.rows);
    return need(solver->create(&model));
}

/* The rows' indices are ints in the solver's seam, and words here: they need room of their own. */
static const cb_lp_row *take_rows(int count) {
    static cb_lp_row *rows;
    static int *indices;
    static size_t row_bytes, index_bytes;
    size_t first = at, total = 0;
    for (int i = 0; i < count; i++) {
        size_t entries = (size_t)record[first].integer;
        total += entries;
        first += 2 + 2 * entries;
    }
    rows = grow(rows, &row_bytes, (size_t)(count + 1) * sizeof *rows);
    indices = grow(indices, &index_bytes, (total + 1) * sizeof *indices);
    int *index = indices;
    for (int i = 0; i < count; i++) {
        rows[i].count = take_integer();
        rows[i].index = index;
        for (int k = 0; k < rows[i].count; k++)
            *index++ = take_integer();
        rows[i].value = take_numbers(rows[i].count);
        rows[i].lower = take_number();
    }
    return rows;
}

static void replay_solve(cb_lp *lp) {
    int effort = take_integer();
    double expected = take_number();
    if (solver->solve(lp, effort) == CB_LP_OPTIMAL && solver->objective(lp) != expected) {
        fprintf(stderr, "trainer: the bare loop solves other LPs: %.17g instead of %.17g\n", solver->objective(lp),
                expected);
        exit(1);
    }
}

static size_t replay(void) {
    size_t solves = 0;
    for (at = 0; at < words;) {
        enum call call = (enum call)take_integer();
        struct known *one = &known[take_integer()];
        int which, second;
        double lower;
        switch (call) {
        case CREATE: one->lp = replay_create(); break;
        case DESTROY: solver->destroy(one->lp); break;
        case SET_COLUMN:
            which = take_integer();
            lower = take_number();
            solver->set_column(one->lp, which, lower, take_number());
            break;
        case SET_ROW:
            which = take_integer();
            lower = take_number();
            solver->set_row(one->lp, which, lower, take_number());
            break;
        case SET_COST:
            which = take_integer();
            solver->set_cost(one->lp, which, take_number());
            break;
        case SET_ENTRY:
            which = take_integer();
            second = take_integer();
            solver->set_entry(one->lp, which, second, take_number());
            break;
        case ADD_ROW: solver->add_row(one->lp, take_rows(1)); break;
        case KEEP_ROWS: solver->keep_rows(one->lp, take_bytes(take_integer())); break;
        case START: {
            int count = take_integer();
            const cb_lp_row *rows = take_rows(count);
            solver->start(one->lp, rows, count, take_bytes(take_integer()));
            break;
        }
        case SOLVE:
            replay_solve(one->lp);
            solves++;
            break;
        }
    }
    return solves;
}

static void must(cobre_sddp_status status) {
    if (!status)
        return;
    fprintf(stderr, "trainer: %s\n", cobre_sddp_last_error()->message);
    exit(1);
}

static void must_meet(cobre_status status) {
    if (!status)
        return;
    fprintf(stderr, "trainer: %s\n", cobre_last_error()->message);
    exit(1);
}

static cobre_sddp_result train(cobre_comm *comm, cobre_sddp_problem *problem, const cobre_sddp_options *options) {
    cobre_sddp_policy *policy;
    cobre_sddp_result result;
    must(cobre_sddp_train(comm, problem, options, &policy, &result));
    cobre_sddp_policy_free(&policy);
    return result;
}

static void compare_with_bare_loop(cobre_comm *comm, cobre_sddp_problem *problem, const cobre_sddp_options *options,
                                   unsigned long rounds) {
    recording = true;
    cobre_sddp_result result = train(comm, problem, options);
    recording = false;
    printf("{\"solves\": %llu, \"bound\": %.17g, \"rounds\": [", (unsigned long long)result.last.solves,
           result.last.bound);
    for (unsigned long round = 0; round < rounds; round++) {
        double begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        train(comm, problem, options);
        double trained = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        size_t solves = replay();
        printf("%s{\"training\": %.3f, \"bare\": %.3f, \"solver_calls\": %zu}", round ? ", " : "", trained - begin,
               seconds_of(CLOCK_PROCESS_CPUTIME_ID) - trained, solves);
    }
    puts("]}");
}

static void account_for_time(cobre_comm *comm, cobre_sddp_problem *problem, const cobre_sddp_options *options) {
    must_meet(__real_cobre_barrier(comm));
    spans = 0;
    note(seconds_of(CLOCK_MONOTONIC), COBRE_OK); /* where the work begins */
    cobre_sddp_result result = train(comm, problem, options);
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
        printf("{\"ranks\": %zu, \"seconds\": %.4f, \"bound\": %.17g, \"calls\": %zu, \"collectives\": %.6f, "
               "\"waiting\": %.6f, \"mean_work\": %.6f, \"most_work\": %.6f}\n",
               ranks, result.last.seconds, result.last.bound, numbers / 2, account.collectives, account.waiting,
               account.mean_work, account.most_work);
    }
    free(counts);
    free(all);
}

int main(int argc, char **argv) {
    cobre_comm *comm;
    cobre_sddp_problem *problem;
    if (argc < 4) {
        fputs("usage: trainer CASE ITERATIONS PASSES [ROUNDS]; trainer.py starts it\n", stderr);
        return 2;
    }
    cobre_sddp_options options = {.struct_size = sizeof options,
                                  .iterations = strtoull(argv[2], NULL, 10),
                                  .forward_passes = strtoull(argv[3], NULL, 10)};
    must_meet(cobre_comm_open(NULL, &comm));
    must(cobre_sddp_load(comm, argv[1], NULL, &problem));
    if (argc > 4)
        compare_with_bare_loop(comm, problem, &options, strtoul(argv[4], NULL, 10));
    else
        account_for_time(comm, problem, &options);
    cobre_sddp_problem_free(&problem);
    must_meet(cobre_comm_free(&comm));
    return 0;
}
