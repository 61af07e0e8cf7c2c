/* MPICH polls for as long as it waits and never lets another rank have its core: with more ranks than cores a barrier of
 * 8 ranks takes 30 ms on 2 cores. Debian's (4.0.2, ch4:ucx) has no call of sched_yield in it, so its one setting for this,
 * MPIR_CVAR_POLLS_BEFORE_YIELD, does nothing. Its polling ends in this function of UCX; the runner's comes first in the
 * order of symbols, and yields when there was nothing to do: 0.6 ms. Conformance is not about time. */
#include "runner.h"

#include <dlfcn.h>
#include <sched.h>

bool yield_when_idle;

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void *worker);
unsigned ucp_worker_progress(void *worker) {
    static unsigned (*_Atomic progress)(void *);
    if (!progress) {
        void *ucp = dlopen("libucp.so.0", RTLD_NOW | RTLD_NOLOAD);
        void *symbol = ucp ? dlsym(ucp, "ucp_worker_progress") : NULL;
        if (!symbol)
            give_up("libucp.so.0");
        progress = (unsigned (*)(void *))(uintptr_t)symbol;
    }
    unsigned done = progress(worker);
    if (!done && yield_when_idle)
        sched_yield();
    return done;
}
