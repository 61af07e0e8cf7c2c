/* SPDX-License-Identifier: Apache-2.0 */
/* train_steer.c: a training that is steered while it runs, by lines over the socket in its folder. They are answered at once, and take
 * effect after the iteration; docs/events.md has the words. */
#include "cli/plan/train.h"
#include "cli/run/job.h"
#include "sddp/clock.h"

#include <inttypes.h>
#include <string.h>

void cb_train_steer_open(struct train *train) {
    struct train_steer *steer = &train->steer;
    *steer = (struct train_steer){.rules = train->options, .averse = train->print.averse};
    cb_rules_default(&steer->rules);
    if (cb_steering_open(&steer->socket, train->folder) != COBRE_OK)
        cb_training_warning(&train->files, cobre_last_error()->message, cobre_last_error()->suggestion);
}

void cb_train_steer_close(struct train *train) {
    if (train->started && cb_session_speaks(&train->base))
        cb_steering_close(&train->steer.socket);
}

static void wait_for_effect(struct train_steer *steer, const char *command) {
    if (steer->commands < CB_STEER_MOST)
        steer->command[steer->commands++] = command;
}

/* When a command takes effect. */
static const char *moment(const struct train *train, char text[48]) {
    snprintf(text, 48, train->print.paused ? "now" : "after iteration %" PRIu64, train->iterations + 1);
    return text;
}

static bool pause_or_resume(struct train *train, bool pause, char answer[CB_STEERING_LINE]) {
    struct train_steer *steer = &train->steer;
    char when[48];
    if (steer->pause == pause) {
        snprintf(answer, CB_STEERING_LINE, pause ? "no, it is paused already" : "no, it is not paused");
        return false;
    }
    steer->pause = pause;
    if (pause)
        snprintf(answer, CB_STEERING_LINE, "ok, it pauses %s", moment(train, when));
    else
        snprintf(answer, CB_STEERING_LINE, "ok, it goes on");
    return true;
}

/* "iterations 200" */
static bool change_rule(struct train *train, char *words, char answer[CB_STEERING_LINE]) {
    char *rest = words, error[CB_OPTION_ERROR], when[48];
    const char *name = strsep(&rest, " ");
    rest = rest ? rest + strspn(rest, " ") : NULL;
    if (!name || !*name || !rest || !*rest) {
        snprintf(answer, CB_STEERING_LINE, "no, write a rule and its value: rule iterations 200");
        return false;
    }
    if (!cb_rules_change(&train->steer.rules, train->steer.averse, name, rest, error)) {
        snprintf(answer, CB_STEERING_LINE, "no, %.480s", error);
        return false;
    }
    snprintf(answer, CB_STEERING_LINE, "ok, rule %.40s %.80s %s", name, rest, moment(train, when));
    return true;
}

static void obey(void *arg, char *line, char answer[CB_STEERING_LINE]) {
    struct train *train = arg;
    struct train_steer *steer = &train->steer;
    static const char *const known[] = {"pause", "resume", "stop", "checkpoint", "rule"};
    size_t length = strcspn(line, " "), which = 0;
    char when[48];
    while (which < 5 && (strlen(known[which]) != length || strncmp(line, known[which], length) != 0))
        which++;
    char *rest = line + length + strspn(line + length, " ");
    bool good = which < 5 && steer->commands < CB_STEER_MOST;
    snprintf(answer, CB_STEERING_LINE,
             which < 5 ? "no, too many commands wait for the end of the iteration"
                       : "no, write pause, resume, stop, checkpoint or rule NAME VALUE");
    if (good && which < 2)
        good = pause_or_resume(train, which == 0, answer);
    if (good && which == 2)
        snprintf(answer, CB_STEERING_LINE, "ok, it stops %s and saves", moment(train, when));
    if (good && which == 3)
        snprintf(answer, CB_STEERING_LINE, "ok, it saves %s", moment(train, when));
    if (good && which == 4)
        good = change_rule(train, rest, answer);
    if (!good)
        return;
    steer->stop |= which == 2;
    steer->checkpoint |= which == 3;
    wait_for_effect(steer, known[which]);
}

static void look(struct train *train) {
    double begin = cb_clock();
    cb_steering_poll(&train->steer.socket, train, obey);
    train->files.steer_seconds += cb_clock() - begin;
}

/* Between LPs, of which there may be 100,000 a second. */
void cb_train_steer_look(struct train *train) {
    enum { LOOK_MS = 50 };
    int64_t now = cb_now_ms();
    if (!train->started || now < train->steer.looked_at + LOOK_MS)
        return;
    train->steer.looked_at = now;
    look(train);
}

void cb_train_steer_wish(struct train *train, cobre_sddp_steering *steering) {
    struct train_steer *steer = &train->steer;
    bool was_paused = steering->pause;
    look(train);
    steering->pause = steer->pause;
    steering->checkpoint = steer->checkpoint;
    steer->checkpoint = false;
    cb_rules_copy(steering->options, &steer->rules);
    if (was_paused) /* no iteration will tell of it */
        cb_train_steer_tell(train);
}

void cb_train_steer_tell(struct train *train) {
    struct train_steer *steer = &train->steer;
    for (size_t i = 0; i < steer->commands; i++) {
        if (strcmp(steer->command[i], "rule") == 0) {
            cb_rules_copy(&train->options, &steer->rules);
            train->files.steered = true;
            cb_time_left_rules(&train->print.progress.left, &train->options);
        }
        train->print.paused = steer->pause && !steer->stop;
        if (strcmp(steer->command[i], "resume") == 0)
            cb_time_left_pause(&train->print.progress.left);
        cb_training_steered(&train->files, train->iterations, steer->command[i]);
    }
    steer->commands = 0;
}
