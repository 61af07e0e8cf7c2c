/* SPDX-License-Identifier: Apache-2.0 */
/* info.c: `cobre info`. */
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/json.h"
#include "comm/select.h"

#include <inttypes.h>
#include <string.h>

static const char intro[] =
    "usage: cobre info [--json]\n"
    "\n"
    "Shows the version, the backends of this build, which one a program started here would use and\n"
    "why, what the others lack, the parts of this build and the LP solvers that are found, the limits\n"
    "of this machine. Warns of limits that are too small, and of variables COBRE_... that nothing\n"
    "reads. See cobre-info(1).\n"
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
    struct cb_machine machine;
    struct cb_warning warning[CB_WARNINGS];
    size_t warnings;
    struct cb_part part[CB_PARTS];
    size_t parts;
};

static void warn_of_variable(void *arg, const char *text, bool is_slip) {
    (void)is_slip;
    struct facts *facts = arg;
    if (facts->warnings == CB_WARNINGS)
        return;
    struct cb_warning *warning = &facts->warning[facts->warnings++];
    snprintf(warning->what, sizeof warning->what, "%s", text);
    warning->remedy = "rename it or unset it; cobre(7) has the variables";
}

static void gather(struct facts *facts) {
    for (cobre_backend b = cb_first_backend(); b; b = cb_next_backend(b))
        cb_explain(b, facts->why[b], sizeof facts->why[b]);
    cb_machine_look(&facts->machine);
    facts->warnings = cb_machine_warn(&facts->machine, facts->warning);
    cb_unknown_variables(warn_of_variable, facts);
    facts->parts = cb_parts(facts->part);
    cb_options options;
    facts->chosen = cb_select(NULL, &options) == COBRE_OK; /* last: nothing may follow on its error */
    facts->backend = facts->chosen ? options.backend : COBRE_AUTO;
    explicit_bzero(options.own, sizeof options.own); /* it may hold a secret */
}

/* Why this backend and not another. */
static const char *reason(const struct facts *facts) {
    if (cb_variable(CB_ENV_BACKEND))
        return CB_ENV_BACKEND " asks for it";
    return cb_backend_at(facts->backend)->signs ? facts->why[facts->backend] : "no launcher has started this process";
}

static void print_choice(const struct facts *facts) {
    if (facts->chosen) {
        printf("a program started here uses: %s (%s)\n", cobre_backend_name(facts->backend), reason(facts));
    } else {
        printf("a program started here fails: %s\n", cobre_last_error()->message);
        if (cobre_last_error()->suggestion[0])
            printf("  suggestion: %s\n", cobre_last_error()->suggestion);
    }
    for (cobre_backend b = cb_first_backend(); b; b = cb_next_backend(b))
        printf("%c %-5s %s\n", facts->chosen && b == facts->backend ? '*' : ' ', cobre_backend_name(b), facts->why[b]);
}

static void print_parts(const struct facts *facts) {
    for (size_t i = 0; i < facts->parts; i++)
        printf("%s: %s\n", facts->part[i].name, facts->part[i].problem[0] ? facts->part[i].problem : "yes");
    cb_solvers_print();
}

static void print_cores(const struct cb_machine *machine) {
    printf("cores: %zu usable, %ld online", machine->usable_cores, machine->online_cores);
    if ((long)machine->usable_cores < machine->online_cores)
        printf(" (limited by %s)", machine->group_cores <= machine->usable_cores ? "the cgroup" : "the affinity");
    putchar('\n');
}

static void print_memory(const struct cb_machine *machine) {
    char text[32];
    printf("memory: %s available", cb_bytes_text(machine->memory_available, text));
    printf(" of %s", cb_bytes_text(machine->memory_total, text));
    if (machine->group_memory != UINT64_MAX)
        printf("; the cgroup leaves %s", cb_bytes_text(machine->group_memory, text));
    putchar('\n');
    if (machine->has_shm) {
        printf(CB_SHARED_MEMORY ": %s free", cb_bytes_text(machine->shm_free, text));
        printf(" of %s\n", cb_bytes_text(machine->shm_total, text));
    } else {
        printf(CB_SHARED_MEMORY ": not there\n");
    }
    printf("shared memory that can be reserved: %s\n", cb_bytes_text(machine->reservable, text));
}

static const char *limit_text(uint64_t limit, char text[32]) {
    return limit == UINT64_MAX ? "unlimited" : cb_bytes_text(limit, text);
}

static void print_limits(const struct cb_machine *machine) {
    char text[32];
    printf("open files: %" PRIu64 ", up to %" PRIu64 "\n", machine->files, machine->most_files);
    printf("file size: %s\n", limit_text(machine->file_size, text));
    printf("address space: %s\n", limit_text(machine->address_space, text));
    printf("locked memory: %s\n", limit_text(machine->locked_memory, text));
}

static void print_text(const struct facts *facts) {
    printf("cobre %s\n", cobre_version());
    printf("backends in this build: %s\n", cb_built_in_list());
    print_choice(facts);
    print_parts(facts);
    print_cores(&facts->machine);
    print_memory(&facts->machine);
    print_limits(&facts->machine);
    for (size_t i = 0; i < facts->warnings; i++)
        printf("warning: %s\n  what to do: %s\n", facts->warning[i].what, facts->warning[i].remedy);
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

static json_t *count_or_null(uint64_t count) {
    return count == UINT64_MAX ? json_null() : cb_json_count(count);
}

static json_t *parts_json(const struct facts *facts) {
    json_t *list = json_array();
    for (size_t i = 0; i < facts->parts; i++) {
        json_t *part = json_object();
        cb_json_set(part, "name", cb_json_text(facts->part[i].name));
        cb_json_set(part, "problem", facts->part[i].problem[0] ? cb_json_text(facts->part[i].problem) : json_null());
        cb_json_append(list, part);
    }
    return list;
}

static json_t *cores_json(const struct cb_machine *machine) {
    json_t *cores = json_object();
    cb_json_set(cores, "usable", cb_json_count(machine->usable_cores));
    cb_json_set(cores, "online", json_integer(machine->online_cores));
    cb_json_set(cores, "control_group",
                machine->group_cores == SIZE_MAX ? json_null() : cb_json_count(machine->group_cores));
    return cores;
}

static json_t *memory_json(const struct cb_machine *machine) {
    json_t *memory = json_object();
    cb_json_set(memory, "available_bytes", count_or_null(machine->memory_available));
    cb_json_set(memory, "total_bytes", count_or_null(machine->memory_total));
    cb_json_set(memory, "control_group_bytes", count_or_null(machine->group_memory));
    return memory;
}

static json_t *shm_json(const struct cb_machine *machine) {
    json_t *shm = json_object();
    cb_json_set(shm, "directory", cb_json_text(CB_SHARED_MEMORY));
    cb_json_set(shm, "free_bytes", cb_json_count(machine->shm_free));
    cb_json_set(shm, "total_bytes", cb_json_count(machine->shm_total));
    return shm;
}

static json_t *limits_json(const struct cb_machine *machine) {
    json_t *limits = json_object();
    cb_json_set(limits, "open_files", count_or_null(machine->files));
    cb_json_set(limits, "most_open_files", count_or_null(machine->most_files));
    cb_json_set(limits, "file_size_bytes", count_or_null(machine->file_size));
    cb_json_set(limits, "address_space_bytes", count_or_null(machine->address_space));
    cb_json_set(limits, "locked_memory_bytes", count_or_null(machine->locked_memory));
    return limits;
}

static json_t *warnings_json(const struct facts *facts) {
    json_t *list = json_array();
    for (size_t i = 0; i < facts->warnings; i++) {
        json_t *warning = json_object();
        cb_json_set(warning, "what", cb_json_text(facts->warning[i].what));
        cb_json_set(warning, "remedy", cb_json_text(facts->warning[i].remedy));
        cb_json_append(list, warning);
    }
    return list;
}

static void print_json(const struct facts *facts) {
    const struct cb_machine *machine = &facts->machine;
    json_t *info = json_object();
    cb_json_set(info, "version", cb_json_text(cobre_version()));
    cb_json_set(info, "chosen", facts->chosen ? cb_json_text(cobre_backend_name(facts->backend)) : json_null());
    cb_json_set(info, "why", facts->chosen ? cb_json_text(reason(facts)) : json_null());
    cb_json_set(info, "error", facts->chosen ? json_null() : error_json());
    cb_json_set(info, "backends", backends_json(facts));
    cb_json_set(info, "parts", parts_json(facts));
    cb_json_set(info, "solvers", cb_solvers_json());
    cb_json_set(info, "cores", cores_json(machine));
    cb_json_set(info, "memory", memory_json(machine));
    cb_json_set(info, "shm", machine->has_shm ? shm_json(machine) : json_null());
    cb_json_set(info, "reservable_bytes", cb_json_count(machine->reservable));
    cb_json_set(info, "limits", limits_json(machine));
    cb_json_set(info, "warnings", warnings_json(facts));
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
