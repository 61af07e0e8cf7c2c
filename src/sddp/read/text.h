/* SPDX-License-Identifier: Apache-2.0 */
/* text.h: reads a whole file as a text. A file compressed by gzip is decompressed. */
#ifndef COBRE_SDDP_READ_TEXT_H
#define COBRE_SDDP_READ_TEXT_H

#include "sddp/problem/builder.h"

/* A zero byte ends the text; there is no other. The caller frees it. NULL: it cannot be read, which is reported; or it is
 * missing and optional. */
char *cb_read_text(cobre_sddp_builder *builder, const char *path, bool optional, size_t *size);

/* Sets the most bytes of one file; SIZE_MAX: any number. It is for a process that must answer others soon. */
extern size_t cb_text_most;

extern const char *const cb_workbook_kinds[]; /* ".xlsx", ...: people keep tables in such files, which are not read */

#endif
