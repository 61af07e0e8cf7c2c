/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void (*check_at_failure)(void);
void (*check_before_each)(void);

/* One write for the whole message: several ranks may share the stream. Not exit(): its handlers could wait for ranks. */
_Noreturn void check_failed(const char *file, int line, const char *format, ...) {
    char what[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    const cobre_error *error = cobre_last_error();
    if (error->status == COBRE_OK)
        fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    else
        fprintf(stderr, "%s:%d: not so: %s\n    last error: %s: %s\n", file, line, what,
                cobre_status_name(error->status), error->message);
    if (check_at_failure)
        check_at_failure();
    fflush(NULL);
    _exit(1);
}

void check_eq(const char *file, int line, const char *text, uint64_t actual, uint64_t expected) {
    if (actual != expected)
        check_failed(file, line, "%s: %llu, not %llu", text, (unsigned long long)actual, (unsigned long long)expected);
}

void check_text(const char *file, int line, const char *what, const char *actual, const char *expected) {
    if (!actual || strcmp(actual, expected) != 0)
        check_failed(file, line, "%s: \"%s\", not \"%s\"", what, actual ? actual : "(null)", expected);
}

void check_holds(const char *file, int line, const char *what, const char *text, const char *part) {
    if (!text || !strstr(text, part))
        check_failed(file, line, "%s holds \"%s\": \"%s\"", what, part, text ? text : "(null)");
}

void check_bytes(const char *file, int line, const char *what, const void *actual, const void *expected, size_t count) {
    const unsigned char *a = actual, *e = expected;
    if (count == 0 || memcmp(a, e, count) == 0)
        return;
    size_t at = 0;
    while (a[at] == e[at])
        at++;
    check_failed(file, line, "%s: byte %zu of %zu is %#04x, not %#04x", what, at, count, a[at], e[at]);
}

void check_near(const char *file, int line, const char *what, double actual, double expected, double tolerance) {
    if (!(fabs(actual - expected) <= tolerance))
        check_failed(file, line, "%s: %.17g, not within %g of %.17g", what, actual, tolerance, expected);
}

void check_status(const char *file, int line, const char *text, cobre_status actual, cobre_status expected) {
    if (actual != expected)
        check_failed(file, line, "%s: %s, not %s", text, cobre_status_name(actual), cobre_status_name(expected));
    if (expected != COBRE_OK && cobre_last_error()->status != expected)
        check_failed(file, line, "%s: the last error is not the one returned", text);
}

_Noreturn void check_skip(const char *why) {
    printf("skipped: %s\n", why);
    exit(CHECK_SKIP);
}

static const check_case *find(const check_case *cases, const char *name) {
    while (cases->name && strcmp(cases->name, name) != 0)
        cases++;
    return cases->name ? cases : NULL;
}

static void run(const check_case *c) {
    if (check_before_each)
        check_before_each();
    c->run();
    printf("passed: %s\n", c->name);
}

int check_main(int argc, char **argv, const check_case *cases) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    bool list = argc == 2 && strcmp(argv[1], "--list") == 0;
    for (const check_case *c = cases; argc < 2 && c->name; c++)
        run(c);
    for (const check_case *c = cases; list && c->name; c++)
        printf("%s%s%s\n", c->name, c->timed ? " timed" : "", c->busy ? " busy" : "");
    for (int i = 1; !list && i < argc; i++) {
        const check_case *c = find(cases, argv[i]);
        if (!c) {
            fprintf(stderr, "%s: no case \"%s\"; --list shows them\n", argv[0], argv[i]);
            return 2;
        }
        run(c);
    }
    return 0;
}
