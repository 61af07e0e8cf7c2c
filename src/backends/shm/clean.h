/* clean.h: the names that a forming job has in shared memory, for the launcher and `cobre clean`. */
#ifndef COBRE_BACKENDS_SHM_CLEAN_H
#define COBRE_BACKENDS_SHM_CLEAN_H

#define CB_SHM_DIRECTORY "/dev/shm"

#include <stdbool.h>

/* Removes /dev/shm/NAME (name starts with '/') if it is a cobre segment of ours whose job is dead: nobody holds its
 * lock. Returns 1: removed; 0: absent, live, or not a cobre segment of this user; -1: errno says why not. Without
 * `remove`: only says which of these it would be. */
int cb_shm_clean(const char *name, bool remove);

#endif
