/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h: a library to measure, behind one interface. All data are doubles. An operation that fails prints the reason and
 * ends the process, because there is nothing left to measure. */
#ifndef COBRE_CLI_BENCH_PEER_H
#define COBRE_CLI_BENCH_PEER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peer {
    const char *name; /* of the transport; these three are set by open */
    size_t rank, size;
    void *state; /* the peer's own */
    void (*open)(struct peer *peer);
    void (*close)(struct peer *peer);
    void (*barrier)(struct peer *peer);
    void (*allreduce)(struct peer *peer, const double *send, double *recv, size_t count); /* sum */
    void (*broadcast)(struct peer *peer, double *buffer, size_t count, size_t root);
    void (*allgatherv)(struct peer *peer, const double *send, double *recv, const size_t *counts, const size_t *displs);
    void (*maximum)(struct peer *peer, double *values, size_t count); /* in place, over the ranks; never timed */

    /* Memory shared by the ranks of a node; NULL where there is none. One region at a time. */
    const double *(*region_create)(struct peer *peer, size_t count);
    void (*region_gather)(struct peer *peer, const double *send, const size_t *counts, const size_t *displs);
    void (*region_free)(struct peer *peer);
};

extern struct peer peer_cobre, peer_cobre_checked; /* by the environment; the second with COBRE_CHECK=1 */
extern struct peer peer_mpi;
extern struct peer peer_gloo;
extern struct peer peer_swap, peer_lines, peer_futex, peer_yield, peer_loopback; /* peer_floor.c */

#ifdef __cplusplus
}
#endif

#endif
