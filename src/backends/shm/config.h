/* SPDX-License-Identifier: Apache-2.0 */
/* config.h: the shm backend's own options of a job, and its functions that the descriptor names. */
#ifndef COBRE_BACKENDS_SHM_CONFIG_H
#define COBRE_BACKENDS_SHM_CONFIG_H

#include "comm/backend.h"

enum { CB_SHM_MAX_RANKS = 1024 };

/* cb_options.own */
struct cb_shm_options {
    const char *name; /* of the segment, with '/' */
};
CB_OWN_OPTIONS(shm)

cobre_status cb_shm_open(const cb_options *options, cobre_comm **comm);
void cb_shm_free(cobre_comm *comm);
void cb_shm_abort(cobre_comm *comm, int code, const char *text);
void cb_shm_memory_free(void *data, size_t mapped);
int cb_shm_clean(const char *name, bool remove);
void cb_shm_at_exit(cobre_comm *comm);

#endif
