/* segment.c: the one name that a forming shm job has. */
#include "backends/shm/clean.h"
#include "cli/cli.h"

#include <limits.h>
#include <time.h>
#include <unistd.h>

int cb_segment_clean(const char *name) {
#ifdef COBRE_HAVE_SHM
    return cb_shm_clean(name);
#else
    (void)name;
    return 0;
#endif
}

void cb_segment_remove(const char *name) {
    enum { TRIES = 100, PAUSE_MS = 20 };
    char path[PATH_MAX];
    snprintf(path, sizeof path, CB_SHM_DIRECTORY "%s", name);
    struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    for (int i = 0; i < TRIES && access(path, F_OK) == 0; i++) {
        if (cb_segment_clean(name) != 0)
            return;
        nanosleep(&pause, NULL); /* a killed process lets go of its lock only when its memory has been freed */
    }
}
