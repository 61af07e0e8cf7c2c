/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c: sets the environment of a rank, from which it learns its place in the job. The backend names the
 * variables. */
#include "cli/run/job.h"

#include <stdlib.h>
#include <string.h>

bool cb_environment_prepare(struct job *job) {
    const cb_backend *backend = cb_backend_at(job->backend);
    const struct host_list *list = &job->options.hosts;
    job->launch.size = job->options.size;
    job->launch.coordinator = list->count ? cb_host_address(list->hosts[0].name) : NULL;
    return backend->launch(&job->launch) && (job->launch.coordinator || cb_environment_prepare_here(job));
}

bool cb_environment_prepare_here(struct job *job) {
    const cb_backend *backend = cb_backend_at(job->backend);
    return !backend->launch_here || backend->launch_here(&job->launch);
}

void cb_environment_end(const struct job *job) {
    const cb_backend *backend = cb_backend_at(job->backend);
    if (backend->launch_end)
        backend->launch_end(&job->launch);
}

/* What says who this rank is. A launcher inside a rank must not hand on its own. */
static void forget_outer_job(void) {
    for (cobre_backend b = cb_first_backend(); b; b = cb_next_backend(b))
        for (const char *const *name = cb_backend_at(b)->variables; name && *name; name++)
            unsetenv(*name);
}

bool cb_environment_set(const struct job *job, size_t rank, int error_fd) {
    forget_outer_job();
    setenv(CB_ENV_BACKEND, cobre_backend_name(job->backend), 1);
    cb_set_number(CB_ENV_RUN_RANK, rank);
    cb_set_number(CB_ENV_RUN_SIZE, job->options.size);
    cb_backend_at(job->backend)->launch_rank(&job->launch, rank);
    return cb_set_descriptor(CB_ENV_ERROR_FD, error_fd);
}

/* Who and where one is, and ways to things that only this host has. */
bool cb_environment_is_of_host(const char *variable) {
    static const char *const names[] = {
        "HOME=",   "USER=", "LOGNAME=", "SHELL=", "MAIL=",       "HOSTNAME=", "HOST=",    "PWD=",
        "OLDPWD=", "TMP=",  "TMPDIR=",  "TEMP=",  "SHLVL=",      "_=",        "DISPLAY=", "WAYLAND_DISPLAY=",
        "TTY=",    "SSH_",  "XDG_",     "DBUS_",  "XAUTHORITY=", "GPG_",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}
