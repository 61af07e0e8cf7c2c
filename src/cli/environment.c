/* environment.c: how a rank learns where it is. A new backend adds one line to `transports` and the two functions that
 * it names. */
#include "job.h"

#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

static void set_number(const char *name, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    setenv(name, text, 1);
}

static bool shm_prepare(struct job *job) {
    uint64_t random;
    if (getentropy(&random, sizeof random) < 0)
        return false;
    snprintf(job->segment, sizeof job->segment, "/cobre-%ld-%016llx", (long)getpid(), (unsigned long long)random);
    return true;
}

static void shm_set(const struct job *job, size_t rank) {
    setenv("COBRE_SHM_NAME", job->segment, 1);
    set_number("COBRE_SHM_RANK", rank);
    set_number("COBRE_SHM_SIZE", job->options.size);
}

static bool local_prepare(struct job *job) {
    (void)job;
    return true;
}

static void local_set(const struct job *job, size_t rank) {
    (void)job;
    (void)rank;
}

static const struct transport {
    cobre_backend backend;
    bool (*prepare)(struct job *job);                /* once, before the guard and the ranks; false: see errno */
    void (*set)(const struct job *job, size_t rank); /* in each rank, before exec */
} transports[] = {
    {.backend = COBRE_SHM, .prepare = shm_prepare, .set = shm_set},
    {.backend = COBRE_LOCAL, .prepare = local_prepare, .set = local_set},
};

static const struct transport *transport_of(cobre_backend backend) {
    for (size_t i = 0; i < sizeof transports / sizeof *transports; i++)
        if (transports[i].backend == backend)
            return &transports[i];
    return NULL;
}

bool cb_environment_has(cobre_backend backend) {
    return transport_of(backend) != NULL;
}

bool cb_environment_prepare(struct job *job) {
    const struct transport *transport = transport_of(job->options.backend);
    return transport->prepare(job);
}

/* What says who this rank is. A launcher inside a rank must not hand on its own. */
static void forget_outer_job(void) {
    static const char *const names[] = {"COBRE_SHM_NAME", "COBRE_SHM_RANK", "COBRE_SHM_SIZE",
                                        "COBRE_TCP_RANK", "COBRE_TCP_SIZE", "COBRE_TCP_COORDINATOR"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

void cb_environment_set(const struct job *job, size_t rank, int error_fd) {
    const struct transport *transport = transport_of(job->options.backend);
    forget_outer_job();
    setenv("COBRE_COMM_BACKEND", cobre_backend_name(job->options.backend), 1);
    set_number(CB_ENV_RUN_SIZE, job->options.size);
    set_number(CB_ENV_ERROR_FD, (uint64_t)error_fd);
    transport->set(job, rank);
}
