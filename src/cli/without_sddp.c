/* without_sddp.c: the trainer's commands in a build that has no trainer. */
#include "cli/cli.h"

#define WITHOUT(command)                                                                                               \
    int cb_command_##command(int argc, char **argv) {                                                                  \
        (void)argc;                                                                                                    \
        (void)argv;                                                                                                    \
        fputs("cobre " #command ": this build has no trainer; it needs Random123, and GLPK or CLP when it is built\n", \
              stderr);                                                                                                 \
        return CB_EXIT_USAGE;                                                                                          \
    }

WITHOUT(train)
WITHOUT(simulate)
WITHOUT(policy)
WITHOUT(validate)
WITHOUT(report)
