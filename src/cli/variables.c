/* SPDX-License-Identifier: Apache-2.0 */
/* variables.c: looks for variables of the environment that are meant for cobre, and that nothing in it reads. */
#include "cli/cli.h"
#include "comm/select.h"
#include "options/distance.h"
#include "sddp/lp/plugins.h"
#include "sddp/open.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "COBRE_"

/* All but those of the backends. */
static const char *const others[] = {CB_ENV_BACKEND,  CB_ENV_STALL,    CB_ENV_LP_PATH,  CB_ENV_RUN_RANK,
                                     CB_ENV_RUN_SIZE, CB_ENV_ERROR_FD, CB_ENV_CONFINED, NULL};

/* What comes behind the prefix counts. */
struct search {
    const char *name, *closest; /* closest: of the names so far */
    bool known;
};

/* As a share of the known name: who leaves out a word of a long name means that one. */
static double distance(const char *name, const char *known) {
    known += strlen(PREFIX);
    return (double)cb_distance(name + strlen(PREFIX), known) / (double)strlen(known);
}

static void compare(struct search *search, const char *const *names) {
    for (; names && *names; names++) {
        search->known |= strcmp(search->name, *names) == 0;
        if (!search->closest || distance(search->name, *names) < distance(search->name, search->closest))
            search->closest = *names;
    }
}

void cb_unknown_variables(void (*tell)(void *arg, const char *text, bool is_slip), void *arg) {
    for (char **variable = environ; *variable; variable++) {
        char name[CB_DISTANCE_ROOM];
        size_t length = strcspn(*variable, "=");
        if (strncmp(*variable, PREFIX, strlen(PREFIX)) != 0 || length >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length, *variable);
        if (!cb_variable(name) || strncmp(name, PREFIX "TEST_", strlen(PREFIX "TEST_")) == 0)
            continue;
        struct search search = {.name = name};
        compare(&search, others);
        for (cobre_backend b = cb_first_backend(); b; b = cb_next_backend(b)) {
            compare(&search, cb_backend_at(b)->variables);
            compare(&search, cb_backend_at(b)->settings);
        }
        if (search.known)
            continue;
        bool is_slip = distance(name, search.closest) <= 0.5;
        char text[256];
        snprintf(text, sizeof text, "%s is set, but is no variable of cobre%s%s%s", name,
                 is_slip ? "; did you mean " : "", is_slip ? search.closest : "", is_slip ? "?" : "");
        tell(arg, text, is_slip);
    }
}
