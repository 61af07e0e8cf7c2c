/* SPDX-License-Identifier: Apache-2.0 */
/* info.c: `cobre info`. */
#include "cli/cli.h"
#include "cli/json.h"
#include "comm/select.h"

#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char intro[] =
    "usage: cobre info [--json]\n"
    "\n"
    "Shows the version, the backends of this build, which one a program started here would use and\n"
    "why, what the others lack, the cores and memory there are, and the planner's LP solvers. See\n"
    "cobre-info(1).\n"
    "\n";

struct options {
    bool json;
};

static const struct cb_option rows[] = {
    {.name = "json", .help = CB_JSON_HELP, .given = CB_FIELD(struct options, json)},
    {.name = NULL},
};

const struct command_line cb_line_info = {.command = "info", .intro = intro, .table = {{rows, 0}}};

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
    int fd = open(CB_SHARED_MEMORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
        printf(CB_SHARED_MEMORY ": %s free", cb_bytes_text(facts->shm_free, text));
        printf(" of %s\n", cb_bytes_text(facts->shm_total, text));
    } else {
        printf(CB_SHARED_MEMORY ": not there\n");
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
    cb_solvers_print();
}

static json_t *backends_json(const struct facts *facts) {
    json_t *list = json_array();
    for (cobre_backend b = cb_first_backend(); b; b = cb_next_backend(b)) {
        json_t *backend = json_object();
        cb_json_set(backend, "name", cb_json_text(cobre_backend_name(b)));
        cb_json_set(backend, "built_in", json_boolean(cb_built_in(b)));
        cb_json_set(backend, "chosen", json_boolean(facts->chosen && b == facts->backend));
        cb_json_set(backend, "why", cb_json_text(facts->why[b]));
        cb_json_append(list, backend);
    }
    return list;
}

static json_t *error_json(void) {
    char text[1 << 14];
    cobre_error_json(cobre_last_error(), text, sizeof text);
    return json_loads(text, 0, NULL);
}

static json_t *cores_json(const struct facts *facts) {
    json_t *cores = json_object();
    cb_json_set(cores, "usable", cb_json_count(facts->usable_cores));
    cb_json_set(cores, "online", json_integer(facts->online_cores));
    return cores;
}

static json_t *shm_json(const struct facts *facts) {
    json_t *shm = json_object();
    cb_json_set(shm, "directory", cb_json_text(CB_SHARED_MEMORY));
    cb_json_set(shm, "free_bytes", cb_json_count(facts->shm_free));
    cb_json_set(shm, "total_bytes", cb_json_count(facts->shm_total));
    return shm;
}

static void print_json(const struct facts *facts) {
    json_t *info = json_object();
    cb_json_set(info, "version", cb_json_text(cobre_version()));
    cb_json_set(info, "chosen", facts->chosen ? cb_json_text(cobre_backend_name(facts->backend)) : json_null());
    cb_json_set(info, "error", facts->chosen ? json_null() : error_json());
    cb_json_set(info, "backends", backends_json(facts));
    cb_json_set(info, "solvers", cb_solvers_json());
    cb_json_set(info, "cores", cores_json(facts));
    cb_json_set(info, "shm", facts->has_shm ? shm_json(facts) : json_null());
    cb_json_set(info, "reservable_bytes", cb_json_count(facts->reservable));
    cb_json_print(info, JSON_INDENT(2));
}

int cb_command_info(int argc, char **argv) {
    struct options options = {.json = false};
    struct cb_given given;
    int code = cb_line_read(&cb_line_info, argc, argv, &options, &given);
    if (code != CB_GO_ON)
        return code;
    static struct facts facts;
    gather(&facts);
    if (options.json)
        print_json(&facts);
    else
        print_text(&facts);
    return 0;
}
