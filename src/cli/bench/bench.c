/* bench.c: `cobre bench`, the measuring loop on cobre alone, with whatever backend is selected. */
#include "cli/bench/measure.h"
#include "cli/run/job.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: cobre bench [-n N] [--backend NAME] [--operations LIST] [--sizes LIST] [--buffers KIND] [--seconds S]\n"
    "                   [--json]\n"
    "\n"
    "Measures how long collectives take on the backend that is selected, on the slowest rank, and checks their\n"
    "results. Start it as a program is started: alone, with cobre run, with an mpirun; or let it start its ranks.\n"
    "\n"
    "  -n N, --backend NAME  start N ranks on this machine, as cobre run does\n"
    "  --operations LIST     some of barrier,allreduce,broadcast,allgatherv,allgatherv_region (default: all)\n"
    "  --sizes LIST          bytes of the result on each rank, as in 8,4K,1M (default: 8,1K,64K,1M,16M)\n"
    "  --buffers KIND        warm (default): the same buffers in each call; cold: buffers that are in no cache; both\n"
    "  --seconds S           about how long to time each (default: 0.2)\n"
    "  --json                write that instead of a table\n"
    "  -h, --help            show this\n"
    "\n"
    "See cobre-bench(1).\n";

enum { MOST_SIZES = 64, MOST_WORKS = 2 * MOST_SIZES * BENCH_OPERATION_COUNT };

enum {
    OPTION_BACKEND = 256,
    OPTION_RANK,
    OPTION_OPERATIONS,
    OPTION_SIZES,
    OPTION_BUFFERS,
    OPTION_SECONDS,
    OPTION_JSON
};

static const struct option long_options[] = {
    {.name = "backend", .has_arg = required_argument, .val = OPTION_BACKEND},
    {.name = "rank", .has_arg = no_argument, .val = OPTION_RANK},
    {.name = "operations", .has_arg = required_argument, .val = OPTION_OPERATIONS},
    {.name = "sizes", .has_arg = required_argument, .val = OPTION_SIZES},
    {.name = "buffers", .has_arg = required_argument, .val = OPTION_BUFFERS},
    {.name = "seconds", .has_arg = required_argument, .val = OPTION_SECONDS},
    {.name = "json", .has_arg = no_argument, .val = OPTION_JSON},
    {.name = "help", .has_arg = no_argument, .val = 'h'},
    {.name = NULL},
};

/* The words of the command line; NULL: not given. */
struct options {
    struct self self;
    char *operations, *sizes, *buffers, *seconds;
    bool json, help;
};

struct plan {
    struct bench_work works[MOST_WORKS];
    size_t count;
};

static int parse_size(const char *text, size_t *size) {
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    static const char units[] = "KMG";
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (text[0] < '0' || text[0] > '9' || end[unit != NULL] || value > UINT64_MAX >> 20 >> shift)
        return cb_usage_error("bench", "--sizes %s: not a number of bytes, as in 8, 4K or 1M", text);
    *size = (size_t)value << shift;
    if (*size == 0 || *size % sizeof(double))
        return cb_usage_error("bench", "--sizes %s: the data are doubles: take a multiple of 8", text);
    return 0;
}

static int parse_sizes(const char *list, size_t *sizes, size_t *count) {
    char text[1024], *rest = text, *word;
    if ((size_t)snprintf(text, sizeof text, "%s", list) >= sizeof text)
        return cb_usage_error("bench", "--sizes: too long");
    for (*count = 0; (word = strsep(&rest, ",")); (*count)++) {
        if (*count == MOST_SIZES)
            return cb_usage_error("bench", "--sizes: more than %d", MOST_SIZES);
        int code = parse_size(word, &sizes[*count]);
        if (code)
            return code;
    }
    return 0;
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
    return 0;
}

static int parse_buffers(const char *text, bool *warm, bool *cold) {
    *warm = strcmp(text, "warm") == 0 || strcmp(text, "both") == 0;
    *cold = strcmp(text, "cold") == 0 || strcmp(text, "both") == 0;
    return *warm || *cold ? 0 : cb_usage_error("bench", "--buffers %s: it can be warm, cold or both", text);
}

static int parse_seconds(const char *text, double *seconds) {
    char *end;
    *seconds = strtod(text, &end);
    bool good = *text && !*end && *seconds > 0 && *seconds <= 3600;
    return good ? 0 : cb_usage_error("bench", "--seconds %s: not a time from above 0 to 3600", text);
}

static void add_work(struct plan *plan, enum bench_operation operation, size_t bytes, bool cold, double seconds) {
    plan->works[plan->count++] =
        (struct bench_work){.operation = operation, .bytes = bytes, .cold = cold, .seconds = seconds};
}

static int make_plan(const struct options *options, struct plan *plan) {
    size_t sizes[MOST_SIZES], size_count;
    bool wanted[BENCH_OPERATION_COUNT] = {false}, warm, cold;
    double seconds;
    const char *all = "barrier,allreduce,broadcast,allgatherv,allgatherv_region";
    int code = parse_operations(options->operations ? options->operations : all, wanted);
    if (!code)
        code = parse_sizes(options->sizes ? options->sizes : "8,1K,64K,1M,16M", sizes, &size_count);
    if (!code)
        code = parse_buffers(options->buffers ? options->buffers : "warm", &warm, &cold);
    if (!code)
        code = parse_seconds(options->seconds ? options->seconds : "0.2", &seconds);
    if (code)
        return code;
    if (wanted[BENCH_BARRIER])
        add_work(plan, BENCH_BARRIER, 0, false, seconds);
    for (enum bench_operation operation = BENCH_ALLREDUCE; operation < BENCH_OPERATION_COUNT; operation++)
        for (size_t i = 0; wanted[operation] && i < size_count; i++) {
            if (warm)
                add_work(plan, operation, sizes[i], false, seconds);
            if (cold)
                add_work(plan, operation, sizes[i], true, seconds);
        }
    return 0;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted samples. */
static double quantile(const struct bench_samples *samples, double part) {
    return 1e6 * samples->seconds[(size_t)(part * (double)(samples->count - 1) + 0.5)];
}

static void print_head(const struct peer *peer, bool json) {
    if (json)
        printf("{\"version\": \"%s\", \"backend\": \"%s\", \"ranks\": %zu, \"results\": [", cobre_version(), peer->name,
               peer->size);
    else
        printf("%s, %zu rank%s; microseconds of a call on the slowest rank\n%-18s %10s %-7s %10s %10s %10s\n",
               peer->name, peer->size, peer->size == 1 ? "" : "s", "operation", "bytes", "buffers", "median", "p10",
               "p90");
}

static void print_work(const struct bench_work *work, struct bench_samples *samples, bool json, bool first) {
    const char *name = bench_operation_name(work->operation), *buffers = work->cold ? "cold" : "warm";
    qsort(samples->seconds, samples->count, sizeof *samples->seconds, compare);
    double low = quantile(samples, 0.1), middle = quantile(samples, 0.5), high = quantile(samples, 0.9);
    if (json)
        printf("%s\n  {\"operation\": \"%s\", \"bytes\": %zu, \"buffers\": \"%s\", \"samples\": %zu, "
               "\"median_us\": %.3f, \"p10_us\": %.3f, \"p90_us\": %.3f}",
               first ? "" : ",", name, work->bytes, buffers, samples->count, middle, low, high);
    else
        printf("%-18s %10zu %-7s %10.2f %10.2f %10.2f\n", name, work->bytes, buffers, middle, low, high);
    fflush(stdout);
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
    if (speaks)
        print_head(peer, json);
    for (size_t i = 0; i < plan->count; i++) {
        if (progress)
            show_progress(i, plan->count);
        bench_measure(peer, &plan->works[i], &samples);
        if (progress)
            show_progress(plan->count, plan->count);
        if (speaks)
            print_work(&plan->works[i], &samples, json, i == 0);
        if (!samples.right && speaks)
            fprintf(stderr, "cobre bench: %s of %zu bytes gave a WRONG RESULT: please report this\n",
                    bench_operation_name(plan->works[i].operation), plan->works[i].bytes);
        code |= !samples.right;
    }
    if (speaks && json)
        printf("\n]}\n");
    peer->close(peer);
    return code;
}

static int parse_option(int found, char **argv, struct options *options) {
    switch (found) {
    case 'n': return cb_parse_ranks("bench", optarg, &options->self.size);
    case 'h': options->help = true; return 0;
    case OPTION_BACKEND: options->self.backend = optarg; return 0;
    case OPTION_RANK: options->self.started = true; return 0;
    case OPTION_OPERATIONS: options->operations = optarg; return 0;
    case OPTION_SIZES: options->sizes = optarg; return 0;
    case OPTION_BUFFERS: options->buffers = optarg; return 0;
    case OPTION_SECONDS: options->seconds = optarg; return 0;
    case OPTION_JSON: options->json = true; return 0;
    default: return cb_option_error("bench", found, argv);
    }
}

int cb_command_bench(int argc, char **argv) {
    struct options options = {.self.command = "bench"};
    static struct plan plan;
    int found, code = 0;
    opterr = 0;
    while (!code && !options.help && (found = getopt_long(argc, argv, "+:n:h", long_options, NULL)) != -1)
        code = parse_option(found, argv, &options);
    if (code)
        return code;
    if (options.help) {
        fputs(help, stdout);
        return 0;
    }
    if (optind < argc)
        return cb_usage_error("bench", "'%s' is one word too many", argv[optind]);
    code = make_plan(&options, &plan);
    if (code)
        return code;
    code = cb_self_start(&options.self, argc, argv);
    return code < 0 ? measure_all(&plan, options.json) : code;
}
