/* SPDX-License-Identifier: Apache-2.0 */
/* test_select.c: which backend the environment or a config leads to, and what is said when it leads to none. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/select.h"
#include "kit/check.h"
#include "kit/error_json.h"
#include "kit/variables.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char job_name[64]; /* of a segment that nobody else uses */

static void clear_environment(void) {
    static const char *const variables[] = {
        ENV_BACKEND,
        ENV_SHM_NAME,
        ENV_SHM_RANK,
        ENV_SHM_SIZE,
        ENV_SHM_TIMEOUT,
        ENV_STALL_SECS,
        ENV_TCP_RANK,
        ENV_TCP_SIZE,
        ENV_TCP_PORT,
        ENV_TCP_COORDINATOR,
        ENV_RUN_SIZE,
        ENV_RUN_ERROR_FD,
        "PMI_RANK",
        "PMI_SIZE",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "MPI_LOCALRANKID",
        "SLURM_PROCID",
        "SLURM_NTASKS",
        ENV_TCP_TIMEOUT,
        "SLURM_STEP_ID",
        "SLURM_STEP_NUM_TASKS",
        "PMIX_RANK",
        ENV_MPI_PLUGIN,
    };
    for (size_t i = 0; i < COUNT(variables); i++)
        unsetenv(variables[i]);
    snprintf(job_name, sizeof job_name, "/cobre-select-%d", (int)getpid());
}

/* ---- The two outcomes ---- */

static void expect_error(cobre_status status, const cobre_comm *comm, cobre_status expected, const char *text) {
    const cobre_error *error = cobre_last_error();
    CHECK_STATUS(status, expected);
    CHECK(!comm);
    CHECK_TEXT(error->operation, "open");
    CHECK_EQ(error->culprit, COBRE_NO_RANK);
    CHECK_HOLDS(error->message, text);
    CHECK(strlen(error->suggestion) > 0);
    check_error_json(error);
}

static void expect_refusal(cobre_status expected, const char *text) {
    cobre_comm *comm = (cobre_comm *)job_name; /* must become NULL */
    cobre_status status = cobre_comm_open(NULL, &comm);
    expect_error(status, comm, expected, text);
}

static void expect_backend(cobre_backend backend) {
    cobre_comm *comm;
    CHECK_OK(cobre_comm_open(NULL, &comm));
    CHECK_EQ(cobre_comm_backend(comm), backend);
    CHECK_EQ(cobre_size(comm), 1);
    CHECK_EQ(cobre_rank(comm), 0);
    CHECK_OK(cobre_barrier(comm));
    CHECK_OK(cobre_comm_free(&comm));
}

static void set(const char *name, const char *value) {
    CHECK_EQ(setenv(name, value, 1), 0);
}

/* Settings of a shm job of one rank, which opens unless the test makes something wrong. */
static void set_shm(const char *rank, const char *size) {
    set(ENV_BACKEND, "shm");
    set(ENV_SHM_NAME, job_name);
    set(ENV_SHM_RANK, rank);
    set(ENV_SHM_SIZE, size);
}

static bool in_build(cobre_backend backend) {
    if (!cb_built_in(backend))
        printf("skipped: %s is not in this build\n", cobre_backend_name(backend));
    return cb_built_in(backend);
}

/* ---- auto ---- */

static void nothing_set(void) {
    expect_backend(COBRE_LOCAL);
    set(ENV_BACKEND, "");
    expect_backend(COBRE_LOCAL);
    set(ENV_BACKEND, "auto");
    expect_backend(COBRE_LOCAL);
    set(ENV_BACKEND, "local");
    expect_backend(COBRE_LOCAL);
}

static void mpi_signs(void) {
    static const struct {
        const char *name, *alone, *many;
    } signs[] = {
        {"PMI_RANK", "0", "1"},
        {"PMI_SIZE", "1", "2"},
        {"OMPI_COMM_WORLD_RANK", "0", "3"},
        {"OMPI_COMM_WORLD_SIZE", "1", "4"},
        {"MPI_LOCALRANKID", "0", "1"},
    };
    cb_options options;
    for (size_t i = 0; i < COUNT(signs); i++) {
        clear_environment();
        set(signs[i].name, signs[i].alone);
        if (cb_built_in(COBRE_MPI)) { /* the MPI itself then says how many there are: tests/mpi */
            CHECK_OK(cb_select(NULL, &options));
            CHECK_EQ(options.backend, COBRE_MPI);
            continue;
        }
        expect_backend(COBRE_LOCAL);
        set(signs[i].name, signs[i].many);
        for (int explicit = 0; explicit < 2; explicit ++) {
            expect_refusal(COBRE_INITIALIZATION_FAILED, signs[i].name);
            CHECK_TEXT(cobre_last_error()->subject, signs[i].name);
            set(ENV_BACKEND, "auto");
        }
        /* what the suggestion says, works */
        CHECK_HOLDS(cobre_last_error()->suggestion, ENV_BACKEND "=local");
        set(ENV_BACKEND, "local");
        expect_backend(COBRE_LOCAL);
        unsetenv(ENV_BACKEND);
        unsetenv(signs[i].name);
        expect_backend(COBRE_LOCAL);
    }
}

static void other_signs_of_many(void) {
    static const char *const names[] = {"SLURM_STEP_NUM_TASKS", ENV_SHM_SIZE, ENV_TCP_SIZE};
    for (size_t i = 0; i < COUNT(names); i++) {
        clear_environment();
        set(names[i], "1");
        expect_backend(COBRE_LOCAL);
        set(names[i], "2");
        expect_refusal(COBRE_INITIALIZATION_FAILED, names[i]);
        set(ENV_BACKEND, "local");
        expect_backend(COBRE_LOCAL);
    }
}

static void auto_takes_shm(void) {
    if (!in_build(COBRE_SHM))
        return;
    set_shm("0", "1");
    unsetenv(ENV_BACKEND);
    expect_backend(COBRE_SHM);
    unsetenv(ENV_SHM_RANK); /* its sign is there, so it is meant */
    expect_refusal(COBRE_MISSING_CONFIGURATION, ENV_SHM_RANK);
    set(ENV_BACKEND, "local");
    expect_backend(COBRE_LOCAL);
}

/* Slurm: the shells of sbatch and salloc are no ranks, whatever they say of tasks; neither is a step of one task. */
static void slurm_shells(void) {
    static const char *const steps[] = {NULL, "0",
                                        "4294967290"}; /* the last: the step that salloc starts for its shell */
    for (size_t i = 0; i < COUNT(steps); i++) {
        clear_environment();
        set("SLURM_NTASKS", "4");
        set("SLURM_PROCID", "0");
        if (steps[i]) {
            set("SLURM_STEP_ID", steps[i]);
            set("SLURM_STEP_NUM_TASKS", "1");
        }
        expect_backend(COBRE_LOCAL);
        set("PMIX_RANK", "0"); /* that srun offers PMIx says nothing of how many there are */
        expect_backend(COBRE_LOCAL);
    }
}

static void set_task(const char *tasks) {
    set("SLURM_PROCID", "0");
    set("SLURM_STEP_ID", "0");
    set("SLURM_STEP_NUM_TASKS", tasks);
}

/* A step of several tasks is an MPI job, if it offers what that MPI needs. */
static void slurm_steps(void) {
    static const struct {
        const char *tasks, *offers, *plugin;
        const char *lack; /* NULL: nothing */
    } rows[] = {
        {"2", NULL, NULL, "offers neither PMI nor PMIx"},
        {"2", "PMI_RANK", NULL, NULL},
        {"2", "PMIX_RANK", NULL, NULL},
        {"2", NULL, "openmpi", "offers no PMIx, which Open MPI needs"},
        {"2", "PMI_RANK", "openmpi", "offers no PMIx, which Open MPI needs"},
        {"2", "PMIX_RANK", "openmpi", NULL},
        {"2", "OMPI_COMM_WORLD_RANK", "openmpi", NULL},
        {"2", NULL, "mpich", "offers no PMI, which MPICH needs"},
        {"2", "PMIX_RANK", "mpich", "offers no PMI, which MPICH needs"},
        {"2", "PMI_RANK", "mpich", NULL},
        {"2", NULL, "./libcobre-mpi-openmpi.so", "offers neither PMI nor PMIx"},
        {"2", "PMI_RANK", "./libcobre-mpi-openmpi.so", NULL}, /* it may have been built for that */
        {"1", NULL, "openmpi", "offers no PMIx, which Open MPI needs"},
        {"1", NULL, "mpich", NULL},
    };
    cb_options options;
    if (!in_build(COBRE_MPI))
        return;
    for (size_t i = 0; i < COUNT(rows); i++) {
        clear_environment();
        set_task(rows[i].tasks);
        if (rows[i].offers)
            set(rows[i].offers, "0");
        if (rows[i].plugin)
            set(ENV_MPI_PLUGIN, rows[i].plugin);
        if (strcmp(rows[i].tasks, "1") == 0)
            set(ENV_BACKEND, "mpi"); /* auto takes local */
        if (!rows[i].lack) {
            CHECK_OK(cb_select(NULL, &options));
            CHECK_EQ(options.backend, COBRE_MPI);
            continue;
        }
        expect_refusal(COBRE_INITIALIZATION_FAILED, rows[i].lack);
        CHECK_HOLDS(cobre_last_error()->message, "SLURM_PROCID=0");
        CHECK_HOLDS(cobre_last_error()->suggestion, "srun --mpi=pmi");
        CHECK_HOLDS(cobre_last_error()->suggestion, "cobre run");
        CHECK_HOLDS(cobre_last_error()->suggestion, "tcp");
        set(ENV_BACKEND, "local");
        expect_backend(COBRE_LOCAL);
    }
}

/* A program may choose by itself: its config says what the environment would have. */
static void slurm_step_and_a_config(void) {
    cobre_comm *comm;
    set_task("2");
    cobre_status status = cobre_comm_open(&(cobre_config){.struct_size = sizeof(cobre_config)}, &comm);
    expect_error(status, comm, COBRE_INITIALIZATION_FAILED, "SLURM_STEP_NUM_TASKS=2");
}

/* In a step of several tasks: our launcher's word counts for more than Slurm's. */
static void launcher_inside_step(void) {
    if (!in_build(COBRE_SHM))
        return;
    set_shm("0", "1");
    set_task("4");
    expect_refusal(COBRE_INITIALIZATION_FAILED, "SLURM_STEP_NUM_TASKS");
    set(ENV_RUN_SIZE, "1");
    expect_backend(COBRE_SHM);
    set(ENV_RUN_SIZE, "2");
    expect_refusal(COBRE_INITIALIZATION_FAILED, ENV_RUN_SIZE);
}

/* ---- Names of backends ---- */

static void backend_not_in_build(void) {
    static const struct {
        const char *name;
        cobre_backend id;
    } known[] = {{"shm", COBRE_SHM}, {"tcp", COBRE_TCP}, {"mpi", COBRE_MPI}};
    for (size_t i = 0; i < COUNT(known); i++) {
        if (cb_built_in(known[i].id))
            continue;
        clear_environment();
        set(ENV_BACKEND, known[i].name);
        expect_refusal(COBRE_BACKEND_NOT_AVAILABLE, known[i].name);
        CHECK_TEXT(cobre_last_error()->subject, known[i].name);
        CHECK_HOLDS(cobre_last_error()->list, "local");
        char list[256];
        snprintf(list, sizeof list, "%s", cobre_last_error()->list);
        for (char *name = strtok(list, ", "); name; name = strtok(NULL, ", ")) { /* each of these is there indeed */
            cobre_comm *comm;
            set(ENV_BACKEND, name);
            cobre_status status = cobre_comm_open(NULL, &comm);
            CHECK(status == COBRE_OK || status == COBRE_MISSING_CONFIGURATION);
            cobre_comm_free(&comm);
        }
    }
}

static void backend_unknown(void) {
    static const char *const names[] = {
        "nonsense",     "SHM",      "Local", "AUTO",       " shm",
        "shm ",         "shm,tcp",  "0",     "ma\"l\\o\n", "\xff\xfe\x80 not utf-8 \xc3",
        "\xed\xa0\x80", "\xc3\xa4h"};
    char overlong[3000];
    for (size_t i = 0; i < COUNT(names); i++) {
        set(ENV_BACKEND, names[i]);
        expect_refusal(COBRE_INVALID_BACKEND, ENV_BACKEND);
        CHECK_TEXT(cobre_last_error()->subject, names[i]);
        CHECK_HOLDS(cobre_last_error()->list, "shm");
    }
    memset(overlong, 'x', sizeof overlong - 1);
    overlong[sizeof overlong - 1] = '\0';
    set(ENV_BACKEND, overlong);
    expect_refusal(COBRE_INVALID_BACKEND, ENV_BACKEND);
    memset(overlong, '\xe2', sizeof overlong - 1); /* cut in the middle of a character */
    set(ENV_BACKEND, overlong);
    expect_refusal(COBRE_INVALID_BACKEND, ENV_BACKEND);
    CHECK_HOLDS(cobre_last_error()->suggestion, "auto");
    set(ENV_BACKEND, "auto");
    expect_backend(COBRE_LOCAL);
}

/* ---- shm's variables ---- */

static void shm_missing(void) {
    static const char *const names[] = {ENV_SHM_NAME, ENV_SHM_RANK, ENV_SHM_SIZE};
    if (!in_build(COBRE_SHM))
        return;
    for (unsigned present = 0; present < 7; present++) {
        clear_environment();
        set_shm("0", "1");
        for (unsigned i = 0; i < 3; i++)
            if (!(present >> i & 1))
                setenv(names[i], "", i == 0); /* an empty one counts as missing */
        for (unsigned i = 1; i < 3; i++)
            if (!(present >> i & 1))
                unsetenv(names[i]);
        expect_refusal(COBRE_MISSING_CONFIGURATION, "shm");
        for (unsigned i = 0; i < 3; i++) {
            bool listed = strstr(cobre_last_error()->list, names[i]),
                 said = strstr(cobre_last_error()->message, names[i]);
            CHECK(listed == !(present >> i & 1) && said == listed);
        }
    }
}

/* Puts the settings of the example line into the environment. */
static void follow_example(const char *suggestion, const char *rank) {
    char text[512];
    snprintf(text, sizeof text, "%s", suggestion);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        if (strncmp(word, "COBRE_", 6) == 0 && strchr(word, '=')) {
            *strchr(word, '=') = '\0';
            setenv(word, word + strlen(word) + 1, 1);
        }
    CHECK(getenv(ENV_SHM_NAME));
    setenv(ENV_SHM_NAME, job_name, 1); /* the example's may be in use on this machine */
    setenv(ENV_SHM_RANK, rank, 1);
}

static void shm_missing_example_works(void) {
    pid_t ranks[2];
    if (!in_build(COBRE_SHM))
        return;
    set(ENV_BACKEND, "shm");
    expect_refusal(COBRE_MISSING_CONFIGURATION, "shm");
    for (int r = 0; r < 2; r++) {
        ranks[r] = fork();
        CHECK(ranks[r] >= 0);
        if (ranks[r] == 0) {
            cobre_comm *comm;
            int one = 1, sum = 0;
            follow_example(cobre_last_error()->suggestion, r ? "1" : "0");
            if (cobre_comm_open(NULL, &comm) || cobre_allreduce(comm, &one, 1, &sum, 1, COBRE_I32, COBRE_SUM) ||
                cobre_comm_free(&comm))
                _exit(1);
            _exit(sum == 2 ? 0 : 2);
        }
    }
    for (int r = 0; r < 2; r++) {
        int status;
        CHECK_EQ(waitpid(ranks[r], &status, 0), ranks[r]);
        CHECK_EQ(status, 0);
    }
}

static void shm_numbers(void) {
    static const struct {
        const char *rank, *size, *named;
    } wrong[] = {
        {"0", "0", ENV_SHM_SIZE},          {"1", "1", ENV_SHM_RANK},
        {"4", "4", ENV_SHM_RANK},          {"5", "4", ENV_SHM_RANK},
        {"-1", "4", ENV_SHM_RANK},         {"abc", "4", ENV_SHM_RANK},
        {"1x", "4", ENV_SHM_RANK},         {"0x1", "4", ENV_SHM_RANK},
        {"1.0", "4", ENV_SHM_RANK},        {" 1", "4", ENV_SHM_RANK},
        {"+1", "4", ENV_SHM_RANK},         {"1e1", "40", ENV_SHM_RANK},
        {"0", "-4", ENV_SHM_SIZE},         {"0", "four", ENV_SHM_SIZE},
        {"0", "4 ", ENV_SHM_SIZE},         {"0", "18446744073709551617", ENV_SHM_SIZE},
        {"0", "4294967298", ENV_SHM_SIZE}, {"99999999999999999999999", "4", ENV_SHM_RANK},
        {"\xff", "4", ENV_SHM_RANK},
    };
    if (!in_build(COBRE_SHM))
        return;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        set_shm(wrong[i].rank, wrong[i].size);
        expect_refusal(COBRE_INITIALIZATION_FAILED, wrong[i].named);
        CHECK_TEXT(cobre_last_error()->subject, wrong[i].named);
    }
    set_shm("0", "1000000"); /* a number, but more than a node can hold */
    expect_refusal(COBRE_INITIALIZATION_FAILED, "1000000");
    set_shm("0", "1");
    expect_backend(COBRE_SHM);
}

static void shm_names(void) {
    static const char *const names[] = {"job", "job/", "/", "//", "/a/b", "/a/", "a/b", "/../x"};
    char overlong[400];
    if (!in_build(COBRE_SHM))
        return;
    set_shm("0", "1");
    for (size_t i = 0; i < COUNT(names); i++) {
        set(ENV_SHM_NAME, names[i]);
        expect_refusal(COBRE_INITIALIZATION_FAILED, ENV_SHM_NAME);
    }
    memset(overlong, 'n', sizeof overlong - 1);
    overlong[0] = '/';
    overlong[sizeof overlong - 1] = '\0';
    set(ENV_SHM_NAME, overlong);
    expect_refusal(COBRE_INITIALIZATION_FAILED, ENV_SHM_NAME);
    overlong[200] = '\0';
    set(ENV_SHM_NAME, overlong);
    expect_backend(COBRE_SHM);
    static const char *const special[] = {"/.", "/.."}; /* no other '/', but directories */
    for (size_t i = 0; i < COUNT(special); i++) {
        set(ENV_SHM_NAME, special[i]);
        expect_refusal(COBRE_INITIALIZATION_FAILED, special[i]);
    }
}

static void seconds(void) {
    static const char *const wrong[] = {"nonsense", "0", "-1", "inf", "nan", "1s", "1,5", "1e999", " ", "0x"};
    static const char *const right[] = {"1", "0.5", "1e1", "3600"};
    static const char *const names[] = {ENV_SHM_TIMEOUT, ENV_STALL_SECS};
    if (!in_build(COBRE_SHM))
        return;
    for (size_t n = 0; n < COUNT(names); n++) {
        clear_environment();
        set_shm("0", "1");
        for (size_t i = 0; i < COUNT(wrong); i++) {
            set(names[n], wrong[i]);
            expect_refusal(COBRE_INITIALIZATION_FAILED, names[n]);
        }
        for (size_t i = 0; i < COUNT(right); i++) {
            set(names[n], right[i]);
            expect_backend(COBRE_SHM);
        }
        set(names[n], "");
        expect_backend(COBRE_SHM);
    }
}

/* ---- Config ---- */

static cobre_config shm_config(void) {
    return (cobre_config){
        .struct_size = sizeof(cobre_config), .backend = COBRE_SHM, .rank = 0, .size = 1, .shm_name = job_name};
}

static void refuse_config(const cobre_config *config, cobre_status expected, const char *text) {
    cobre_comm *comm = (cobre_comm *)job_name;
    cobre_status status = cobre_comm_open(config, &comm);
    expect_error(status, comm, expected, text);
}

static void accept_config(const cobre_config *config, cobre_backend backend) {
    cobre_comm *comm;
    CHECK_OK(cobre_comm_open(config, &comm));
    CHECK_EQ(cobre_comm_backend(comm), backend);
    CHECK_OK(cobre_comm_free(&comm));
}

static void config_struct(void) {
    cobre_config config = {.struct_size = 8};
    refuse_config(&config, COBRE_INVALID_ARGUMENT, "struct_size");
    config = (cobre_config){.struct_size = offsetof(cobre_config, environment) - 1};
    refuse_config(&config, COBRE_INVALID_ARGUMENT, "struct_size");
    config = (cobre_config){0};
    accept_config(&config, COBRE_LOCAL);
    config = (cobre_config){.struct_size = sizeof config, .backend = (cobre_backend)77};
    refuse_config(&config, COBRE_INVALID_BACKEND, "77");
    config.backend = (cobre_backend)-1;
    refuse_config(&config, COBRE_INVALID_BACKEND, "-1");
    static const double bad[] = {-1, -1e-300, INFINITY, NAN};
    for (size_t i = 0; i < COUNT(bad); i++) {
        config = (cobre_config){.struct_size = sizeof config, .backend = COBRE_LOCAL, .stall_secs = bad[i]};
        refuse_config(&config, COBRE_INITIALIZATION_FAILED, "stall_secs");
        config = (cobre_config){.struct_size = sizeof config, .backend = COBRE_LOCAL, .join_timeout_secs = bad[i]};
        refuse_config(&config, COBRE_INITIALIZATION_FAILED, "join_timeout_secs");
    }
    struct { /* a program built against a later header passes more */
        cobre_config known;
        char more[64];
    } later = {.known = {.struct_size = sizeof later, .backend = COBRE_LOCAL}};
    accept_config(&later.known, COBRE_LOCAL);
}

static void config_shm(void) {
    if (!in_build(COBRE_SHM))
        return;
    cobre_config config = shm_config();
    accept_config(&config, COBRE_SHM);
    config.backend = COBRE_AUTO;
    accept_config(&config, COBRE_SHM);
    config = shm_config();
    config.shm_name = NULL;
    refuse_config(&config, COBRE_MISSING_CONFIGURATION, "shm_name");
    config = shm_config();
    config.size = 0;
    refuse_config(&config, COBRE_MISSING_CONFIGURATION, "size");
    config = shm_config();
    config.shm_name = NULL;
    config.size = 0; /* every missing one is listed */
    refuse_config(&config, COBRE_MISSING_CONFIGURATION, "shm_name");
    CHECK_HOLDS(cobre_last_error()->list, "config.size");
    config = shm_config();
    config.rank = 1;
    refuse_config(&config, COBRE_INITIALIZATION_FAILED, "config.rank");
    config = shm_config();
    config.shm_name = "no-slash";
    refuse_config(&config, COBRE_INITIALIZATION_FAILED, "config.shm_name");
    config = shm_config();
    config.size = 1025;
    refuse_config(&config, COBRE_INITIALIZATION_FAILED, "at most 1024 ranks");
    config.size = SIZE_MAX;
    refuse_config(&config, COBRE_INITIALIZATION_FAILED, "at most 1024 ranks");
}

/* Who passes a config does not depend on COBRE_ variables; auto still looks for a launcher of MPI. */
static void config_and_environment(void) {
    cobre_config config = {.struct_size = sizeof config, .backend = COBRE_LOCAL};
    set(ENV_BACKEND, "nonsense");
    set(ENV_SHM_SIZE, "4");
    set(ENV_STALL_SECS, "nonsense");
    accept_config(&config, COBRE_LOCAL);
    config.backend = COBRE_AUTO;
    accept_config(&config, COBRE_LOCAL);
    set("OMPI_COMM_WORLD_SIZE", "4");
    if (!cb_built_in(COBRE_MPI))
        refuse_config(&config, COBRE_INITIALIZATION_FAILED, "OMPI_COMM_WORLD_SIZE");
    config.backend = COBRE_LOCAL;
    accept_config(&config, COBRE_LOCAL);
}

static int never(void *unused) {
    (void)unused;
    return 0;
}

/* Who this rank is comes from the environment, the rest from both. */
static void config_for_environment(void) {
    cobre_config config = {.struct_size = sizeof config,
                           .environment = true,
                           .backend = COBRE_LOCAL, /* and all other settings of that kind do not count */
                           .size = 7,
                           .interrupted = never,
                           .interrupted_arg = job_name};
    cb_options options;
    accept_config(&config, COBRE_LOCAL);
    if (!in_build(COBRE_SHM))
        return;
    set_shm("2", "3");
    set(ENV_SHM_TIMEOUT, "5");
    set(ENV_STALL_SECS, "6");
    CHECK_OK(cb_select(&config, &options));
    CHECK(options.backend == COBRE_SHM && options.rank == 2 && options.size == 3);
    CHECK(options.interrupted == never && options.interrupted_arg == job_name);
    CHECK(options.join_timeout_secs == 5 && options.stall_secs == 6);
    config.join_timeout_secs = 7;
    config.stall_secs = 8;
    CHECK_OK(cb_select(&config, &options));
    CHECK(options.join_timeout_secs == 7 && options.stall_secs == 8);
    set(ENV_SHM_RANK, "3");
    refuse_config(&config, COBRE_INITIALIZATION_FAILED, ENV_SHM_RANK);
    config.stall_secs = -1;
    refuse_config(&config, COBRE_INITIALIZATION_FAILED, "negative");
}

static void place_is_null(void) {
    CHECK_STATUS(cobre_comm_open(NULL, NULL), COBRE_INVALID_ARGUMENT);
    CHECK(strlen(cobre_last_error()->suggestion) > 0);
    check_error_json(cobre_last_error());
}

int main(int argc, char **argv) {
    static const check_case tests[] = {
        CHECK_CASE(nothing_set),
        CHECK_CASE(mpi_signs),
        CHECK_CASE(other_signs_of_many),
        CHECK_CASE(auto_takes_shm),
        CHECK_CASE(slurm_shells),
        CHECK_CASE(slurm_steps),
        CHECK_CASE(slurm_step_and_a_config),
        CHECK_CASE(launcher_inside_step),
        CHECK_CASE(backend_not_in_build),
        CHECK_CASE(backend_unknown),
        CHECK_CASE(shm_missing),
        CHECK_CASE(shm_missing_example_works),
        CHECK_CASE(shm_numbers),
        CHECK_CASE(shm_names),
        CHECK_CASE(seconds),
        CHECK_CASE(config_struct),
        CHECK_CASE(config_shm),
        CHECK_CASE(config_and_environment),
        CHECK_CASE(config_for_environment),
        CHECK_CASE(place_is_null),
        CHECK_END,
    };
    check_before_each = clear_environment;
    return check_main(argc, argv, tests);
}
