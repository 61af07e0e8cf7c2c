/* SPDX-License-Identifier: Apache-2.0 */
/* source.h: the source of the lines of events: a file that grows, or a pipe. Only new bytes are read. */
#ifndef COBRE_CLI_WATCH_SOURCE_H
#define COBRE_CLI_WATCH_SOURCE_H

#include "cli/watch/history.h"

#include <limits.h>
#include <sys/stat.h>

enum { CB_SOURCE_TAIL = 256, CB_SOURCE_KEPT = 1000, CB_SOURCE_MOST = 1 << 26 };

struct cb_source {
    const char *path;         /* NULL: a pipe */
    const struct stat *older; /* a file that still looks like this belongs to an older training; NULL: there was none */
    int fd;                   /* -1: not open yet */
    bool ended;               /* the pipe */
    uint64_t size;            /* of the file, when it was last looked at */
    uint64_t done;            /* bytes that were read */
    char tail[CB_SOURCE_TAIL]; /* the last bytes read; they differ in a file that was cut off and has grown again */
    size_t tail_length;
    char *line; /* that has no end yet */
    size_t length, room;
    bool skips;     /* the line is too long */
    bool loading;   /* the initial contents of the file are still being read */
    double changed; /* the time of the last input, by the monotonic clock */
    struct cb_kept {
        char *line;
        struct cb_place place;
    } * kept; /* of a pipe: the newest lines, as a ring of CB_SOURCE_KEPT, while they take less than CB_SOURCE_MOST bytes */
    size_t next;
    uint64_t bytes; /* in the ring */
};

void cb_source_open(struct cb_source *source, const char *path, int fd);
void cb_source_close(struct cb_source *source);

enum cb_news {
    CB_NEWS_NONE,
    CB_NEWS_SOME,
    CB_NEWS_MORE, /* some, and there is more to read */
    CB_NEWS_ANEW  /* the file was replaced: the history has been emptied */
};

/* Reads the available input, for a short time. It does not wait. */
enum cb_news cb_source_read(struct cb_source *source, struct cb_history *history);

/* The line at a place, read again; NULL: it is no longer there. To be freed. */
char *cb_source_line(const struct cb_source *source, struct cb_place place);

#endif
