/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c: rank 0's watcher: one thread, asleep in poll, that owns the control connections.
 *
 * All failures are collected here. The first that arrives is the job's failure, and is sent to every rank, including its
 * reporter, even while rank 0 itself computes. A control connection that ends without "I leave" is a
 * death. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "backends/tcp/tcp.h"

/* How soon a program is found out that closes all descriptors: poll does not tell if there are others under their
 * numbers. */
enum { CLOSED_MS = 250 };

struct cb_watch {
    pthread_t thread;
    pthread_mutex_t guard; /* of everything below */
    pthread_cond_t news;
    size_t size;
    int *controls;         /* by rank; -1: ended */
    struct cb_link *links; /* of controls */
    const int64_t *pids;
    struct cb_inbox *inboxes;
    bool *left;
    struct pollfd *polls; /* the thread's; [0] is the wake pipe */
    bool stopping;
    cb_failure failure;
    int alarm[2], wake[2]; /* pipes: to rank 0's waits, to the thread */
    struct cb_identity alarm_id, wake_id;
};

/* Not if the program has closed it: its number may lead to another file. */
static bool has_control(const struct cb_watch *watch, size_t rank) {
    return watch->controls[rank] >= 0 && cb_link_is_ours(&watch->links[rank]);
}

void cb_watch_forget(struct cb_watch *watch) {
    for (size_t r = 1; r < watch->size; r++)
        if (!has_control(watch, r))
            watch->controls[r] = -1;
}

/* A rank that left or aborted knows, and is on its way out. */
static bool is_for(const cb_failure *failure, size_t rank) {
    return !failure || failure->culprit != rank ||
           (failure->cause != COBRE_CAUSE_PEER_LEFT && failure->cause != COBRE_CAUSE_ABORTED);
}

static void send_to_all(struct cb_watch *watch, uint8_t tag, const cb_failure *failure) {
    for (size_t r = 1; r < watch->size; r++)
        if (is_for(failure, r) && has_control(watch, r))
            cb_control_send(watch->controls[r], tag, failure);
}

static void poke(int fd, const struct cb_identity *id) {
    ssize_t written = cb_is_still(fd, id) ? write(fd, "", 1) : 0;
    (void)written; /* a full pipe has been poked already */
}

/* guard is held. */
static void record(struct cb_watch *watch, const cb_failure *failure) {
    if (watch->failure.cause != COBRE_CAUSE_NONE)
        return;
    watch->failure = *failure;
    watch->failure.pid = watch->pids[failure->culprit];
    send_to_all(watch, CB_TAG_FAILED, &watch->failure);
    poke(watch->alarm[1], &watch->alarm_id);
}

static void end_control(struct cb_watch *watch, size_t rank, int error) {
    cb_failure failure = cb_link_failure(&watch->links[rank], 0, error);
    close(watch->controls[rank]);
    watch->controls[rank] = -1;
    if (!watch->left[rank] && !watch->stopping)
        record(watch, &failure);
    pthread_cond_broadcast(&watch->news);
}

static void record_closed(struct cb_watch *watch) {
    cb_failure failure = cb_link_closed(0);
    record(watch, &failure);
    pthread_cond_broadcast(&watch->news);
}

static void read_control(struct cb_watch *watch, size_t rank) {
    cb_failure failure;
    if (!has_control(watch, rank)) {
        watch->controls[rank] = -1;
        record_closed(watch);
        return;
    }
    for (;;) {
        switch (cb_control_receive(watch->controls[rank], &watch->inboxes[rank], watch->size, &failure)) {
        case CB_TAG_LEFT:
            watch->left[rank] = true;
            pthread_cond_broadcast(&watch->news);
            break;
        case CB_TAG_FAILED: record(watch, &failure); break;
        case 0: return;
        default: end_control(watch, rank, errno); return;
        }
    }
}

/* poll refuses more descriptors than the program may have open, a limit that it can lower at any time, and may lack
 * memory: then everyone is looked at, a little later. */
static void look_at_all(struct pollfd *polls, size_t count) {
    if (errno != EINTR)
        cb_nap(10e-3);
    for (size_t i = 0; i < count; i++)
        polls[i].revents = polls[i].fd >= 0 ? POLLIN : 0;
}

/* False when the program has closed the pipe. The thread ends then: while it is in poll, the connections that the program
 * has closed stay open for the others. */
static bool can_be_woken(const struct cb_watch *watch) {
    return !(watch->polls[0].revents & (POLLHUP | POLLNVAL)) && cb_is_still(watch->wake[0], &watch->wake_id);
}

static void *run(void *argument) {
    struct cb_watch *watch = argument;
    struct pollfd *polls = watch->polls;
    for (bool stop = false; !stop;) {
        polls[0] = (struct pollfd){.fd = watch->wake[0], .events = POLLIN};
        for (size_t r = 1; r < watch->size; r++)
            polls[r] = (struct pollfd){.fd = watch->controls[r], .events = POLLIN};
        if (poll(polls, (nfds_t)watch->size, CLOSED_MS) < 0)
            look_at_all(polls, watch->size);
        pthread_mutex_lock(&watch->guard);
        stop = watch->stopping;
        if (!stop && !can_be_woken(watch)) {
            record_closed(watch);
            stop = true;
        }
        for (size_t r = 1; r < watch->size && !stop; r++)
            if (polls[r].revents)
                read_control(watch, r);
        pthread_mutex_unlock(&watch->guard);
    }
    return NULL;
}

static void release(struct cb_watch *watch) {
    for (size_t i = 0; i < 2; i++) {
        if (cb_is_still(watch->alarm[i], &watch->alarm_id))
            close(watch->alarm[i]);
        if (cb_is_still(watch->wake[i], &watch->wake_id))
            close(watch->wake[i]);
    }
    free(watch->links);
    free(watch->inboxes);
    free(watch->polls);
    free(watch->left);
    free(watch);
}

static bool open_pipe(int ends[2], struct cb_identity *id) {
    return pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0 && cb_identify(ends[0], id);
}

struct cb_watch *cb_watch_start(size_t size, int *controls, const int64_t *pids, int *alarm) {
    struct cb_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&watch->guard, NULL);
    pthread_cond_init(&watch->news, &attributes);
    pthread_condattr_destroy(&attributes);
    watch->size = size;
    watch->controls = controls;
    watch->pids = pids;
    watch->inboxes = calloc(size, sizeof *watch->inboxes);
    watch->left = calloc(size, sizeof *watch->left);
    watch->polls = calloc(size, sizeof *watch->polls);
    watch->links = calloc(size, sizeof *watch->links);
    for (size_t r = 1; r < size && watch->links; r++)
        cb_link_note(&watch->links[r], controls[r], r);
    watch->alarm[0] = watch->alarm[1] = watch->wake[0] = watch->wake[1] = -1;
    if (!watch->inboxes || !watch->left || !watch->polls || !watch->links ||
        !open_pipe(watch->alarm, &watch->alarm_id) || !open_pipe(watch->wake, &watch->wake_id) ||
        (errno = cb_start_thread(&watch->thread, run, watch)) != 0) {
        int error = errno ? errno : EAGAIN;
        release(watch);
        errno = error;
        return NULL;
    }
    *alarm = watch->alarm[0];
    return watch;
}

void cb_watch_fail(struct cb_watch *watch, cb_failure *failure) {
    pthread_mutex_lock(&watch->guard);
    record(watch, failure);
    *failure = watch->failure;
    pthread_mutex_unlock(&watch->guard);
}

bool cb_watch_failure(struct cb_watch *watch, cb_failure *failure) {
    pthread_mutex_lock(&watch->guard);
    *failure = watch->failure;
    pthread_mutex_unlock(&watch->guard);
    return failure->cause != COBRE_CAUSE_NONE;
}

bool cb_watch_has_left(struct cb_watch *watch, size_t rank) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 2;
    pthread_mutex_lock(&watch->guard);
    while (!watch->left[rank] && watch->controls[rank] >= 0 && watch->failure.cause == COBRE_CAUSE_NONE)
        if (pthread_cond_timedwait(&watch->news, &watch->guard, &until) != 0)
            break;
    bool left = watch->left[rank];
    pthread_mutex_unlock(&watch->guard);
    return left;
}

/* Also called at exit(), when a thread that was stopped may hold the guard: then the others see a death. */
void cb_watch_say_leave(struct cb_watch *watch, const cb_failure *failure) {
    for (double end = cb_now() + 0.1; pthread_mutex_trylock(&watch->guard) != 0; cb_nap(1e-3))
        if (cb_now() > end)
            return;
    if (failure)
        record(watch, failure); /* our own thread inside stops, too */
    else
        send_to_all(watch, CB_TAG_LEFT, NULL);
    pthread_mutex_unlock(&watch->guard);
}

void cb_watch_stop(struct cb_watch *watch) {
    pthread_mutex_lock(&watch->guard);
    watch->stopping = true;
    pthread_mutex_unlock(&watch->guard);
    poke(watch->wake[1], &watch->wake_id);
    pthread_join(watch->thread, NULL);
    cb_watch_forget(watch);
    pthread_cond_destroy(&watch->news);
    pthread_mutex_destroy(&watch->guard);
    release(watch);
}
