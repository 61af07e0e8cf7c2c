/* SPDX-License-Identifier: Apache-2.0 */
/* join.c: how the ranks of a job find each other.
 *
 *   rank 0                                     the others
 *   1 builds the segment: sizes, reserves,     1 open the name, again and again until the deadline
 *     fills and locks the file, claims rank 0  2 check owner, magic, layout, size; a segment whose lock is free belongs
 *   2 gives it its name                          to a dead job: remove the name, go on looking
 *   3 waits until every rank has joined        3 map it, claim their rank, join
 *   4 removes the name, raises "ready"         4 wait for "ready"
 *
 * name.c says how a name is given, found and removed. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/shm/name.h"
#include "comm/cgroup.h"

enum {
    LARGEST_BULK = 1 << 20,   /* chunks of a large payload; larger ones fall out of the second-level cache */
    SMALLEST_BULK = 64 << 10, /* below that the rounds cost more than the copies */
    BULK_BUDGET = 32 << 20,   /* for all ranks: half of what a container usually has in /dev/shm */
};

static size_t rank_headers_at(void) {
    return cb_round_up(sizeof(struct cb_job_header), 2 * CB_LINE);
}

static size_t first_arena_at(size_t size) {
    return cb_round_up(rank_headers_at() + size * sizeof(struct cb_rank_header), cb_page_size());
}

static size_t bulk_at(size_t size) {
    size_t lines = sizeof(struct cb_arena_header) + size * (sizeof(struct cb_door) + 2 * sizeof(struct cb_slot));
    return cb_round_up(lines, cb_page_size());
}

size_t cb_shm_arena_bytes(size_t size, size_t bulk_bytes) {
    return bulk_at(size) + 2 * size * bulk_bytes;
}

static size_t fixed_bytes(size_t size, size_t bulk_bytes) {
    return first_arena_at(size) + cb_shm_arena_bytes(size, bulk_bytes);
}

/* As large as the budget and the free space allow. */
static size_t choose_bulk(size_t size, uint64_t there) {
    size_t bulk = LARGEST_BULK;
    while (bulk > SMALLEST_BULK && (2 * size * bulk > BULK_BUDGET || fixed_bytes(size, bulk) > there / 2))
        bulk /= 2;
    return bulk;
}

void cb_shm_attach_arena(struct cb_shm_comm *comm, void *base) {
    comm->head = base;
    comm->doors = (struct cb_door *)(comm->head + 1);
    comm->slots = (struct cb_slot *)(comm->doors + comm->base.size);
    comm->bulk = (unsigned char *)base + bulk_at(comm->base.size);
}

static void note_cores(struct cb_rank_header *rank) {
    size_t quota = cb_cgroup_cores("");
    rank->quota = quota < UINT32_MAX ? (uint32_t)quota : UINT32_MAX;
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (size_t cpu = 0; cpu < CB_SHM_MAX_CPUS && cpu < CPU_SETSIZE; cpu++)
            rank->cpus[cpu / 64] |= (uint64_t)(CPU_ISSET(cpu, &set) != 0) << cpu % 64;
#endif
}

/* Do the ranks fit on the cores that they may use together? Each may be bound to cores of its own. */
static bool is_crowded(const struct cb_job *job) {
    size_t cores = 0, quota = SIZE_MAX;
    for (size_t word = 0; word < CB_SHM_MAX_CPUS / 64; word++) {
        uint64_t any = 0;
        for (size_t r = 0; r < job->size; r++)
            any |= job->ranks[r].cpus[word];
        cores += (size_t)__builtin_popcountll(any);
    }
    for (size_t r = 0; r < job->size; r++)
        quota = job->ranks[r].quota < quota ? job->ranks[r].quota : quota;
    if (cores == 0) /* affinity is not known here */
        cores = cb_usable_cores();
    return (quota < cores ? quota : cores) < job->size;
}

static void announce(struct cb_job *job) {
    struct cb_rank_header *rank = &job->ranks[job->rank];
    uint32_t absent = CB_ABSENT;
    rank->pid = getpid();
    note_cores(rank);
    atomic_compare_exchange_strong_explicit(&rank->state, &absent, CB_JOINED, memory_order_release,
                                            memory_order_relaxed);
}

static cobre_status claim_rank(struct cb_job *job) {
    const struct cb_rank_header *rank = &job->ranks[job->rank];
    int error = cb_shm_claim_rank(job);
    job->claimed = !error;
    if (error == EBUSY)
        return CB_JOIN_ERROR(error, "give each process its own rank", "shm: rank %zu is taken already, by pid %" PRId64,
                             job->rank, rank->pid);
    if (error == EOWNERDEAD)
        return CB_JOIN_ERROR(error, "start the whole job again",
                             "shm: a process with rank %zu died while the job formed", job->rank);
    if (error)
        return CB_JOIN_ERROR(error, "raise the limit of processes (ulimit -u)", "shm: cannot start a helper thread: %s",
                             strerror(error));
    return COBRE_OK;
}

static void use_header(struct cb_job *job, void *base) {
    job->header = base;
    job->ranks = (struct cb_rank_header *)((char *)base + rank_headers_at());
}

static cobre_status init_ranks(struct cb_job *job) {
    for (size_t r = 0; r < job->size; r++) {
        int error = cb_shm_init_alive(&job->ranks[r].alive);
        if (error)
            return CB_JOIN_ERROR(error, "use a system with robust process-shared mutexes",
                                 "shm: cannot make a robust mutex: %s", strerror(error));
    }
    return COBRE_OK;
}

/* Rank 0, steps 1 and 2. */
static cobre_status build_segment(struct cb_job *job, const char *name) {
    CB_TRY(cb_shm_create_file(name, &job->fd));
    uint64_t there = cb_memory_free(job->fd);
    size_t bulk = choose_bulk(job->size, there), bytes = fixed_bytes(job->size, bulk);
    int error = cb_shm_reserve(job->fd, 0, bytes);
    if (error)
        return cb_no_room(NULL, COBRE_SHM,
                          &(struct cb_shortage){
                              .operation = "open", .shared = true, .asked = bytes, .there = there, .os_error = error});
    void *base = cb_shm_map(job->fd, 0, bytes);
    if (!base)
        return cb_shm_system_error("map", name);
    use_header(job, base);
    job->header->layout = CB_SHM_LAYOUT;
    job->header->size = (uint32_t)job->size;
    job->header->bulk_bytes = bulk;
    job->header->fixed_bytes = bytes;
    job->header->creator = getpid();
    cobre_status status = init_ranks(job);
    if (!status)
        status = claim_rank(job);
    if (status)
        return status;
    announce(job);
    atomic_store_explicit(&job->header->magic, CB_SHM_MAGIC, memory_order_release);
    return cb_shm_name_file(name, job->fd);
}

/* Time and the program's wish to stop, while a job forms. */
struct patience {
    const cb_options *options;
    double deadline, nap;
    bool interrupted;
};

/* Sleeps a little, longer each time; false when the wait is over. */
static bool wait_more(struct patience *patience) {
    const cb_options *options = patience->options;
    patience->interrupted = options->interrupted && options->interrupted(options->interrupted_arg);
    if (patience->interrupted || cb_now() > patience->deadline)
        return false;
    cb_nap(patience->nap);
    patience->nap = patience->nap < 0.005 ? 1.5 * patience->nap : 0.005;
    return true;
}

/* The wait is over, on this rank's own account. */
static cobre_status give_up(const struct cb_job *job, const struct patience *patience, const char *state) {
    if (patience->interrupted)
        return CB_JOIN_ERROR(EINTR, "the program's interrupted hook asked for this",
                             "shm: rank %zu was interrupted while it waited to join: %s", job->rank, state);
    return CB_JOIN_ERROR(ETIMEDOUT, "start all ranks of the job; COBRE_SHM_TIMEOUT_SECS sets the longest wait",
                         "shm: rank %zu waited %g s to join: %s", job->rank, patience->options->join_timeout_secs,
                         state);
}

static cobre_status refuse_size(const struct cb_job_header *header, const struct cb_job *job, const char *path) {
    return CB_JOIN_ERROR(EINVAL, "give all ranks the same COBRE_SHM_SIZE",
                         "shm: the job at %s has %" PRIu32 " ranks, but rank %zu was told %zu", path, header->size,
                         job->rank, job->size);
}

/* The others, steps 1 to 3. A name may vanish or change between two looks: each look starts from the name. */
static cobre_status find_segment(struct cb_job *job, struct patience *patience) {
    char path[256];
    cb_shm_path(cb_shm_own(patience->options)->name, path);
    do {
        struct cb_job_header header = {0};
        enum cb_finding finding = cb_shm_find(path, &job->fd, &header);
        if (finding == CB_LIVE) {
            if (header.size != job->size)
                return refuse_size(&header, job, path);
            void *base = cb_shm_map(job->fd, 0, header.fixed_bytes);
            if (!base)
                return cb_shm_system_error("map", cb_shm_own(patience->options)->name);
            use_header(job, base);
            atomic_load_explicit(&job->header->magic, memory_order_acquire); /* what rank 0 wrote before it */
            return COBRE_OK;
        }
        if (finding == CB_STALE)
            cb_shm_remove_stale(path, job->fd);
        if (job->fd >= 0)
            close(job->fd);
        job->fd = -1;
        if (finding != CB_NOTHING && finding != CB_STALE && finding != CB_UNREADY)
            return cb_shm_refuse_name(finding, path, &header);
    } while (wait_more(patience));
    return give_up(job, patience, "there is no segment; has rank 0 been started?");
}

/* Tells why the job did not form; the same on all ranks. */
static cobre_status refuse_job(const struct cb_job *job, size_t missing, uint32_t state) {
    const char *how = state == CB_DIED                          ? "died while the job formed"
                      : state == CB_LEFT || state == CB_ABORTED ? "gave up while the job formed"
                                                                : "did not come in time";
    struct cb_details details = {
        .operation = "open",
        .subject = "shm",
        .cause = state == CB_DIED   ? COBRE_CAUSE_PEER_DIED
                 : state == CB_LEFT ? COBRE_CAUSE_PEER_LEFT
                                    : COBRE_CAUSE_TRANSPORT,
        .culprit = missing,
        .os_error = state == CB_ABSENT ? ETIMEDOUT : ECONNABORTED,
        .suggestion = "look at that rank's output; start all ranks; COBRE_SHM_TIMEOUT_SECS sets the longest wait",
    };
    return cb_error(NULL, COBRE_SHM, COBRE_INITIALIZATION_FAILED, &details, "shm: rank %zu of %zu %s", missing,
                    job->size, how);
}

/* The state of the job as a whole: that of the first rank that died or gave up, else of the first that is missing, else
 * JOINED. */
static uint32_t look_at_ranks(const struct cb_job *job, size_t *which) {
    uint32_t found = CB_JOINED;
    for (size_t r = 0; r < job->size; r++) {
        uint32_t state = cb_shm_state(&job->ranks[r]);
        if (state == CB_JOINED || (state == CB_ABSENT && found == CB_ABSENT))
            continue;
        *which = r;
        found = state;
        if (state != CB_ABSENT)
            break;
    }
    return found;
}

/* Rank 0, step 3. */
static cobre_status await_ranks(struct cb_job *job, struct patience *patience) {
    struct cb_job_header *header = job->header;
    size_t missing = 0;
    uint32_t state;
    while ((state = look_at_ranks(job, &missing)) == CB_ABSENT && wait_more(patience))
        ;
    if (state == CB_JOINED)
        return COBRE_OK;
    atomic_store_explicit(&header->missing, (uint32_t)missing, memory_order_relaxed);
    atomic_store_explicit(&header->missing_state, state, memory_order_relaxed);
    atomic_store_explicit(&header->phase, CB_FAILED, memory_order_release);
    return patience->interrupted ? give_up(job, patience, "others are missing") : refuse_job(job, missing, state);
}

/* Rank 0 is dead, and its name must go. */
static void remove_dead_name(const struct cb_job *job, const struct patience *patience) {
    char path[256];
    cb_shm_path(cb_shm_own(patience->options)->name, path);
    cb_shm_remove_dead(path, job->fd);
}

/* The others, step 4. */
static cobre_status await_ready(struct cb_job *job, struct patience *patience) {
    struct cb_job_header *header = job->header;
    for (patience->nap = 50e-6;;) {
        uint32_t phase = atomic_load_explicit(&header->phase, memory_order_acquire);
        if (phase == CB_READY)
            return COBRE_OK;
        if (phase == CB_FAILED)
            return refuse_job(job, atomic_load_explicit(&header->missing, memory_order_relaxed),
                              atomic_load_explicit(&header->missing_state, memory_order_relaxed));
        uint32_t state = cb_shm_state(&job->ranks[0]);
        if (state != CB_JOINED && atomic_load_explicit(&header->phase, memory_order_acquire) == CB_FORMING) {
            remove_dead_name(job, patience);
            return refuse_job(job, 0, state);
        }
        if (!wait_more(patience)) {
            size_t missing = 0;
            state = look_at_ranks(job, &missing);
            return patience->interrupted ? give_up(job, patience, "others are missing")
                                         : refuse_job(job, missing, state);
        }
    }
}

static cobre_status lead(struct cb_job *job, struct patience *patience) {
    char path[256];
    cobre_status status = build_segment(job, cb_shm_own(patience->options)->name);
    if (!status)
        status = await_ranks(job, patience);
    cb_shm_path(cb_shm_own(patience->options)->name, path);
    if (job->fd >= 0)
        cb_shm_drop_name(path, job->fd);
    if (!status)
        atomic_store_explicit(&job->header->phase, CB_READY, memory_order_release);
    return status;
}

static cobre_status follow(struct cb_job *job, struct patience *patience) {
    cobre_status status = find_segment(job, patience);
    if (!status)
        status = claim_rank(job);
    if (!status) {
        announce(job);
        patience->deadline += 2; /* rank 0's comes first: it tells all who is missing, instead of who gave up waiting */
        status = await_ready(job, patience);
    }
    return status;
}

static void release_job(struct cb_job *job) {
    if (atomic_fetch_sub_explicit(&job->users, 1, memory_order_acq_rel) > 1)
        return;
    if (job->claimed)
        cb_shm_release_rank(job);
    if (job->header)
        cb_shm_unmap(job->header, job->header->fixed_bytes);
    if (job->fd >= 0 && (!job->file.inode || cb_shm_has_file(job)))
        close(job->fd);
    cb_shm_forget_places(job);
    pthread_mutex_destroy(&job->placing);
    free(job);
}

static cobre_status no_memory(size_t bytes) {
    return cb_no_room(NULL, COBRE_SHM, &(struct cb_shortage){.operation = "open", .asked = bytes, .os_error = ENOMEM});
}

static cobre_status join(const cb_options *options, struct cb_job **result) {
    struct cb_job *job = calloc(1, sizeof *job);
    if (!job)
        return no_memory(sizeof *job);
    *job = (struct cb_job){.users = 1, .fd = -1, .rank = options->rank, .size = options->size};
    pthread_mutex_init(&job->placing, NULL);
    struct patience patience = {.options = options, .deadline = cb_now() + options->join_timeout_secs, .nap = 50e-6};
    cobre_status status = job->rank == 0 ? lead(job, &patience) : follow(job, &patience);
    if (status) {
        release_job(job);
        return status;
    }
    cb_identify(job->fd, &job->file);
    job->crowded = is_crowded(job);
    *result = job;
    return COBRE_OK;
}

cobre_status cb_shm_open(const cb_options *options, cobre_comm **result) {
    struct cb_shm_comm *comm = calloc(1, sizeof *comm);
    if (!comm)
        return no_memory(sizeof *comm);
    cobre_status status = join(options, &comm->job);
    if (status) {
        free(comm);
        return status;
    }
    comm->base.backend = COBRE_SHM;
    comm->base.rank = comm->base.node_rank = options->rank;
    comm->base.size = comm->base.node_size = options->size;
    comm->bulk_bytes = comm->job->header->bulk_bytes;
    cb_shm_attach_arena(comm, (char *)comm->job->header + first_arena_at(options->size));
    *result = &comm->base;
    return COBRE_OK;
}

void cb_shm_free(cobre_comm *base) {
    struct cb_shm_comm *comm = (struct cb_shm_comm *)base;
    cb_shm_leave(comm);
    cb_shm_extent_free(&comm->arena);
    release_job(comm->job);
    free(comm);
}

void cb_shm_abort(cobre_comm *base, int code, const char *text) {
    struct cb_shm_comm *comm = (struct cb_shm_comm *)base;
    struct cb_rank_header *rank = &comm->job->ranks[base->rank];
    rank->abort_code = code;
    snprintf(rank->abort_text, sizeof rank->abort_text, "%s", text);
    atomic_store_explicit(&rank->state, CB_ABORTED, memory_order_release);
    cb_shm_leave(comm);
}
