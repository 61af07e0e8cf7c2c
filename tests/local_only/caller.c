/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that the local-only build must reduce to nothing; run.sh looks at the machine code of the call_ functions. */
#include <cobre/comm.h>
#include <stdio.h>

/* Kept as they are written, to be found by name. */
#define KEPT __attribute__((noinline, used))

KEPT void call_barrier(cobre_comm *c);
KEPT void call_broadcast(cobre_comm *c, double *x, size_t n);
KEPT cobre_status call_barrier_status(cobre_comm *c);
KEPT cobre_status call_broadcast_status(cobre_comm *c, double *x, size_t n);
KEPT cobre_status call_broadcast_from_1(cobre_comm *c, double *x, size_t n);

void call_barrier(cobre_comm *c) {
    cobre_barrier(c);
}

void call_broadcast(cobre_comm *c, double *x, size_t n) {
    cobre_broadcast(c, x, n, COBRE_F64, 0);
}

cobre_status call_barrier_status(cobre_comm *c) {
    return cobre_barrier(c);
}

cobre_status call_broadcast_status(cobre_comm *c, double *x, size_t n) {
    return cobre_broadcast(c, x, n, COBRE_F64, 0);
}

/* A wrong root is an error in every build. */
cobre_status call_broadcast_from_1(cobre_comm *c, double *x, size_t n) {
    return cobre_broadcast(c, x, n, COBRE_F64, 1);
}

int main(void) {
    cobre_comm *c;
    double x = 1.5;
    if (cobre_comm_open(NULL, &c) != COBRE_OK) {
        return 1;
    }
    call_barrier(c);
    call_broadcast(c, &x, 1);
    bool ok = call_barrier_status(c) == COBRE_OK && call_broadcast_status(c, &x, 1) == COBRE_OK && x == 1.5;
    ok &= call_broadcast_from_1(c, &x, 1) == COBRE_INVALID_ROOT && cobre_last_error()->status == COBRE_INVALID_ROOT;
    if (!ok) {
        printf("wrong result; last error: %s\n", cobre_last_error()->message);
    }
    return cobre_comm_free(&c) == COBRE_OK && ok ? 0 : 1;
}
