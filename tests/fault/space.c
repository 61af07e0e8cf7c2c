/* SPDX-License-Identifier: Apache-2.0 */
/* space.c: a /dev/shm that is too small, full, or just large enough, and what the segment takes of it.
 *
 * Each case mounts a small tmpfs over /dev/shm, in a mount namespace of its own. A page that is not there when it is
 * written is a SIGBUS, which ends a rank with a status that the harness does not forgive. */
#include "kit/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static double join_timeout;

static void mount_small(const char *size) {
    char options[64];
    snprintf(options, sizeof options, "size=%s,mode=1777", size);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, options) != 0)
        check_skip("no right to mount");
}

static uint64_t bytes_free(void) {
    struct statvfs fs;
    CHECK(statvfs("/dev/shm", &fs) == 0);
    return (uint64_t)fs.f_bavail * fs.f_frsize;
}

static void use_all_paths(cobre_comm *comm) {
    enum { N = 300 * 1000 };
    size_t counts[KIT_MAX_RANKS], displs[KIT_MAX_RANKS];
    double *send = calloc(N, sizeof *send), *recv = calloc(N * self.size, sizeof *recv);
    CHECK(send && recv);
    for (size_t r = 0; r < self.size; r++) {
        counts[r] = N;
        displs[r] = r * N;
    }
    send[N - 1] = 1;
    CHECK_OK(cobre_allreduce(comm, send, N, recv, N, COBRE_F64, COBRE_SUM));
    CHECK(recv[N - 1] == (double)self.size);
    CHECK_OK(cobre_allgatherv(comm, send, N, recv, N * self.size, counts, displs, COBRE_F64));
    CHECK(recv[N * self.size - 1] == 1);
    free(send);
    free(recv);
}

static void try_to_open(void) {
    cobre_config config = rank_config();
    cobre_comm *comm;
    config.join_timeout_secs = join_timeout;
    if (tell("opened", cobre_comm_open(&config, &comm)))
        return;
    use_all_paths(comm);
    CHECK_OK(cobre_comm_free(&comm));
}

static void must_lack_space(const report *r, uint64_t at_least) {
    CHECK_SAY(r->status == COBRE_ALLOCATION_FAILED, "rank %zu: AllocationFailed, not %s: %s", r->rank,
              cobre_status_name(r->status), r->message);
    CHECK_SAY(r->expected > r->actual && r->expected >= at_least, "asked for %llu, more than the %llu there are",
              (unsigned long long)r->expected, (unsigned long long)r->actual);
    CHECK(strstr(r->suggestion, "/dev/shm"));
}

static void no_space_to_open(void) {
    mount_small("256k");
    for (size_t i = 0; i < 3; i++) {
        job j;
        join_timeout = 0.5;
        start_job(&j, 2, try_to_open);
        must_lack_space(await(&j, 0, "opened"), 256 << 10);
        CHECK(await(&j, 1, "opened")->status == COBRE_INITIALIZATION_FAILED);
        end_job(&j);
        CHECK(bytes_free() == 256 << 10); /* nothing stays reserved */
    }
}

static void little_space_to_open(void) {
    static const struct {
        const char *size;
        size_t ranks;
    } rooms[] = {{"1m", 2}, {"8m", 2}, {"8m", 8}, {"64m", 8}, {"64m", 16}};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        job j;
        mount_small(rooms[i].size);
        join_timeout = DEADLINE;
        start_job(&j, rooms[i].ranks, try_to_open);
        for (size_t r = 0; r < j.size; r++)
            CHECK(await(&j, r, "opened")->status == COBRE_OK);
        end_job(&j);
    }
}

/* Bytes of the region that the ranks make next; memory that they share with the parent. */
static size_t *wanted;

static void make_regions(void) {
    cobre_comm *comm = open_rank();
    say("ready", 0);
    while (await_order() == 'r') {
        cobre_region *region;
        if (tell("made", cobre_region_create(comm, *wanted, COBRE_U8, 0, &region)) == COBRE_OK) {
            char *mine = cobre_region_claim(region, *wanted * self.rank / self.size, *wanted / self.size);
            CHECK(mine);
            memset(mine, 1 + (int)self.rank, *wanted / self.size); /* every byte: here SIGBUS would come */
            CHECK_OK(cobre_region_fence(region));
        }
        use_all_paths(comm); /* with or without, the communicator works on */
        CHECK_OK(cobre_region_free(&region));
        CHECK_OK(cobre_barrier(comm));
        say("done", 0);
    }
    CHECK_OK(cobre_comm_free(&comm));
}

static void make_region(job *j, size_t bytes, bool fits) {
    uint64_t before = bytes_free();
    *wanted = bytes;
    order_all(j, 'r');
    for (size_t r = 0; r < j->size; r++) {
        const report *made = await(j, r, "made");
        if (fits)
            CHECK_SAY(made->status == COBRE_OK, "%zu of %llu bytes can be had: %s", bytes, (unsigned long long)before,
                      made->message);
        else
            must_lack_space(made, bytes);
    }
    await_all(j, "done");
    CHECK_SAY(bytes_free() == before, "all of it is given back: %llu of %llu bytes", (unsigned long long)bytes_free(),
              (unsigned long long)before);
}

static void write_filler(const char *path, uint64_t bytes) {
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0 && posix_fallocate(fd, 0, (off_t)bytes) == 0);
    close(fd);
}

static void regions_in(const char *size, size_t ranks) {
    job j;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    mount_small(size);
    start_job(&j, ranks, make_regions);
    await_all(&j, "ready");
    uint64_t room = bytes_free();
    make_region(&j, 10 * room, false);
    make_region(&j, (size_t)1 << 50, false);
    make_region(&j, room + 1, false);
    make_region(&j, room / 2, true);
    for (size_t i = 0; i < 5; i++)
        make_region(&j, room - page, true); /* one page tells who is still attached; not one more is needed */
    make_region(&j, room - page + 1, false);
    write_filler("/dev/shm/somebody", room - 10 * page); /* it fills up after the job has formed */
    make_region(&j, room / 2, false);
    make_region(&j, 9 * page, true);
    make_region(&j, 10 * page, false);
    CHECK(unlink("/dev/shm/somebody") == 0);
    make_region(&j, room / 2, true);
    order_all(&j, 'e');
    end_job(&j);
}

static void no_space_for_region(void) {
    wanted = mmap(NULL, sizeof *wanted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(wanted != MAP_FAILED);
    regions_in("8m", 1);
    regions_in("8m", 2);
    regions_in("64m", 3);
}

/* cobre_region_free does not wait, so a slow rank still holds the last region when rank 0 looks for room for the next. */
static void replace_region(void) {
    cobre_region *region;
    cobre_comm *comm = open_rank();
    CHECK_OK(cobre_region_create(comm, 8 << 20, COBRE_U8, 0, &region));
    if (self.rank == 1)
        await_order();
    CHECK_OK(cobre_region_free(&region));
    if (self.rank == 0)
        report_inside();
    tell("made", cobre_region_create(comm, 8 << 20, COBRE_U8, 0, &region));
    CHECK_OK(cobre_region_free(&region));
    CHECK_OK(cobre_comm_free(&comm));
}

static void space_of_a_region_not_yet_freed(void) {
    job j;
    mount_small("20m");
    start_job(&j, 3, replace_region);
    await(&j, 0, "inside"); /* it has looked, and waits for the others */
    order(&j, 1, 'f');
    for (size_t r = 0; r < j.size; r++) {
        const report *made = await(&j, r, "made");
        CHECK_SAY(made->status == COBRE_OK, "rank %zu: the room is there once all have freed: %s", r, made->message);
    }
    end_job(&j);
}

/* ---- What the segment takes ---- */

/* The job's unnamed file: its descriptor, size and what it occupies. */
static int find_segment(off_t *size, blkcnt_t *blocks) {
    size_t found = 0;
    int segment = -1;
    for (int fd = 3; fd < 256; fd++) {
        char link[64], target[256] = "";
        struct stat file;
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        if (readlink(link, target, sizeof target - 1) > 0 && strncmp(target, "/dev/shm/", 9) == 0 &&
            strstr(target, "(deleted)") && fstat(fd, &file) == 0) {
            found++;
            segment = fd;
            *size = file.st_size;
            *blocks = file.st_blocks;
            CHECK((file.st_mode & 0777) == 0600 && file.st_nlink == 0);
        }
    }
    CHECK_SAY(found == 1, "one unnamed segment, not %zu", found);
    return segment;
}

static void measure_segment(void) {
    enum { N = 8 << 20 }; /* doubles: 64 MiB */
    size_t count = KIT_SANITIZED ? N / 8 : N;
    size_t counts[2] = {count, count}, displs[2] = {0, count};
    off_t size, size_after;
    blkcnt_t blocks, blocks_after;
    cobre_comm *comm = open_rank();
    double *send = calloc(count, sizeof *send), *recv = calloc(2 * count, sizeof *recv);
    CHECK(send && recv);
    CHECK_OK(cobre_barrier(comm));
    find_segment(&size, &blocks);
    CHECK_OK(cobre_allreduce(comm, send, count, recv, count, COBRE_F64, COBRE_SUM));
    CHECK_OK(cobre_allgatherv(comm, send, count, recv, 2 * count, counts, displs, COBRE_F64));
    CHECK_OK(cobre_broadcast(comm, recv, 2 * count, COBRE_F64, 1));
    find_segment(&size_after, &blocks_after);
    CHECK(size == size_after && blocks == blocks_after);
    CHECK_SAY(512 * blocks >= size, "every page is reserved: %lld of %lld bytes", 512ll * blocks, (long long)size);
    say("size", (uint64_t)size);
    CHECK_OK(cobre_comm_free(&comm));
    free(send);
    free(recv);
}

static void segment_size(void) {
    job j;
    start_job(&j, 2, measure_segment);
    printf("the segment of 2 ranks has %llu bytes\n", (unsigned long long)await(&j, 0, "size")->number);
    end_job(&j);
}

/* A program closes all descriptors, and has a file of its own where the job's was: it stays as it is. */
static void take_descriptor(void) {
    off_t size;
    blkcnt_t blocks;
    FILE *own = NULL;
    int segment = -1;
    cobre_region *kept, *region;
    cobre_comm *comm = open_rank();
    CHECK_OK(cobre_region_create(comm, 1000, COBRE_U8, 0, &kept));
    if (self.rank == 1 || await_order() == 'a') {
        segment = find_segment(&size, &blocks);
        own = tmpfile();
        CHECK(own && fwrite("mine", 1, 4, own) == 4 && fflush(own) == 0 && dup2(fileno(own), segment) == segment);
    }
    tell("made", cobre_region_create(comm, 8 << 20, COBRE_U8, 0, &region));
    CHECK(!region);
    CHECK_OK(cobre_region_free(&kept));
    CHECK_OK(cobre_barrier(comm));
    CHECK_OK(cobre_comm_free(&comm));
    if (own) {
        char text[8] = "";
        CHECK(pread(segment, text, sizeof text, 0) == 4 && strcmp(text, "mine") == 0);
        fclose(own);
    }
}

static void descriptor_of_the_program(void) {
    for (const char *others = "ab"; *others; others++) { /* both ranks, or rank 1 alone */
        job j;
        start_job(&j, 2, take_descriptor);
        order(&j, 0, *others);
        for (size_t r = 0; r < 2; r++) {
            const report *made = await(&j, r, "made");
            CHECK(made->status == COBRE_ALLOCATION_FAILED);
            CHECK_HOLDS(made->message, "has closed the descriptor");
        }
        end_job(&j);
    }
}

#if COBRE_HAVE_SHM
/* The shm backend maps its extents by this (-Wl,--wrap). */
static bool refuse_mapping;

void *__real_cb_shm_map(int fd, off_t offset, size_t bytes);
void *__wrap_cb_shm_map(int fd, off_t offset, size_t bytes);
void *__wrap_cb_shm_map(int fd, off_t offset, size_t bytes) {
    if (!refuse_mapping)
        return __real_cb_shm_map(fd, offset, bytes);
    errno = ENOMEM;
    return NULL;
}

/* One rank alone cannot map the region: nobody gets it, and all of it is given back. */
static void fail_alone(void) {
    off_t size;
    blkcnt_t before, after;
    cobre_region *region;
    cobre_comm *comm = open_rank();
    find_segment(&size, &before);
    for (size_t unlucky = 0; unlucky < self.size; unlucky++) {
        CHECK_OK(cobre_barrier(comm)); /* both have counted before anything is made */
        refuse_mapping = self.rank == unlucky;
        tell("made", cobre_region_create(comm, 8 << 20, COBRE_U8, 0, &region));
        refuse_mapping = false;
        CHECK(region == NULL);
        CHECK_OK(cobre_barrier(comm));
        find_segment(&size, &after);
        CHECK_SAY(after == before, "all is given back: %lld blocks, before %lld", (long long)after, (long long)before);
    }
    CHECK_OK(cobre_barrier(comm));
    CHECK_OK(cobre_region_create(comm, 8 << 20, COBRE_U8, 0, &region));
    use_all_paths(comm);
    CHECK_OK(cobre_region_free(&region));
    CHECK_OK(cobre_comm_free(&comm));
}

static void region_fails_on_one_rank(void) {
    job j;
    start_job(&j, 2, fail_alone);
    for (size_t unlucky = 0; unlucky < 2; unlucky++)
        for (size_t r = 0; r < 2; r++)
            CHECK(await(&j, r, "made")->status == COBRE_ALLOCATION_FAILED);
    end_job(&j);
}
#endif

const check_case space_cases[] = {
    {.name = "no_space_to_open", .run = no_space_to_open, .only = COBRE_SHM},
    {.name = "little_space_to_open", .run = little_space_to_open, .busy = true, .only = COBRE_SHM},
    {.name = "no_space_for_region", .run = no_space_for_region, .busy = true, .only = COBRE_SHM},
    {.name = "space_of_a_region_not_yet_freed", .run = space_of_a_region_not_yet_freed, .only = COBRE_SHM},
    {.name = "segment_size", .run = segment_size, .busy = true, .only = COBRE_SHM},
    {.name = "descriptor_of_the_program", .run = descriptor_of_the_program, .only = COBRE_SHM},
#if COBRE_HAVE_SHM
    {.name = "region_fails_on_one_rank", .run = region_fails_on_one_rank, .only = COBRE_SHM},
#endif
    CHECK_END,
};
