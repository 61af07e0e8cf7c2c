/* main.c: one case a run, because cases change what their process is: its mounts, its plan.
 *
 *     fault <case> [shm|tcp]       exit code 0: passed, 1: failed, 77: cannot be tried here
 *     fault --list [shm|tcp]       the cases, for cmake/discover.cmake
 *
 * COBRE_TEST_SEED repeats the random choices of a run that failed. */
#include "kit/harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const fault_case *const tables[] = {death_cases,    kill_cases,  join_cases,  name_cases,   waiting_cases,
                                           mismatch_cases, space_cases, cycle_cases, process_cases};
enum { TABLES = sizeof tables / sizeof *tables };

static void list(void) {
    for (size_t t = 0; t < TABLES; t++)
        for (const fault_case *c = tables[t]; c->name; c++)
            if (backend == COBRE_SHM || !c->shm_only)
                print_case(c);
}

static const fault_case *find(const char *name) {
    for (size_t t = 0; t < TABLES; t++)
        for (const fault_case *c = tables[t]; c->name; c++)
            if (strcmp(c->name, name) == 0)
                return c;
    return NULL;
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 3 && strcmp(argv[2], "tcp") == 0)
        backend = COBRE_TCP;
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        list();
        return 0;
    }
    const fault_case *c = argc > 1 ? find(argv[1]) : NULL;
    if (!c) {
        fprintf(stderr, "usage: fault <case>|--list [shm|tcp]\n");
        return 2;
    }
    /* What the ranks leave behind comes to us. */
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    c->run();
    CHECK_SAY(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no process is left");
    printf("passed: %s\n", c->name);
    return 0;
}
