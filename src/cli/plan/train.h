/* train.h: the parts of `cobre train`. */
#ifndef COBRE_CLI_TRAIN_H
#define COBRE_CLI_TRAIN_H

#include "cli/plan/command_line.h"
#include "cli/plan/session.h"

struct train {
    struct session base;
    cobre_sddp_options options;
    struct command_line line;
    const char *out; /* NULL: the default */
    char folder[PATH_MAX], policy[PATH_MAX];
};

/* train_options.c: CB_LINE_GO_ON when training should start, otherwise the exit code. */
int cb_train_read_line(int argc, char **argv, struct train *train);

/* train_table.c: what rank 0 says while it trains, as a table, lines or JSON. */
void cb_table_start(const struct train *train);
void cb_table_row(const cobre_sddp_progress *progress);
void cb_table_end(const struct train *train, const cobre_sddp_result *result, uint64_t cuts);

/* train_files.c: what rank 0 keeps. False after a message. */
bool cb_trace_row(const struct train *train, const cobre_sddp_progress *progress);
bool cb_trace_end(const struct train *train, uint64_t iterations);
bool cb_write_times(const struct train *train, const cobre_sddp_times *times); /* collective */
bool cb_write_summary(const struct train *train, const cobre_sddp_result *result, const cobre_sddp_policy *policy);

#endif
