/* SPDX-License-Identifier: Apache-2.0 */
/* test_doctor.c: which limits `cobre info` warns of. Machines that are made up. */
#include "cli/doctor.h"
#include "kit/check.h"

#include <errno.h>

#define GIB ((uint64_t)1 << 30)
#define MIB ((uint64_t)1 << 20)

static struct cb_warning warning[CB_WARNINGS];

static struct cb_machine usual(void) {
    return (struct cb_machine){.usable_cores = 8,
                               .group_cores = SIZE_MAX,
                               .online_cores = 8,
                               .memory_total = 32 * GIB,
                               .memory_available = 20 * GIB,
                               .group_memory = UINT64_MAX,
                               .has_shm = true,
                               .shm_free = 16 * GIB,
                               .shm_total = 16 * GIB,
                               .reservable = 16 * GIB,
                               .files = 1024,
                               .most_files = 1 << 20,
                               .file_size = UINT64_MAX,
                               .address_space = UINT64_MAX,
                               .locked_memory = 8 * MIB};
}

/* One warning, with this in its text and this in what to do. */
static void warns(const struct cb_machine *machine, const char *what, const char *remedy) {
    CHECK_EQ(cb_machine_warn(machine, warning), 1);
    CHECK_HOLDS(warning[0].what, what);
    CHECK_HOLDS(warning[0].remedy, remedy);
}

static void usual_machine(void) {
    struct cb_machine machine = usual();
    CHECK_EQ(cb_machine_warn(&machine, warning), 0);
    machine.shm_total = machine.shm_free = 0; /* a tmpfs without a limit */
    CHECK_EQ(cb_machine_warn(&machine, warning), 0);
}

static void shared_memory(void) {
    struct cb_machine machine = usual();
    machine.shm_total = machine.shm_free = 64 * MIB;
    warns(&machine, "/dev/shm has only 64.0 MiB", "--shm-size");
    machine.shm_total = 16 * GIB;
    machine.shm_free = 3 * MIB;
    warns(&machine, "nearly full: 3.0 MiB of 16.0 GiB", "cobre clean");
    machine.shm_error = EROFS;
    warns(&machine, "nothing can be written to /dev/shm (Read-only file system)", "remount");
    machine.has_shm = false;
    warns(&machine, "there is no /dev/shm", "mount");
}

static void memory(void) {
    struct cb_machine machine = usual();
    machine.group_memory = 2 * GIB;
    CHECK_EQ(cb_machine_warn(&machine, warning), 0);
    machine.group_memory = 100 * MIB;
    warns(&machine, "cgroup leaves only 100.0 MiB", "--mem");
    machine.group_memory = UINT64_MAX;
    machine.memory_available = 100 * MIB;
    warns(&machine, "only 100.0 MiB of memory", "larger machine");
}

static void limits(void) {
    struct cb_machine machine = usual();
    machine.files = 64;
    warns(&machine, "only 64 files", "ulimit -n $(ulimit -Hn)");
    machine.most_files = 64;
    warns(&machine, "only 64 files", "ulimit -Hn");
    machine = usual();
    machine.file_size = GIB;
    warns(&machine, "grow to 1.0 GiB only", "ulimit -f unlimited");
    machine = usual();
    machine.address_space = GIB;
    warns(&machine, "1.0 GiB of addresses", "ulimit -v unlimited");
}

int main(int argc, char **argv) {
    static const check_case cases[] = {CHECK_CASE(usual_machine), CHECK_CASE(shared_memory), CHECK_CASE(memory),
                                       CHECK_CASE(limits), CHECK_END};
    return check_main(argc, argv, cases);
}
