/* SPDX-License-Identifier: Apache-2.0 */
/* live.c: see live.h. The line is written by one write, without stdio, so that a signal handler never finds half of it. */
#include "cli/live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define START "\r"
#define CLEAR_REST "\033[K" /* the only escape sequence of cobre */

static volatile sig_atomic_t drawn;

bool cb_live_possible(void) {
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

/* The last column stays free: some terminals begin a new line when it is used. */
size_t cb_live_room(void) {
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return (known && size.ws_col < CB_LIVE_COLUMNS ? size.ws_col : CB_LIVE_COLUMNS) - 1u;
}

static void put(const char *text) {
    ssize_t written = write(STDOUT_FILENO, text, strlen(text));
    (void)written;
}

void cb_live_draw(const char *line) {
    char text[CB_LIVE_COLUMNS + sizeof START CLEAR_REST];
    fflush(stdout);
    snprintf(text, sizeof text, START "%.*s" CLEAR_REST, (int)cb_live_room(), line);
    drawn = 1;
    put(text);
}

bool cb_live_clear(void) {
    int saved = errno;
    bool was = drawn;
    drawn = 0;
    if (was)
        put(START CLEAR_REST);
    errno = saved;
    return was;
}

void cb_live_clear_behind(void) {
    if (cb_live_possible())
        put(START CLEAR_REST);
}
