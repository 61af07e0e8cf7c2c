/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c: the loop of the dashboard. It waits for keys, new events and answers. It looks at the file a few times per
 * second, because nothing tells it when a file on another host grows. The screen is drawn when something has changed,
 * and once per second for the clocks. */
#include "cli/watch/dashboard.h"
#include "cli/watch/screen.h"

#include "sddp/clock.h"
#include "sddp/run/files.h"
#include "sddp/run/folder.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define FRAME 0.1         /* seconds between two pictures, at least */
#define CLOCK_FRAME 1.0   /* ... and at most, while it runs */
#define LOCK_INTERVAL 0.5 /* between looks at the lock */

void cb_say_line(struct cb_dashboard *dashboard, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(dashboard->message, sizeof dashboard->message, format, arguments);
    va_end(arguments);
    dashboard->dirty = true;
}

/* Who writes to the pipe may write to the terminal, too, right across the screen, also after the last event: so all of
 * it is drawn once per second. */
static bool is_disturbed(struct cb_dashboard *dashboard) {
    double now = cb_clock();
    if (dashboard->how->folder || now - dashboard->cleaned < CLOCK_FRAME)
        return false;
    dashboard->cleaned = now;
    return true;
}

static void draw(struct cb_dashboard *dashboard) {
    int width, height;
    cb_screen_size(&width, &height);
    cb_state_find(dashboard);
    if (!cb_canvas_size(&dashboard->canvas, width, height))
        return;
    cb_frame_draw(dashboard);
    cb_screen_show(&dashboard->canvas, is_disturbed(dashboard));
}

static bool is_alive(const struct cb_watch *how) {
    bool known, locked;
    if (how->alive)
        return how->alive(how->arg);
    locked = cb_folder_is_locked(how->folder, &known);
    return locked || !known;
}

static bool read_events(struct cb_dashboard *dashboard) {
    enum cb_news news = cb_source_read(&dashboard->source, &dashboard->history);
    if (news == CB_NEWS_ANEW) {
        dashboard->cursor = 0;
        dashboard->follows = true;
        cb_detail_free(&dashboard->detail);
    }
    return news != CB_NEWS_NONE;
}

/* A training that has ended may have said so just before: the events are read once more, before that is believed. */
static void look_at_lock(struct cb_dashboard *dashboard) {
    if (!dashboard->how->folder || dashboard->history.end || dashboard->source.loading)
        return;
    bool dead = !is_alive(dashboard->how);
    bool silent = !read_events(dashboard);
    if (!silent || dashboard->unlocked != (dead && silent))
        dashboard->dirty = true;
    dashboard->unlocked = dead && silent && !dashboard->history.end;
    if (dashboard->unlocked && dashboard->how->alive && !dashboard->history.events)
        dashboard->quits = true; /* it has told why, on the terminal that is restored now */
}

/* How long to wait for keys, in milliseconds. */
static int patience(const struct cb_dashboard *dashboard, double drawn) {
    double wait = dashboard->history.end ? CLOCK_FRAME : FRAME;
    if (dashboard->source.loading)
        wait = 0;
    else if (dashboard->dirty)
        wait = drawn + FRAME - cb_clock();
    return wait > 0 ? (int)(1000 * wait) + 1 : 0;
}

static void wait_for_more(struct cb_dashboard *dashboard, double drawn) {
    struct pollfd polled[] = {
        {.fd = cb_screen_fd(), .events = POLLIN},
        {.fd = dashboard->answer, .events = POLLIN},
        {.fd = dashboard->source.path || dashboard->source.ended ? -1 : dashboard->source.fd, .events = POLLIN}};
    if (poll(polled, 3, patience(dashboard, drawn)) > 0 && polled[0].revents & (POLLHUP | POLLERR | POLLNVAL))
        dashboard->quits = true; /* the terminal is gone */
}

static void take_keys(struct cb_dashboard *dashboard) {
    int key;
    while (!dashboard->quits && (key = cb_screen_key()) != CB_KEY_NONE)
        if (key == CB_KEY_RESIZE)
            dashboard->dirty = true;
        else
            cb_keys_take(dashboard, key);
}

static void follow(struct cb_dashboard *dashboard) {
    double drawn = 0, looked = 0;
    bool grown = true;
    while (!dashboard->quits && !cb_screen_signal()) {
        grown = read_events(dashboard) || grown;
        double now = cb_clock();
        if (now - looked >= LOCK_INTERVAL && !dashboard->source.loading) {
            look_at_lock(dashboard);
            looked = now;
        }
        cb_steer_hear(dashboard);
        bool clock = (!cb_state_is_over(dashboard) || !dashboard->how->folder) && now - drawn >= CLOCK_FRAME;
        if ((dashboard->dirty && now - drawn >= FRAME) || (grown && now - drawn >= FRAME) || clock) {
            dashboard->dirty = grown = false;
            draw(dashboard);
            drawn = now;
        }
        wait_for_more(dashboard, drawn);
        take_keys(dashboard);
    }
}

/* Is the folder one of a case? Then its results are elsewhere. */
static bool is_case(const char *folder, char results[PATH_MAX]) {
    char path[PATH_MAX];
    return cb_folder_join(folder, "case.json", path) == COBRE_OK && access(path, F_OK) == 0 &&
           cb_folder_default(folder, results) == COBRE_OK;
}

/* Events that will never come are better told before the screen is cleared. */
static bool has_events(const struct cb_watch *how, const char *path) {
    bool known;
    char results[PATH_MAX];
    if (access(path, R_OK) == 0 || how->alive || (errno == ENOENT && cb_folder_is_locked(how->folder, &known)))
        return true;
    if (errno == ENOTDIR)
        fprintf(stderr, "cobre %s: %s is a file; give the folder that it is in\n", how->command, how->folder);
    else if (access(how->folder, F_OK) != 0)
        fprintf(stderr, "cobre %s: %s: %s; give the folder that a training writes its results to, such as CASE-out\n",
                how->command, how->folder, strerror(errno));
    else if (access(path, F_OK) == 0)
        fprintf(stderr, "cobre %s: %s: it cannot be read: %s\n", how->command, path, strerror(errno));
    else if (is_case(how->folder, results))
        fprintf(stderr, "cobre %s: %s is a case; the results of its training are in another folder, by default in %s\n",
                how->command, how->folder, results);
    else
        fprintf(stderr,
                "cobre %s: %s has no " CB_FILE_EVENTS
                ": no training runs there; it may hold a simulation, or results of an older version, which "
                "`cobre report` may show\n",
                how->command, how->folder);
    return false;
}

static bool is_possible(const struct cb_watch *how, const char *path) {
    if (how->folder && !has_events(how, path))
        return false;
    if (!how->folder && isatty(STDIN_FILENO)) {
        fprintf(stderr,
                "cobre %s: standard input is a terminal: events come by a pipe, as in cobre train CASE --json | cobre "
                "watch -\n",
                how->command);
        return false;
    }
    if (isatty(STDOUT_FILENO))
        return true;
    fprintf(stderr,
            "cobre %s: standard output is no terminal; programs use --send, read the events in " CB_FILE_EVENTS
            ", or call `cobre report`\n",
            how->command);
    return false;
}

/* Nothing in an event may steer the terminal. */
static void put_plain(const char *text) {
    for (; *text; text++)
        putc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, stderr);
}

/* What the training has said is gone with the screen. */
static void tell_failure(const struct cb_dashboard *dashboard) {
    const struct cb_history *history = &dashboard->history;
    if (history->end != CB_FAILED || dashboard->how->alive) /* who has started the training tells it */
        return;
    fprintf(stderr, "cobre %s: the training has failed: ", dashboard->how->command);
    put_plain(history->reason);
    if (*history->advice) {
        fputs("; ", stderr);
        put_plain(history->advice);
    }
    putc('\n', stderr);
}

const char *cb_watch_missing(void) {
    return NULL;
}

int cb_watch_run(const struct cb_watch *how) {
    static struct cb_dashboard dashboard;
    dashboard = (struct cb_dashboard){.how = how, .follows = true, .answer = -1, .dirty = true, .per_column = 1};
    if (how->folder && cb_folder_join(how->folder, CB_FILE_EVENTS, dashboard.events) != COBRE_OK) {
        fprintf(stderr, "cobre %s: %s\n", how->command, cobre_last_error()->message);
        return 1;
    }
    if (!is_possible(how, dashboard.events) || !cb_screen_open(how->command))
        return 1;
    cb_source_open(&dashboard.source, how->folder ? dashboard.events : NULL, how->folder ? -1 : STDIN_FILENO);
    dashboard.source.older = how->older;
    dashboard.canvas.ascii = how->ascii || !cb_screen_is_utf8();
    follow(&dashboard);
    cb_screen_close();
    tell_failure(&dashboard);
    cb_inspect_close(&dashboard);
    if (dashboard.answer >= 0)
        close(dashboard.answer);
    cb_detail_free(&dashboard.detail);
    cb_source_close(&dashboard.source);
    cb_history_free(&dashboard.history);
    cb_canvas_free(&dashboard.canvas);
    return cb_screen_signal() ? 128 + cb_screen_signal() : 0;
}
