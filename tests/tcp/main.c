/* main.c: tcp_join <case>, one case a run, like tests/fault/main.c.
 *
 *     tcp_join <case>...    exit code 0: passed, 1: failed, 77: cannot be tried here
 *     tcp_join --list       the cases, for cmake/discover.cmake
 *
 * COBRE_TEST_SEED repeats the random choices of a run that failed. */
#include "tcp/peers.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const fault_case *const tables[] = {start_cases,    fake_cases,  secret_cases,
                                           stranger_cases, dying_cases, again_cases};
enum { TABLES = sizeof tables / sizeof *tables };

static void list(void) {
    for (size_t t = 0; t < TABLES; t++)
        for (const fault_case *c = tables[t]; c->name; c++)
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
    backend = COBRE_TCP;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list();
        return 0;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: tcp_join <case>... | --list\n");
        return 2;
    }
    CHECK(sodium_init() >= 0);
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0); /* what the ranks leave behind comes to us */
    for (int i = 1; i < argc; i++) {
        const fault_case *c = find(argv[i]);
        if (!c) {
            fprintf(stderr, "tcp_join: no case \"%s\"; --list shows them\n", argv[i]);
            return 2;
        }
        c->run();
        CHECK_SAY(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no process is left");
        printf("passed: %s\n", c->name);
    }
    return 0;
}
