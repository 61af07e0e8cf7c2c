/* SPDX-License-Identifier: Apache-2.0 */
/* cycles.c: open and free, create and free, split and free, again and again: nothing may grow. */
#include "fault/operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t plan_seed; /* the same on all ranks */

typedef struct {
    kit_usage kept;
    size_t threads, resident_kib, segments; /* mappings of files in /dev/shm */
} usage;

static usage count_usage(void) {
    usage now = {.kept = kit_count_usage()};
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file);
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "Threads: %zu", &now.threads);
        sscanf(line, "VmRSS: %zu", &now.resident_kib);
    }
    fclose(file);
    file = fopen("/proc/self/maps", "r");
    CHECK(file);
    while (fgets(line, sizeof line, file))
        now.segments += strstr(line, "/dev/shm/") != NULL;
    fclose(file);
    return now;
}

static void must_not_grow(const usage *before, const usage *after) {
    CHECK_SAY(after->kept.descriptors <= before->kept.descriptors, "descriptors stay at %zu: %zu",
              before->kept.descriptors, after->kept.descriptors);
    CHECK_SAY(after->segments <= before->segments, "mapped segments stay at %zu: %zu", before->segments,
              after->segments);
    CHECK_SAY(after->kept.shm_blocks <= before->kept.shm_blocks, "blocks in /dev/shm stay at %zu: %zu",
              before->kept.shm_blocks, after->kept.shm_blocks);
    CHECK_SAY(after->threads <= before->threads, "threads stay at %zu: %zu", before->threads, after->threads);
    if (KIT_SANITIZED) /* which keep freed memory for a while on purpose */
        return;
    CHECK_SAY(after->kept.mappings <= before->kept.mappings + 2, "mappings stay at %zu: %zu", before->kept.mappings,
              after->kept.mappings); /* the allocator may have opened an arena */
    CHECK_SAY(after->resident_kib <= before->resident_kib + 512, "resident memory stays at %zu KiB: %zu",
              before->resident_kib, after->resident_kib);
}

/* The first tenth is for caches to fill; the rest must leave no trace. */
static void repeat(size_t times, void (*once)(cobre_comm *), cobre_comm *comm) {
    usage before = {0};
    for (size_t i = 0; i < times; i++) {
        if (i == times / 10) {
            if (comm)
                CHECK_OK(cobre_barrier(comm)); /* all have given back what they had */
            before = count_usage();
            if (comm)
                CHECK_OK(cobre_barrier(comm)); /* nobody takes more while another counts */
        }
        once(comm);
    }
    if (comm)
        CHECK_OK(cobre_barrier(comm));
    usage after = count_usage();
    if (comm)
        CHECK_OK(cobre_barrier(comm));
    must_not_grow(&before, &after);
}

static void open_and_free(cobre_comm *none) {
    (void)none;
    cobre_comm *comm = open_rank();
    uint64_t mine = self.rank + 1, sum = 0;
    CHECK_OK(cobre_allreduce(comm, &mine, 1, &sum, 1, COBRE_U64, COBRE_SUM));
    CHECK(sum == self.size * (self.size + 1) / 2);
    CHECK_OK(cobre_comm_free(&comm));
}

static void many_opens(void) {
    repeat(kit_times(1000), open_and_free, NULL);
}

static void create_and_free(cobre_comm *comm) {
    static size_t number;
    cobre_region *region;
    number++;
    size_t count = 1000 * (1 + number % 50);
    CHECK_OK(cobre_region_create(comm, count, COBRE_F64, number % 2 ? COBRE_REGION_INTERLEAVE : 0, &region));
    double *mine = cobre_region_claim(region, count * self.rank / self.size, count / self.size);
    for (size_t i = 0; i < count / self.size; i++) {
        CHECK(mine[i] == 0); /* what was in an old region is not seen again */
        mine[i] = 1;
    }
    if (number % 3 == 0)
        CHECK_OK(cobre_region_seal(region));
    else
        CHECK_OK(cobre_region_fence(region));
    CHECK(*(const double *)cobre_region_data(region) == 1);
    CHECK_OK(cobre_region_free(&region));
}

static void many_regions(void) {
    cobre_comm *comm = open_rank();
    repeat(kit_times(1000), create_and_free, comm);
    CHECK_OK(cobre_comm_free(&comm));
}

static void split_and_free(cobre_comm *comm) {
    cobre_comm *local;
    CHECK_OK(cobre_split_local(comm, &local));
    open_and_free(NULL);
    CHECK_OK(cobre_barrier(local));
    create_and_free(local);
    CHECK_OK(cobre_comm_free(&local));
}

static void many_splits(void) {
    cobre_comm *comm = open_rank();
    repeat(kit_times(200), split_and_free, comm);
    CHECK_OK(cobre_comm_free(&comm));
}

/* The last collective of a job: who leaves right after it has not failed the others, however late they look. One rank
 * comes late, so that the others are asleep when it ends. */
static void finish_and_leave(bool in_order) {
    uint64_t state = plan_seed;
    tools t = equip();
    if (kit_below(&state, self.size) == self.rank)
        set_aside(1e-6 * (double)kit_below(&state, 4000));
    CHECK_OK(mixed_collectives(&t, &plan_seed));
    if (in_order)
        put_away(&t);
    else
        exit(0);
}

static void finish_and_free(void) {
    for (size_t i = 0; i < 5; i++)
        finish_and_leave(true);
}

static void finish_and_exit(void) {
    finish_and_leave(false);
}

/* A join that fails leaves nothing either. */
static void open_and_fail(cobre_comm *none) {
    (void)none;
    cobre_config config = rank_config();
    cobre_comm *comm;
    config.join_timeout_secs = 1e-3;
    CHECK(cobre_comm_open(&config, &comm) == COBRE_INITIALIZATION_FAILED && !comm);
}

static void many_failures(void) {
    self.size = 3;
    repeat(kit_times(300), open_and_fail, NULL);
}

static void run(size_t size, void (*body)(void)) {
    job j;
    start_job(&j, size, body);
    end_job(&j);
}

static void open_cycles(void) {
    run(2, many_opens);
}

static void region_cycles(void) {
    run(2, many_regions);
    run(3, many_regions);
}

static void split_cycles(void) {
    run(2, many_splits);
}

static void leaving_after_the_last(void) {
    for (size_t i = 0; i < kit_times(60); i++) {
        plan_seed = kit_random(chance());
        run(2 + i % 3, i % 2 ? finish_and_free : finish_and_exit);
    }
}

static void failing_cycles(void) {
    run(1, many_failures);
}

const check_case cycle_cases[] = {
    {.name = "open_cycles", .run = open_cycles, .busy = true},
    {.name = "region_cycles", .run = region_cycles, .busy = true, .only = COBRE_SHM},
    {.name = "split_cycles", .run = split_cycles, .busy = true, .only = COBRE_SHM},
    {.name = "leaving_after_the_last", .run = leaving_after_the_last, .busy = true},
    {.name = "failing_cycles", .run = failing_cycles, .busy = true},
    CHECK_END,
};
