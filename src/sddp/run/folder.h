/* SPDX-License-Identifier: Apache-2.0 */
/* folder.h: the folder for the results of a run. After a failure cobre_last_error() tells why. */
#ifndef COBRE_SDDP_RUN_FOLDER_H
#define COBRE_SDDP_RUN_FOLDER_H

#include "cobre/sddp.h"

#include <limits.h>

/* The default folder of a case: NAME-out in the working directory; beside the case if that is in the case. */
cobre_status cb_folder_default(const char *case_path, char folder[PATH_MAX]);

/* The path of the policy of a case: `given`, or the default path of a training if that is NULL. */
cobre_status cb_folder_policy(const char *case_path, const char *given, char policy[PATH_MAX]);

/* folder/name */
cobre_status cb_folder_join(const char *folder, const char *name, char path[PATH_MAX]);

/* The folder that a file is in. */
void cb_folder_of(const char *path, char folder[PATH_MAX]);

/* Sets the error from errno, after a call about `path` failed. Returns COBRE_FILE_FAILED. */
cobre_status cb_file_failed(const char *path);

/* A folder while a run writes to it. */
struct cb_folder {
    const char *path; /* NULL: not open */
    size_t made;      /* the part of `path` from this offset on is new; 0: nothing is */
    int lock;         /* -1: none */
};

/* Makes the folder and its parents, and checks that a file can be written there. */
cobre_status cb_folder_open(struct cb_folder *folder, const char *path);

/* Locks the folder. Two trainings must not write the same files at once: the second one fails here. */
cobre_status cb_folder_lock(struct cb_folder *folder);

/* Does a training write to it? *known is false if that cannot be found out. */
bool cb_folder_is_locked(const char *folder, bool *known);

/* Removes incomplete files of a run, which a killed process may have left. Signal handlers may call it. */
void cb_folder_remove_drafts(const char *folder);

/* Ends the lock, and removes folders that were made and are still empty. */
void cb_folder_close(struct cb_folder *folder);

#endif
