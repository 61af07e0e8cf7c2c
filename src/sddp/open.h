/* SPDX-License-Identifier: Apache-2.0 */
/* open.h: opens, renames and removes every file that the planner reads or writes by a path.
 *
 * A process that works for a client that it does not trust is confined: it opens only files below certain folders, and
 * writes only below those for results. The kernel checks that while it opens (openat2 with RESOLVE_BENEATH). Neither
 * ".." nor a symbolic link leads out, even if it is put there at the last moment. */
#ifndef COBRE_SDDP_OPEN_H
#define COBRE_SDDP_OPEN_H

#include <stdbool.h>
#include <stdio.h>

/* Like open and fopen; exec closes the files. A confined process opens only files and folders, and never waits: errno
 * is EXDEV for a path that leads outside, ESRCH for anything that is not a file. */
int cb_open_path(const char *path, int flags);
FILE *cb_open_stream(const char *path, const char *mode);
/* Like mkdir, remove and rename. In a confined process they work only below the folders for results. */
int cb_make_folder(const char *path);
int cb_remove(const char *path);
int cb_rename(const char *from, const char *to);
const char *cb_open_why(int error); /* strerror, with words for these two */

/* Opens `path` relative to the folder `at`, if it leads below that; "" is the folder itself. resolve: further RESOLVE_
 * flags of openat2. -1: see errno; EXDEV: it leads out. */
int cb_open_beneath(int at, const char *path, int flags, unsigned long long resolve);

/* From now on this process is confined to the folders given by such calls. path must be absolute and exist. False: it
 * cannot be opened, or there are too many folders. */
bool cb_confine(const char *path, bool writes);
bool cb_is_confined(void);

/* The confinement as a text, for a process that this one starts. The caller frees it; NULL: no memory, or not confined. */
#define CB_ENV_CONFINED "COBRE_CONFINED" /* passes that text to a started process */
char *cb_confinement_text(void);
bool cb_confine_by_text(const char *text);

#endif
