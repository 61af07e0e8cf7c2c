/* SPDX-License-Identifier: Apache-2.0 */
/* shared_table: a table in memory that the ranks of a machine share, filled by all of them together.
 *
 *     cobre run -n 4 ./shared_table
 *
 * The work is split by the node, not by the job: where ranks share memory, each fills a part of the one table; where
 * they do not (one process, or ranks on different hosts), each fills a whole table of its own. The same lines do both.
 */
#include <cobre/comm.h>

#include <stdio.h>

enum { COUNT = 100000 };

static void check(cobre_comm *comm, cobre_status status) {
    if (status != COBRE_OK)
        cobre_abort(comm, 1, cobre_last_error()->message);
}

int main(void) {
    cobre_comm *comm;
    if (cobre_comm_open(NULL, &comm) != COBRE_OK) {
        fprintf(stderr, "shared_table: %s\n", cobre_last_error()->message);
        return 1;
    }

    /* Zeroed, and reserved: if there is not enough memory we are told here, not killed later. */
    cobre_region *table;
    check(comm, cobre_region_create_t(comm, COUNT, uint64_t, 0, &table));

    size_t l = cobre_node_rank(comm), ranks = cobre_node_size(comm);
    size_t first = COUNT * l / ranks, behind = COUNT * (l + 1) / ranks;
    uint64_t *part = cobre_region_claim(table, first, behind - first);
    for (size_t i = first; i < behind; i++)
        part[i - first] = (uint64_t)i * i;

    /* Everybody's part is written, and from now on nobody can change the table by mistake. */
    check(comm, cobre_region_seal(table));

    /* Reading needs no message and no copy. */
    const uint64_t *squares = cobre_region_data(table);
    uint64_t sum = 0;
    for (size_t i = 0; i < COUNT; i++)
        sum += squares[i];
    printf("rank %zu of %zu: the squares below %d sum to %llu\n", cobre_rank(comm), cobre_size(comm), COUNT,
           (unsigned long long)sum);

    check(comm, cobre_region_free(&table)); /* regions first, then their communicator */
    cobre_comm_free(&comm);
    return 0;
}
