/* SPDX-License-Identifier: Apache-2.0 */
/* draft.h: a file that replaces an older one only when it is complete and on the disk. So the older file survives a
 * crash and a full disk. */
#ifndef COBRE_SDDP_DRAFT_H
#define COBRE_SDDP_DRAFT_H

#include <limits.h>
#include <stdio.h>

#include "cobre/sddp.h"
#include "comm/file_limit.h"

#define CB_DRAFT_ENDING ".part" /* of an incomplete file */

struct cb_draft {
    FILE *file;
    struct cb_file_limit
        limit; /* between open and close a file beyond the size limit is an error instead of a signal */
    char path[PATH_MAX],
        part[PATH_MAX]; /* part: as it is written; path itself if that is no regular file (/dev/stdout), or a
                           descriptor (/proc/self/fd/7), whose file loses what it held */
};

/* The thread that opened drafts closes them, the last one first. After a failure there is nothing to close. */
cobre_status cb_draft_open(struct cb_draft *draft, const char *path);

/* status: did the caller succeed in writing? After a failure the draft is removed, and that status is returned. */
cobre_status cb_draft_close(struct cb_draft *draft, cobre_status status);

cobre_status cb_write_failed(const char *path); /* sets the error, from errno */

#endif
