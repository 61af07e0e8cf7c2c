/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.c: looks for limits that can stop a job. A warning names the limit, its effect and the remedy. A usual,
 * sufficient limit gives no warning. */
#include "cli/doctor.h"

#include "comm/backend.h"
#include "comm/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

/* Below these a job of some ranks fails. /dev/shm: Docker gives 64 MiB, which a region or a case soon fills. */
static const uint64_t small_shm = 64 * MIB, small_memory = 256 * MIB, few_files = 256;

static uint64_t limit_of(rlim_t limit) {
    return limit == RLIM_INFINITY ? UINT64_MAX : (uint64_t)limit;
}

static uint64_t soft_limit(int resource) {
    struct rlimit limit;
    return getrlimit((__rlimit_resource_t)resource, &limit) == 0 ? limit_of(limit.rlim_cur) : UINT64_MAX;
}

static void look_at_limits(struct cb_machine *machine) {
    struct rlimit files;
    bool known = getrlimit(RLIMIT_NOFILE, &files) == 0;
    machine->files = known ? limit_of(files.rlim_cur) : UINT64_MAX;
    machine->most_files = known ? limit_of(files.rlim_max) : UINT64_MAX;
    machine->file_size = soft_limit(RLIMIT_FSIZE);
    machine->address_space = soft_limit(RLIMIT_AS);
    machine->locked_memory = soft_limit(RLIMIT_MEMLOCK);
}

static void look_at_memory(struct cb_machine *machine) {
    struct sysinfo info;
    machine->memory_total = sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit : UINT64_MAX;
    machine->memory_available = cb_memory_free(-1);
    machine->group_memory = cb_cgroup_memory("");
    int fd = open(CB_SHARED_MEMORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct statvfs shm;
    machine->has_shm = fd >= 0 && fstatvfs(fd, &shm) == 0;
    if (machine->has_shm) {
        machine->shm_free = (uint64_t)shm.f_bavail * shm.f_frsize;
        machine->shm_total = (uint64_t)shm.f_blocks * shm.f_frsize;
    }
    int file = open(CB_SHARED_MEMORY, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    machine->shm_error = file < 0 && machine->has_shm && errno != EOPNOTSUPP ? errno : 0;
    machine->reservable = machine->has_shm && !machine->shm_error ? cb_memory_free(fd) : 0;
    if (file >= 0)
        close(file);
    if (fd >= 0)
        close(fd);
}

void cb_machine_look(struct cb_machine *machine) {
    *machine = (struct cb_machine){.usable_cores = cb_usable_cores(),
                                   .group_cores = cb_cgroup_cores(""),
                                   .online_cores = sysconf(_SC_NPROCESSORS_ONLN)};
    look_at_memory(machine);
    look_at_limits(machine);
}

struct list {
    struct cb_warning *warning;
    size_t count;
};

static void warn(struct list *list, const char *remedy, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void warn(struct list *list, const char *remedy, const char *format, ...) {
    va_list arguments;
    if (list->count == CB_WARNINGS)
        return;
    struct cb_warning *warning = &list->warning[list->count++];
    va_start(arguments, format);
    vsnprintf(warning->what, sizeof warning->what, format, arguments);
    va_end(arguments);
    warning->remedy = remedy;
}

static void warn_of_shm(const struct cb_machine *machine, struct list *list) {
    char room[32], all[32];
    if (!machine->has_shm) {
        warn(list, "mount it: mount -t tmpfs tmpfs " CB_SHARED_MEMORY,
             "there is no " CB_SHARED_MEMORY ": ranks of this machine cannot share memory");
        return;
    }
    if (machine->shm_error) {
        warn(list, "make it writable: mount -o remount,rw,mode=1777 " CB_SHARED_MEMORY,
             "nothing can be written to " CB_SHARED_MEMORY " (%s): ranks of this machine cannot share memory",
             strerror(machine->shm_error));
        return;
    }
    cb_bytes_text(machine->shm_free, room);
    cb_bytes_text(machine->shm_total, all);
    if (machine->shm_total > 0 && machine->shm_total <= small_shm) /* 0: a tmpfs without a limit */
        warn(list, "enlarge it: docker run --shm-size=1g, or mount -o remount,size=1g " CB_SHARED_MEMORY,
             CB_SHARED_MEMORY " has only %s: a job whose ranks share more than that fails", all);
    else if (machine->shm_total > 0 && machine->shm_free < small_shm)
        warn(list,
             "see what is in it: ls -l " CB_SHARED_MEMORY "; 'cobre clean' removes what killed jobs of cobre have left",
             CB_SHARED_MEMORY " is nearly full: %s of %s are free", room, all);
}

static void warn_of_memory(const struct cb_machine *machine, struct list *list) {
    char text[32];
    if (machine->group_memory < small_memory)
        warn(list, "raise the memory limit of the container or batch job (docker run --memory, sbatch --mem)",
             "the cgroup leaves only %s of memory; shared memory counts, too, and the system kills a process "
             "that asks for more",
             cb_bytes_text(machine->group_memory, text));
    else if (machine->memory_available < small_memory)
        warn(list, "end other programs, or use a larger machine", "only %s of memory are available",
             cb_bytes_text(machine->memory_available, text));
}

static void warn_of_limits(const struct cb_machine *machine, struct list *list) {
    char text[32];
    if (machine->files < few_files)
        warn(list,
             machine->most_files > few_files ? "ulimit -n $(ulimit -Hn)"
                                             : "ask the administrator to raise it (ulimit -Hn)",
             "a process may open only %" PRIu64
             " files: `cobre run` needs about 70, and over tcp rank 0 two more per rank",
             machine->files);
    if (machine->file_size != UINT64_MAX)
        warn(list, "ulimit -f unlimited",
             "a file may grow to %s only: results, policies and the shared memory of a job are files",
             cb_bytes_text(machine->file_size, text));
    if (machine->address_space != UINT64_MAX)
        warn(list, "ulimit -v unlimited",
             "a process may have %s of addresses only: shared regions and LP solvers count",
             cb_bytes_text(machine->address_space, text));
}

size_t cb_machine_warn(const struct cb_machine *machine, struct cb_warning warnings[CB_WARNINGS]) {
    struct list list = {.warning = warnings};
    warn_of_shm(machine, &list);
    warn_of_memory(machine, &list);
    warn_of_limits(machine, &list);
    return list.count;
}
