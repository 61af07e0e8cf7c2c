/* SPDX-License-Identifier: Apache-2.0 */
/* hello: who am I, and how many are we?
 *
 *     ./hello                      one rank
 *     cobre run -n 4 ./hello       four ranks of the same program
 */
#include <cobre/comm.h>

#include <stdio.h>

int main(void) {
    /* NULL: how to reach the other ranks is in the environment. A process that nobody launched is alone, rank 0 of 1.
     */
    cobre_comm *comm;
    if (cobre_comm_open(NULL, &comm) != COBRE_OK) {
        const cobre_error *error = cobre_last_error();
        fprintf(stderr, "hello: %s\n%s\n", error->message, error->suggestion);
        return 1;
    }

    printf("hello from rank %zu of %zu (%s)\n", cobre_rank(comm), cobre_size(comm),
           cobre_backend_name(cobre_comm_backend(comm)));

    /* Every rank leaves, as its last call. */
    cobre_comm_free(&comm);
    return 0;
}
