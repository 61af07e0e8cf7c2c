/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a user of the installed library; valid C11 and C++17. Exit code 0: the ranks could talk. */
#include <cobre/comm.h>
#include <stdio.h>

int main(void) {
    cobre_comm *comm;
    if (cobre_comm_open(NULL, &comm) != COBRE_OK) {
        fprintf(stderr, "%s\n", cobre_last_error()->message);
        return 1;
    }
    double one = 1.0, ranks = 0.0;
    long long mine = (long long)cobre_rank(comm), highest = -1;
    cobre_status sum = cobre_allreduce_t(comm, &one, &ranks, 1, COBRE_SUM);
    cobre_status max = cobre_allreduce_t(comm, &mine, &highest, 1, COBRE_MAX);
    size_t size = cobre_size(comm);
    printf("cobre %s: rank %zu of %zu\n", cobre_version(), cobre_rank(comm), size);
    if (cobre_comm_free(&comm) != COBRE_OK) {
        return 1;
    }
    return sum == COBRE_OK && max == COBRE_OK && ranks == (double)size && highest + 1 == (long long)size ? 0 : 1;
}
