/* SPDX-License-Identifier: Apache-2.0 */
/* train_steer.c: steers a training while it runs, by commands over the socket in its folder. They are answered at once,
 * and take effect after the iteration. docs/events.md lists them. */
#include "sddp/clock.h"
#include "sddp/run/train_run.h"
#include "sddp/train/rules.h"

#include <inttypes.h>
#include <string.h>

#define LOOK_SECONDS 0.05

void cb_train_steer_open(struct cb_train_run *run) {
    struct cb_train_steer *steer = &run->steer;
    steer->rules = run->options;
    steer->averse = cb_options_averse(run->problem, &run->options);
    cb_rules_default(&steer->rules);
    if (cb_steering_open(&steer->socket, run->folder) == COBRE_OK)
        return;
    if (run->say)
        run->say(run->arg, cobre_last_error()->message);
    cb_training_warning(&run->files, cobre_last_error()->message, cobre_last_error()->suggestion);
}

/* Of what came last only a wish to stop can have had an effect. */
void cb_train_steer_close(struct cb_train_run *run) {
    struct cb_train_steer *steer = &run->steer;
    for (size_t i = steer->taken; i < steer->commands; i++)
        if (strcmp(steer->words[i], "stop") == 0)
            cb_training_steered(&run->files, run->iterations, steer->words[i]);
    cb_steering_close(&steer->socket);
}

/* When a command takes effect. */
static const char *moment(const struct cb_train_run *run, char text[48]) {
    snprintf(text, 48, run->paused ? "now" : "after iteration %" PRIu64, run->iterations + 1);
    return text;
}

static bool pause_or_resume(struct cb_train_run *run, bool pause, char answer[CB_STEERING_LINE]) {
    struct cb_train_steer *steer = &run->steer;
    char when[48];
    if (steer->pause == pause) {
        snprintf(answer, CB_STEERING_LINE, pause ? "no, it is paused already" : "no, it is not paused");
        return false;
    }
    steer->pause = pause;
    if (pause)
        snprintf(answer, CB_STEERING_LINE, "ok, it pauses %s", moment(run, when));
    else
        snprintf(answer, CB_STEERING_LINE, "ok, it goes on");
    return true;
}

/* "iterations 200" */
static bool change_rule(struct cb_train_run *run, char *words, char answer[CB_STEERING_LINE]) {
    char *rest = words, error[CB_OPTION_ERROR], when[48];
    const char *name = strsep(&rest, " ");
    rest = rest ? rest + strspn(rest, " ") : NULL;
    if (!name || !*name || !rest || !*rest) {
        snprintf(answer, CB_STEERING_LINE, "no, write a rule and its value: rule iterations 200");
        return false;
    }
    if (!cb_rules_change(&run->steer.rules, run->steer.averse, name, rest, error)) {
        snprintf(answer, CB_STEERING_LINE, "no, %.480s", error);
        return false;
    }
    snprintf(answer, CB_STEERING_LINE, "ok, rule %.40s %.80s %s", name, rest, moment(run, when));
    return true;
}

enum command { PAUSE, RESUME, STOP, CHECKPOINT, RULE, COMMANDS };

static enum command find_command(const char *line, size_t length) {
    static const char *const names[COMMANDS] = {"pause", "resume", "stop", "checkpoint", "rule"};
    for (size_t i = 0; i < COMMANDS; i++)
        if (strlen(names[i]) == length && strncmp(line, names[i], length) == 0)
            return (enum command)i;
    return COMMANDS;
}

/* False: the answer says why not. */
static bool carry_out(struct cb_train_run *run, enum command command, char *rest, char answer[CB_STEERING_LINE]) {
    char when[48];
    if (command < RULE && *rest) {
        snprintf(answer, CB_STEERING_LINE, "no, nothing may follow this command: %.80s", rest);
        return false;
    }
    switch (command) {
    case PAUSE:
    case RESUME: return pause_or_resume(run, command == PAUSE, answer);
    case RULE: return change_rule(run, rest, answer);
    case STOP:
        run->steer.stop = true;
        snprintf(answer, CB_STEERING_LINE, "ok, it stops and saves, %s%s", moment(run, when),
                 run->paused ? "" : " at the latest");
        return true;
    case CHECKPOINT:
        run->steer.checkpoint = true;
        snprintf(answer, CB_STEERING_LINE, "ok, it saves %s", moment(run, when));
        return true;
    case COMMANDS: snprintf(answer, CB_STEERING_LINE, "no, write pause, resume, stop, checkpoint or rule NAME VALUE");
    }
    return false;
}

static void obey(void *arg, char *line, char answer[CB_STEERING_LINE]) {
    struct cb_train_run *run = arg;
    struct cb_train_steer *steer = &run->steer;
    char words[CB_STEER_WORDS];
    snprintf(words, sizeof words, "%s", line);
    size_t length = strcspn(line, " ");
    char *rest = line + length + strspn(line + length, " ");
    if (steer->commands == CB_STEER_MOST)
        snprintf(answer, CB_STEERING_LINE, "no, too many commands wait for the end of the iteration");
    else if (carry_out(run, find_command(line, length), rest, answer))
        memcpy(steer->words[steer->commands++], words, sizeof words);
}

static void look(struct cb_train_run *run) {
    double begin = cb_clock();
    cb_steering_poll(&run->steer.socket, run, obey);
    run->files.steer_seconds += cb_clock() - begin;
}

/* Between LPs, of which there may be 100,000 a second. */
void cb_train_steer_look(struct cb_train_run *run) {
    double now = cb_clock();
    if (!run->started || now < run->steer.looked_at + LOOK_SECONDS)
        return;
    run->steer.looked_at = now;
    look(run);
}

/* What has come by now takes effect; what comes later, after the next iteration. */
void cb_train_steer_wish(struct cb_train_run *run, cobre_sddp_steering *steering) {
    struct cb_train_steer *steer = &run->steer;
    bool was_paused = steering->pause;
    look(run);
    steer->looked_at = cb_clock();
    steer->taken = steer->commands;
    steering->pause = steer->pause;
    steering->checkpoint = steer->checkpoint;
    steer->checkpoint = false;
    run->files.steered |= cb_rules_differ(steering->options, &steer->rules);
    cb_rules_copy(steering->options, &steer->rules);
    if (was_paused) /* no iteration will tell of it */
        cb_train_steer_tell(run);
}

void cb_train_steer_tell(struct cb_train_run *run) {
    struct cb_train_steer *steer = &run->steer;
    if (steer->taken == 0)
        return;
    run->paused = steer->pause;
    if (run->files.steered)
        cb_rules_copy(&run->options, &steer->rules);
    if (run->steered)
        run->steered(run->arg);
    for (size_t i = 0; i < steer->taken; i++)
        cb_training_steered(&run->files, run->iterations, steer->words[i]);
    steer->commands -= steer->taken;
    memmove(steer->words[0], steer->words[steer->taken], steer->commands * sizeof steer->words[0]);
    steer->taken = 0;
}
