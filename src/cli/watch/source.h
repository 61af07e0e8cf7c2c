/* SPDX-License-Identifier: Apache-2.0 */
/* source.h: where the lines come from: a file that grows, or a pipe. Only new bytes are read. */
#ifndef COBRE_CLI_WATCH_SOURCE_H
#define COBRE_CLI_WATCH_SOURCE_H

#include "cli/watch/history.h"

#include <limits.h>
#include <sys/stat.h>

enum { CB_SOURCE_HEAD = 256, CB_SOURCE_KEPT = 1000 };

struct cb_source {
    const char *path;          /* NULL: a pipe */
    const struct stat *older;  /* a file that is still like this is an older training's; NULL: there was none */
    int fd;                    /* -1: not open yet */
    bool ended;                /* the pipe */
    uint64_t size;             /* of the file, when it was last looked at */
    uint64_t done;             /* bytes that were read */
    char head[CB_SOURCE_HEAD]; /* how the file begins: a new one begins otherwise */
    size_t head_length;
    char *line; /* that has no end yet */
    size_t length, room;
    bool skips;     /* the line is too long */
    bool loading;   /* what was in the file when it was opened is still being read */
    double changed; /* when something came last: seconds of the monotonic clock */
    struct cb_kept {
        char *line;
        struct cb_place place;
    } * kept; /* of a pipe: the newest lines, as a ring */
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

/* Reads what there is, for a short while. It does not wait. */
enum cb_news cb_source_read(struct cb_source *source, struct cb_history *history);

/* The line at a place, read again; NULL: it is no longer there. To be freed. */
char *cb_source_line(const struct cb_source *source, struct cb_place place);

double cb_source_clock(void); /* monotonic */

#endif
