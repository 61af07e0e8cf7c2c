/* SPDX-License-Identifier: Apache-2.0 */
/* screen.h: the terminal. Only screen.c uses ncurses. */
#ifndef COBRE_CLI_WATCH_SCREEN_H
#define COBRE_CLI_WATCH_SCREEN_H

#include "cli/watch/canvas.h"

/* Keys that are not letters. */
enum {
    CB_KEY_NONE = -1,
    CB_KEY_ESCAPE = 27,
    CB_KEY_INTERRUPT = 3,
    CB_KEY_LEFT = 0x1000,
    CB_KEY_RIGHT,
    CB_KEY_UP,
    CB_KEY_DOWN,
    CB_KEY_PAGE_UP,
    CB_KEY_PAGE_DOWN,
    CB_KEY_HOME,
    CB_KEY_END,
    CB_KEY_TAB,
    CB_KEY_BACK_TAB,
    CB_KEY_BACKSPACE,
    CB_KEY_ENTER,
    CB_KEY_RESIZE,
    CB_KEY_GONE /* the terminal */
};

/* False: there is no such terminal, and `command` has said why. Keys come from standard input, or if that is no
 * terminal from the one that the process belongs to. */
bool cb_screen_open(const char *command);
void cb_screen_close(void);

bool cb_screen_is_utf8(void);
void cb_screen_size(int *width, int *height);
int cb_screen_fd(void);                                        /* on which keys come */
int cb_screen_key(void);                                       /* the next; CB_KEY_NONE: there is none */
void cb_screen_show(const struct cb_canvas *canvas, bool all); /* all: also unchanged parts */
int cb_screen_signal(void);                                    /* the one that asks to end; 0: none */

#endif
