/* SPDX-License-Identifier: Apache-2.0 */
/* shm.h: the memory that the ranks of a node share, and the rank that may write each part.
 *
 *   file:   [ job header | rank headers | arena of the first communicator | extents: regions, arenas of further ones ]
 *   arena:  [ arena header | doors, one per rank | slots, two per rank | bulk areas, two per rank ]
 *
 * The file has no name once the job has formed. An extent is punched out when the last rank has freed it, and its place
 * is used again (region.c).
 *
 * THE SLOT PROTOCOL. Every collective is one or more rounds. In round n each rank writes its payload into its slot of
 * parity n & 1, publishes it by storing n into the slot's word, and waits until every other rank's slot of that parity
 * shows n. Then it reads the payloads.
 *
 * Two slots are enough. A rank writes the slot of round n + 2, which is that of round n, only after it has seen every
 * rank publish n + 1; and a rank publishes n + 1 only when it has finished reading the payloads of n. So nobody still
 * reads what is overwritten, wherever in the rank's area of that parity its payload lies. For the same reason a word
 * that is waited for shows n - 2 or n, never more: comparing for equality is right, and stays right when the 32-bit
 * number wraps. All this holds only because every round waits for everyone, broadcast included. The first round is 1, and
 * the words of a new arena are 0, because its pages are new: rounds 1 and 2 find words that show neither.
 *
 * Pipelining needs no more: the payload of n + 1 may be written as soon as all have published n (they have finished
 * reading n - 1), so beside reading n; only publishing n + 1 waits until n is read.
 *
 * A collective may succeed on some ranks and fail on others. A rank that gives up a round (somebody is gone, interrupted,
 * stalled) has published it before, so that others may still see that round complete. They find the failure when they
 * enter the next collective or wait in a later round.
 *
 * Sleeping. A publisher stores its word, then reads its door's count of sleepers, both sequentially consistent; a
 * sleeper raises the count (sequentially consistent), then lets the kernel compare the word and sleep. So either the
 * publisher sees the sleeper and wakes it, or the sleeper sees the word. tests/unit/model_slots.c checks all of this
 * exhaustively. */
#ifndef COBRE_BACKENDS_SHM_SHM_H
#define COBRE_BACKENDS_SHM_SHM_H

#include <pthread.h>
#include <semaphore.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "backends/shm/config.h"
#include "comm/same_file.h"

enum {
    CB_SHM_LAYOUT = 6, /* raised when anything below changes, or how a call is cut into rounds */
    CB_SHM_MAX_CPUS = 1024,
    CB_LINE = 64,    /* a cache line */
    CB_SMALL = 32,   /* bytes of a payload that fits into the slot's own line */
    CB_PLACE = 4096, /* the least that a larger one takes of its bulk area */
};
#define CB_SHM_MAGIC UINT64_C(0x31302d6572626f63) /* "cobre-01" */

enum { CB_FORMING, CB_READY, CB_FAILED }; /* cb_job_header.phase */

/* Written by rank 0 before the segment can be found, then constant, but for the atomics. */
struct cb_job_header {
    _Atomic uint64_t magic; /* stored last */
    uint32_t layout, size;
    uint64_t bulk_bytes;            /* of one bulk area */
    uint64_t fixed_bytes;           /* headers and first arena */
    int64_t creator;                /* pid of rank 0 */
    _Atomic uint32_t phase;         /* FORMING until rank 0 stores another */
    _Atomic uint32_t missing;       /* why FAILED: the rank that died, left or did not come; set before phase */
    _Atomic uint32_t missing_state; /* and that rank's state */
};

enum { CB_ABSENT, CB_JOINED, CB_LEFT, CB_ABORTED, CB_DIED }; /* cb_rank_header.state */

/* One per rank, written by that rank; only DIED is stored by the rank that finds it out. Members that are not atomic are
 * ordered by state:
 *
 *   pid, quota, cpus         the rank stores them, then JOINED (release); rank 0 reads the state (acquire), then stores
 *                            READY into phase (release), which the others read (acquire) before they use any of them. A
 *                            process that finds its rank taken reads that rank's state first (acquire).
 *   abort_code, abort_text   the rank stores them, then ABORTED (release); whoever reads that (acquire) stores the failure
 *                            word of the arena (release), and they are read only after that word (acquire). */
struct cb_rank_header {
    alignas(2 * CB_LINE) pthread_mutex_t alive; /* robust; held by the rank's helper thread while it lives */
    _Atomic uint32_t state;
    int64_t pid;                         /* constant from JOINED on, like the next two */
    uint32_t quota;                      /* cores that its cgroup allows */
    uint64_t cpus[CB_SHM_MAX_CPUS / 64]; /* affinity */
    int32_t abort_code;                  /* set before state becomes ABORTED */
    char abort_text[256];
};

struct cb_arena_header {
    alignas(2 * CB_LINE) _Atomic uint64_t failure; /* the first one, 0: none; set once, by compare-and-exchange */
};

/* A rank's door: where the others wait for its words. One per rank and communicator. */
struct cb_door {
    alignas(2 * CB_LINE) _Atomic uint32_t sleepers; /* ranks that may be asleep on this rank's words; they count it */
    _Atomic uint32_t left;                          /* set by this rank when it frees the communicator */
    _Atomic uint32_t core; /* set by this rank: 1 + the core where it last waited for long; 0: not known, not long */
};

/* Written by its rank only, published by `round`. One line: a payload of up to CB_SMALL bytes costs one transfer. */
struct cb_slot {
    alignas(CB_LINE) _Atomic uint32_t round;
    cb_fingerprint print;
    unsigned char small[CB_SMALL];
};
_Static_assert(sizeof(struct cb_slot) == CB_LINE, "a slot is one line");

/* An extent's first page, written by rank 0 before others know of it. Rank 0 also reads `taken` from the file, without the
 * mapping: a page that has been punched out reads 0 there, and stays out. */
struct cb_extent_header {
    _Atomic uint32_t attached; /* ranks that have not freed it; at first the size of the job */
    _Atomic uint32_t taken;    /* 1 until the page is punched out, which is the last step of freeing the extent */
};

/* The place of an extent. Only the process of rank 0 lists them: it is rank 0 of all communicators of the job. */
struct cb_place {
    struct cb_place *next; /* at a higher offset */
    off_t offset;
    size_t bytes;
};

struct cb_extent {
    void *base;   /* the header's page, then the data */
    size_t bytes; /* header included */
    off_t offset;
};

/* This process's side of a job; shared by its communicators. */
struct cb_job {
    _Atomic unsigned users; /* communicators */
    int fd;
    struct cb_identity file; /* behind fd, once the job has formed */
    size_t rank, size;
    bool crowded; /* more ranks than cores: spinning would keep others from running */
    struct cb_job_header *header;
    struct cb_rank_header *ranks;
    pthread_t helper;
    sem_t answered, leave; /* the helper has claimed the rank or not; it shall let go */
    int claim_error;
    bool claimed;
    pthread_mutex_t placing; /* guards places: each communicator may be used by another thread */
    struct cb_place *places; /* rank 0: of extents that were taken at the last look */
};

struct cb_shm_comm {
    cobre_comm base;
    struct cb_job *job;
    struct cb_extent arena; /* base NULL: the arena in the job's fixed part */
    struct cb_arena_header *head;
    struct cb_door *doors;
    struct cb_slot *slots;
    unsigned char *bulk;
    size_t bulk_bytes;
    uint32_t round;      /* last published */
    uint64_t sequence;   /* collectives so far */
    double stream_until; /* put.c: a time */
    bool slow_put;       /* its last piece */
};

/* mapping.c */
void *cb_shm_map(int fd, off_t offset, size_t bytes); /* NULL: errno says why */
void cb_shm_unmap(void *base, size_t bytes);
/* Makes the file at least so long, without pages; 0 or errno, EFBIG beyond the limit of file sizes. */
int cb_shm_lengthen(int fd, off_t end);
/* Makes the pages of [offset, offset + bytes); 0 or errno, ENOSPC or ENOMEM when there are too few. */
int cb_shm_reserve(int fd, off_t offset, size_t bytes);
bool cb_shm_empty(void *base, size_t bytes); /* punches pages out of the file; they may be sealed or locked */

/* A program may close fd and have a file of its own there. So ask before fd is used: */
bool cb_shm_has_file(const struct cb_job *job);

/* liveness.c */
int cb_shm_init_alive(pthread_mutex_t *alive);
int cb_shm_claim_rank(struct cb_job *job); /* 0, EBUSY: taken, EOWNERDEAD: its process died; other errno */
void cb_shm_release_rank(struct cb_job *job);
uint32_t cb_shm_state(struct cb_rank_header *rank); /* its state now, DIED found out */

/* join.c */
size_t cb_shm_arena_bytes(size_t size, size_t bulk_bytes);
void cb_shm_attach_arena(struct cb_shm_comm *comm, void *base);

/* wait.c */
void cb_shm_publish(struct cb_shm_comm *comm, const cb_call *call);
cobre_status cb_shm_await_all(struct cb_shm_comm *comm, const cb_call *call);
void cb_shm_leave(struct cb_shm_comm *comm); /* the others' waits for this rank end */
cobre_status cb_shm_broken(struct cb_shm_comm *comm, const cb_call *call);

/* Starts a collective: numbers it, or fails if the communicator is broken. */
static inline cobre_status cb_shm_enter(struct cb_shm_comm *comm, const cb_call *call) {
    comm->sequence++;
    if (atomic_load_explicit(&comm->head->failure, memory_order_acquire))
        return cb_shm_broken(comm, call);
    return COBRE_OK;
}

static inline struct cb_slot *cb_shm_slot(const struct cb_shm_comm *comm, size_t rank, uint32_t round) {
    return &comm->slots[2 * rank + (round & 1)];
}

/* Where rank's payload of that round lies. One that is smaller than a bulk area moves on through it from round to round:
 * lines that the readers still have in their caches are expensive to write. The place depends on `bytes`, so the writer and
 * its readers must pass the same. SIZE_MAX: the start of the area. */
static inline unsigned char *cb_shm_payload(const struct cb_shm_comm *comm, size_t rank, uint32_t round, size_t bytes) {
    if (bytes <= CB_SMALL)
        return cb_shm_slot(comm, rank, round)->small;
    unsigned char *area = comm->bulk + (2 * rank + (round & 1)) * comm->bulk_bytes;
    size_t place = CB_PLACE;
    while (place < bytes && place < comm->bulk_bytes)
        place *= 2;
    return area + ((round >> 1) * place & (comm->bulk_bytes - 1)); /* both are powers of two */
}

/* put.c */
void cb_shm_put(struct cb_shm_comm *comm, unsigned char *to, const unsigned char *from, size_t bytes);

/* region.c */
void cb_shm_extent_free(struct cb_extent *extent);
void cb_shm_forget_places(struct cb_job *job);

#endif
