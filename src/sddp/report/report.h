/* SPDX-License-Identifier: Apache-2.0 */
/* report.h: one HTML page, without scripts and without anything from elsewhere, of what a training and a simulation
 * left in a folder. */
#ifndef COBRE_SDDP_REPORT_REPORT_H
#define COBRE_SDDP_REPORT_REPORT_H

#include "cobre/sddp.h"

#include <stdio.h>

/* Fails when the folder is none. */
cobre_status cb_report_look(const char *folder);

/* Fails when there is nothing to show, and when memory is out; what is in `to` by then is of no use. Whether all could
 * be written, `to` knows (ferror). */
cobre_status cb_report_write(FILE *to, const char *folder);

#endif
