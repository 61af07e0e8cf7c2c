/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.h: the format of numbers in tables and pages. All functions return `text`. */
#ifndef COBRE_SDDP_RUN_NUMBERS_H
#define COBRE_SDDP_RUN_NUMBERS_H

const char *cb_exact_text(double value, char text[32]); /* the shortest that reads back as the same number */
const char *cb_short_text(double value, int digits,
                          char text[32]); /* so many significant digits, no exponent if it can */
const char *cb_brief_text(double value, int digits, char text[32]); /* as many, 1.23e7 from a million on */
const char *cb_clock_text(double seconds, char text[32]);           /* 0:00:07 */

/* The separator between a number and its unit: " ", or " x " before a unit like "1200 $"; "" without a unit. */
const char *cb_unit_blank(const char *unit);

/* Like printf's %.10g, but faster, for tables of millions of numbers: writes at `at` (room for 32) and returns the end,
 * without a zero byte. */
char *cb_number_put(char *at, double value);

#endif
