/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: one case per run, because cases change what their process is: its mounts, its plan.
 *
 *     fault <case> [shm|tcp]       exit code 0: passed, 1: failed, 77: cannot be tried here
 *     fault --list [shm|tcp]       the cases, for cmake/discover.cmake
 *
 * COBRE_TEST_SEED repeats the random choices of a run that failed. COBRE_TEST_LATE=R makes rank R late everywhere. */
#include "kit/harness.h"
#include "kit/sentinel.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

extern const check_case death_cases[], kill_cases[], join_cases[], name_cases[], waiting_cases[], space_cases[],
    file_limit_cases[], cycle_cases[], process_cases[];
extern const check_case tcp_join_cases[], address_cases[], fake_cases[], secret_cases[], stranger_cases[],
    dying_cases[], again_cases[], closing_cases[];

static const check_case *const tables[] = {death_cases,
                                           kill_cases,
                                           join_cases,
                                           name_cases,
                                           waiting_cases,
                                           space_cases,
                                           file_limit_cases,
                                           cycle_cases,
                                           process_cases,
#if COBRE_HAVE_TCP
                                           tcp_join_cases,
                                           address_cases,
                                           fake_cases,
                                           secret_cases,
                                           dying_cases,
                                           stranger_cases,
                                           again_cases,
                                           closing_cases,
#endif
                                           NULL};

static check_case chosen[256]; /* those of the backend */

static void choose(void) {
    size_t count = 0;
    for (const check_case *const *table = tables; *table; table++)
        for (const check_case *c = *table; c->name; c++)
            if (c->only == COBRE_AUTO || c->only == backend) {
                CHECK(count + 1 < sizeof chosen / sizeof *chosen);
                chosen[count++] = *c;
            }
}

int main(int argc, char **argv) {
    backend = argc == 3 && strcmp(argv[2], "tcp") == 0 ? COBRE_TCP : COBRE_SHM;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: fault <case>|--list [shm|tcp]\n");
        return 2;
    }
    choose();
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0); /* what the ranks leave behind comes to us */
    sentinel_start();
    int code = check_main(2, argv, chosen);
    sentinel_stop();
    CHECK_SAY(!children_left(), "no process is left");
    return code;
}
