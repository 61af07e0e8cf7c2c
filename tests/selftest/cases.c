/* SPDX-License-Identifier: Apache-2.0 */
/* Cases that go wrong on purpose: a runner that reports nothing would pass everything. run.sh says what must come out.
 */
#include "kit/kit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_last(const kit *k) {
    return k->rank + 1 == k->size;
}

static void passes(kit *k) {
    printf("text that nobody needs\n");
    CHECK_OK(cobre_barrier(k->comm));
}

static void fails(kit *k) {
    kit_note(k, "thinking of a number");
    CHECK_EQ(is_last(k) ? 41 : 42, 42);
    CHECK_OK(cobre_barrier(k->comm));
}

static void fails_with_error(kit *k) {
    CHECK_OK(cobre_broadcast(k->comm, NULL, 0, COBRE_U8, k->size));
}

static void crashes(kit *k) {
    if (is_last(k))
        raise(SIGKILL);
    CHECK_OK(cobre_barrier(k->comm));
}

static void hangs(kit *k) {
    kit_note(k, "on the way to the barrier");
    if (is_last(k))
        for (;;)
            pause();
    CHECK_OK(cobre_barrier(k->comm));
}

static void skips(kit *k) {
    SKIP(k, "not today");
}

static void skips_partly(kit *k) {
    if (is_last(k))
        SKIP(k, "not me");
}

static void leaves_process(kit *k) {
    if (is_last(k) && fork() == 0)
        for (;;)
            pause();
}

static void leaves_name(kit *k) {
    char path[256];
    snprintf(path, sizeof path, "/dev/shm%s-left", k->config->shm_name);
    if (is_last(k))
        CHECK(close(open(path, O_CREAT | O_WRONLY, 0600)) == 0);
}

/* As an MPI might: under names that are not the runner's. */
static void leaves_files(kit *k) {
    char path[256];
    snprintf(path, sizeof path, "/dev/shm/left-by-selftest-%d", (int)getpid());
    if (is_last(k))
        CHECK(close(open(path, O_CREAT | O_WRONLY, 0600)) == 0);
    snprintf(path, sizeof path, "%s/left-by-selftest", getenv("TMPDIR"));
    if (is_last(k))
        CHECK(close(open(path, O_CREAT | O_WRONLY, 0600)) == 0);
}

static void forgets_region(kit *k) {
    cobre_region *region;
    CHECK_OK(cobre_region_create(k->comm, 1, COBRE_U8, 0, &region));
}

static const kit_case cases[] = {
    KIT_CASE(passes),      KIT_CASE(fails),        KIT_CASE(fails_with_error), KIT_CASE(crashes),
    KIT_CASE(hangs),       KIT_CASE(skips),        KIT_CASE(skips_partly),     KIT_CASE(leaves_process),
    KIT_CASE(leaves_name), KIT_CASE(leaves_files), KIT_CASE(forgets_region),   KIT_END,
};
const kit_case *const kit_tables[] = {cases, NULL};
