/* SPDX-License-Identifier: Apache-2.0 */
#include "sddp/open.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int (*cb_open_guard)(const char *path);

int cb_open_path(const char *path) {
    return cb_open_guard ? cb_open_guard(path) : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Reads wait again. */
FILE *cb_open_file(const char *path) {
    int fd = cb_open_path(path);
    FILE *file = fd >= 0 && fcntl(fd, F_SETFL, 0) == 0 ? fdopen(fd, "rb") : NULL;
    int error = errno;
    if (fd >= 0 && !file)
        close(fd);
    errno = error;
    return file;
}
