/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: a rank that measures what it is told to. `program DIRECTORY`, started by bench.py.
 *
 * Rank r reads its commands from the fifo DIRECTORY/r, "PEER OPERATION BYTES cold|warm SECONDS" (PEER: number in the
 * program's list), and rank 0 answers in DIRECTORY/out, "right|wrong BATCH SECONDS...". Between commands it is blocked
 * in the kernel: jobs of all peers stay alive side by side and take turns without disturbing each other.
 */
#include "cli/bench/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PEERS
#error "say which peers: -DPEERS=&peer_cobre"
#endif

static struct peer *const peers[] = {PEERS};
enum { PEER_COUNT = sizeof peers / sizeof *peers };

static FILE *open_in(const char *directory, const char *name, const char *mode) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, mode);
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

static void serve(FILE *commands, FILE *answers) {
    static struct bench_samples samples;
    struct bench_work work;
    char operation[32], buffers[8];
    size_t number;
    while (fscanf(commands, "%zu %31s %zu %7s %lf", &number, operation, &work.bytes, buffers, &work.seconds) == 5) {
        if (number >= PEER_COUNT || !bench_operation_find(operation, &work.operation)) {
            fprintf(stderr, "cobre bench: not a command: %zu %s\n", number, operation);
            exit(1);
        }
        work.cold = strcmp(buffers, "cold") == 0;
        bench_measure(peers[number], &work, &samples);
        if (!answers)
            continue;
        fprintf(answers, "%s %zu", samples.right ? "right" : "wrong", samples.batch);
        for (size_t i = 0; i < samples.count; i++)
            fprintf(answers, " %.4g", samples.seconds[i]);
        fprintf(answers, "\n");
        fflush(answers);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s DIRECTORY; bench.py starts it\n", argv[0]);
        return 2;
    }
    for (size_t i = 0; i < PEER_COUNT; i++)
        peers[i]->open(peers[i]);
    size_t rank = peers[0]->rank;
    char name[32];
    snprintf(name, sizeof name, "%zu", rank);
    FILE *commands = open_in(argv[1], name, "r"), *answers = rank == 0 ? open_in(argv[1], "out", "w") : NULL;
    if (answers) {
        fprintf(answers, "ready\n");
        fflush(answers);
    }
    serve(commands, answers);
    for (size_t i = PEER_COUNT; i-- > 0;)
        peers[i]->close(peers[i]);
    return 0;
}
