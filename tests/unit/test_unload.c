/* SPDX-License-Identifier: Apache-2.0 */
/* test_unload.c LIBCOBRE: programs that load the library, open a communicator and close the library again, without leaving
 * the job. The library stays: it has threads, and work to do at exit. */
#include <dlfcn.h>

#include "kit/harness.h"

static const char *library;

static void *symbol(void *loaded, const char *name) {
    void *found = dlsym(loaded, name);
    CHECK_SAY(found, "%s is in %s", name, library);
    return found;
}

/* Joins and does one collective; the communicator stays open. */
static void close_library(void) {
    cobre_config config = rank_config();
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    CHECK_SAY(loaded, "%s can be loaded: %s", library, dlerror());
    cobre_status (*open)(const cobre_config *, cobre_comm **), (*barrier)(cobre_comm *);
    *(void **)&open = symbol(loaded, "cobre_comm_open");
    *(void **)&barrier = symbol(loaded, "cobre_barrier");
    cobre_comm *comm = NULL;
    CHECK(open(&config, &comm) == COBRE_OK);
    CHECK(barrier(comm) == COBRE_OK);
    CHECK(dlclose(loaded) == 0);
    CHECK_SAY(dlopen(library, RTLD_NOW | RTLD_NOLOAD), "%s is still there", library);
    say("closed", 0);
    await_order();
}

/* Rank 0 lives on when the others have gone: its thread, if it has one, hears of that. */
static void run_ranks(cobre_backend of, size_t size) {
    job j;
    backend = of;
    start_job(&j, size, close_library);
    await_all(&j, "closed");
    for (size_t r = 1; r < size; r++) {
        order(&j, r, 'e');
        await_end(&j, r);
    }
    set_aside(0.1);
    order(&j, 0, 'e');
    end_job(&j);
}

static void unload_local(void) {
    run_ranks(COBRE_LOCAL, 1);
}

#if COBRE_HAVE_SHM
static void unload_shm(void) {
    run_ranks(COBRE_SHM, 2);
}
#endif

#if COBRE_HAVE_TCP
static void unload_tcp(void) {
    run_ranks(COBRE_TCP, 2);
}
#endif

int main(int argc, char **argv) {
    static const check_case cases[] = {
        CHECK_CASE(unload_local),
#if COBRE_HAVE_SHM
        CHECK_CASE(unload_shm),
#endif
#if COBRE_HAVE_TCP
        CHECK_CASE(unload_tcp),
#endif
        CHECK_END,
    };
    CHECK(argc >= 2);
    library = argv[1];
    return check_main(argc - 1, argv + 1, cases);
}
