/* info.c: `cobre info`. */
#include "backends/shm/clean.h"
#include "cli/cli.h"
#include "comm/select.h"

#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char help[] =
    "usage: cobre info [--json]\n"
    "\n"
    "Shows the version, the backends of this build, which one a program started here would use and\n"
    "why, what the others lack, and the cores and memory there are. See cobre-info(1).\n"
    "\n"
    "  --json      one JSON object, for programs\n"
    "  -h, --help  show this\n";

#define COUNT(NAME, name, ...) +1
enum { BACKENDS = 1 COBRE_BACKEND_MAP(COUNT, ) }; /* with COBRE_AUTO */
#undef COUNT

struct facts {
    bool chosen; /* otherwise the choice fails, with cobre_last_error() */
    cobre_backend backend;
    char why[BACKENDS][512]; /* by backend */
    size_t usable_cores;
    long online_cores;
    bool has_shm;
    uint64_t shm_free, shm_total, reservable;
};

static void measure_memory(struct facts *facts) {
    int fd = open(CB_SHM_DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct statvfs shm;
    facts->has_shm = fd >= 0 && fstatvfs(fd, &shm) == 0;
    if (facts->has_shm) {
        facts->shm_free = (uint64_t)shm.f_bavail * shm.f_frsize;
        facts->shm_total = (uint64_t)shm.f_blocks * shm.f_frsize;
    }
    facts->reservable = cb_memory_free(fd);
    if (fd >= 0)
        close(fd);
}

static void gather(struct facts *facts) {
    for (cobre_backend b = cb_first_backend(); b; b = cb_next_backend(b))
        cb_explain(b, facts->why[b], sizeof facts->why[b]);
    facts->usable_cores = cb_usable_cores();
    facts->online_cores = sysconf(_SC_NPROCESSORS_ONLN);
    measure_memory(facts);
    cb_options options;
    facts->chosen = cb_select(NULL, &options) == COBRE_OK; /* last: nothing may follow on its error */
    facts->backend = facts->chosen ? options.backend : COBRE_AUTO;
    explicit_bzero(options.own, sizeof options.own); /* it may hold a secret */
}

static void print_memory(const struct facts *facts) {
    char text[32];
    if (facts->has_shm) {
        printf(CB_SHM_DIRECTORY ": %s free", cb_bytes_text(facts->shm_free, text));
        printf(" of %s\n", cb_bytes_text(facts->shm_total, text));
    } else {
        printf(CB_SHM_DIRECTORY ": not there\n");
    }
    printf("shared memory that can be reserved: %s\n", cb_bytes_text(facts->reservable, text));
}

static void print_text(const struct facts *facts) {
    printf("cobre %s\n", cobre_version());
    printf("backends in this build: %s\n", cb_built_in_list());
    if (facts->chosen) {
        printf("a program started here uses: %s\n", cobre_backend_name(facts->backend));
    } else {
        printf("a program started here fails: %s\n", cobre_last_error()->message);
        if (cobre_last_error()->suggestion[0])
            printf("  suggestion: %s\n", cobre_last_error()->suggestion);
    }
    for (cobre_backend b = cb_first_backend(); b; b = cb_next_backend(b))
        printf("%c %-5s %s\n", facts->chosen && b == facts->backend ? '*' : ' ', cobre_backend_name(b), facts->why[b]);
    printf("cores: %zu usable, %ld online\n", facts->usable_cores, facts->online_cores);
    print_memory(facts);
}

static void print_member(const char *name, const char *value) {
    printf("  \"%s\": ", name);
    cb_json_write(stdout, value);
    printf(",\n");
}

static void print_backends(const struct facts *facts) {
    printf("  \"backends\": [\n");
    for (cobre_backend b = cb_first_backend(); b; b = cb_next_backend(b)) {
        printf("    {\"name\": \"%s\", \"built_in\": %s, \"chosen\": %s, \"why\": ", cobre_backend_name(b),
               cb_built_in(b) ? "true" : "false", facts->chosen && b == facts->backend ? "true" : "false");
        cb_json_write(stdout, facts->why[b]);
        printf("}%s\n", cb_next_backend(b) ? "," : "");
    }
    printf("  ],\n");
}

static void print_choice(const struct facts *facts) {
    if (facts->chosen) {
        print_member("chosen", cobre_backend_name(facts->backend));
        printf("  \"error\": null,\n");
        return;
    }
    char error[8192];
    cobre_error_json(cobre_last_error(), error, sizeof error);
    printf("  \"chosen\": null,\n  \"error\": %s,\n", error);
}

static void print_json(const struct facts *facts) {
    printf("{\n");
    print_member("version", cobre_version());
    print_choice(facts);
    print_backends(facts);
    printf("  \"cores\": {\"usable\": %zu, \"online\": %ld},\n", facts->usable_cores, facts->online_cores);
    if (facts->has_shm)
        printf("  \"shm\": {\"directory\": \"" CB_SHM_DIRECTORY "\", \"free_bytes\": %" PRIu64
               ", \"total_bytes\": %" PRIu64 "},\n",
               facts->shm_free, facts->shm_total);
    else
        printf("  \"shm\": null,\n");
    printf("  \"reservable_bytes\": %" PRIu64 "\n}\n", facts->reservable);
}

int cb_command_info(int argc, char **argv) {
    static const struct option long_options[] = {
        {.name = "json", .has_arg = no_argument, .val = 'j'},
        {.name = "help", .has_arg = no_argument, .val = 'h'},
        {.name = NULL},
    };
    bool json = false;
    opterr = 0;
    int found;
    while ((found = getopt_long(argc, argv, "+:h", long_options, NULL)) != -1) {
        if (found == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (found != 'j')
            return cb_option_error("info", found, argv);
        json = true;
    }
    if (optind < argc)
        return cb_usage_error("info", "'%s' is one word too many", argv[optind]);
    static struct facts facts;
    gather(&facts);
    if (json)
        print_json(&facts);
    else
        print_text(&facts);
    return 0;
}
