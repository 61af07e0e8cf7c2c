/* SPDX-License-Identifier: Apache-2.0 */
/* without_sddp.c: the planner's commands in a build without the planner. */
#include "cli/cli.h"
#include "cli/json.h"

#define WHY                                                                                                            \
    "this build has no trainer; it needs zlib and Random123 when it is built (Debian: zlib1g-dev, librandom123-dev)"

static int refuse(char **argv) {
    fprintf(stderr, "cobre %s: " WHY "\n", argv[0]);
    return CB_EXIT_USAGE;
}

size_t cb_parts(struct cb_part parts[CB_PARTS]) {
    parts[0] = (struct cb_part){.name = "planner", .problem = WHY};
    return 1;
}

void cb_solvers_print(void) {
    printf("LP solvers: this build has no trainer\n");
}

json_t *cb_solvers_json(void) {
    return json_null();
}

#define WITHOUT(name)                                                                                                  \
    const struct command_line cb_line_##name = {.command = #name};                                                     \
    int cb_command_##name(int argc, char **argv) {                                                                     \
        (void)argc;                                                                                                    \
        return refuse(argv);                                                                                           \
    }

WITHOUT(init)
WITHOUT(train)
WITHOUT(decide)
WITHOUT(simulate)
WITHOUT(policy)
WITHOUT(validate)
WITHOUT(report)
WITHOUT(compare)
WITHOUT(watch)
WITHOUT(mcp)
