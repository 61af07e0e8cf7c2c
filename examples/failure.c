/* SPDX-License-Identifier: Apache-2.0 */
/* What the others see when a rank dies: its last rank is killed while the others wait for it.
 *
 *     cobre run -n 4 failure */
#include <cobre/comm.h>

#include <signal.h>
#include <stdio.h>

int main(void) {
    cobre_comm *comm;
    if (cobre_comm_open(NULL, &comm) != COBRE_OK) {
        fprintf(stderr, "%s\n%s\n", cobre_last_error()->message, cobre_last_error()->suggestion);
        return 1;
    }
    size_t rank = cobre_rank(comm), last = cobre_size(comm) - 1;
    if (last == 0) {
        puts("one rank alone has nobody to miss: cobre run -n 4 failure");
        cobre_comm_free(&comm);
        return 0;
    }
    if (rank == last)
        raise(SIGKILL);

    if (cobre_barrier(comm) != COBRE_OK) {
        const cobre_error *error = cobre_last_error();
        printf("rank %zu: %s: %s\n", rank, cobre_status_name(error->status), error->message);
    }
    cobre_comm_free(&comm);
    return 1;
}
