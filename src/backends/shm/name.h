/* SPDX-License-Identifier: Apache-2.0 */
/* name.h: the functions of name.c, for join.c. */
#ifndef COBRE_BACKENDS_SHM_NAME_H
#define COBRE_BACKENDS_SHM_NAME_H

#include "backends/shm/shm.h"

/* The object behind a name: nothing; a segment under construction; one of a live job that forms; one of a dead job; an
 * object of another user; one that is not a segment; a segment of another version; or it could not be opened, and errno
 * tells why. */
enum cb_finding { CB_NOTHING, CB_UNREADY, CB_LIVE, CB_STALE, CB_FOREIGN, CB_STRANGE, CB_OTHER_LAYOUT, CB_NOT_OPENED };

void cb_shm_path(const char *name, char path[256]);

/* Opens the name and looks. *fd is -1 if it cannot be opened, otherwise the caller's. */
enum cb_finding cb_shm_find(const char *path, int *fd, struct cb_job_header *header);

/* Is the file's creator alive, as far as the system has noticed? For others than the creator. */
bool cb_shm_is_alive(int fd);

/* Removes the name if it leads to fd: by the creator; by others if the creator is dead (1: removed, 0: not, -1: errno).
 */
void cb_shm_drop_name(const char *path, int fd);
int cb_shm_remove_stale(const char *path, int fd);

/* Removes the name of a job whose rank 0 is known to be dead. */
void cb_shm_remove_dead(const char *path, int fd);

/* A new file, locked: without a name where the system can do that. Then, when it is complete: its name. */
cobre_status cb_shm_create_file(const char *name, int *fd);
cobre_status cb_shm_name_file(const char *name, int fd);

cobre_status cb_shm_refuse_name(enum cb_finding finding, const char *path, const struct cb_job_header *header);
cobre_status cb_shm_system_error(const char *what, const char *name);

#define CB_JOIN_ERROR(error, advice, ...)                                                                              \
    cb_error(NULL, COBRE_SHM, COBRE_INITIALIZATION_FAILED,                                                             \
             &(struct cb_details){.operation = "open", .subject = "shm", .os_error = error, .suggestion = advice},     \
             __VA_ARGS__)

#endif
