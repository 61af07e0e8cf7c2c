/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: what can already be in /dev/shm under the name that a job wants, and jobs that meet there. */
#include "kit/harness.h"

#include "backends/shm/shm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    double timeout;
    size_t told_size[KIT_MAX_RANKS]; /* 0: the right one */
} plan;

/* Joins, sums the ranks, waits for an order, sums again, leaves. */
static void join_and_stay(void) {
    cobre_config config = rank_config();
    cobre_comm *comm;
    if (plan.timeout > 0)
        config.join_timeout_secs = plan.timeout;
    if (plan.told_size[self.rank])
        config.size = plan.told_size[self.rank];
    report_inside();
    if (tell("opened", cobre_comm_open(&config, &comm)))
        return;
    for (int i = 0; i < 2; i++) {
        uint64_t mine = self.rank + 1, sum = 0;
        CHECK_OK(cobre_allreduce(comm, &mine, 1, &sum, 1, COBRE_U64, COBRE_SUM));
        CHECK(sum == self.size * (self.size + 1) / 2);
        if (i == 0) {
            say("formed", 0);
            await_order();
        }
    }
    CHECK_OK(cobre_comm_free(&comm));
}

static void join_only(void) {
    plan.timeout = 2;
    join_and_stay();
}

static void path_of(const job *j, char path[128]) {
    snprintf(path, 128, "/dev/shm%s", j->name);
}

static void must_refuse(const report *r, const char *text) {
    CHECK_SAY(r->status == COBRE_INITIALIZATION_FAILED && strstr(r->message, text),
              "rank %zu: InitializationFailed with \"%s\", not %s: %s", r->rank, text, cobre_status_name(r->status),
              r->message);
    CHECK(r->suggestion[0]);
}

static void must_form(job *j) {
    await_all(j, "formed");
    CHECK(!name_exists(j->name)); /* from here on nothing of it has a name */
    order_all(j, 'g');
    end_job(j);
}

static void name_of_forming_job(void) {
    job first, second;
    char pid[32];
    make_job(&first, 2);
    start_rank(&first, 0, join_and_stay);
    await(&first, 0, "inside");
    make_job(&second, 2);
    snprintf(second.name, sizeof second.name, "%s", first.name);
    start_rank(&second, 0, join_and_stay);
    snprintf(pid, sizeof pid, "pid %d", (int)first.rank[0].pid);
    must_refuse(await(&second, 0, "opened"), pid);
    CHECK(name_exists(first.name)); /* the first has not lost its name by that */
    start_rank(&first, 1, join_and_stay);
    must_form(&first);
    end_job(&second);
}

static void name_again_at_once(void) {
    job j[3];
    start_job(&j[0], 2, join_and_stay);
    for (size_t i = 0; i < 3; i++) {
        await_all(&j[i], "formed");
        if (i == 2)
            break;
        make_job(&j[i + 1], 3);
        snprintf(j[i + 1].name, sizeof j[i + 1].name, "%s", j[0].name);
        for (size_t r = 0; r < 3; r++)
            start_rank(&j[i + 1], r, join_and_stay);
    }
    for (size_t i = 0; i < 3; i++) {
        order_all(&j[i], 'g');
        end_job(&j[i]);
    }
}

static void two_jobs_at_once(void) {
    job a, b;
    make_job(&a, 3);
    make_job(&b, 4);
    for (size_t r = 0; r < 4; r++) {
        if (r < 3)
            start_rank(&a, r, join_and_stay);
        start_rank(&b, 3 - r, join_and_stay);
    }
    await_all(&a, "formed"); /* both are there at the same time */
    must_form(&b);
    order_all(&a, 'g');
    end_job(&a);
}

/* The bytes of a segment whose job is dead. */
static size_t stale_bytes(char **bytes) {
    job j;
    char path[128];
    struct stat file;
    make_job(&j, 4);
    start_rank(&j, 0, join_and_stay);
    await(&j, 0, "inside");
    path_of(&j, path);
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    kill_rank(&j, 0);
    await_end(&j, 0);
    CHECK(fstat(fd, &file) == 0 && (*bytes = malloc((size_t)file.st_size)));
    CHECK(pread(fd, *bytes, (size_t)file.st_size, 0) == file.st_size);
    close(fd);
    CHECK(unlink(path) == 0);
    end_job(&j);
    return (size_t)file.st_size;
}

static void put_file(const char *path, const char *bytes, size_t count) {
    char other[160];
    snprintf(other, sizeof other, "%s-new", path);
    int fd = open(other, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0 && write(fd, bytes, count) == (ssize_t)count && rename(other, path) == 0);
    close(fd);
}

/* All ranks meet at the stale name at the same time: each may be the one who removes it, and none may take it for live.
 */
static void name_of_dead_job(void) {
    char *bytes, path[128];
    size_t count = stale_bytes(&bytes);
    for (size_t i = 0; i < kit_times(300); i++) {
        job j;
        make_job(&j, 4);
        path_of(&j, path);
        put_file(path, bytes, count < 65536 ? count : 65536); /* the header is in the first pages */
        for (size_t r = 0; r < 4; r++)
            start_rank(&j, (r + i) % 4, join_and_stay);
        for (size_t r = 0; r < 4; r++)
            CHECK(await(&j, r, "opened")->status == COBRE_OK);
        must_form(&j);
    }
    free(bytes);
}

/* Creator and joiner get a clear error, and the file stays as it is. */
static void refuse_both(const char *text, void (*put)(const char *path), void (*look)(const char *path)) {
    for (size_t rank = 0; rank < 2; rank++) {
        job j;
        char path[128];
        make_job(&j, 2);
        path_of(&j, path);
        put(path);
        start_rank(&j, rank, join_only);
        const report *opened = await(&j, rank, "opened");
        must_refuse(opened, text);
        CHECK_SAY(strstr(opened->message, j.name), "the error names %s: %s", j.name, opened->message);
        look(path);
        end_job(&j);
    }
}

static void put_text(const char *path) {
    put_file(path, "not a segment, but dear to somebody\n", 36);
}

static void must_be_text(const char *path) {
    char text[64] = "";
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && read(fd, text, sizeof text) == 36 && memcmp(text, "not a segment", 13) == 0);
    close(fd);
    CHECK(unlink(path) == 0);
}

static void put_directory(const char *path) {
    CHECK(mkdir(path, 0700) == 0);
}

static void must_be_directory(const char *path) {
    CHECK(rmdir(path) == 0);
}

static void put_fifo(const char *path) {
    CHECK(mkfifo(path, 0600) == 0);
}

static void put_link(const char *path) {
    char other[160];
    snprintf(other, sizeof other, "%s-target", path);
    put_text(other);
    CHECK(symlink(other, path) == 0);
}

static void must_be_link(const char *path) {
    char other[160];
    snprintf(other, sizeof other, "%s-target", path);
    must_be_text(other);
    CHECK(unlink(path) == 0);
}

static void must_unlink(const char *path) {
    CHECK(unlink(path) == 0);
}

static void name_of_other_file(void) {
    refuse_both("not a cobre segment", put_text, must_be_text);
    refuse_both("", put_directory, must_be_directory);
    refuse_both("", put_fifo, must_unlink);
    refuse_both("", put_link, must_be_link);
}

static void put_foreign(const char *path) {
    put_file(path, "", 0);
    CHECK(chown(path, 12345, 12345) == 0);
}

static void name_of_other_user(void) {
    if (geteuid() != 0)
        check_skip("only root can make files of another user");
    refuse_both("another user", put_foreign, must_unlink);
}

/* Root may open a foreigner's file, an ordinary user may not: drop the rights and try both again. */
static void join_as_nobody(void) {
    CHECK(setgid(54321) == 0 && setuid(54321) == 0);
    join_only();
}

static void name_of_other_user_unprivileged(void) {
    if (geteuid() != 0)
        check_skip("only root can make files of another user");
    for (size_t rank = 0; rank < 2; rank++) {
        job j;
        char path[128];
        make_job(&j, 2);
        path_of(&j, path);
        put_foreign(path);
        start_rank(&j, rank, join_as_nobody);
        must_refuse(await(&j, rank, "opened"), "another user");
        must_unlink(path);
        end_job(&j);
    }
}

static void set_layout(const char *path, uint32_t layout) {
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0 && pwrite(fd, &layout, sizeof layout, offsetof(struct cb_job_header, layout)) == sizeof layout);
    close(fd);
}

/* A live job of another version of cobre: ours for a while, with its number changed. */
static void name_of_other_layout(void) {
    for (size_t rank = 0; rank < 2; rank++) {
        job live, other;
        char path[128], text[32];
        make_job(&live, 2);
        path_of(&live, path);
        start_rank(&live, 0, join_and_stay);
        await(&live, 0, "inside");
        set_layout(path, CB_SHM_LAYOUT + 41);
        make_job(&other, 2);
        snprintf(other.name, sizeof other.name, "%s", live.name);
        start_rank(&other, rank, join_only);
        snprintf(text, sizeof text, "layout %d", CB_SHM_LAYOUT + 41);
        must_refuse(await(&other, rank, "opened"), text);
        set_layout(path, CB_SHM_LAYOUT);
        start_rank(&live, 1, join_and_stay);
        must_form(&live);
        end_job(&other);
    }
}

static void wrong_size(void) {
    job j;
    make_job(&j, 2);
    start_rank(&j, 0, join_and_stay);
    await(&j, 0, "inside");
    plan.told_size[1] = 3;
    start_rank(&j, 1, join_and_stay);
    const report *opened = await(&j, 1, "opened");
    must_refuse(opened, "3");
    CHECK(strstr(opened->message, "2 ranks"));
    CHECK(await_end(&j, 1) == 0);
    plan.told_size[1] = 0; /* told rightly it gets in: the mistake has not hurt the job */
    j.rank[1].ended = false;
    close(j.rank[1].orders);
    start_rank(&j, 1, join_and_stay);
    must_form(&j);
}

static void rank_taken_twice(void) {
    job j, again;
    char pid[32];
    make_job(&j, 3);
    for (size_t r = 0; r < 2; r++) {
        start_rank(&j, r, join_and_stay);
        await(&j, r, "inside");
    }
    make_job(&again, 3);
    snprintf(again.name, sizeof again.name, "%s", j.name);
    start_rank(&again, 1, join_and_stay);
    snprintf(pid, sizeof pid, "pid %d", (int)j.rank[1].pid);
    const report *opened = await(&again, 1, "opened");
    must_refuse(opened, "rank 1 is taken");
    CHECK(strstr(opened->message, pid));
    start_rank(&j, 2, join_and_stay);
    must_form(&j);
    end_job(&again);
}

const check_case name_cases[] = {
    {.name = "name_of_forming_job", .run = name_of_forming_job, .only = COBRE_SHM},
    {.name = "name_again_at_once", .run = name_again_at_once, .only = COBRE_SHM},
    {.name = "two_jobs_at_once", .run = two_jobs_at_once, .only = COBRE_SHM},
    {.name = "name_of_dead_job", .run = name_of_dead_job, .busy = true, .only = COBRE_SHM},
    {.name = "name_of_other_file", .run = name_of_other_file, .only = COBRE_SHM},
    {.name = "name_of_other_user", .run = name_of_other_user, .only = COBRE_SHM},
    {.name = "name_of_other_user_unprivileged", .run = name_of_other_user_unprivileged, .only = COBRE_SHM},
    {.name = "name_of_other_layout", .run = name_of_other_layout, .only = COBRE_SHM},
    {.name = "wrong_size", .run = wrong_size, .only = COBRE_SHM},
    {.name = "rank_taken_twice", .run = rank_taken_twice, .only = COBRE_SHM},
    CHECK_END,
};
