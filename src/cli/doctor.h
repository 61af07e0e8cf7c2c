/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.h: the limits of this machine and this process, and warnings about them, for `cobre info`. */
#ifndef COBRE_CLI_DOCTOR_H
#define COBRE_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CB_WARNINGS = 16 };

/* UINT64_MAX means: no limit, or not known. */
struct cb_machine {
    size_t usable_cores, group_cores; /* by affinity and control group; by the group alone */
    long online_cores;
    uint64_t memory_total, memory_available, group_memory; /* group_memory: the bytes that it still allows */
    bool has_shm;
    int shm_error; /* why nothing can be written there; 0: it can */
    uint64_t shm_free, shm_total, reservable;
    uint64_t files, most_files; /* open files: the limit now, and the most that a process may raise it to */
    uint64_t file_size, address_space, locked_memory;
};

struct cb_warning {
    char what[256];
    const char *remedy;
};

void cb_machine_look(struct cb_machine *machine);

/* The warnings, each with a remedy; returns how many. */
size_t cb_machine_warn(const struct cb_machine *machine, struct cb_warning warnings[CB_WARNINGS]);

#endif
