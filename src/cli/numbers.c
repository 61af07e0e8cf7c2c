/* numbers.c: numbers as options and as text. */
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int cb_parse_count(const char *command, const char *option, const char *text, uint64_t least, uint64_t *value) {
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno)
        return cb_usage_error(command, "%s %s: not a whole number", option, text);
    if (*value < least)
        return cb_usage_error(command, "%s %s: must be at least %" PRIu64, option, text, least);
    return 0;
}

int cb_parse_real(const char *command, const char *option, const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    if (end == text || *end || !isfinite(*value))
        return cb_usage_error(command, "%s %s: not a number", option, text);
    return 0;
}

int cb_parse_seconds(const char *command, const char *option, const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};
    for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0 && *value > 0 && isfinite(*value)) {
            *value *= units[i].seconds;
            return 0;
        }
    return cb_usage_error(command, "%s %s: not a time; write seconds, or 90s, 15m, 2h, 1d", option, text);
}

int cb_parse_pair(const char *command, const char *option, const char *text, char first[64], const char **second) {
    size_t length = strcspn(text, ",");
    *second = text[length] ? text + length + 1 : NULL;
    if (length >= 64)
        return cb_usage_error(command, "%s %s: not a number", option, text);
    memcpy(first, text, length);
    first[length] = '\0';
    return 0;
}

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

const char *cb_json_real(double value, char text[32]) {
    if (isfinite(value))
        return cb_exact_text(value, text);
    snprintf(text, 32, "null");
    return text;
}
