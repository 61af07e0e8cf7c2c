/* SPDX-License-Identifier: Apache-2.0 */
/* self.c: from `cobre train -n 4` to a rank of a job.
 *
 * With -n or --backend the command is the launcher of ranks that are this command again, with --rank before its own
 * arguments. Without them the environment says which job this is a rank of, as for any program. */
#include "cli/run/self.h"

#include "cli/run/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct cb_option cb_self_rows[] = {
    {.name = "n",
     .help = "start N ranks on this machine (default: one, or the job that this is a rank of)",
     .value = {{.name = "N",
                .kind = CB_VALUE_COUNT,
                .field = CB_FIELD(struct self, size),
                .least = 1,
                .most = CB_MAX_RANKS}},
     .again = true},
    {.name = "backend",
     .help = "how they talk: shm (default) or tcp",
     .value = {{.name = "NAME", .kind = CB_VALUE_TEXT, .field = CB_FIELD(struct self, backend)}},
     .again = true},
    {.name = "rank", .given = CB_FIELD(struct self, started)},
    {.name = NULL},
};

/* One rank that another launcher has started alone may start ranks: `srun -n 1 cobre train -n 4`. */
static bool is_in_a_job(void) {
    cb_options options;
    bool selected = cb_select(NULL, &options) == COBRE_OK;
    const cb_backend *backend = cb_backend_at(options.backend);
    explicit_bzero(options.own, sizeof options.own); /* it may hold a secret */
    if (cb_variable(CB_ENV_RUN_SIZE))
        return true;
    return !selected || backend->launcher ? cb_launched_among_many() : !backend->alone;
}

static int launch(const struct self *self, int argc, char **argv) {
    char path[PATH_MAX], rank[] = "--rank";
    char **program = calloc((size_t)argc + 3, sizeof *program);
    if (!program || !cb_own_path(path)) {
        fprintf(stderr, "cobre %s: cannot find this program itself: %s\n", self->command, strerror(errno));
        free(program);
        return CB_EXIT_LAUNCHER;
    }
    program[0] = path;
    program[1] = argv[0];
    program[2] = rank;
    memcpy(program + 3, argv + 1, (size_t)(argc - 1) * sizeof *argv);
    int code = cb_run(&(struct run_options){.command = self->command,
                                            .size = self->size ? self->size : 1,
                                            .backend = self->backend,
                                            .self = true,
                                            .program = program});
    free(program);
    return code;
}

int cb_self_start(const struct self *self, int argc, char **argv) {
    if (self->started || (!self->size && !self->backend))
        return CB_GO_ON;
    if (is_in_a_job())
        return cb_usage_error(self->command, "this is a rank of a job already, whose launcher says how many there "
                                             "are: leave out -n and --backend");
    return self->size == 1 && !self->backend ? CB_GO_ON : launch(self, argc, argv);
}
