/* SPDX-License-Identifier: Apache-2.0 */
/* draft.h: a file that takes its place only when it is whole and on the disk, so that an older one survives a crash and a
 * full disk. */
#ifndef COBRE_SDDP_DRAFT_H
#define COBRE_SDDP_DRAFT_H

#include <limits.h>
#include <stdio.h>

#include "cobre/sddp.h"
#include "comm/file_limit.h"

#define CB_DRAFT_ENDING ".part" /* of a file that is not whole yet */

struct cb_draft {
    FILE *file;
    struct cb_file_limit limit; /* from open to close a file that outgrows its limit is an error, and no signal */
    char path[PATH_MAX],
        part[PATH_MAX]; /* part: as it is written; path itself if that is no regular file (/dev/stdout), or a
                           descriptor (/proc/self/fd/7), whose file loses what it held */
};

/* Drafts are closed by the thread that has opened them, the last one first. After a failure there is nothing to close. */
cobre_status cb_draft_open(struct cb_draft *draft, const char *path);

/* status: of what was to be written. After a failure the draft is thrown away, and that status returned. */
cobre_status cb_draft_close(struct cb_draft *draft, cobre_status status);

cobre_status cb_write_failed(const char *path); /* makes the error, from errno */

#endif
