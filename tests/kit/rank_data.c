/* SPDX-License-Identifier: Apache-2.0 */
/* rank_data.c: collectives with contents that every rank can check. */
#include "kit/rank.h"

#include <stdlib.h>
#include <string.h>

/* Word i of a rank's contribution. */
static uint32_t word(size_t from, size_t i) {
    return (uint32_t)i * 2654435761u + (uint32_t)from * 40503u;
}

static void check_words(const uint32_t *words, size_t count, size_t from) {
    for (size_t i = 0; i < count; i++)
        CHECK_SAY(words[i] == word(from, i), "word %zu of rank %zu's part", i, from);
}

static void fill_words(uint32_t *words, size_t count, size_t from) {
    for (size_t i = 0; i < count; i++)
        words[i] = word(from, i);
}

operation operation_make(const char *name, size_t bytes) {
    operation op = {.kind = name[0], .count = bytes / sizeof(uint32_t)};
    CHECK(size <= MAX_RANKS);
    for (size_t r = 0; r < size; r++) {
        op.displs[r] = op.count * r / size;
        op.counts[r] = op.count * (r + 1) / size - op.displs[r];
    }
    op.recv = malloc(bytes);
    op.send = op.kind == 'r' ? malloc(bytes) : op.kind == 'g' ? op.recv + op.displs[rank] : NULL;
    CHECK(op.recv && (op.kind != 'r' || op.send));
    return op;
}

void operation_prepare(const operation *op) {
    memset(op->recv, 0xff, op->count * sizeof *op->recv);
    if (op->kind == 'g')
        fill_words(op->send, op->counts[rank], rank);
    else if (op->kind == 'r')
        fill_words(op->send, op->count, rank);
    else if (rank == 1 % size)
        fill_words(op->recv, op->count, rank);
}

void operation_run(const operation *op, cobre_comm *over) {
    if (op->kind == 'g')
        must(
            cobre_allgatherv(over, op->send, op->counts[rank], op->recv, op->count, op->counts, op->displs, COBRE_U32));
    else if (op->kind == 'r')
        must(cobre_allreduce(over, op->send, op->count, op->recv, op->count, COBRE_U32, COBRE_SUM));
    else
        must(cobre_broadcast(over, op->recv, op->count, COBRE_U32, 1 % size));
}

void operation_check(const operation *op) {
    if (op->kind == 'b')
        check_words(op->recv, op->count, 1 % size);
    for (size_t r = 0; r < size && op->kind == 'g'; r++)
        check_words(op->recv + op->displs[r], op->counts[r], r);
    for (size_t i = 0; i < op->count && op->kind == 'r'; i++)
        CHECK_SAY(op->recv[i] == (uint32_t)size * word(0, i) + word(size * (size - 1) / 2, 0), "word %zu of the sum",
                  i);
}

void operation_free(operation *op) {
    if (op->kind == 'r')
        free(op->send);
    free(op->recv);
}
