/* SPDX-License-Identifier: Apache-2.0 */
/* room.c: the error for too little memory; its words are the same on every backend. */
#include <errno.h>
#include <string.h>

#include "comm/backend.h"

cobre_status cb_no_room(const cobre_comm *comm, cobre_backend backend, const struct cb_shortage *lack) {
    char need[32], have[32];
    struct cb_details details = {
        .operation = lack->operation, .expected = lack->asked, .actual = lack->there, .os_error = lack->os_error};
    cb_bytes_text(lack->asked, need);
    cb_bytes_text(lack->there, have);
    if (lack->os_error == EFBIG) {
        details.suggestion = "raise the limit of file sizes: ulimit -f unlimited";
        return cb_error(comm, backend, COBRE_ALLOCATION_FAILED, &details,
                        "%s: %s of shared memory would make the job's file larger than its limit (ulimit -f)",
                        lack->operation, need);
    }
    if (lack->os_error == EBADF) {
        details.suggestion = "close only descriptors that the program has opened itself";
        return cb_error(comm, backend, COBRE_ALLOCATION_FAILED, &details,
                        "%s: a rank's program has closed the descriptor of the job's shared memory", lack->operation);
    }
    if (lack->there >= lack->asked) {
        details.suggestion = "raise the limits of this process (ulimit -v)";
        return cb_error(comm, backend, COBRE_ALLOCATION_FAILED, &details,
                        "%s: there is room for %s, but the system refused it: %s", lack->operation, need,
                        strerror(lack->os_error));
    }
    details.suggestion = lack->shared ? "enlarge /dev/shm (docker run --shm-size=SIZE; mount -o remount,size=SIZE "
                                        "/dev/shm), raise the memory limit of the container or job, or ask for less"
                                      : "free memory, raise the memory limit of the container or job, or ask for less";
    return cb_error(comm, backend, COBRE_ALLOCATION_FAILED, &details,
                    "%s needs %s, but %s of %s is free%s (%sMemAvailable and cgroup limit considered)", lack->operation,
                    need, have, lack->shared ? "shared memory" : "memory", lack->where ? lack->where : "",
                    lack->shared ? "/dev/shm, " : "");
}
