/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.h: the parts of limits.c that a test looks at: the same questions, asked below another root directory. */
#ifndef COBRE_COMM_CGROUP_H
#define COBRE_COMM_CGROUP_H

#include <stddef.h>
#include <stdint.h>

/* Cores by the quotas of this process's cgroup and all above it, rounded up; SIZE_MAX if there is none. */
size_t cb_cgroup_cores(const char *root);

/* Bytes that the cgroup and all above it still allow, page cache that can go counted as free; UINT64_MAX if no limit.
 */
uint64_t cb_cgroup_memory(const char *root);

#endif
