/* SPDX-License-Identifier: Apache-2.0 */
/* mean: the mean and the largest of numbers that are spread over the ranks.
 *
 *     ./mean                       the same last line...
 *     cobre run -n 4 ./mean        ...whatever the number of ranks
 */
#include <cobre/comm.h>

#include <stdio.h>

enum { COUNT = 1000 };

static double number(size_t i) {
    return 0.5 * (double)i;
}

/* After a failed collective no rank can go on. cobre_abort tells the others why, so that nobody waits for us. */
static void check(cobre_comm *comm, cobre_status status) {
    if (status != COBRE_OK)
        cobre_abort(comm, 1, cobre_last_error()->message);
}

int main(void) {
    cobre_comm *comm;
    if (cobre_comm_open(NULL, &comm) != COBRE_OK) {
        fprintf(stderr, "mean: %s\n", cobre_last_error()->message);
        return 1;
    }

    /* A contiguous block for each rank; the blocks differ by at most one when COUNT does not divide evenly. */
    size_t rank = cobre_rank(comm), size = cobre_size(comm);
    size_t first = COUNT * rank / size, behind = COUNT * (rank + 1) / size;

    double mine[2] = {0, 0}; /* sum, and how many */
    double largest = -1;
    for (size_t i = first; i < behind; i++) {
        mine[0] += number(i);
        mine[1] += 1;
        largest = number(i) > largest ? number(i) : largest;
    }

    /* One message for both sums. Every rank gets the result, the same bits on each. */
    double total[2];
    check(comm, cobre_allreduce_t(comm, mine, total, 2, COBRE_SUM));
    check(comm, cobre_allreduce_t(comm, &largest, &largest, 1, COBRE_MAX)); /* in place */

    if (rank == 0)
        printf("mean of %.0f numbers: %.3f, largest: %.1f\n", total[1], total[0] / total[1], largest);
    cobre_comm_free(&comm);
    return 0;
}
