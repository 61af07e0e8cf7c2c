/* SPDX-License-Identifier: Apache-2.0 */
/* source.c: reads the lines of events (source.h). */
#include "cli/watch/source.h"

#include "sddp/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 1 << 18, LONGEST_LINE = 1 << 26 };
#define LONGEST_READ 0.05 /* seconds until the screen gets its turn */

/* Of the wall, as files have it. */
static double wall_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void cb_source_open(struct cb_source *source, const char *path, int fd) {
    *source = (struct cb_source){.path = path, .fd = fd, .changed = cb_clock()};
}

static void forget_file(struct cb_source *source) {
    if (source->path && source->fd >= 0)
        close(source->fd);
    if (source->path)
        source->fd = -1;
    source->size = source->done = source->length = source->tail_length = 0;
    source->skips = false;
}

void cb_source_close(struct cb_source *source) {
    forget_file(source);
    for (size_t i = 0; source->kept && i < CB_SOURCE_KEPT; i++)
        free(source->kept[i].line);
    free(source->kept);
    free(source->line);
    source->kept = NULL;
    source->line = NULL;
}

/* Of a pipe the newest lines are kept, while they take less than a limit. */
static void keep(struct cb_source *source, const char *line, struct cb_place place) {
    if (!source->kept && !(source->kept = calloc(CB_SOURCE_KEPT, sizeof *source->kept)))
        return;
    struct cb_kept *kept = &source->kept[source->next++ % CB_SOURCE_KEPT];
    source->bytes -= kept->line ? kept->place.length : 0;
    free(kept->line);
    *kept = (struct cb_kept){.line = strndup(line, place.length), .place = place};
    source->bytes += kept->line ? place.length : 0;
    for (size_t i = 0; source->bytes > CB_SOURCE_MOST && i + 1 < CB_SOURCE_KEPT; i++) {
        struct cb_kept *old = &source->kept[(source->next + i) % CB_SOURCE_KEPT];
        source->bytes -= old->line ? old->place.length : 0;
        free(old->line);
        *old = (struct cb_kept){.line = NULL};
    }
}

static void take_line(struct cb_source *source, struct cb_history *history, const char *line, struct cb_place place) {
    size_t records = history->count;
    if (place.length == 0)
        return;
    if (memchr(line, 0, place.length)) {
        history->garbage++;
        return;
    }
    cb_history_take(history, line, place);
    if (!source->path && history->count != records)
        keep(source, line, place);
}

/* The part of a line that the chunk has; complete: its end is there, too. */
static void add_part(struct cb_source *source, struct cb_history *history, const char *part, size_t length,
                     bool complete) {
    if (source->length + length > LONGEST_LINE)
        source->skips = true;
    if (source->length + length > source->room && !source->skips) {
        size_t room = 2 * (source->length + length);
        char *line = realloc(source->line, room);
        if (line) {
            source->line = line;
            source->room = room;
        } else {
            source->skips = true;
        }
    }
    if (!source->skips)
        memcpy(source->line + source->length, part, length);
    source->length += length;
    if (!complete)
        return;
    if (source->skips)
        history->garbage++;
    else
        take_line(source, history, source->line,
                  (struct cb_place){.begin = source->done - source->length, .length = source->length});
    source->length = 0;
    source->skips = false;
}

/* `done` is how far the lines have been looked at, while they are. */
static void take_chunk(struct cb_source *source, struct cb_history *history, const char *chunk, size_t count) {
    const char *end = chunk + count, *at = chunk, *stop;
    while (at < end && (stop = memchr(at, '\n', (size_t)(end - at)))) {
        size_t length = (size_t)(stop - at);
        source->done += length;
        if (source->length == 0 && !source->skips)
            take_line(source, history, at, (struct cb_place){.begin = source->done - length, .length = length});
        else
            add_part(source, history, at, length, true);
        source->done++;
        at = stop + 1;
    }
    source->done += (uint64_t)(end - at);
    if (at < end)
        add_part(source, history, at, (size_t)(end - at), false);
}

static bool is_as_before(const struct cb_source *source) {
    char tail[CB_SOURCE_TAIL];
    size_t length = source->tail_length;
    return pread(source->fd, tail, length, (off_t)(source->done - length)) == (ssize_t)length &&
           memcmp(tail, source->tail, length) == 0;
}

/* The file is another one, or was cut off, or was cut off and has grown again. */
static bool was_replaced(const struct cb_source *source, const struct stat *now) {
    struct stat ours;
    if (fstat(source->fd, &ours) != 0 || ours.st_ino != now->st_ino || ours.st_dev != now->st_dev)
        return true;
    return (uint64_t)now->st_size < source->done || ((uint64_t)now->st_size > source->done && !is_as_before(source));
}

static bool is_older(const struct cb_source *source, const struct stat *now) {
    const struct stat *old = source->older;
    return old && old->st_ino == now->st_ino && old->st_dev == now->st_dev && old->st_size == now->st_size &&
           old->st_mtim.tv_sec == now->st_mtim.tv_sec && old->st_mtim.tv_nsec == now->st_mtim.tv_nsec;
}

/* What lies in a file that is opened has come when it was last changed. */
static void open_file(struct cb_source *source, const struct stat *status) {
    double written = (double)status->st_mtim.tv_sec + 1e-9 * (double)status->st_mtim.tv_nsec;
    double age = wall_clock() - written;
    if (is_older(source, status) || !S_ISREG(status->st_mode))
        return;
    source->fd = open(source->path, O_RDONLY | O_CLOEXEC);
    source->changed = cb_clock() - (age > 0 ? age : 0);
    source->loading = true;
}

/* NONE: there is nothing to read. */
static enum cb_news look_at_file(struct cb_source *source, struct cb_history *history) {
    struct stat status;
    enum cb_news news = CB_NEWS_NONE;
    if (stat(source->path, &status) != 0) /* what was read before stays on the screen */
        return CB_NEWS_NONE;
    if (source->fd >= 0 && was_replaced(source, &status)) {
        forget_file(source);
        cb_history_free(history);
        news = CB_NEWS_ANEW;
    }
    if (source->fd < 0)
        open_file(source, &status);
    source->size = (uint64_t)status.st_size;
    return news ? news : source->fd >= 0 && source->size > source->done ? CB_NEWS_SOME : CB_NEWS_NONE;
}

static void remember_tail(struct cb_source *source, const char *chunk, size_t count) {
    size_t room = sizeof source->tail, new = count < room ? count : room;
    size_t old = source->tail_length < room - new ? source->tail_length : room - new;
    memmove(source->tail, source->tail + source->tail_length - old, old);
    memcpy(source->tail + old, chunk + count - new, new);
    source->tail_length = old + new;
}

/* False: there is no more for now. */
static bool read_chunk(struct cb_source *source, struct cb_history *history) {
    static char chunk[CHUNK];
    struct pollfd polled = {.fd = source->fd, .events = POLLIN};
    if (!source->path && poll(&polled, 1, 0) <= 0) /* a pipe may be set to block, for others that have it, too */
        return false;
    ssize_t count = read(source->fd, chunk, sizeof chunk);
    if (count < 0 && errno == EINTR)
        return true;
    if (!source->path && (count == 0 || (count < 0 && errno != EAGAIN)))
        source->ended = true;
    if (count <= 0)
        return false;
    remember_tail(source, chunk, (size_t)count);
    take_chunk(source, history, chunk, (size_t)count);
    return true;
}

enum cb_news cb_source_read(struct cb_source *source, struct cb_history *history) {
    double begin = cb_clock();
    uint64_t done = source->done;
    enum cb_news news = source->path ? look_at_file(source, history) : CB_NEWS_SOME;
    if (news == CB_NEWS_NONE || source->fd < 0 || source->ended) {
        source->loading = false;
        return CB_NEWS_NONE;
    }
    bool more = true;
    while ((more = read_chunk(source, history)) && cb_clock() - begin < LONGEST_READ)
        ;
    if (source->done != done && !source->loading)
        source->changed = cb_clock();
    source->loading = source->loading && more;
    if (news == CB_NEWS_ANEW)
        return news;
    return source->done == done ? CB_NEWS_NONE : more ? CB_NEWS_MORE : CB_NEWS_SOME;
}

char *cb_source_line(const struct cb_source *source, struct cb_place place) {
    for (size_t i = 0; source->kept && i < CB_SOURCE_KEPT; i++)
        if (source->kept[i].line && source->kept[i].place.begin == place.begin)
            return strdup(source->kept[i].line);
    char *line = source->path && source->fd >= 0 ? malloc(place.length + 1) : NULL;
    if (line && pread(source->fd, line, place.length, (off_t)place.begin) == (ssize_t)place.length) {
        line[place.length] = 0;
        return line;
    }
    free(line);
    return NULL;
}
