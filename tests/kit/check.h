/* SPDX-License-Identifier: Apache-2.0 */
/* check.h: the assertions of all tests in C. A check that fails says where and why, and ends the process with code 1. */
#ifndef COBRE_TEST_CHECK_H
#define COBRE_TEST_CHECK_H

#include "cobre/comm.h"

#define CHECK_SKIP 77 /* exit code: the test does not apply here */

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, "%s", #condition))
/* The rest is a format and its arguments: what should have been so, and what was there instead. */
#define CHECK_SAY(condition, ...) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, __VA_ARGS__))
#define CHECK_NEVER(...) check_failed(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK_EQ(actual, expected)                                                                                     \
    check_eq(__FILE__, __LINE__, #actual " == " #expected, (uint64_t)(actual), (uint64_t)(expected))
#define CHECK_TEXT(actual, expected) check_text(__FILE__, __LINE__, #actual, (actual), (expected))
#define CHECK_HOLDS(text, part) check_holds(__FILE__, __LINE__, #text, (text), (part))
#define CHECK_BYTES(actual, expected, count) check_bytes(__FILE__, __LINE__, #actual, (actual), (expected), (count))
#define CHECK_NEAR(actual, expected, tolerance)                                                                        \
    check_near(__FILE__, __LINE__, #actual, (actual), (expected), (tolerance))
#define CHECK_STATUS(call, status) check_status(__FILE__, __LINE__, #call, (call), (status))
#define CHECK_OK(call) CHECK_STATUS(call, COBRE_OK)

/* Called by a check that fails, before the process ends: for what else a program knows, and for what it must clean up. */
extern void (*check_at_failure)(void);

_Noreturn void check_failed(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
void check_eq(const char *file, int line, const char *text, uint64_t actual, uint64_t expected);
void check_text(const char *file, int line, const char *what, const char *actual, const char *expected);
void check_holds(const char *file, int line, const char *what, const char *text, const char *part);
void check_bytes(const char *file, int line, const char *what, const void *actual, const void *expected, size_t count);
void check_near(const char *file, int line, const char *what, double actual, double expected, double tolerance);
void check_status(const char *file, int line, const char *text, cobre_status actual, cobre_status expected);

/* Ends the process with CHECK_SKIP. */
_Noreturn void check_skip(const char *why);

/* A case of a program that is not itself a rank. Where it does not apply it says so and returns. What follows `run` is for
 * cmake/discover.cmake, which asks --list. */
typedef struct {
    const char *name;
    void (*run)(void);
    bool timed; /* promises something about time */

    bool busy;          /* computes more than it waits */
    cobre_backend only; /* about this backend; COBRE_AUTO: about all */
} check_case;

/* A table ends with an entry without a name. */
#define CHECK_CASE(function)                                                                                           \
    { .name = #function, .run = function }
#define CHECK_END                                                                                                      \
    { .name = NULL, .run = NULL }

/* The main function of such a program: `program` runs all cases, `program CASE...` those, `program --list` lists them. */
int check_main(int argc, char **argv, const check_case *cases);

/* Called by check_main before each case: for what every case of a program needs. */
extern void (*check_before_each)(void);

#endif
