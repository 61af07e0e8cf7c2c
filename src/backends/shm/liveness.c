/* SPDX-License-Identifier: Apache-2.0 */
/* liveness.c: finds out which ranks are alive.
 *
 * Each rank has a helper thread that holds a robust mutex in the rank's header and sleeps. When the process ends,
 * in whatever way, the kernel marks the mutex before it frees the process's memory: a rank with gigabytes is known to
 * be dead in a millisecond. Process ids are not used: they differ between containers that share /dev/shm, and are
 * reused. A rank that leaves in order stores that in its state first. */
#include <errno.h>
#include <stdlib.h>

#include "backends/shm/shm.h"

int cb_shm_init_alive(pthread_mutex_t *alive) {
    pthread_mutexattr_t attributes;
    int error = pthread_mutexattr_init(&attributes);
    if (error)
        return error;
    error = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (!error)
        error = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (!error)
        error = pthread_mutex_init(alive, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return error;
}

/* A dead owner's mutex is left for good as not recoverable: the same answer for everyone who asks later. */
static int try_lock(pthread_mutex_t *alive) {
    int error = pthread_mutex_trylock(alive);
    if (error == EOWNERDEAD)
        pthread_mutex_unlock(alive);
    return error == ENOTRECOVERABLE ? EOWNERDEAD : error;
}

/* Busy without a rank behind it is somebody who looks at this moment (cb_shm_state): try again for a while. */
static int claim(struct cb_rank_header *rank) {
    for (double deadline = cb_now() + 1;;) {
        int error = try_lock(&rank->alive);
        if (error != EBUSY || atomic_load_explicit(&rank->state, memory_order_acquire) != CB_ABSENT ||
            cb_now() > deadline)
            return error;
        cb_nap(1e-3);
    }
}

static void *hold(void *argument) {
    struct cb_job *job = argument;
    struct cb_rank_header *rank = &job->ranks[job->rank];
    job->claim_error = claim(rank);
    int failed = job->claim_error;
    sem_post(&job->answered);
    if (failed)
        return NULL;
    while (sem_wait(&job->leave) != 0)
        ;
    pthread_mutex_unlock(&rank->alive);
    return NULL;
}

int cb_shm_claim_rank(struct cb_job *job) {
    sem_init(&job->answered, 0, 0);
    sem_init(&job->leave, 0, 0);
    int error = cb_start_thread(&job->helper, hold, job);
    if (error)
        return error;
    while (sem_wait(&job->answered) != 0)
        ;
    if (job->claim_error)
        pthread_join(job->helper, NULL);
    return job->claim_error;
}

/* One that aborted stays so. */
static void say_left(struct cb_job *job) {
    uint32_t joined = CB_JOINED;
    atomic_compare_exchange_strong_explicit(&job->ranks[job->rank].state, &joined, CB_LEFT, memory_order_release,
                                            memory_order_relaxed);
}

void cb_shm_release_rank(struct cb_job *job) {
    say_left(job);
    sem_post(&job->leave);
    pthread_join(job->helper, NULL);
    sem_destroy(&job->answered);
    sem_destroy(&job->leave);
}

/* A rank that has claimed but not yet joined can die, too; for one that has not claimed, trying takes the mutex for a
 * moment, which claim() knows. */
uint32_t cb_shm_state(struct cb_rank_header *rank) {
    uint32_t state = atomic_load_explicit(&rank->state, memory_order_acquire);
    if (state != CB_JOINED && state != CB_ABSENT)
        return state;
    int error = try_lock(&rank->alive);
    if (error == 0)
        pthread_mutex_unlock(&rank->alive);
    if (error == EOWNERDEAD && atomic_compare_exchange_strong_explicit(&rank->state, &state, CB_DIED,
                                                                       memory_order_acq_rel, memory_order_acquire))
        return CB_DIED;
    return atomic_load_explicit(&rank->state, memory_order_acquire);
}

void cb_shm_at_exit(cobre_comm *comm) {
    say_left(((struct cb_shm_comm *)comm)->job);
}
