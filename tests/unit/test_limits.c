/* SPDX-License-Identifier: Apache-2.0 */
/* test_limits.c: what limits.c reads from a cgroup tree, with trees made up below a temporary directory. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "comm/backend.h"
#include "comm/cgroup.h"
#include "kit/check.h"

static char root[] = "/tmp/cobre-limits-XXXXXX";

static void in_root(const char *path, char full[512]) {
    snprintf(full, 512, "%s%s", root, path);
}

static void put(const char *path, const char *text) {
    char full[512];
    in_root(path, full);
    for (char *slash = full + sizeof root; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(full, 0700);
    }
    FILE *file = fopen(full, "w");
    CHECK(file);
    CHECK(fputs(text, file) >= 0);
    CHECK_EQ(fclose(file), 0);
}

static void remove_root(void) {
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    if (system(command))
        fprintf(stderr, "%s is left\n", root);
}

static void make_root(void) {
    remove_root();
    strcpy(root + sizeof root - 7, "XXXXXX");
    CHECK(mkdtemp(root));
}

static void nothing_there(void) {
    CHECK_EQ(cb_cgroup_cores(root), SIZE_MAX);
    CHECK_EQ(cb_cgroup_memory(root), UINT64_MAX);
    CHECK_EQ(cb_cgroup_cores("/no/such/place"), SIZE_MAX);
}

static void v2_cores(void) {
    put("/proc/self/cgroup", "0::/a/b/c\n");
    CHECK_EQ(cb_cgroup_cores(root), SIZE_MAX);
    put("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    CHECK_EQ(cb_cgroup_cores(root), SIZE_MAX);
    put("/sys/fs/cgroup/a/b/c/cpu.max", "400000 100000\n");
    CHECK_EQ(cb_cgroup_cores(root), 4);
    put("/sys/fs/cgroup/a/b/c/cpu.max", "150000 100000\n"); /* a part of a core counts as one */
    CHECK_EQ(cb_cgroup_cores(root), 2);
    put("/sys/fs/cgroup/a/b/c/cpu.max", "1000 100000\n");
    CHECK_EQ(cb_cgroup_cores(root), 1);
}

static void v2_nested_cores(void) {
    put("/proc/self/cgroup", "0::/a/b/c\n");
    put("/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
    put("/sys/fs/cgroup/a/cpu.max", "300000 100000\n"); /* the one above allows less */
    CHECK_EQ(cb_cgroup_cores(root), 3);
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    CHECK_EQ(cb_cgroup_cores(root), 3);
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n"); /* in a container the limit is at the top */
    CHECK_EQ(cb_cgroup_cores(root), 2);
}

/* In a container the path is the host's, and what is mounted is the container's own part. */
static void v2_path_not_mounted(void) {
    put("/proc/self/cgroup", "0::/docker/0123456789abcdef\n");
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    put("/sys/fs/cgroup/memory.max", "1000000\n");
    put("/sys/fs/cgroup/memory.current", "400000\n");
    CHECK_EQ(cb_cgroup_cores(root), 2);
    CHECK_EQ(cb_cgroup_memory(root), 600000);
}

static void v2_root(void) {
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.max", "500000 100000\n");
    CHECK_EQ(cb_cgroup_cores(root), 5);
}

static void v1_cores(void) {
    put("/proc/self/cgroup", "4:memory:/job\n3:cpuset:/\n2:cpu:/job\n0::/\n");
    CHECK_EQ(cb_cgroup_cores(root), SIZE_MAX);
    put("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(cb_cgroup_cores(root), SIZE_MAX);
    put("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "250000\n");
    CHECK_EQ(cb_cgroup_cores(root), 3);
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(cb_cgroup_cores(root), 1);
}

static void v1_combined_controllers(void) {
    put("/proc/self/cgroup", "5:cpuset:/job\n4:cpu,cpuacct:/job\n");
    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "200000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpuset/job/cpu.cfs_quota_us", "100000\n"); /* another hierarchy: not asked */
    put("/sys/fs/cgroup/cpuset/job/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(cb_cgroup_cores(root), 2);
    put("/proc/self/cgroup", "4:cpuacct,cpu:/job\n");
    put("/sys/fs/cgroup/cpuacct,cpu/job/cpu.cfs_quota_us", "300000\n");
    put("/sys/fs/cgroup/cpuacct,cpu/job/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(cb_cgroup_cores(root), 3);
    put("/proc/self/cgroup", "4:cpuacct:/job\n"); /* starts like "cpu", but is not it */
    CHECK_EQ(cb_cgroup_cores(root), SIZE_MAX);
}

static void v1_path_not_mounted(void) {
    put("/proc/self/cgroup", "2:cpu:/docker/0123\n3:memory:/docker/0123\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n");
    CHECK_EQ(cb_cgroup_cores(root), 2);
    CHECK_EQ(cb_cgroup_memory(root), 4000);
}

static void v2_memory(void) {
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    put("/sys/fs/cgroup/a/b/memory.current", "123456\n");
    CHECK_EQ(cb_cgroup_memory(root), UINT64_MAX);
    put("/sys/fs/cgroup/a/b/memory.max", "1000000\n");
    CHECK_EQ(cb_cgroup_memory(root), 1000000 - 123456);
    /* page cache that can go is free; active files are not, and neither is a key in the middle of another */
    put("/sys/fs/cgroup/a/b/memory.stat",
        "anon 20000\nfile 100000\nactive_file 50000\nworkingset_inactive_file 9\ninactive_file 23456\n");
    CHECK_EQ(cb_cgroup_memory(root), 1000000 - 100000);
    put("/sys/fs/cgroup/a/memory.max", "500000\n"); /* shared with others, who have used most of it */
    put("/sys/fs/cgroup/a/memory.current", "450000\n");
    CHECK_EQ(cb_cgroup_memory(root), 50000);
    put("/sys/fs/cgroup/a/memory.current", "600000\n"); /* above its limit: nothing, not a huge number */
    CHECK_EQ(cb_cgroup_memory(root), 0);
    put("/sys/fs/cgroup/a/memory.stat", "inactive_file 99999999\n"); /* read at another moment: more than there was */
    CHECK_EQ(cb_cgroup_memory(root), 500000);
}

static void v1_memory(void) {
    put("/proc/self/cgroup", "7:memory:/job/step\n");
    put("/sys/fs/cgroup/memory/job/step/memory.limit_in_bytes",
        "9223372036854771712\n"); /* how version 1 says "none" */
    put("/sys/fs/cgroup/memory/job/step/memory.usage_in_bytes", "1000\n");
    CHECK_EQ(cb_cgroup_memory(root), UINT64_MAX);
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "100000\n");
    put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "60000\n");
    put("/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 10000\n");
    CHECK_EQ(cb_cgroup_memory(root), 50000);
}

/* Half-written and strange files are no limit; they must not crash, nor become a limit of 0. */
static void garbage(void) {
    static const char *const texts[] = {
        "",       "\n",         "garbage", "100000",       "abc 100000",  "100000 abc",
        "1e9999", "100000 0\n", "-5 -5\n", "max max\n",    "100000 -1\n", "\xff\xfe",
        "- -",    "  ",         "nan nan", "inf 100000\n", "0x",          "99999999999999999999999"};
    put("/proc/self/cgroup", "0::/a\n1:cpu:/a\n2:memory:/a\n");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put("/sys/fs/cgroup/a/cpu.max", texts[i]);
        size_t cores = cb_cgroup_cores(root);
        CHECK_SAY(cores >= 1, "cpu.max \"%s\" gives %zu cores", texts[i], cores);
        put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", texts[i]);
        put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", texts[i]);
        cores = cb_cgroup_cores(root);
        CHECK_SAY(cores >= 1, "cfs_quota_us \"%s\" gives %zu cores", texts[i], cores);
        put("/sys/fs/cgroup/a/memory.stat", texts[i]);
        put("/sys/fs/cgroup/a/memory.current", texts[i]);
        cb_cgroup_memory(root);
    }
    put("/proc/self/cgroup", "\n:::::\n0\n0:\n::\nnonsense\n0::\n12:cpu\n");
    cb_cgroup_cores(root);
    cb_cgroup_memory(root);
    put("/proc/self/cgroup", "0::no-slash\n1:cpu,,:/\n2:,cpu:x\n");
    cb_cgroup_cores(root);
}

static void long_paths(void) {
    static char text[8000];
    memcpy(text, "0::/", 4);
    memset(text + 4, 'a', sizeof text - 6);
    text[sizeof text - 2] = '\n';
    put("/proc/self/cgroup", text);
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    cb_cgroup_cores(root);
    cb_cgroup_memory(root);
    char deep[4096] = "0::";
    for (size_t i = 0; i < 1000; i++)
        strcat(deep, "/aa");
    put("/proc/self/cgroup", deep);
    CHECK_EQ(cb_cgroup_cores(root), 2); /* the top is asked, whatever is in between */
}

static void bytes_text(void) {
    static const struct {
        uint64_t bytes;
        const char *text;
    } pairs[] = {{0, "0 bytes"},
                 {1, "1 bytes"},
                 {1023, "1023 bytes"},
                 {1024, "1.0 KiB"},
                 {1536, "1.5 KiB"},
                 {1 << 20, "1.0 MiB"},
                 {UINT64_C(5) << 30, "5.0 GiB"},
                 {UINT64_C(1) << 40, "1.0 TiB"},
                 {UINT64_C(1) << 50, "1.0 PiB"},
                 {UINT64_MAX, "16.0 EiB"}};
    char text[32];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        CHECK_TEXT(cb_bytes_text(pairs[i].bytes, text), pairs[i].text);
        CHECK(cb_bytes_text(pairs[i].bytes, text) == text);
    }
}

static void this_machine(void) {
    CHECK(cb_usable_cores() >= 1);
    CHECK(cb_memory_free(-1) > 0);
    CHECK(cb_page_size() >= 4096 && (cb_page_size() & (cb_page_size() - 1)) == 0);
    CHECK_EQ(cb_round_up(0, 64), 0);
    CHECK_EQ(cb_round_up(1, 64), 64);
    CHECK_EQ(cb_round_up(64, 64), 64);
    CHECK_EQ(cb_round_up(65, 64), 128);
}

int main(int argc, char **argv) {
    static const check_case tests[] = {
        CHECK_CASE(nothing_there),
        CHECK_CASE(v2_cores),
        CHECK_CASE(v2_nested_cores),
        CHECK_CASE(v2_path_not_mounted),
        CHECK_CASE(v2_root),
        CHECK_CASE(v1_cores),
        CHECK_CASE(v1_combined_controllers),
        CHECK_CASE(v1_path_not_mounted),
        CHECK_CASE(v2_memory),
        CHECK_CASE(v1_memory),
        CHECK_CASE(garbage),
        CHECK_CASE(long_paths),
        CHECK_CASE(bytes_text),
        CHECK_CASE(this_machine),
        CHECK_END,
    };
    check_before_each = make_root;
    check_at_failure = remove_root;
    int failed = check_main(argc, argv, tests);
    remove_root();
    return failed;
}
