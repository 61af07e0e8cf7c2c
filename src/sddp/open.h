/* SPDX-License-Identifier: Apache-2.0 */
/* open.h: how files are opened that are read: cases, policies, run folders. A front end whose users may not read everything
 * puts its own way here: each file is opened by it, whatever it was named by. */
#ifndef COBRE_SDDP_OPEN_H
#define COBRE_SDDP_OPEN_H

#include <stdio.h>

/* NULL: open(2). Returns a descriptor as that does: for reading, not inherited, without waiting for a writer of a pipe; -1: see
 * errno. It is set before anything is read, and holds for the process. */
extern int (*cb_open_guard)(const char *path);

int cb_open_path(const char *path);
FILE *cb_open_file(const char *path); /* NULL: see errno */

#endif
