/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h: the frames between launcher and agent: a type, a length, bytes. */
#ifndef COBRE_CLI_RUN_FRAME_H
#define COBRE_CLI_RUN_FRAME_H

#include "cli/run/job.h"

/* No type is a character of text: if a shell's start-up file prints something, its first byte shows it. */
enum frame_type {
    /* to the agent */
    FRAME_JOB = 0x81, /* first and once: struct order */
    FRAME_INPUT,      /* bytes for standard input; the next after FRAME_TAKEN */
    FRAME_INPUT_END,
    FRAME_SIGNAL,   /* number */
    FRAME_UNWANTED, /* number of an output that nobody reads */
    /* from the agent */
    FRAME_STARTED,  /* pid, port (0 on ranks other than 0) */
    FRAME_CANNOT,   /* exit code: the program was not started; the reason is on standard error */
    FRAME_OUT,      /* bytes of standard output */
    FRAME_ERR,      /* bytes of standard error */
    FRAME_ERROR,    /* bytes of its error pipe */
    FRAME_TAKEN,    /* the last FRAME_INPUT has been written */
    FRAME_NO_INPUT, /* standard input was closed by its reader */
    FRAME_END,      /* how (a CLD_ constant), status */
    FRAME_TYPES
};

enum { FRAME_HEADER = 5, FRAME_LIMIT = 1 << 24, FRAME_CHUNK = 1 << 16, FRAME_VERSION = 2 };

struct frame {
    enum frame_type type;
    const char *bytes;
    size_t count;
};

/* The first frame: the order to an agent. Points into the frame. */
struct order {
    const char *host;                                     /* the agent's, under the launcher's name for it */
    const char *backend, *coordinator, *name, *directory; /* name: cb_launch.name */
    size_t rank, size;
    uint16_t port; /* 0 for rank 0, whose agent chooses it */
    char **environment, **program;
};

void cb_frame_put(struct text *text, enum frame_type type, const void *bytes, size_t count);
void cb_frame_put_numbers(struct text *text, enum frame_type type, uint32_t first, uint32_t second);

/* The frame at the start of some bytes. 1: there is one, *used bytes long; 0: it is incomplete; -1: not a frame. */
int cb_frame_get(const char *bytes, size_t count, struct frame *frame, size_t *used);
bool cb_frame_numbers(const struct frame *frame, uint32_t *first, uint32_t *second);

bool cb_order_put(struct text *text, const struct order *order); /* false: too long for a frame */

/* bytes: of a FRAME_JOB, writable, and as long-lived as the order. False: not an order of this version. The two lists
 * are allocated; free both. */
bool cb_order_get(char *bytes, size_t count, struct order *order);

#endif
