/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c: finds the rank that failed first, and tells the user.
 *
 * The order in which ends are seen is not the order of cause and effect: a rank with much memory that is killed becomes
 * a zombie long after the others have noticed its death and given up, and one look at the children may find several
 * ends. So:
 *   1. Start from the end that was seen first. Among ends seen in one look, prefer a rank killed by a signal to
 *      one that exited, then one that blames nobody to one that blames another rank, then the lowest rank.
 *   2. Follow the blame. A rank's last error names a culprit. If that rank failed, too, and not by a signal of ours, it
 *      is the better answer; follow its error in turn. Two ranks that blame each other (a mismatched call) leave it at 1.
 *      A culprit that did not fail (it left with exit code 0, or it stalled and lives) stays in the error's text only.
 */
#include "cli/live.h"
#include "cli/run/job.h"

#include <jansson.h>
#include <string.h>

static bool failed(const struct rank *rank) {
    return rank->ended && !(rank->how == CLD_EXITED && rank->status == 0);
}

static bool by_signal(const struct rank *rank) {
    return rank->how != CLD_EXITED;
}

/* Its end is what we did to it. */
static bool stopped_by_us(const struct rank *rank) {
    return by_signal(rank) && ((cb_is_stopping(rank->seen_in) && rank->status == SIGTERM) ||
                               (cb_is_killing(rank->seen_in) && rank->status == SIGKILL));
}

/* A member of the context of its last error; NULL: there is none. */
static const json_t *context(const struct rank *rank, const char *key) {
    return json_object_get(json_object_get(rank->report, "context"), key);
}

/* The rank that this one's last error blames; NULL: none, or itself. */
static const struct rank *blamed(const struct job *job, const struct rank *rank) {
    const json_t *culprit = context(rank, "culprit");
    double index = json_real_value(culprit);
    if (!json_is_real(culprit) || !(index >= 0 && index < (double)job->started))
        return NULL;
    const struct rank *other = &job->ranks[(size_t)index];
    return other == rank ? NULL : other;
}

/* Whether the failure of a culprit can have been the cause. After our SIGTERM an exit says little, unless the error
 * says that the rank was dead by then. */
static bool failed_before(const struct rank *culprit, const struct rank *accuser) {
    if (!failed(culprit) || stopped_by_us(culprit))
        return false;
    const char *cause = json_string_value(context(accuser, "cause"));
    return !cb_is_stopping(culprit->seen_in) ||
           (cause && (strcmp(cause, cobre_cause_name(COBRE_CAUSE_PEER_DIED)) == 0 ||
                      strcmp(cause, cobre_cause_name(COBRE_CAUSE_ABORTED)) == 0));
}

static bool seen_before(const struct job *job, const struct rank *a, const struct rank *b) {
    if (a->sweep != b->sweep)
        return a->sweep < b->sweep;
    if (by_signal(a) != by_signal(b))
        return by_signal(a);
    bool a_blames = blamed(job, a) != NULL, b_blames = blamed(job, b) != NULL;
    return a_blames != b_blames ? b_blames : a < b;
}

static const struct rank *first_failure(const struct job *job) {
    const struct rank *seen = NULL;
    for (size_t i = 0; i < job->started; i++)
        if (failed(&job->ranks[i]) && (!seen || seen_before(job, &job->ranks[i], seen)))
            seen = &job->ranks[i];
    const struct rank *suspect = seen;
    for (size_t hops = 0; suspect && hops < job->started; hops++) {
        const struct rank *culprit = blamed(job, suspect);
        if (!culprit || !failed_before(culprit, suspect))
            return suspect;
        suspect = culprit;
    }
    return seen; /* nobody, or a circle */
}

static void print_end(const struct job *job, const struct rank *rank) {
    fprintf(stderr, "cobre run: rank %td of %zu", rank - job->ranks, job->options.size);
    if (rank->host)
        fprintf(stderr, " on %s", rank->host);
    fprintf(stderr, " (pid %ld) failed first: ", (long)(rank->host ? rank->link.pid : rank->pid));
    if (cb_remote_is_lost(rank))
        cb_remote_print_loss(rank);
    else if (!by_signal(rank))
        fprintf(stderr, "exit code %d\n", rank->status);
    else
        fprintf(stderr, "killed by %s (signal %d)%s\n", cb_signal_name(rank->status), rank->status,
                rank->how == CLD_DUMPED ? ", core dumped" : "");
}

/* To a terminal: control characters become blanks. */
static void print_text(const char *text) {
    for (; *text; text++)
        putc((unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text, stderr);
    putc('\n', stderr);
}

/* What is no JSON, or has no message, is printed as it is. */
static void print_message(const struct rank *rank) {
    const char *message = json_string_value(json_object_get(rank->report, "message"));
    print_text(message ? message : rank->error.data);
}

static void print_own_error(const struct rank *rank) {
    if (!rank->error.length) {
        fprintf(stderr, "cobre run:   it reported no error\n");
        return;
    }
    fprintf(stderr, "cobre run:   its last error: ");
    print_message(rank);
    const char *suggestion = json_string_value(json_object_get(rank->report, "suggestion"));
    if (suggestion && *suggestion) {
        fprintf(stderr, "cobre run:   suggestion: ");
        print_text(suggestion);
    }
}

/* The error of another rank that names this one. */
static void print_accuser(const struct job *job, const struct rank *first) {
    for (size_t i = 0; i < job->started; i++) {
        if (blamed(job, &job->ranks[i]) != first)
            continue;
        fprintf(stderr, "cobre run:   rank %zu reported: ", i);
        print_message(&job->ranks[i]);
        return;
    }
}

static void print_testimony(const struct job *job, const struct rank *first) {
    print_own_error(first);
    if (job->options.log_dir)
        fprintf(stderr, "cobre run:   what it wrote: %s/rank-%td.err\n", job->options.log_dir, first - job->ranks);
    if (!first->error.length || by_signal(first)) /* what killed it may have nothing to do with its last error */
        print_accuser(job, first);
    if (by_signal(first) && first->status == SIGKILL)
        fprintf(stderr, "cobre run:   if nobody killed it, memory may have run out (see dmesg)\n");
    const struct rank *culprit = blamed(job, first);
    if (culprit && !failed(culprit))
        fprintf(stderr, "cobre run:   rank %td had ended with exit code 0\n", culprit - job->ranks);
}

static void print_others(const struct job *job, const struct rank *first) {
    size_t stopped = 0, after = 0, well = 0;
    for (size_t i = 0; i < job->started; i++) {
        const struct rank *rank = &job->ranks[i];
        if (rank == first)
            continue;
        stopped += failed(rank) && cb_is_stopping(rank->seen_in);
        after += failed(rank) && !cb_is_stopping(rank->seen_in);
        well += !failed(rank);
    }
    if (job->started > 1)
        fprintf(stderr, "cobre run:   the other ranks: %zu failed after it, %zu stopped, %zu ended well\n", after,
                stopped, well);
}

/* Signals that we passed on and that killed ranks, or made us kill them, or kept them from starting, are the user's will
 * and no rank's fault. */
static bool ended_by_passed_signal(const struct job *job, const struct rank *first) {
    if (!job->passed_signal)
        return false;
    if (job->started < job->options.size || stopped_by_us(first))
        return true;
    for (size_t i = 0; i < job->started; i++) {
        const struct rank *rank = &job->ranks[i];
        if (rank->never_ran)
            return true;
        if (by_signal(rank) && cb_signal_ends(rank->status) && !cb_is_stopping(rank->seen_in))
            return true;
    }
    return false;
}

static size_t count_killed(const struct job *job) {
    size_t killed = 0;
    for (size_t i = 0; i < job->started; i++)
        killed += stopped_by_us(&job->ranks[i]) && job->ranks[i].status == SIGKILL;
    return killed;
}

static int judge(const struct job *job) {
    const struct rank *first = first_failure(job);
    if (!first)
        return 0;
    if (ended_by_passed_signal(job, first)) {
        fprintf(stderr, "cobre run: %s was passed on to the ranks, and ended the job\n",
                cb_signal_name(job->passed_signal));
        if (count_killed(job))
            fprintf(stderr, "cobre run:   %zu of %zu ranks were killed\n", count_killed(job), job->options.size);
        return 128 + job->passed_signal;
    }
    if (job->options.self && !by_signal(first) && first->status <= CB_EXIT_NOT_CONVERGED &&
        first->status != CB_EXIT_BROKEN)
        return first->status;
    print_end(job, first);
    print_testimony(job, first);
    print_others(job, first);
    return by_signal(first) ? 128 + first->status : first->status;
}

/* A number of an error can be larger than jansson's integers: all are read as reals. */
int cb_verdict(const struct job *job) {
    for (size_t i = 0; i < job->started; i++)
        if (job->ranks[i].error.length)
            job->ranks[i].report = json_loads(job->ranks[i].error.data, JSON_DECODE_INT_AS_REAL, NULL);
    if (job->options.self && job->started > 0 && by_signal(&job->ranks[0]))
        cb_live_clear_behind(); /* rank 0 may have been drawing */
    int code = judge(job);
    for (size_t i = 0; i < job->started; i++)
        json_decref(job->ranks[i].report);
    return code;
}
