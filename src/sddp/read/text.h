/* SPDX-License-Identifier: Apache-2.0 */
/* text.h: a whole file as a text; a file that gzip has compressed is read as what it was before. */
#ifndef COBRE_SDDP_READ_TEXT_H
#define COBRE_SDDP_READ_TEXT_H

#include "sddp/problem/builder.h"

/* A zero byte ends it, and is nowhere else in it; to be freed. NULL: it cannot be read, which is reported; or it is not there
 * and optional. */
char *cb_read_text(cobre_sddp_builder *builder, const char *path, bool optional, size_t *size);

/* So many bytes at most, of one file; SIZE_MAX: any number. For a process that has others waiting. */
extern size_t cb_text_most;

extern const char *const cb_workbook_kinds[]; /* ".xlsx", ...: people keep tables in such files, which are not read */

#endif
