/* config.h: what the tcp backend itself is told about its job, and its functions that the descriptor names. */
#ifndef COBRE_BACKENDS_TCP_CONFIG_H
#define COBRE_BACKENDS_TCP_CONFIG_H

#include "comm/backend.h"

/* cb_options.own */
struct cb_tcp_options {
    const char *coordinator, *bind;
    char token[512]; /* "": none */
    uint16_t port;
    bool open;
    int listen_fd; /* from the launcher; -1: none */
};
_Static_assert(sizeof(struct cb_tcp_options) <= sizeof((cb_options *)NULL)->own, "the options have room for ours");

static inline const struct cb_tcp_options *cb_tcp_own(const cb_options *options) {
    return (const struct cb_tcp_options *)options->own;
}

cobre_status cb_tcp_open(const cb_options *options, cobre_comm **comm);
void cb_tcp_free(cobre_comm *comm);
void cb_tcp_abort(cobre_comm *comm, int code, const char *text);
void cb_tcp_at_exit(cobre_comm *comm);
void cb_tcp_after_fork(cobre_comm *comm);

#endif
