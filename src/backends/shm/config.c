/* SPDX-License-Identifier: Apache-2.0 */
/* config.c: the shm backend as the core sees it: its variables, its configuration, how a launcher starts its ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "backends/shm/config.h"
#include "comm/select.h"

#define NAME "COBRE_SHM_NAME"
#define RANK "COBRE_SHM_RANK"
#define SIZE "COBRE_SHM_SIZE"
#define TIMEOUT "COBRE_SHM_TIMEOUT_SECS"

#if COBRE_HAVE_SHM

static cobre_status check_name(const char *name, const char *from) {
    if (name[0] != '/' || name[1] == '\0' || strchr(name + 1, '/') || strlen(name) > 200)
        return CB_REFUSE(
            COBRE_SHM, from, "choose a name like /my-job",
            "%s is \"%.64s\", but a segment name starts with '/', has no other '/' and 2 to 200 characters", from,
            name);
    return COBRE_OK;
}

static cobre_status from_environment(cb_options *options) {
    static const char *const needed[] = {NAME, RANK, SIZE, NULL};
    char list[128];
    cb_list_missing(needed, list, sizeof list);
    if (list[0])
        return cb_missing(COBRE_SHM, list,
                          "let the launcher set them: cobre run -n 2 ./program; or by hand: " CB_ENV_BACKEND
                          "=shm " NAME "=/job " RANK "=0 " SIZE "=2 ./program");
    struct cb_shm_options *own = cb_shm_own_mut(options);
    own->name = cb_variable(NAME);
    cobre_status status = check_name(own->name, NAME);
    if (!status)
        status = cb_read_count(COBRE_SHM, SIZE, &options->size);
    if (!status)
        status = cb_read_count(COBRE_SHM, RANK, &options->rank);
    if (!status)
        status = cb_check_ranks(options, RANK, SIZE);
    if (!status)
        status = cb_read_seconds(COBRE_SHM, TIMEOUT, &options->join_timeout_secs);
    return status;
}

static cobre_status from_config(const cobre_config *config, cb_options *options) {
    if (!config->shm_name || config->size == 0)
        return cb_missing(COBRE_SHM,
                          config->shm_name ? "config.size"
                          : config->size   ? "config.shm_name"
                                           : "config.shm_name, config.size",
                          "set them in the config: {.backend = COBRE_SHM, .shm_name = \"/job\", .rank = 0, .size = 2}");
    struct cb_shm_options *own = cb_shm_own_mut(options);
    own->name = config->shm_name;
    options->rank = config->rank;
    options->size = config->size;
    cobre_status status = check_name(own->name, "config.shm_name");
    return status ? status : cb_check_ranks(options, "config.rank", "config.size");
}

static bool in_config(const cobre_config *config) {
    return config->shm_name;
}

static bool launch(cb_launch *launch) {
    uint64_t random;
    if (getentropy(&random, sizeof random) < 0)
        return false;
    snprintf(launch->name, sizeof launch->name, "/cobre-%ld-%016llx", (long)getpid(), (unsigned long long)random);
    return true;
}

static void launch_rank(const cb_launch *launch, size_t rank) {
    setenv(NAME, launch->name, 1);
    cb_set_number(RANK, rank);
    cb_set_number(SIZE, launch->size);
}

/* A killed process lets go of its lock only when its memory has been freed: try again for a while. */
static void launch_end(const cb_launch *launch) {
    enum { TRIES = 100 };
    char path[256];
    snprintf(path, sizeof path, CB_SHARED_MEMORY "%s", launch->name);
    for (int i = 0; i < TRIES && access(path, F_OK) == 0 && cb_shm_clean(launch->name, true) == 0; i++)
        cb_nap(0.02);
}

#endif

const cb_backend cb_shm_backend = {
    .variables = (const char *const[]){NAME, RANK, SIZE, NULL},
    .settings = (const char *const[]){TIMEOUT, NULL},
    .signs = (const char *const[]){NAME, NULL},
    .sizes = (const cb_size_sign[]){{.name = SIZE}, {.name = RANK, .is_rank = true}, {.name = NULL}},
    .default_here = true,
    .most_ranks = CB_SHM_MAX_RANKS,
#if COBRE_HAVE_SHM
    .from_environment = from_environment,
    .from_config = from_config,
    .config_sign = "config.shm_name",
    .in_config = in_config,
    .open = cb_shm_open,
    .free = cb_shm_free,
    .abort = cb_shm_abort,
    .memory_free = cb_shm_memory_free,
    .clean = cb_shm_clean,
    .at_exit = cb_shm_at_exit,
    .launch = launch,
    .launch_rank = launch_rank,
    .launch_end = launch_end,
#endif
};
