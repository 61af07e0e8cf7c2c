/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.c: how numbers look in tables and pages. */
#include "sddp/run/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

const char *cb_clock_text(double seconds, char text[32]) {
    uint64_t whole = seconds > 0 && seconds < 1e15 ? (uint64_t)seconds : 0;
    snprintf(text, 32, "%" PRIu64 ":%02u:%02u", whole / 3600, (unsigned)(whole / 60 % 60), (unsigned)(whole % 60));
    return text;
}
