/* SPDX-License-Identifier: Apache-2.0 */
/* config.h: the tcp backend's own options of a job, and its functions that the descriptor names. */
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
CB_OWN_OPTIONS(tcp)

cobre_status cb_tcp_open(const cb_options *options, cobre_comm **comm);
void cb_tcp_free(cobre_comm *comm);
void cb_tcp_abort(cobre_comm *comm, int code, const char *text);
void cb_tcp_at_exit(cobre_comm *comm);
void cb_tcp_close(cobre_comm *comm); /* all connections */

#endif
