/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong arguments: each gives its own error, on the rank that made it, before anything is sent. All ranks make the same
 * mistake here; then the communicator must work as if nothing had happened. */
#include "conformance/checked.h"
#include "conformance/tables.h"

#include <string.h>
#include <sys/wait.h>

/* What every error of a call has: where, and text for a person. */
static void check_error(const char *operation) {
    const cobre_error *error = cobre_last_error();
    CHECK_TEXT(error->operation, operation);
    CHECK(error->message[0] && error->suggestion[0] && !strchr(error->message, '\n'));
}

#define EXPECT(call, status, operation)                                                                                \
    do {                                                                                                               \
        CHECK_STATUS(call, status);                                                                                    \
        check_error(operation);                                                                                        \
    } while (0)
#define EXPECT_SIZE(call, operation, needed, given)                                                                    \
    do {                                                                                                               \
        EXPECT(call, COBRE_INVALID_BUFFER_SIZE, operation);                                                            \
        CHECK_EQ(cobre_last_error()->expected, needed);                                                                \
        CHECK_EQ(cobre_last_error()->actual, given);                                                                   \
        CHECK_EQ(cobre_last_error()->rank, k->rank);                                                                   \
    } while (0)
#define EXPECT_ARGUMENT(call, operation, which)                                                                        \
    do {                                                                                                               \
        EXPECT(call, COBRE_INVALID_ARGUMENT, operation);                                                               \
        CHECK(strcmp(cobre_last_error()->subject, which) == 0);                                                        \
    } while (0)

#define BAD_TYPE ((cobre_type)99)
#define NO_TYPE ((cobre_type)0)

typedef struct {
    size_t counts[KIT_MAX_RANKS], displs[KIT_MAX_RANKS];
    double send[2], recv[2 * KIT_MAX_RANKS + 2];
} gather_arguments;

/* A right call of two elements a rank, for the cases to spoil. */
static gather_arguments right_gather(const kit *k) {
    gather_arguments a = {.send = {1, 2}};
    for (size_t r = 0; r < k->size; r++) {
        a.counts[r] = 2;
        a.displs[r] = 2 * r;
    }
    return a;
}

static void allgatherv_errors(kit *k) {
    const char *const op = "allgatherv";
    size_t n = 2 * k->size;
    gather_arguments a = right_gather(k), before = a;
    cobre_comm *comm = k->comm;
    EXPECT_SIZE(cobre_allgatherv(comm, a.send, 1, a.recv, n, a.counts, a.displs, COBRE_F64), op, 2, 1);
    EXPECT_SIZE(cobre_allgatherv(comm, a.send, 3, a.recv, n, a.counts, a.displs, COBRE_F64), op, 2, 3);
    EXPECT_SIZE(cobre_allgatherv(comm, a.send, 2, a.recv, n - 1, a.counts, a.displs, COBRE_F64), op, n, n - 1);
    EXPECT_SIZE(cobre_allgatherv(comm, a.send, 2, a.recv, 0, a.counts, a.displs, COBRE_F64), op, 2, 0);
    EXPECT_ARGUMENT(cobre_allgatherv(comm, NULL, 2, a.recv, n, a.counts, a.displs, COBRE_F64), op, "send");
    EXPECT_ARGUMENT(cobre_allgatherv(comm, a.send, 2, NULL, n, a.counts, a.displs, COBRE_F64), op, "recv");
    EXPECT_ARGUMENT(cobre_allgatherv(comm, a.send, 2, a.recv, n, NULL, a.displs, COBRE_F64), op, "counts");
    EXPECT_ARGUMENT(cobre_allgatherv(comm, a.send, 2, a.recv, n, a.counts, NULL, COBRE_F64), op, "displs");
    EXPECT_ARGUMENT(cobre_allgatherv(comm, a.send, 2, a.recv, n, a.counts, a.displs, BAD_TYPE), op, "type");
    EXPECT_ARGUMENT(cobre_allgatherv(comm, a.send, 2, a.recv, n, a.counts, a.displs, NO_TYPE), op, "type");
    CHECK(memcmp(&a, &before, sizeof a) == 0);
    checked_still_works(k);
}

/* Places of parts: behind the end, past the end of numbers, on each other, on what is sent. */
static void allgatherv_place_errors(kit *k) {
    const char *const op = "allgatherv";
    size_t n = 2 * k->size, last = k->size - 1;
    gather_arguments a = right_gather(k);
    a.displs[last] += 1;
    EXPECT_SIZE(cobre_allgatherv(k->comm, a.send, 2, a.recv, n, a.counts, a.displs, COBRE_F64), op, n + 1, n);
    a.displs[last] = SIZE_MAX;
    EXPECT(cobre_allgatherv(k->comm, a.send, 2, a.recv, n, a.counts, a.displs, COBRE_F64), COBRE_INVALID_BUFFER_SIZE,
           op);
    a.displs[last] = SIZE_MAX / 8; /* fits as a number, not as bytes */
    EXPECT(cobre_allgatherv(k->comm, a.send, 2, a.recv, n, a.counts, a.displs, COBRE_F64), COBRE_INVALID_BUFFER_SIZE,
           op);
    for (size_t r = 1; r < k->size; r++) {
        a = right_gather(k);
        a.displs[r] = a.displs[r - 1] + 1; /* the usual order */
        EXPECT_ARGUMENT(cobre_allgatherv(k->comm, a.send, 2, a.recv, n, a.counts, a.displs, COBRE_F64), op, "displs");
        a = right_gather(k);
        a.displs[0] = a.displs[r]; /* another one */
        EXPECT_ARGUMENT(cobre_allgatherv(k->comm, a.send, 2, a.recv, n, a.counts, a.displs, COBRE_F64), op, "displs");
    }
    a = right_gather(k);
    const double *not_own_part = a.recv + a.displs[k->rank] + 1;
    EXPECT_ARGUMENT(cobre_allgatherv(k->comm, not_own_part, 2, a.recv, n, a.counts, a.displs, COBRE_F64), op, "send");
    checked_still_works(k);
}

static void allgatherv_region_errors(kit *k) {
    const char *const op = "allgatherv_region";
    size_t n = 2 * k->size;
    gather_arguments a = right_gather(k);
    cobre_region *region = NULL;
    CHECK_OK(cobre_region_create(k->comm, n, COBRE_F64, 0, &region));
    EXPECT_ARGUMENT(cobre_allgatherv_region(k->comm, a.send, 2, NULL, a.counts, a.displs), op, "region");
    EXPECT_ARGUMENT(cobre_allgatherv_region(k->comm, NULL, 2, region, a.counts, a.displs), op, "send");
    EXPECT_ARGUMENT(cobre_allgatherv_region(k->comm, a.send, 2, region, NULL, a.displs), op, "counts");
    EXPECT_SIZE(cobre_allgatherv_region(k->comm, a.send, 1, region, a.counts, a.displs), op, 2, 1);
    a.displs[k->size - 1] += 1;
    EXPECT_SIZE(cobre_allgatherv_region(k->comm, a.send, 2, region, a.counts, a.displs), op, n + 1, n);
    a = right_gather(k);
    EXPECT(cobre_allgatherv_region(NULL, a.send, 2, region, a.counts, a.displs), COBRE_INVALID_COMMUNICATOR, op);
    CHECK_OK(cobre_region_seal(region));
    EXPECT_ARGUMENT(cobre_allgatherv_region(k->comm, a.send, 2, region, a.counts, a.displs), op, "region");
    CHECK_OK(cobre_region_free(&region));
    checked_still_works(k);
}

static void allreduce_errors(kit *k) {
    const char *const op = "allreduce";
    double x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8};
    cobre_comm *comm = k->comm;
    EXPECT_SIZE(cobre_allreduce(comm, x, 4, y, 3, COBRE_F64, COBRE_SUM), op, 4, 3);
    EXPECT_SIZE(cobre_allreduce(comm, x, 3, y, 4, COBRE_F64, COBRE_SUM), op, 3, 4);
    EXPECT_SIZE(cobre_allreduce(comm, x, 0, y, 0, COBRE_F64, COBRE_SUM), op, 1, 0);
    EXPECT_ARGUMENT(cobre_allreduce(comm, NULL, 4, y, 4, COBRE_F64, COBRE_SUM), op, "send");
    EXPECT_ARGUMENT(cobre_allreduce(comm, x, 4, NULL, 4, COBRE_F64, COBRE_SUM), op, "recv");
    EXPECT_ARGUMENT(cobre_allreduce(comm, x, 4, y, 4, BAD_TYPE, COBRE_SUM), op, "type");
    EXPECT_ARGUMENT(cobre_allreduce(comm, x, 4, y, 4, NO_TYPE, COBRE_SUM), op, "type");
    EXPECT_ARGUMENT(cobre_allreduce(comm, x, 4, y, 4, COBRE_F64, (cobre_op)0), op, "op");
    EXPECT_ARGUMENT(cobre_allreduce(comm, x, 4, y, 4, COBRE_F64, (cobre_op)4), op, "op");
    EXPECT_ARGUMENT(cobre_allreduce(comm, x, 3, x + 1, 3, COBRE_F64, COBRE_SUM), op, "send");
    EXPECT(cobre_allreduce(comm, x, SIZE_MAX, y, SIZE_MAX, COBRE_F64, COBRE_SUM), COBRE_INVALID_BUFFER_SIZE, op);
    CHECK(x[0] == 1 && x[3] == 4 && y[0] == 5 && y[3] == 8);
    checked_still_works(k);
}

static void broadcast_errors(kit *k) {
    const char *const op = "broadcast";
    const size_t roots[] = {k->size, k->size + 1, SIZE_MAX, (size_t)1 << 32};
    double x[2] = {1, 2};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        EXPECT(cobre_broadcast(k->comm, x, 2, COBRE_F64, roots[i]), COBRE_INVALID_ROOT, op);
        CHECK_EQ(cobre_last_error()->expected, k->size);
        CHECK_EQ(cobre_last_error()->actual, roots[i]);
    }
    EXPECT_ARGUMENT(cobre_broadcast(k->comm, NULL, 2, COBRE_F64, 0), op, "buf");
    EXPECT_ARGUMENT(cobre_broadcast(k->comm, x, 2, BAD_TYPE, 0), op, "type");
    EXPECT_ARGUMENT(cobre_broadcast(k->comm, x, 2, NO_TYPE, 0), op, "type");
    CHECK(x[0] == 1 && x[1] == 2);
    checked_still_works(k);
}

static void region_errors(kit *k) {
    cobre_region *region = NULL;
    EXPECT_ARGUMENT(cobre_region_create(k->comm, 1, BAD_TYPE, 0, &region), "region_create", "type");
    EXPECT_ARGUMENT(cobre_region_create(k->comm, 1, COBRE_F64, 1u << 31, &region), "region_create", "flags");
    EXPECT_ARGUMENT(cobre_region_create(k->comm, 1, COBRE_F64, 0, NULL), "region_create", "region");
    EXPECT(cobre_region_create(NULL, 1, COBRE_F64, 0, &region), COBRE_INVALID_COMMUNICATOR, "region_create");
    CHECK(region == NULL);
    EXPECT_ARGUMENT(cobre_region_fence(NULL), "region_fence", "region");
    EXPECT_ARGUMENT(cobre_region_seal(NULL), "region_seal", "region");
    CHECK_OK(cobre_region_free(NULL));
    CHECK_OK(cobre_region_free(&region));
    checked_still_works(k);
}

/* A communicator with a region is not freed: nothing changes, and both work on. */
static void comm_free_needs_no_regions(kit *k) {
    cobre_region *region = NULL;
    CHECK_OK(cobre_region_create(k->comm, 10, COBRE_F64, 0, &region));
    EXPECT_ARGUMENT(cobre_comm_free(&k->comm), "free", "comm");
    CHECK(k->comm != NULL);
    CHECK_OK(cobre_region_fence(region));
    checked_still_works(k);
    CHECK_OK(cobre_region_free(&region));
}

static void comm_null(kit *k) {
    double x = 1, y = 2;
    size_t count = 1, displ = 0;
    cobre_exact sum;
    cobre_comm *none = NULL;
    EXPECT(cobre_barrier(NULL), COBRE_INVALID_COMMUNICATOR, "barrier");
    EXPECT(cobre_broadcast_t(NULL, &x, 1, 0), COBRE_INVALID_COMMUNICATOR, "broadcast");
    EXPECT(cobre_allreduce_t(NULL, &x, &y, 1, COBRE_SUM), COBRE_INVALID_COMMUNICATOR, "allreduce");
    EXPECT(cobre_allgatherv_t(NULL, &x, 1, &y, 1, &count, &displ), COBRE_INVALID_COMMUNICATOR, "allgatherv");
    EXPECT(cobre_split_local(NULL, &none), COBRE_INVALID_COMMUNICATOR, "split_local");
    cobre_exact_init(&sum);
    CHECK_STATUS(cobre_exact_allreduce(NULL, &sum), COBRE_INVALID_COMMUNICATOR);
    EXPECT_ARGUMENT(cobre_split_local(k->comm, NULL), "split_local", "local");
    CHECK_OK(cobre_comm_free(NULL));
    CHECK_OK(cobre_comm_free(&none));
    CHECK(cobre_rank(NULL) == 0 && cobre_size(NULL) == 0 && cobre_node_rank(NULL) == 0 && cobre_node_size(NULL) == 0);
    CHECK(!cobre_is_leader(NULL) && cobre_comm_backend(NULL) == COBRE_AUTO);
    checked_still_works(k);
}

/* The child of a fork has the parent's handles, and all of them say that it must not use them. */
static void use_parents_handles(kit *k, void *argument) {
    cobre_region *region = argument, *other = NULL;
    cobre_comm *local = NULL;
    double x = 1, y = 2;
    size_t zero[KIT_MAX_RANKS] = {0};
    EXPECT(cobre_barrier(k->comm), COBRE_INVALID_COMMUNICATOR, "barrier");
    EXPECT(cobre_broadcast_t(k->comm, &x, 1, 0), COBRE_INVALID_COMMUNICATOR, "broadcast");
    EXPECT(cobre_allreduce_t(k->comm, &x, &y, 1, COBRE_SUM), COBRE_INVALID_COMMUNICATOR, "allreduce");
    EXPECT(cobre_allgatherv(k->comm, NULL, 0, NULL, 0, zero, zero, COBRE_F64), COBRE_INVALID_COMMUNICATOR,
           "allgatherv");
    EXPECT(cobre_split_local(k->comm, &local), COBRE_INVALID_COMMUNICATOR, "split_local");
    EXPECT(cobre_region_create(k->comm, 1, COBRE_F64, 0, &other), COBRE_INVALID_COMMUNICATOR, "region_create");
    EXPECT(cobre_region_fence(region), COBRE_INVALID_COMMUNICATOR, "region_fence");
    EXPECT(cobre_region_seal(region), COBRE_INVALID_COMMUNICATOR, "region_seal");
    CHECK(cobre_region_claim(region, 0, 1) == NULL);
    EXPECT(cobre_region_free(&region), COBRE_INVALID_COMMUNICATOR, "region_free");
    EXPECT(cobre_comm_free(&k->comm), COBRE_INVALID_COMMUNICATOR, "free");
    CHECK(cobre_rank(k->comm) == k->rank && cobre_size(k->comm) == k->size);
}

static void comm_fork_child(kit *k) {
    cobre_region *region = NULL;
    CHECK_OK(cobre_region_create(k->comm, 10, COBRE_F64, 0, &region));
    int status = kit_in_child(k, use_parents_handles, region);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_OK(cobre_region_fence(region)); /* the child's death is not ours */
    CHECK_OK(cobre_region_free(&region));
    checked_still_works(k);
}

const kit_case error_cases[] = {
    KIT_CASE(allgatherv_errors),
    KIT_CASE(allgatherv_place_errors),
    KIT_CASE(allgatherv_region_errors),
    KIT_CASE(allreduce_errors),
    KIT_CASE(broadcast_errors),
    KIT_CASE(region_errors),
    KIT_CASE(comm_free_needs_no_regions),
    KIT_CASE(comm_null),
    KIT_CASE(comm_fork_child),
    KIT_END,
};
