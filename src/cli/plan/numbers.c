/* numbers.c: numbers as values of options. */
#include "cli/plan/session.h"

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
