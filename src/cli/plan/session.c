/* session.c: one run of a command of the trainer, from its options to its end. */
#include "cli/plan/session.h"

#include "cli/plan/command_line.h"
#include "cli/run/job.h"

#include <getopt.h>
#include <string.h>

#define FIELD(member) CB_FIELD(struct session, member)
const struct cb_option cb_session_rows[] = {
    {.name = "n",
     .help = "start N ranks on this machine (default: one, or the job that this is a rank of)",
     .value = {{.name = "N", .kind = CB_VALUE_COUNT, .field = FIELD(size), .least = 1, .most = CB_MAX_RANKS}},
     .again = true},
    {.name = "backend",
     .help = "how they talk: shm (default) or tcp",
     .value = {{.name = "NAME", .kind = CB_VALUE_TEXT, .field = FIELD(backend)}},
     .again = true},
    {.name = "json", .help = "a JSON object a line on standard output, for programs", .given = FIELD(json)},
    {.name = "rank", .given = FIELD(started)},
    {.name = NULL},
};

int cb_session_option(struct session *session, int found, char **argv) {
    const char *command = session->command;
    switch (found) {
    case 'n': return cb_line_set(command, cb_session_rows, "n", optarg, session);
    case CB_OPTION_BACKEND: return cb_line_set(command, cb_session_rows, "backend", optarg, session);
    case CB_OPTION_RANK: return cb_line_set(command, cb_session_rows, "rank", NULL, session);
    case CB_OPTION_JSON: return cb_line_set(command, cb_session_rows, "json", NULL, session);
    case CB_OPTION_SCENARIOS: return cb_line_set(command, cb_scenario_rows, "scenarios", optarg, &session->load);
    case CB_OPTION_VALUE_BOUND: return cb_line_set(command, cb_load_rows, "value-bound", optarg, &session->load);
    case CB_OPTION_SOLVER: session->load.solver = optarg; return 0;
    default: return cb_option_error(command, found, argv);
    }
}

static int open_job(struct session *session) {
    if (cobre_comm_open(NULL, &session->comm) == COBRE_OK)
        return -1;
    if (!session->started) /* else the launcher prints it */
        fprintf(stderr, "cobre %s: %s\ncobre %s:   %s\n", session->command, cobre_last_error()->message,
                session->command, cobre_last_error()->suggestion);
    return CB_EXIT_BROKEN;
}

int cb_session_open(struct session *session, int argc, char **argv) {
    struct self self = {.command = session->command,
                        .size = session->backend && !session->size ? 1 : session->size,
                        .backend = session->backend,
                        .started = session->started};
    int code = cb_self_start(&self, argc, argv);
    return code < 0 ? open_job(session) : code;
}

int cb_session_alone(struct session *session) {
    cobre_config alone = {.struct_size = sizeof alone, .backend = COBRE_LOCAL};
    if (cobre_comm_open(&alone, &session->comm) == COBRE_OK)
        return 0;
    fprintf(stderr, "cobre %s: %s\n", session->command, cobre_last_error()->message);
    return CB_EXIT_FAILED;
}

bool cb_session_speaks(const struct session *session) {
    return cobre_rank(session->comm) == 0;
}

static void print_failure(const struct session *session, const cobre_sddp_error *error) {
    const char *command = session->command;
    fprintf(stderr, "cobre %s: ", command);
    if (cobre_rank(session->comm) > 0)
        fprintf(stderr, "rank %zu: ", cobre_rank(session->comm));
    bool named = error->file[0] && strstr(error->message, error->file);
    if (error->file[0] && !named)
        fprintf(stderr, "%s: ", error->file);
    fprintf(stderr, "%s\n", error->message);
    if (error->suggestion[0])
        fprintf(stderr, "cobre %s:   %s\n", command, error->suggestion);
    if (session->json) {
        printf("{\"event\": \"error\", \"kind\": \"%s\", \"message\": ", cobre_sddp_status_name(error->status));
        cb_json_write(stdout, error->message);
        printf(", \"suggestion\": ");
        cb_json_write(stdout, error->suggestion);
        printf("}\n");
    }
}

int cb_session_failed(const struct session *session) {
    const cobre_sddp_error *error = cobre_sddp_last_error();
    bool broken = error->status == COBRE_SDDP_COMMUNICATION_FAILED;
    if (broken ? !session->started : cb_session_speaks(session))
        print_failure(session, error);
    return broken ? CB_EXIT_BROKEN : CB_EXIT_FAILED;
}

int cb_session_refused(const struct session *session) {
    fprintf(stderr, "cobre %s: %s\n", session->command, cobre_sddp_last_error()->message);
    return CB_EXIT_USAGE;
}

bool cb_session_agree(const struct session *session, bool good) {
    uint8_t mine = good, all;
    return cobre_allreduce_t(session->comm, &mine, &all, 1, COBRE_MIN) == COBRE_OK && all;
}

static void on_issue(void *errors, const cobre_sddp_issue *issue) {
    cb_write_issue(stderr, issue);
    ++*(size_t *)errors;
}

bool cb_session_read(struct session *session, void (*issue)(void *arg, const cobre_sddp_issue *issue), void *arg) {
    cobre_sddp_load_options options = session->load;
    options.struct_size = sizeof options;
    options.issue = issue;
    options.issue_arg = arg;
    return cobre_sddp_load(session->comm, session->case_path, &options, &session->problem) == COBRE_SDDP_OK;
}

int cb_session_load(struct session *session) {
    size_t errors = 0;
    if (cb_session_read(session, cb_session_speaks(session) ? on_issue : NULL, &errors))
        return 0;
    if (errors == 0 || session->json)
        return cb_session_failed(session);
    fprintf(stderr, "cobre %s: %zu error%s in the case\n", session->command, errors, errors == 1 ? "" : "s");
    return CB_EXIT_FAILED;
}

bool cb_session_folder(struct session *session, const char *path, bool lock) {
    bool good = !cb_session_speaks(session) || (cb_folder_open(&session->folder, path) == COBRE_SDDP_OK &&
                                                (!lock || cb_folder_lock(&session->folder) == COBRE_SDDP_OK));
    if (!good)
        fprintf(stderr, "cobre %s: --out %s\n", session->command, cobre_sddp_last_error()->message);
    return cb_session_agree(session, good);
}

void cb_session_close(struct session *session) {
    cb_folder_close(&session->folder);
    cobre_sddp_problem_free(&session->problem);
    cobre_comm_free(&session->comm);
}
