/* SPDX-License-Identifier: Apache-2.0 */
/* wait.c: publishes a round, waits for the others, and ends a wait that fails.
 *
 * A wait goes through three phases: spin while the ranks fit on the cores; yield for a bounded time, which lets others run;
 * then sleep on the word. Ranks that fit can still share one core, and the system may leave them there for long while
 * another core is idle. Then a rank sleeps at once, because a woken rank goes to an idle core. Around a sleep the
 * order matters:
 *
 *     check which ranks are gone; then read the word: reached?  -> done. A published slot beats the death of its rank.
 *     failure set, somebody gone, interrupted, stalled?  -> fail
 *     raise the door's sleepers; read the word again: reached?  -> lower it, done
 *     sleep while the word has the value just read, at most one slice; lower it; again
 *
 * The publisher stores the word and then reads the count, the sleeper raises the count and then reads the word, all
 * sequentially consistent: one of the two sees the other. If the word changes after it was read, the kernel, which compares
 * it with the value just read, does not let the sleeper sleep. tests/unit/model_slots.c shows that both are needed. */
#include <limits.h>
#include <sched.h>
#include <string.h>
#ifndef COBRE_SHM_PORTABLE
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "backends/shm/shm.h"

#define SPIN_SECONDS 5e-6          /* no longer: who we wait for may have been woken on this core */
#define YIELD_SECONDS 10e-3        /* a core that sleeps may wake up slow: with cold caches, or elsewhere on its host */
#define CROWDED_YIELD_SECONDS 1e-3 /* on a core that another rank needs */
#define SLICE_SECONDS 25e-3        /* asleep, between two looks at who is gone */

static inline void pause_core(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static inline bool reached(const _Atomic uint32_t *word, uint32_t value) {
    return atomic_load_explicit(word, memory_order_acquire) == value;
}

#ifdef COBRE_SHM_PORTABLE
/* Timed sleeps: nobody has to be woken. Not a process-shared condition variable: glibc's hangs for ever once a sleeping
 * waiter has been killed. */
static void wake(_Atomic uint32_t *word) {
    (void)word;
}

static uint32_t this_core(void) {
    return 0; /* nobody is woken, so nobody is woken elsewhere */
}

/* One nap of a tenth of what has been waited: late by a tenth at the most, and rare when the wait is long. */
static void sleep_on(struct cb_door *door, _Atomic uint32_t *word, uint32_t value, double since) {
    (void)door, (void)word, (void)value;
    double nap = (cb_now() - since) / 10;
    cb_nap(nap < 50e-6 ? 50e-6 : nap > 20e-3 ? 20e-3 : nap);
}
#else
/* Its number and 1; 0: not known. */
static uint32_t this_core(void) {
    return (uint32_t)(sched_getcpu() + 1);
}

static void wake(_Atomic uint32_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Until the word changes, a signal comes, or a slice of time has passed. */
static void sleep_on(struct cb_door *door, _Atomic uint32_t *word, uint32_t value, double since) {
    (void)since;
    struct timespec slice = cb_timespec(SLICE_SECONDS);
    atomic_fetch_add_explicit(&door->sleepers, 1, memory_order_seq_cst);
    uint32_t seen = atomic_load_explicit(word, memory_order_seq_cst);
    if (seen != value)
        syscall(SYS_futex, word, FUTEX_WAIT, seen, &slice, NULL, 0);
    atomic_fetch_sub_explicit(&door->sleepers, 1, memory_order_relaxed);
}
#endif

void cb_shm_publish(struct cb_shm_comm *comm, const cb_call *call) {
    size_t me = comm->base.rank;
    uint32_t round = ++comm->round;
    struct cb_slot *slot = cb_shm_slot(comm, me, round);
    slot->print = call->print;
    atomic_store_explicit(&slot->round, round, memory_order_seq_cst);
    if (atomic_load_explicit(&comm->doors[me].sleepers, memory_order_seq_cst))
        wake(&slot->round);
}

void cb_shm_leave(struct cb_shm_comm *comm) {
    atomic_store_explicit(&comm->doors[comm->base.rank].left, 1, memory_order_release);
    for (uint32_t parity = 0; parity < 2; parity++)
        wake(&cb_shm_slot(comm, comm->base.rank, parity)->round);
}

/* The first failure of a communicator in one word, so that no rank can die half-way through telling it. */
static uint64_t failure_word(cobre_cause cause, size_t culprit) {
    return (uint64_t)cause << 32 | culprit;
}

static cobre_cause failure_cause(uint64_t word) {
    return (cobre_cause)(word >> 32);
}

static size_t failure_culprit(uint64_t word) {
    return word & UINT32_MAX;
}

static const cb_fingerprint *call_of(const void *comm, size_t rank) {
    const struct cb_shm_comm *shm = comm;
    return &cb_shm_slot(shm, rank, shm->round)->print;
}

/* The failure behind the word, completed from places that no longer change once the word is set. */
static cb_failure failure_of(const struct cb_shm_comm *comm, uint64_t word) {
    size_t culprit = failure_culprit(word);
    const struct cb_rank_header *rank = &comm->job->ranks[culprit];
    cb_failure failure = {.cause = failure_cause(word), .culprit = (uint32_t)culprit, .pid = rank->pid};
    if (failure.cause == COBRE_CAUSE_MISMATCH)
        cb_find_mismatch(&failure, comm->base.size, call_of, comm);
    if (failure.cause == COBRE_CAUSE_ABORTED) {
        failure.code = rank->abort_code;
        memcpy(failure.text, rank->abort_text, sizeof failure.text);
    }
    return failure;
}

cobre_status cb_shm_broken(struct cb_shm_comm *comm, const cb_call *call) {
    cb_failure failure = failure_of(comm, atomic_load_explicit(&comm->head->failure, memory_order_acquire));
    return cb_report_failure(&comm->base, (cb_operation)call->print.operation, comm->sequence, &failure);
}

/* Records a failure, unless another came first, and wakes everyone: they must not wait out their slice. */
static cobre_status fail(struct cb_shm_comm *comm, const cb_call *call, cobre_cause cause, size_t culprit) {
    uint64_t none = 0, word = failure_word(cause, culprit);
    atomic_compare_exchange_strong_explicit(&comm->head->failure, &none, word, memory_order_acq_rel,
                                            memory_order_acquire);
    for (size_t slot = 0; slot < 2 * comm->base.size; slot++)
        wake(&comm->slots[slot].round);
    return cb_shm_broken(comm, call);
}

static cobre_cause why_gone(const struct cb_shm_comm *comm, size_t r) {
    switch (cb_shm_state(&comm->job->ranks[r])) {
    case CB_ABORTED: return COBRE_CAUSE_ABORTED;
    case CB_DIED: return COBRE_CAUSE_PEER_DIED;
    case CB_LEFT: return COBRE_CAUSE_PEER_LEFT;
    default:
        return atomic_load_explicit(&comm->doors[r].left, memory_order_acquire) ? COBRE_CAUSE_PEER_LEFT
                                                                                : COBRE_CAUSE_NONE;
    }
}

static bool round_is_complete(const struct cb_shm_comm *comm) {
    for (size_t r = 0; r < comm->base.size; r++)
        if (!reached(&cb_shm_slot(comm, r, comm->round)->round, comm->round))
            return false;
    return true;
}

/* Is somebody gone without whom this round cannot end? A rank that is gone may have published it and waited for
 * another, like us, or may have seen it complete and left in order. So look at the ranks first and at the slots again
 * after that: if one is still missing then, the one that is gone cannot have got further than this round. Who aborted
 * or died comes before who left: the first may be why the second left. */
static cobre_cause find_gone(const struct cb_shm_comm *comm, size_t *culprit) {
    cobre_cause worst = COBRE_CAUSE_NONE;
    for (size_t r = 0; r < comm->base.size; r++) {
        cobre_cause cause = r == comm->base.rank ? COBRE_CAUSE_NONE : why_gone(comm, r);
        if (cause == COBRE_CAUSE_NONE)
            continue;
        if (worst == COBRE_CAUSE_NONE || (worst == COBRE_CAUSE_PEER_LEFT && cause != COBRE_CAUSE_PEER_LEFT) ||
            (cause == COBRE_CAUSE_ABORTED && worst != COBRE_CAUSE_ABORTED)) {
            worst = cause;
            *culprit = r;
        }
    }
    return worst != COBRE_CAUSE_NONE && round_is_complete(comm) ? COBRE_CAUSE_NONE : worst;
}

static bool spin(const _Atomic uint32_t *word, uint32_t value) {
    double end = 0;
    do {
        for (int i = 0; i < 64; i++) {
            if (reached(word, value))
                return true;
            pause_core();
        }
        end = end > 0 ? end : cb_now() + SPIN_SECONDS;
    } while (cb_now() < end);
    return false;
}

static bool yield_for_a_while(const _Atomic uint32_t *word, uint32_t value, double seconds) {
    double end = cb_now() + seconds;
    do {
        for (int i = 0; i < 8; i++) {
            sched_yield();
            if (reached(word, value))
                return true;
        }
    } while (cb_now() < end);
    return false;
}

/* The slow part of a wait for rank r: asleep, with looks at what could end it. */
static cobre_status sleep_for_rank(struct cb_shm_comm *comm, const cb_call *call, size_t r, double *since) {
    struct cb_slot *slot = cb_shm_slot(comm, r, comm->round);
    const cobre_comm *base = &comm->base;
    if (*since == 0)
        *since = cb_now();
    for (;;) {
        size_t culprit = 0;
        cobre_cause gone = find_gone(comm, &culprit);
        if (reached(&slot->round, comm->round))
            return COBRE_OK;
        if (atomic_load_explicit(&comm->head->failure, memory_order_acquire))
            return cb_shm_broken(comm, call);
        if (gone)
            return fail(comm, call, gone, culprit);
        if (base->interrupted && base->interrupted(base->interrupted_arg))
            return fail(comm, call, COBRE_CAUSE_INTERRUPTED, base->rank);
        if (base->stall_secs > 0 && cb_now() - *since > base->stall_secs)
            return fail(comm, call, COBRE_CAUSE_STALLED, r);
        sleep_on(&comm->doors[r], &slot->round, comm->round, *since);
    }
}

static void note_core(struct cb_door *own, uint32_t core) {
    if (atomic_load_explicit(&own->core, memory_order_relaxed) != core)
        atomic_store_explicit(&own->core, core, memory_order_relaxed);
}

/* The door's rank waited on this core, at last. */
static bool is_here(const struct cb_door *door) {
    uint32_t core = atomic_load_explicit(&door->core, memory_order_relaxed);
    return core && core == this_core();
}

/* The quick part of a wait for rank r: awake. */
static bool comes_soon(const struct cb_shm_comm *comm, size_t r) {
    const _Atomic uint32_t *word = &cb_shm_slot(comm, r, comm->round)->round;
    struct cb_door *own = &comm->doors[comm->base.rank], *other = &comm->doors[r];
    bool crowded = comm->job->crowded;
    if (reached(word, comm->round) || (!crowded && !is_here(other) && spin(word, comm->round))) {
        note_core(own, 0);
        return true;
    }
    if (crowded)
        return yield_for_a_while(word, comm->round, CROWDED_YIELD_SECONDS);
    note_core(own, this_core());
    return !is_here(other) && yield_for_a_while(word, comm->round, YIELD_SECONDS);
}

/* since: when the first sleep of this round began; 0: there was none yet. */
static cobre_status await(struct cb_shm_comm *comm, const cb_call *call, size_t r, double *since) {
    if (comes_soon(comm, r))
        return COBRE_OK;
    return sleep_for_rank(comm, call, r, since);
}

/* Waits until every rank has published this round, and checks that all made the same call. */
cobre_status cb_shm_await_all(struct cb_shm_comm *comm, const cb_call *call) {
    bool same = true;
    double since = 0;
    for (size_t r = 0; r < comm->base.size; r++) {
        if (r == comm->base.rank)
            continue;
        CB_TRY(await(comm, call, r, &since));
        same &= memcmp(&cb_shm_slot(comm, r, comm->round)->print, &call->print, sizeof call->print) == 0;
    }
    if (same)
        return COBRE_OK;
    cb_failure mismatch;
    cb_find_mismatch(&mismatch, comm->base.size, call_of, comm);
    return fail(comm, call, COBRE_CAUSE_MISMATCH, mismatch.culprit);
}
