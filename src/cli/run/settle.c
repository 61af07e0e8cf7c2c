/* SPDX-License-Identifier: Apache-2.0 */
/* settle.c: combines the options of a job and checks whether they can be met, for all commands that start ranks. */
#include "cli/run/job.h"

static bool is_usual(cobre_backend backend, bool over_hosts) {
    const cb_backend *found = cb_backend_at(backend);
    return over_hosts ? found->over_hosts : found->default_here;
}

/* The backend of a job for which none is named. */
static cobre_backend usual_backend(bool over_hosts) {
    cobre_backend backend = cb_first_backend();
    while (backend && !is_usual(backend, over_hosts))
        backend = cb_next_backend(backend);
    return backend;
}

static int settle_backend(const struct run_options *options, cobre_backend *backend) {
    bool over_hosts = options->hosts.count > 0;
    cobre_backend usual = usual_backend(over_hosts);
    *backend = options->backend ? cb_backend_named(options->backend) : usual;
    if (!*backend)
        return cb_usage_error(options->command,
                              "--backend %s: no backend has this name; 'cobre info' shows which there are",
                              options->backend);
    const char *name = cobre_backend_name(*backend);
    const cb_backend *found = cb_backend_at(*backend);
    if (found->launcher)
        return cb_usage_error(options->command,
                              "--backend %s: the ranks of such a job are started by its own launcher (%s)", name,
                              found->launcher);
    if (!cb_built_in(*backend))
        return cb_usage_error(options->command, "--backend %s: not in this build, which has: %s", name,
                              cb_built_in_list());
    if (options->self && found->alone && options->size > 1)
        return cb_usage_error(options->command, "--backend %s: its ranks do not find each other; leave it out", name);
    if (over_hosts && !found->over_hosts)
        return cb_usage_error(options->command, "--backend %s: ranks on several hosts need %s", name,
                              cobre_backend_name(usual));
    return CB_GO_ON;
}

static int settle_size_over_hosts(struct run_options *options) {
    if (options->size == 0)
        options->size = options->hosts.slots;
    if (options->size > options->hosts.slots)
        return cb_usage_error(options->command, "-n %zu: the hosts have %zu slot%s", options->size,
                              options->hosts.slots, options->hosts.slots == 1 ? "" : "s");
    if (options->size > CB_MAX_RANKS)
        return cb_usage_error(options->command, "the hosts have %zu slots, and a job has up to %d ranks: add -n",
                              options->hosts.slots, CB_MAX_RANKS);
    return CB_GO_ON;
}

static int settle_size_here(struct run_options *options, cobre_backend backend) {
    size_t own_limit = cb_backend_at(backend)->most_ranks, most = own_limit ? own_limit : CB_MAX_RANKS;
    if (options->size == 0)
        options->size = cb_least(cb_usable_cores(), most);
    if (options->size > most)
        return cb_usage_error(options->command, "-n %zu: a job of %s has at most %zu ranks", options->size,
                              cobre_backend_name(backend), most);
    return CB_GO_ON;
}

int cb_settle(struct run_options *options, cobre_backend *backend) {
    int code = settle_backend(options, backend);
    if (code != CB_GO_ON)
        return code;
    if (options->hosts.count)
        return settle_size_over_hosts(options);
    if (options->remote_shell || options->remote_cobre)
        return cb_usage_error(options->command, "--remote-%s needs --hosts or --hostfile",
                              options->remote_shell ? "shell" : "cobre");
    return settle_size_here(options, *backend);
}
