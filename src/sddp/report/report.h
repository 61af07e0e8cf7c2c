/* SPDX-License-Identifier: Apache-2.0 */
/* report.h: a report and its pictures, for callers that do not want a file. */
#ifndef COBRE_SDDP_REPORT_REPORT_H
#define COBRE_SDDP_REPORT_REPORT_H

#include "cobre/sddp.h"

#include <stdio.h>

enum { CB_REPORT_MOST = 6 }; /* folders */

/* Like cobre_sddp_report, into an open file. */
cobre_status cb_report_write(const char *const *folders, size_t count, FILE *to);

/* pictures.c: the pictures of a page, by name. */
struct cb_picture {
    char *name;             /* "stored_energy/north": the section, and the card */
    char *title;            /* "Stored energy: north" */
    const char *at, *until; /* in the page: the contents of its element svg */
    const char *legend;     /* in the page; NULL: there is none */
    double height;
};
struct cb_pictures {
    char *page;
    struct cb_picture *at;
    size_t count, room;
    bool no_memory;
};
/* The caller frees them, also after a failure. */
cobre_status cb_pictures_make(struct cb_pictures *pictures, const char *const *folders, size_t count);
void cb_pictures_free(struct cb_pictures *pictures);

/* By its name, by the name of its card if no other has it, or the first one of a section. NULL: there is none. */
const struct cb_picture *cb_pictures_find(const struct cb_pictures *pictures, const char *name);

/* Writes a picture as a file of its own, with title and legend, on a light ground. tips: with the texts under the
 * pointer. */
void cb_picture_write(const struct cb_picture *picture, bool tips, FILE *to);

#endif
