/* SPDX-License-Identifier: Apache-2.0 */
/* trail.h: a file of lines that grows while a training runs: training.csv, events.jsonl.
 *
 * A training that was resumed goes on with the lines of the run before it. Lines that cannot be written are kept, and tried again
 * with the next one. */
#ifndef COBRE_SDDP_RUN_TRAIL_H
#define COBRE_SDDP_RUN_TRAIL_H

#include "cobre/sddp.h"

#include <limits.h>
#include <stdio.h>

/* The caller sets what comes before `file`; the rest starts as zero. */
struct cb_trail {
    const char *folder, *name;
    const char *header; /* its first line; NULL: none */
    const char *older;  /* folder of the run that this one goes on from, maybe the same; NULL: none */
    /* Whether a line of the older run is of the iterations before `first`. */
    bool (*is_before)(const char *line, uint64_t first);
    uint64_t first; /* iteration of this training */
    FILE *file;     /* NULL: it could not be opened yet */
    char path[PATH_MAX];
    int64_t end;         /* where the next bytes go */
    char *lines;         /* what could not be written yet */
    size_t length, room; /* of them */
};

/* Adds bytes; with none of them the file is made, or what is left is tried again. */
cobre_status cb_trail_add(struct cb_trail *trail, const char *text, size_t length);
cobre_status cb_trail_close(struct cb_trail *trail); /* tries once more */

#endif
