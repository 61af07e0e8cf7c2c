/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: one run of a command of the planner, from its options to its end. */
#include "cli/plan/session.h"

#include "cli/json.h"
#include "sddp/open.h"
#include "sddp/run/files.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct cb_option cb_json_rows[] = {
    {.name = "json", .help = CB_JSON_HELP, .given = CB_FIELD(struct session, json)},
    {.name = NULL},
};

static int open_job(struct session *session) {
    signal(SIGXFSZ, SIG_IGN); /* our output, too, may go to a file that outgrows its limit (ulimit -f) */
    if (cobre_comm_open(NULL, &session->comm) == COBRE_OK)
        return CB_GO_ON;
    if (!session->self.started) /* else the launcher prints it */
        fprintf(stderr, "cobre %s: %s\ncobre %s:   %s\n", session->self.command, cobre_last_error()->message,
                session->self.command, cobre_last_error()->suggestion);
    return CB_EXIT_BROKEN;
}

/* Who started this process may have confined it to folders. */
static int confine(const struct session *session) {
    const char *folders = getenv(CB_ENV_CONFINED);
    if (!folders || cb_confine_by_text(folders))
        return CB_GO_ON;
    fprintf(stderr, "cobre %s: " CB_ENV_CONFINED ": the folders cannot be opened\n", session->self.command);
    return CB_EXIT_FAILED;
}

int cb_session_open(struct session *session, int argc, char **argv) {
    int code = cb_self_start(&session->self, argc, argv);
    if (code == CB_GO_ON)
        code = confine(session);
    return code == CB_GO_ON ? open_job(session) : code;
}

int cb_session_alone(struct session *session) {
    cobre_config alone = {.struct_size = sizeof alone, .backend = COBRE_LOCAL};
    if (cobre_comm_open(&alone, &session->comm) == COBRE_OK)
        return CB_GO_ON;
    fprintf(stderr, "cobre %s: %s\n", session->self.command, cobre_last_error()->message);
    return CB_EXIT_FAILED;
}

bool cb_session_speaks(const struct session *session) {
    return cobre_rank(session->comm) == 0;
}

static void print_json_failure(const cobre_error *error) {
    json_t *failure = json_object();
    cb_json_set(failure, "event", cb_json_text("error"));
    cb_json_set(failure, "kind", cb_json_text(cobre_status_name(error->status)));
    cb_json_set(failure, "message", cb_json_text(error->message));
    char suggestion[sizeof error->suggestion];
    snprintf(suggestion, sizeof suggestion, "%s", error->suggestion);
    size_t length = strlen(suggestion);
    if (length > 0 && suggestion[length - 1] == ':') /* of a list that people get */
        suggestion[length - 1] = 0;
    cb_json_set(failure, "suggestion", cb_json_text(suggestion));
    cb_json_print(failure, 0);
}

static void write_failure(FILE *to, const struct session *session, const cobre_error *error) {
    const char *command = session->self.command;
    char prefix[32];
    snprintf(prefix, sizeof prefix, "cobre %s:   ", command);
    fprintf(to, "cobre %s: ", command);
    if (cobre_rank(session->comm) > 0)
        fprintf(to, "rank %zu: ", cobre_rank(session->comm));
    bool named = error->file[0] && strstr(error->message, error->file);
    if (error->file[0] && !named)
        fprintf(to, "%s:", error->file);
    if (error->file[0] && !named && error->line)
        fprintf(to, "%zu:", error->line);
    if (error->file[0] && !named)
        fprintf(to, " ");
    if (error->status == COBRE_LP_FAILED) /* a long list of values */
        cb_write_lines(to, prefix, error->message);
    else
        fprintf(to, "%s\n", error->message);
    if (error->suggestion[0])
        fprintf(to, "%s%s\n", prefix, error->suggestion);
}

int cb_session_failed(const struct session *session) {
    const cobre_error *error = cobre_last_error();
    bool broken = error->status == COBRE_COLLECTIVE_FAILED;
    bool tells = broken ? !session->self.started : cb_session_speaks(session); /* else the launcher tells, or rank 0 */
    FILE *to;
    for (size_t i = tells ? 0 : 1; (to = cb_say_to(i)); i++)
        write_failure(to, session, error);
    if (tells && session->json)
        print_json_failure(error);
    return broken ? CB_EXIT_BROKEN : CB_EXIT_FAILED;
}

int cb_session_refused(const struct session *session) {
    const cobre_error *error = cobre_last_error();
    fprintf(stderr, "cobre %s: %s\n", session->self.command, error->message);
    if (error->suggestion[0])
        fprintf(stderr, "cobre %s:   %s\n", session->self.command, error->suggestion);
    return CB_EXIT_USAGE;
}

int cb_session_agree(const struct session *session, int code) {
    uint8_t mine = code == CB_GO_ON, all;
    bool good = cobre_allreduce_t(session->comm, &mine, &all, 1, COBRE_MIN) == COBRE_OK && all;
    return good ? CB_GO_ON : CB_EXIT_FAILED;
}

struct heard {
    struct session *session;
    size_t errors;
};

void cb_session_keep_warning(struct session *session, const char *message, const char *suggestion) {
    json_t *pair = json_array();
    cb_json_append(pair, cb_json_text(message));
    cb_json_append(pair, cb_json_text(suggestion));
    cb_json_append(session->warnings, pair);
}

static void on_issue(void *arg, const cobre_sddp_issue *issue) {
    struct heard *heard = arg;
    FILE *to;
    for (size_t i = 0; (to = cb_say_to(i)); i++)
        cb_write_issue(to, issue);
    heard->errors += issue->warning ? 0 : 1 + issue->more;
    if (!issue->warning || !heard->session->warnings)
        return;
    char message[4096];
    snprintf(message, sizeof message, "%s%s%s%s%s", issue->file, *issue->file ? ": " : "", issue->place,
             *issue->place ? ": " : "", issue->message);
    cb_session_keep_warning(heard->session, message, issue->suggestion);
}

bool cb_session_read(struct session *session, void (*issue)(void *arg, const cobre_sddp_issue *issue), void *arg) {
    cobre_sddp_load_options options = session->load;
    options.struct_size = sizeof options;
    options.issue = issue;
    options.arg = arg;
    return cobre_sddp_load(session->comm, session->case_path, &options, &session->problem) == COBRE_OK;
}

int cb_session_load(struct session *session) {
    struct heard heard = {.session = session};
    if (cb_session_read(session, cb_session_speaks(session) ? on_issue : NULL, &heard))
        return CB_GO_ON;
    if (heard.errors == 0 || session->json)
        return cb_session_failed(session);
    cb_say("cobre %s: %zu error%s in the case\n", session->self.command, heard.errors, heard.errors == 1 ? "" : "s");
    return CB_EXIT_FAILED;
}

/* A policy that a training would not leave under that name is somebody else's. */
static void say_train_first(const struct session *session, const char *given) {
    const char *slash = given ? strrchr(given, '/') : NULL, *command = session->self.command;
    char folder[PATH_MAX] = ".";
    if (given && strcmp(slash ? slash + 1 : given, CB_FILE_POLICY) != 0)
        return;
    fprintf(stderr, "cobre %s:   train first: cobre train ", command);
    cb_shell_write(stderr, session->case_path);
    if (given) {
        cb_folder_of(given, folder);
        fprintf(stderr, " --out ");
        cb_shell_write(stderr, folder);
    }
    fprintf(stderr, "\n");
}

int cb_session_policy(const struct session *session, const char *path, const char *given, cobre_sddp_policy **policy) {
    if (cobre_sddp_policy_load(session->problem, path, policy) == COBRE_OK)
        return CB_GO_ON;
    int code = cb_session_failed(session);
    if (cb_session_speaks(session) && access(path, F_OK) != 0)
        say_train_first(session, given);
    return code;
}

int cb_session_folder(struct session *session, const char *path, bool lock) {
    bool good = !cb_session_speaks(session) || (cb_folder_open(&session->folder, path) == COBRE_OK &&
                                                (!lock || cb_folder_lock(&session->folder) == COBRE_OK));
    if (!good) {
        const cobre_error *error = cobre_last_error();
        fprintf(stderr, "cobre %s: --out %s\n", session->self.command, error->message);
        if (error->suggestion[0])
            fprintf(stderr, "cobre %s:   %s\n", session->self.command, error->suggestion);
    }
    return cb_session_agree(session, good ? CB_GO_ON : CB_EXIT_FAILED);
}

void cb_session_close(struct session *session) {
    cb_folder_close(&session->folder);
    cobre_sddp_problem_free(&session->problem);
    cobre_comm_free(&session->comm);
}
