/* SPDX-License-Identifier: Apache-2.0 */
/* MPICH polls for as long as it waits and never lets another rank have its core: with more ranks than cores a barrier of
 * 8 ranks takes 30 ms on 2 cores. Debian's (4.0.2, ch4:ucx) has no call of sched_yield in it, so its one setting for this,
 * MPIR_CVAR_POLLS_BEFORE_YIELD, does nothing. Its polling ends in this function of UCX; the one here comes first in the
 * order of symbols, and naps when there has been nothing to do for a while: 0.4 ms. Conformance is not about time. */
#include "kit/mpich_nap.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { IDLE_POLLS = 5, NAP_NANOSECONDS = 20000 };

bool nap_when_idle;

static unsigned (*find_progress(void))(void *) {
    void *ucp = dlopen("libucp.so.0", RTLD_NOW | RTLD_NOLOAD);
    void *symbol = ucp ? dlsym(ucp, "ucp_worker_progress") : NULL;
    if (!symbol) {
        fputs("no ucp_worker_progress\n", stderr);
        abort();
    }
    return (unsigned (*)(void *))(uintptr_t)symbol;
}

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void *worker);
unsigned ucp_worker_progress(void *worker) {
    static unsigned (*_Atomic progress)(void *);
    static _Thread_local unsigned idle;
    if (!progress)
        progress = find_progress();
    unsigned done = progress(worker);
    idle = done ? 0 : idle + 1;
    if (nap_when_idle && idle > IDLE_POLLS)
        nanosleep(&(struct timespec){.tv_nsec = NAP_NANOSECONDS}, NULL);
    return done;
}
