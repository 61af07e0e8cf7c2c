/* SPDX-License-Identifier: Apache-2.0 */
/* hydro_kit.h: cases made up in a temporary folder, and what the readers say about them. */
#ifndef COBRE_TEST_SDDP_HYDRO_KIT_H
#define COBRE_TEST_SDDP_HYDRO_KIT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/check.h"
#include "sddp/read/reader.h"

enum { MOST_ISSUES = 400 };

typedef struct {
    char file[128]; /* without its folder */
    size_t line;
    char place[128], message[512];
} kit_issue;

typedef struct {
    cobre_sddp_builder *builder;
    size_t count;
    kit_issue issue[MOST_ISSUES];
} kit_result;

extern char kit_folder[64]; /* of the case under test */

void kit_make_folder(void); /* empty */
void kit_remove_folder(void);

/* check_main with an empty folder for the case under test, which goes at the end. */
int kit_main(int argc, char **argv, const check_case *cases);

void kit_put(const char *file, const char *text);
void kit_put_bytes(const char *file, const void *bytes, size_t size);
void kit_remove(const char *file);
char *kit_get(const char *file, size_t *size); /* for the caller to free */
void kit_copy(const char *name);               /* cases/NAME, a folder or a file, becomes the case under test */

/* Replaces the first `old` of a file; the test fails if there is none. */
void kit_edit(const char *file, const char *old, const char *new);

void kit_on_issue(void *result, const cobre_sddp_issue *issue); /* keeps it */
void kit_read(kit_result *result);                              /* reads and checks; result->builder is never NULL */
void kit_free(kit_result *result);
void kit_read_well(kit_result *result); /* and fails on any issue */

/* One mistake in a case that is good otherwise. The first issue must be as expected. */
typedef struct {
    const char *base, *file, *old, *new; /* old NULL: new is the whole file; both NULL: the file is not there */
    const char *where;                   /* file of the error, if another */
    size_t line;
    const char *expected; /* in its message or place; NULL: no error */
} kit_mistake;

void kit_each_mistake(const kit_mistake *mistakes, size_t count);
void kit_show(const kit_result *result);

/* Bytes of the file changed at random, structure mostly kept, and the file cut off at many places: an error or another
 * case, never a crash. Calls `then` after each reading, if it is not NULL. */
void kit_scramble(const char *file, uint32_t rounds, void then(kit_result *));

/* Of a node of a problem that is being built, by name; they must exist. */
const cb_builder_column *kit_column(const kit_result *result, size_t node, const char *name);
const cb_builder_row *kit_row(const kit_result *result, size_t node, const char *name);
double kit_entry(const kit_result *result, size_t node, const char *row, const char *column);

void kit_near(double value, double expected);

#endif
