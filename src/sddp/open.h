/* SPDX-License-Identifier: Apache-2.0 */
/* open.h: every file that the planner reads or writes by a path is opened, renamed and removed here.
 *
 * A process that works for somebody it does not trust is confined: it opens only what lies below some folders, and writes only below
 * those that are for results. The kernel checks that while it opens (openat2 with RESOLVE_BENEATH): neither "..", nor a symbolic link,
 * nor one that is put there at the last moment leads out. */
#ifndef COBRE_SDDP_OPEN_H
#define COBRE_SDDP_OPEN_H

#include <stdbool.h>
#include <stdio.h>

/* As open and fopen; exec closes the files. A confined process opens nothing but files and folders, and never waits: errno is EXDEV
 * for what lies outside, ESRCH for what is no file. */
int cb_open_path(const char *path, int flags);
FILE *cb_open_stream(const char *path, const char *mode);
/* As mkdir, remove and rename: of a confined process below the folders for results. */
int cb_make_folder(const char *path);
int cb_remove(const char *path);
int cb_rename(const char *from, const char *to);
const char *cb_open_why(int error); /* strerror, with words for these two */

/* What `path` leads to from the folder `at` on, if that lies below it; "" is the folder itself. resolve: more of openat2's RESOLVE_
 * flags. -1: see errno; EXDEV: it leads out. */
int cb_open_beneath(int at, const char *path, int flags, unsigned long long resolve);

/* From now on this process is confined to the folders that were given so, which must be there. path: absolute, as files below it are
 * named. False: it cannot be opened, or there are too many. */
bool cb_confine(const char *path, bool writes);
bool cb_is_confined(void);

/* The same for a process that is started. The caller frees the text; NULL: no memory, or not confined. */
#define CB_ENV_CONFINED "COBRE_CONFINED" /* how a process that is started gets it */
char *cb_confinement_text(void);
bool cb_confine_by_text(const char *text);

#endif
