/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.c: the format of numbers in tables and pages. */
#include "sddp/run/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *cb_exact_text(double value, char text[32]) {
    snprintf(text, 32, "%.15g", value + 0.0); /* no "-0" */
    if (strtod(text, NULL) != value)
        snprintf(text, 32, "%.17g", value);
    return text;
}

const char *cb_short_text(double value, int digits, char text[32]) {
    double size = fabs(value);
    if (!isfinite(value)) {
        snprintf(text, 32, "-");
    } else if (size != 0 && (size >= 1e10 || size < 1e-4)) {
        snprintf(text, 32, "%.*e", digits - 3, value);
    } else {
        int whole = size < 1 ? 1 : (int)floor(log10(size)) + 1;
        snprintf(text, 32, "%.*f", whole < digits ? digits - whole : 0, value);
    }
    return text;
}

const char *cb_brief_text(double value, int digits, char text[32]) {
    double size = fabs(value);
    if (!isfinite(value) || (size < 1e6 && size >= 1))
        return cb_short_text(value, digits, text);
    if (size == 0 || (size < 1 && size >= 1e-4)) {
        snprintf(text, 32, "%.*g", digits, value + 0.0);
        return text;
    }
    snprintf(text, 32, "%.*e", digits - 1, value);
    char *mark = strchr(text, 'e');
    snprintf(mark + 1, 8, "%ld", strtol(mark + 1, NULL, 10)); /* no "+07" */
    return text;
}

const char *cb_clock_text(double seconds, char text[32]) {
    uint64_t whole = seconds > 0 && seconds < 1e15 ? (uint64_t)seconds : 0;
    snprintf(text, 32, "%" PRIu64 ":%02u:%02u", whole / 3600, (unsigned)(whole / 60 % 60), (unsigned)(whole % 60));
    return text;
}

const char *cb_unit_blank(const char *unit) {
    return *unit >= '0' && *unit <= '9' ? " x " : *unit ? " " : "";
}

enum { DIGITS = 10 };
static const long double power[] = {1e0L, 1e1L, 1e2L,  1e3L,  1e4L,  1e5L,  1e6L, 1e7L,
                                    1e8L, 1e9L, 1e10L, 1e11L, 1e12L, 1e13L, 1e14L};

/* So many digits of a whole number. */
static char *put_digits(char *at, uint64_t number, int digits) {
    for (int i = digits; i-- > 0; number /= 10)
        at[i] = (char)('0' + number % 10);
    return at + digits;
}

static int count_digits(uint64_t number) {
    int digits = 1;
    while (number >= 10) {
        number /= 10;
        digits++;
    }
    return digits;
}

/* Numbers from 1e-4 to 1e10 have no exponent. 64 bits of mantissa are enough to round ten digits right. */
char *cb_number_put(char *at, double value) {
    double size = fabs(value);
    if (value == 0) {
        *at++ = '0';
        return at;
    }
    if (!(size >= 1e-4 && size < 9999999999.0))
        return at + snprintf(at, 32, "%.10g", value);
    int whole = 0; /* digits before the point; below 1: minus the zeros behind it */
    while (whole < DIGITS && (long double)size >= power[whole])
        whole++;
    while (whole <= 0 && (long double)size * power[1 - whole] < 1)
        whole--;
    int decimals = DIGITS - whole;
    uint64_t scaled = (uint64_t)llrintl((long double)size * power[decimals]);
    for (; decimals > 0 && scaled % 10 == 0; decimals--)
        scaled /= 10;
    if (value < 0)
        *at++ = '-';
    uint64_t unit = (uint64_t)power[decimals];
    at = put_digits(at, scaled / unit, count_digits(scaled / unit));
    if (decimals > 0) {
        *at++ = '.';
        at = put_digits(at, scaled % unit, decimals);
    }
    return at;
}
