/* SPDX-License-Identifier: Apache-2.0 */
/* date.h: days of the calendar, as cases and users write them. */
#ifndef COBRE_SDDP_DATE_H
#define COBRE_SDDP_DATE_H

#include <stdbool.h>

typedef struct {
    int year, month, day;
    double hours; /* since the day began */
} cb_date;

/* "2027-03", "2027-03-15" or "2027-03-15T06:30". False: it is not a date. */
bool cb_date_parse(const char *text, cb_date *date);

/* The day of a month that has fewer days is its last one. */
cb_date cb_date_add_months(cb_date from, long months);
cb_date cb_date_add_days(cb_date from, long days);

double cb_date_days(const cb_date *date); /* since 1970-01-01 */

#endif
