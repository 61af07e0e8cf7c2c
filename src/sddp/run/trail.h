/* SPDX-License-Identifier: Apache-2.0 */
/* trail.h: a file of lines that grows while a training runs: training.csv, events.jsonl.
 *
 * A resumed training continues the lines of the run before it. Lines that cannot be written are kept, and tried again
 * with the next one. */
#ifndef COBRE_SDDP_RUN_TRAIL_H
#define COBRE_SDDP_RUN_TRAIL_H

#include "cobre/sddp.h"

#include <limits.h>
#include <stdio.h>

/* The caller sets the members before `file`; the rest is zero at first. */
struct cb_trail {
    const char *folder, *name;
    const char *header; /* its first line; NULL: none */
    const char *older;  /* folder of the run that this one continues, maybe the same; NULL: none */
    /* Does a line of the older run belong to an iteration before `first`? */
    bool (*is_before)(const char *line, uint64_t first);
    uint64_t first; /* iteration of this training */
    FILE *file;     /* NULL: it could not be opened yet */
    char path[PATH_MAX];
    int64_t end;         /* where the next bytes go */
    char *lines;         /* lines that could not be written yet */
    size_t length, room; /* of them */
};

/* Adds bytes. With none, it makes the file, or tries the unwritten lines again. */
cobre_status cb_trail_add(struct cb_trail *trail, const char *text, size_t length);
cobre_status cb_trail_close(struct cb_trail *trail); /* tries once more */

#endif
