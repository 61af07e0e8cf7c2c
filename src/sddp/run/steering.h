/* SPDX-License-Identifier: Apache-2.0 */
/* steering.h: commands to a training while it runs: lines over a Unix socket in its folder. docs/events.md lists them. */
#ifndef COBRE_SDDP_RUN_STEERING_H
#define COBRE_SDDP_RUN_STEERING_H

#include "cobre/comm.h"

enum { CB_STEERING_LINE = 512, CB_STEERING_CLIENTS = 16 };

/* Sends a command to the training that writes into `folder`. Returns a descriptor, which the caller closes, for the
 * answer: it comes at once, or when rank 0 has solved its LP. -1: there is no connection, and `why` tells what to
 * do. */
int cb_steering_send(const char *folder, const char *command, char why[CB_STEERING_LINE]);

/* Reads the answer, after poll reported input. false: there is none, because the training has ended. */
bool cb_steering_answer(int fd, char answer[CB_STEERING_LINE]);

/* The other end, on rank 0. */
#define CB_STEERING_CLOSED                                                                                             \
    { .folder = -1, .listener = -1 }
struct cb_steering {
    int folder, listener; /* descriptors */
    struct cb_steering_client {
        int fd; /* -1: none */
        size_t length;
        char line[CB_STEERING_LINE];
    } client[CB_STEERING_CLIENTS];
};

/* Opens the socket. Removes one that a killed training has left. */
cobre_status cb_steering_open(struct cb_steering *steering, const char *folder);
void cb_steering_close(struct cb_steering *steering);

/* Calls `command` for each line that has arrived; it writes the answer. Does not wait. */
void cb_steering_poll(struct cb_steering *steering, void *arg,
                      void (*command)(void *arg, char *line, char answer[CB_STEERING_LINE]));

#endif
