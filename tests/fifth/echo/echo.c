/* SPDX-License-Identifier: Apache-2.0 */
/* echo.c: a backend for a test: one process that hears itself. It is found by a variable, needs a word, and a launcher
 * can start its ranks; what it computes is as in local. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/select.h"

#define WORD "COBRE_ECHO_WORD"

static cobre_status from_environment(cb_options *options) {
    return cb_variable(WORD) ? COBRE_OK : cb_missing(options->backend, WORD, "for example: " WORD "=hello");
}

static cobre_status from_config(const cobre_config *config, cb_options *options) {
    (void)config, (void)options;
    return COBRE_OK;
}

static cobre_status open_echo(const cb_options *options, cobre_comm **comm) {
    (void)options;
    *comm = calloc(1, sizeof **comm);
    if (!*comm)
        return cb_error(NULL, COBRE_ECHO, COBRE_ALLOCATION_FAILED, &(struct cb_details){.operation = "open"},
                        "no memory for a communicator");
    **comm = (cobre_comm){.backend = COBRE_ECHO, .size = 1, .node_size = 1};
    return COBRE_OK;
}

static void free_echo(cobre_comm *comm) {
    free(comm);
}

static void abort_echo(cobre_comm *comm, int code, const char *text) {
    (void)comm, (void)code, (void)text;
}

static void say_end(cobre_comm *comm) {
    (void)comm;
    puts("echo: the process exits");
}

cobre_status cb_echo_barrier(cobre_comm *comm, const cb_call *call) {
    (void)comm, (void)call;
    return COBRE_OK;
}

cobre_status cb_echo_broadcast(cobre_comm *comm, const cb_call *call) {
    return cb_echo_barrier(comm, call);
}

cobre_status cb_echo_region_fence(cobre_comm *comm, const cb_call *call) {
    return cb_echo_barrier(comm, call);
}

static cobre_status copy(const cb_call *call, size_t at) {
    size_t size = cb_type_size(call->type), bytes = call->count * size;
    if (bytes)
        memmove((char *)call->recv + at * size, call->send, bytes);
    return COBRE_OK;
}

cobre_status cb_echo_allreduce(cobre_comm *comm, const cb_call *call) {
    (void)comm;
    return copy(call, 0);
}

cobre_status cb_echo_allgatherv(cobre_comm *comm, const cb_call *call) {
    (void)comm;
    return copy(call, call->displs[0]);
}

cobre_status cb_echo_allgatherv_region(cobre_comm *comm, const cb_call *call) {
    return cb_echo_allgatherv(comm, call);
}

cobre_status cb_echo_region_create(cobre_comm *comm, const cb_call *call) {
    return cb_heap_region_create(comm, call);
}

cobre_status cb_echo_split_local(cobre_comm *comm, const cb_call *call) {
    (void)comm;
    return open_echo(NULL, call->made);
}

static bool launch(cb_launch *launch) {
    snprintf(launch->name, sizeof launch->name, "hello");
    return true;
}

static void launch_rank(const cb_launch *launch, size_t rank) {
    char word[128];
    snprintf(word, sizeof word, "%s-%zu", launch->name, rank);
    setenv(WORD, word, 1);
}

const cb_backend cb_echo_backend = {
    .variables = (const char *const[]){WORD, NULL},
    .signs = (const char *const[]){WORD, NULL},
    .alone = true,
    .from_environment = from_environment,
    .from_config = from_config,
    .open = open_echo,
    .free = free_echo,
    .abort = abort_echo,
    .memory_free = cb_heap_memory_free,
    .at_exit = say_end,
    .launch = launch,
    .launch_rank = launch_rank,
};
