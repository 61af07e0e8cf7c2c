/* session.c: from `cobre train -n 4` to a rank of a job.
 *
 * With -n the command becomes `cobre run`, whose ranks are this command again with --rank before its own arguments.
 * Without it the environment says which job this is a rank of, as for any program; none is a job of one. */
#include "cli/plan/session.h"

#include "cli/json.h"
#include "cli/run/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct cb_option cb_session_rows[] = {
    CB_RANK_ROWS(struct session),
    {.name = "rank", .given = CB_FIELD(struct session, started)},
    {.name = NULL},
};

const struct cb_option cb_json_rows[] = {
    {.name = "json", .help = CB_JSON_HELP, .given = CB_FIELD(struct session, json)},
    {.name = NULL},
};

static bool is_in_a_job(void) {
    cb_options options;
    return getenv(CB_ENV_RUN_SIZE) || (cb_select(NULL, &options) == COBRE_OK && options.backend != COBRE_LOCAL);
}

static int launch(const struct session *session, int argc, char **argv) {
    char self[PATH_MAX], size[24];
    if (!cb_own_path(self)) {
        fprintf(stderr, "cobre %s: cannot find this program itself: %s\n", session->command, strerror(errno));
        return CB_EXIT_LAUNCHER;
    }
    snprintf(size, sizeof size, "%zu", session->size);
    char **words = calloc((size_t)argc + 12, sizeof *words);
    if (!words)
        return CB_EXIT_LAUNCHER;
    size_t count = 0;
    static char run[] = "run", n[] = "-n", backend[] = "--backend", end[] = "--", rank[] = "--rank";
    words[count++] = run;
    words[count++] = n;
    words[count++] = size;
    if (session->backend) {
        words[count++] = backend;
        words[count++] = (char *)session->backend;
    }
    words[count++] = end;
    words[count++] = self;
    words[count++] = argv[0];
    words[count++] = rank;
    for (int i = 1; i < argc; i++)
        words[count++] = argv[i];
    int code = cb_run_self((int)count, words);
    free(words);
    return code;
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
    if (session->started || (!session->size && !session->backend))
        return open_job(session);
    if (is_in_a_job())
        return cb_usage_error(session->command, "this is a rank of a job already, whose launcher says how many there "
                                                "are: leave out -n and --backend");
    if (session->size == 0)
        session->size = 1;
    if (session->size == 1 && !session->backend)
        return open_job(session);
    return launch(session, argc, argv);
}

bool cb_session_speaks(const struct session *session) {
    return cobre_rank(session->comm) == 0;
}

static void print_json_failure(const cobre_sddp_error *error) {
    json_t *failure = json_object();
    cb_json_set(failure, "event", cb_json_text("error"));
    cb_json_set(failure, "kind", cb_json_text(cobre_sddp_status_name(error->status)));
    cb_json_set(failure, "message", cb_json_text(error->message));
    cb_json_set(failure, "suggestion", cb_json_text(error->suggestion));
    cb_json_print(failure, 0);
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
    if (session->json)
        print_json_failure(error);
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
