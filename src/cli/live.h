/* SPDX-License-Identifier: Apache-2.0 */
/* live.h: a status line at the bottom of a terminal, drawn repeatedly. There is one per process. */
#ifndef COBRE_CLI_LIVE_H
#define COBRE_CLI_LIVE_H

#include <stdbool.h>
#include <stddef.h>

enum { CB_LIVE_COLUMNS = 80 };

bool cb_live_possible(void);         /* standard output is a terminal that can clear a line */
size_t cb_live_room(void);           /* the columns of the terminal now, below CB_LIVE_COLUMNS */
void cb_live_draw(const char *line); /* replaces the last one; cut off at the edge */

/* Clears the line. Call it before other output to the terminal. True: there was a line. Signal handlers may call it. */
bool cb_live_clear(void);

/* For a launcher: clears the line of a process that can no longer do so. */
void cb_live_clear_behind(void);

#endif
