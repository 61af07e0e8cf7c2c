/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c: `cobre bench`, the measuring loop on cobre alone, with the selected backend. */
#include "cli/bench/measure.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/run/self.h"
#include "cobre/comm.h"
#include "comm/parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char intro[] =
    "usage: cobre bench [-n N] [--backend NAME] [--operations LIST] [--sizes LIST]\n"
    "                   [--buffers KIND] [--seconds S] [--json]\n"
    "\n"
    "Measures how long collectives take on the backend that is selected, on the slowest rank, and checks their\n"
    "results. Start it as a program is started: alone, with cobre run, with an mpirun; or let it start its ranks.\n"
    "\n";

enum { MOST_SIZES = 64, MOST_WORKS = 2 * MOST_SIZES * BENCH_OPERATION_COUNT };

enum { WARM = 1, COLD = 2 };

struct options {
    struct self self;
    const char *operations, *sizes;
    unsigned buffers;
    double seconds;
    bool json;
};

#define ALL_OPERATIONS "barrier,allreduce,broadcast,allgatherv,allgatherv_region"
#define SIZES "8,1K,64K,1M,16M"
#define FIELD(member) CB_FIELD(struct options, member)
static const struct cb_option rows[] = {
    {.name = "operations",
     .help = "some of " ALL_OPERATIONS " (default: all)",
     .value = {{.name = "LIST", .kind = CB_VALUE_TEXT, .field = FIELD(operations)}}},
    {.name = "sizes",
     .help = "bytes of the result on each rank, as in 8,4K,1M",
     .value = {{.name = "LIST", .kind = CB_VALUE_TEXT, .field = FIELD(sizes), .fallback = SIZES}}},
    {.name = "buffers",
     .help = "warm (default): the same buffers in each call; cold: buffers that are in no cache; both",
     .value = {{.name = "KIND",
                .kind = CB_VALUE_CHOICE,
                .field = FIELD(buffers),
                .choices =
                    (const struct cb_choice[]){{"warm", WARM}, {"cold", COLD}, {"both", WARM | COLD}, {NULL, 0}}}}},
    {.name = "seconds",
     .help = "about how long to time each",
     .value = {{.name = "S",
                .kind = CB_VALUE_SECONDS,
                .field = FIELD(seconds),
                .above = true,
                .most = 3600,
                .fallback = "0.2"}}},
    {.name = "json", .help = CB_JSON_HELP, .given = FIELD(json)},
    {.name = NULL},
};

const struct command_line cb_line_bench = {.command = "bench",
                                           .intro = intro,
                                           .end = "\nSee cobre-bench(1).\n",
                                           .table = {{cb_self_rows, offsetof(struct options, self)}, {rows, 0}}};

struct plan {
    struct bench_work works[MOST_WORKS];
    size_t count;
};

static int parse_size(const char *text, size_t *size) {
    static const char units[] = "KMG";
    char digits[32];
    uint64_t value;
    size_t length = strlen(text);
    const char *unit = length ? strchr(units, text[length - 1]) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    bool fits = snprintf(digits, sizeof digits, "%.*s", (int)length - (unit != NULL), text) < (int)sizeof digits;
    if (!fits || !cb_parse_whole(digits, &value) || value > UINT64_MAX >> 20 >> shift)
        return cb_usage_error("bench", "--sizes %s: not a number of bytes, as in 8, 4K or 1M", text);
    *size = (size_t)value << shift;
    if (*size == 0 || *size % sizeof(double))
        return cb_usage_error("bench", "--sizes %s: the data are doubles: take a multiple of 8", text);
    return CB_GO_ON;
}

static int parse_sizes(const char *list, size_t *sizes, size_t *count) {
    char text[1024], *rest = text, *word;
    if ((size_t)snprintf(text, sizeof text, "%s", list) >= sizeof text)
        return cb_usage_error("bench", "--sizes: too long");
    for (*count = 0; (word = strsep(&rest, ",")); (*count)++) {
        if (*count == MOST_SIZES)
            return cb_usage_error("bench", "--sizes: more than %d", MOST_SIZES);
        int code = parse_size(word, &sizes[*count]);
        if (code != CB_GO_ON)
            return code;
    }
    return CB_GO_ON;
}

static int parse_operations(const char *list, bool wanted[BENCH_OPERATION_COUNT]) {
    char text[256], *rest = text, *word;
    if ((size_t)snprintf(text, sizeof text, "%s", list) >= sizeof text)
        return cb_usage_error("bench", "--operations: too long");
    while ((word = strsep(&rest, ","))) {
        enum bench_operation operation;
        if (!bench_operation_find(word, &operation))
            return cb_usage_error("bench", "--operations %s: there is no such operation", word);
        wanted[operation] = true;
    }
    return CB_GO_ON;
}

static void add_work(struct plan *plan, enum bench_operation operation, size_t bytes, bool cold, double seconds) {
    plan->works[plan->count++] =
        (struct bench_work){.operation = operation, .bytes = bytes, .cold = cold, .seconds = seconds};
}

static int make_plan(const struct options *options, struct plan *plan) {
    size_t sizes[MOST_SIZES], size_count;
    bool wanted[BENCH_OPERATION_COUNT] = {false};
    int code = parse_operations(options->operations, wanted);
    if (code == CB_GO_ON)
        code = parse_sizes(options->sizes, sizes, &size_count);
    if (code != CB_GO_ON)
        return code;
    if (wanted[BENCH_BARRIER])
        add_work(plan, BENCH_BARRIER, 0, false, options->seconds);
    for (enum bench_operation operation = BENCH_ALLREDUCE; operation < BENCH_OPERATION_COUNT; operation++)
        for (size_t i = 0; wanted[operation] && i < size_count; i++) {
            if (options->buffers & WARM)
                add_work(plan, operation, sizes[i], false, options->seconds);
            if (options->buffers & COLD)
                add_work(plan, operation, sizes[i], true, options->seconds);
        }
    return CB_GO_ON;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted samples. */
static double quantile(const struct bench_samples *samples, double part) {
    return 1e6 * samples->seconds[(size_t)(part * (double)(samples->count - 1) + 0.5)];
}

static void print_head(const struct peer *peer) {
    printf("%s, %zu rank%s; microseconds of a call on the slowest rank\n%-18s %10s %-7s %10s %10s %10s\n", peer->name,
           peer->size, peer->size == 1 ? "" : "s", "operation", "bytes", "buffers", "median", "p10", "p90");
}

static void print_result(const struct bench_work *work, const struct bench_samples *samples) {
    printf("%-18s %10zu %-7s %10.2f %10.2f %10.2f\n", bench_operation_name(work->operation), work->bytes,
           work->cold ? "cold" : "warm", quantile(samples, 0.5), quantile(samples, 0.1), quantile(samples, 0.9));
    fflush(stdout);
}

/* With three decimals. */
static json_t *quantile_json(const struct bench_samples *samples, double part) {
    return cb_json_real(round(1e3 * quantile(samples, part)) / 1e3);
}

static json_t *result_json(const struct bench_work *work, const struct bench_samples *samples) {
    json_t *result = json_object();
    cb_json_set(result, "operation", cb_json_text(bench_operation_name(work->operation)));
    cb_json_set(result, "bytes", cb_json_count(work->bytes));
    cb_json_set(result, "buffers", cb_json_text(work->cold ? "cold" : "warm"));
    cb_json_set(result, "samples", cb_json_count(samples->count));
    cb_json_set(result, "median_us", quantile_json(samples, 0.5));
    cb_json_set(result, "p10_us", quantile_json(samples, 0.1));
    cb_json_set(result, "p90_us", quantile_json(samples, 0.9));
    return result;
}

static void print_json(const struct peer *peer, json_t *results) {
    json_t *bench = json_object();
    cb_json_set(bench, "version", cb_json_text(cobre_version()));
    cb_json_set(bench, "backend", cb_json_text(peer->name));
    cb_json_set(bench, "ranks", cb_json_count(peer->size));
    cb_json_set(bench, "results", results);
    cb_json_print(bench, JSON_INDENT(2) | JSON_REAL_PRECISION(15)); /* 15 digits: 0.1 is 0.1 */
}

static void show_progress(size_t done, size_t count) {
    enum { WIDTH = 40 };
    if (done < count)
        fprintf(stderr, "\r[%-*.*s] %zu of %zu\r", WIDTH, (int)(WIDTH * done / count),
                "########################################", done, count);
    else
        fprintf(stderr, "\r%*s\r", WIDTH + 20, "");
}

static int measure_all(const struct plan *plan, bool json) {
    static struct bench_samples samples;
    struct peer *peer = &peer_cobre;
    int code = 0;
    peer->open(peer);
    bool speaks = peer->rank == 0, progress = speaks && isatty(STDERR_FILENO);
    json_t *results = speaks && json ? json_array() : NULL;
    if (speaks && !json)
        print_head(peer);
    for (size_t i = 0; i < plan->count; i++) {
        if (progress)
            show_progress(i, plan->count);
        bench_measure(peer, &plan->works[i], &samples);
        if (progress)
            show_progress(plan->count, plan->count);
        qsort(samples.seconds, samples.count, sizeof *samples.seconds, compare);
        if (results)
            cb_json_append(results, result_json(&plan->works[i], &samples));
        else if (speaks)
            print_result(&plan->works[i], &samples);
        if (!samples.right && speaks)
            fprintf(stderr, "cobre bench: %s of %zu bytes gave a WRONG RESULT: please report this\n",
                    bench_operation_name(plan->works[i].operation), plan->works[i].bytes);
        code |= !samples.right;
    }
    if (results)
        print_json(peer, results);
    peer->close(peer);
    return code;
}

int cb_command_bench(int argc, char **argv) {
    struct options options = {
        .self.command = "bench", .operations = ALL_OPERATIONS, .sizes = SIZES, .buffers = WARM, .seconds = 0.2};
    struct cb_given given;
    static struct plan plan;
    int code = cb_line_read(&cb_line_bench, argc, argv, &options, &given);
    if (code == CB_GO_ON)
        code = make_plan(&options, &plan);
    if (code == CB_GO_ON)
        code = cb_self_start(&options.self, argc, argv);
    return code == CB_GO_ON ? measure_all(&plan, options.json) : code;
}
