/* SPDX-License-Identifier: Apache-2.0 */
/* same_file.h: checks that a descriptor is still the same file. A program may close all descriptors, as daemons do;
 * then files of its own get our numbers, and must not get what we write. */
#ifndef COBRE_COMM_SAME_FILE_H
#define COBRE_COMM_SAME_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

struct cb_identity {
    dev_t device;
    ino_t inode;
};

static inline bool cb_identify(int fd, struct cb_identity *id) {
    struct stat file;
    if (fstat(fd, &file) != 0)
        return false;
    *id = (struct cb_identity){.device = file.st_dev, .inode = file.st_ino};
    return true;
}

static inline bool cb_is_still(int fd, const struct cb_identity *id) {
    struct cb_identity now;
    return cb_identify(fd, &now) && now.device == id->device && now.inode == id->inode;
}

#endif
