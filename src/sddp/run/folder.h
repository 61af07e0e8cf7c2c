/* SPDX-License-Identifier: Apache-2.0 */
/* folder.h: where the results of a run go. After a failure cobre_last_error() says why. */
#ifndef COBRE_SDDP_RUN_FOLDER_H
#define COBRE_SDDP_RUN_FOLDER_H

#include "cobre/sddp.h"

#include <limits.h>

/* The default folder of a case: NAME-out in the working directory; beside the case if that is in the case. */
cobre_status cb_folder_default(const char *case_path, char folder[PATH_MAX]);

/* The policy of a case: `given`, or where a training leaves it by default when that is NULL. */
cobre_status cb_folder_policy(const char *case_path, const char *given, char policy[PATH_MAX]);

/* folder/name */
cobre_status cb_folder_join(const char *folder, const char *name, char path[PATH_MAX]);

/* The folder that a file is in. */
void cb_folder_of(const char *path, char folder[PATH_MAX]);

/* After a call failed that has set errno: the error is about `path`. Returns COBRE_FILE_FAILED. */
cobre_status cb_file_failed(const char *path);

/* A folder while a run writes to it. */
struct cb_folder {
    const char *path; /* NULL: not open */
    size_t made;      /* what of `path`, from this length on, was not there before; 0: nothing */
    int lock;         /* -1: none */
};

/* Makes the folder and its parents, and sees whether a file can be written there. */
cobre_status cb_folder_open(struct cb_folder *folder, const char *path);

/* Two trainings that write the same files at once would mix them up: the second one fails here. */
cobre_status cb_folder_lock(struct cb_folder *folder);

/* Does a training write to it? *known is false if nobody can tell. */
bool cb_folder_is_locked(const char *folder, bool *known);

/* Removes files of a run that are not whole: a process that was killed may have left some. Also for signal handlers. */
void cb_folder_remove_drafts(const char *folder);

/* Ends the lock, and removes folders that were made and into which nothing has come. */
void cb_folder_close(struct cb_folder *folder);

#endif
