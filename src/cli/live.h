/* SPDX-License-Identifier: Apache-2.0 */
/* live.h: the last line of a terminal, drawn again and again. There is one per process. */
#ifndef COBRE_CLI_LIVE_H
#define COBRE_CLI_LIVE_H

#include <stdbool.h>
#include <stddef.h>

enum { CB_LIVE_COLUMNS = 80 };

bool cb_live_possible(void);         /* standard output is a terminal that can clear a line */
size_t cb_live_room(void);           /* letters of a line, below CB_LIVE_COLUMNS; the terminal is asked each time */
void cb_live_draw(const char *line); /* in place of the last one; cut at the edge of the terminal */

/* Before anything else is written to the terminal. True: there was a line. Also in the handler of a signal. */
bool cb_live_clear(void);

/* For a launcher: clears the line of a process that can no longer do so. */
void cb_live_clear_behind(void);

#endif
