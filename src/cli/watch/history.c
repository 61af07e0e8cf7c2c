/* SPDX-License-Identifier: Apache-2.0 */
/* history.c: collects the events of a training (history.h). */
#include "cli/watch/history.h"

#include "sddp/grow.h"
#include "sddp/train/rules.h"

#include <math.h>
#include <stdio.h>

/* A text that is too long ends before a letter that does not fit. */
void cb_event_text(const json_t *object, const char *key, char *text, size_t room) {
    const char *value = json_string_value(json_object_get(object, key));
    size_t length = value ? strnlen(value, room) : 0;
    if (length == room)
        for (length--; length > 0 && (value[length] & 0xc0) == 0x80;)
            length--;
    if (length)
        memcpy(text, value, length);
    text[length] = 0;
}

static void take_rules(struct cb_history *history, const json_t *rules) {
    const char *name;
    json_t *value;
    size_t length = 0;
    cobre_sddp_train_options options = {.struct_size = sizeof options};
    if (!json_is_object(rules))
        return;
    history->rules_text[0] = 0;
    json_object_foreach((json_t *)rules, name, value) {
        const struct cb_option *row = cb_option_find(cb_rule_rows, name);
        const char *text = json_string_value(value);
        char error[CB_OPTION_ERROR];
        if (!row || !text)
            continue;
        cb_option_set(cb_rule_rows, name, row->value[0].kind ? text : NULL, &options, error);
        int more = snprintf(history->rules_text + length, sizeof history->rules_text - length, "%s%s %s",
                            length ? ", " : "", name, text);
        length += more > 0 && (size_t)more < sizeof history->rules_text - length ? (size_t)more : 0;
    }
    history->rules = options;
    cb_time_left_rules(&history->left, &options);
}

/* A training that goes on from an earlier one repeats the iterations that the policy had not been saved with. */
static void forget_after(struct cb_history *history, double iteration) {
    while (history->count > 0 && history->trace[history->count - 1].iteration > iteration)
        history->count--;
}

static void take_started(struct cb_history *history, const json_t *event) {
    char sense[CB_SHORT];
    double made = cb_json_real_in(event, "iterations");
    cb_event_text(event, "name", history->name, sizeof history->name);
    cb_event_text(event, "backend", history->backend, sizeof history->backend);
    cb_event_text(event, "cost_unit", history->unit, sizeof history->unit);
    cb_event_text(event, "version", history->version, sizeof history->version);
    cb_event_text(event, "host", history->host, sizeof history->host);
    cb_event_text(event, "case", history->problem, sizeof history->problem);
    cb_event_text(event, "out", history->out, sizeof history->out);
    cb_event_text(event, "sense", sense, sizeof sense);
    history->maximises = strcmp(sense, "max") == 0;
    history->averse = json_is_true(json_object_get(event, "averse"));
    history->ranks = cb_json_real_in(event, "ranks");
    history->stages = cb_json_real_in(event, "stages");
    history->forward_passes = cb_json_real_in(event, "forward_passes");
    history->saved = made > 0 ? made : 0;
    forget_after(history, made > 0 ? made : 0);
    history->before = history->count ? history->record[history->count - 1].seconds : 0;
    history->left = (struct time_left){.iterations = 0};
    take_rules(history, json_object_get(event, "rules"));
    history->started = history->proven = true;
    history->paused = false;
    history->idle = 0;
    history->end = CB_NO_END;
    history->note[0] = history->reason[0] = history->advice[0] = history->policy[0] = 0;
}

static void sum_up(const json_t *list, float *mean, float *slowest) {
    size_t i, count = 0;
    const json_t *value;
    double sum = 0, most = 0;
    json_array_foreach(list, i, value) {
        double number = json_number_value(value);
        count += json_is_number(value);
        sum += number;
        most = fmax(most, number);
    }
    *mean = count ? (float)(sum / (double)count) : NAN;
    *slowest = count ? (float)most : NAN;
}

static double sum_of(const json_t *list) {
    size_t i;
    const json_t *value;
    double sum = json_array_size(list) ? 0 : NAN;
    json_array_foreach(list, i, value) sum += json_number_value(value);
    return sum;
}

/* The record before the new one; NULL: there is none of this training. */
static const struct cb_record *record_before(const struct cb_history *history) {
    const struct cb_record *last = history->count ? &history->record[history->count - 1] : NULL;
    return last && history->left.newest.iteration > 0 ? last : NULL;
}

static void fill_record(struct cb_history *history, struct cb_record *record, const json_t *event) {
    const struct cb_record *last = record_before(history);
    const json_t *ranks = json_object_get(event, "per_rank");
    double begin = (last ? last->seconds : history->before) + history->idle;
    record->seconds = history->before + history->seconds;
    bool next =
        history->count == 0 || history->trace[history->count - 1].iteration + 1 == cb_json_real_in(event, "iteration");
    record->took = next && record->seconds >= begin ? record->seconds - begin : NAN;
    record->gap = cb_json_real_in(event, "gap");
    record->cuts = cb_json_real_in(event, "cuts");
    record->solves = cb_json_real_in(event, "solves");
    record->passes = cb_json_real_in(event, "window_passes");
    record->rate = record->took > 0 ? sum_of(json_object_get(ranks, "solves")) / record->took : NAN;
    for (size_t i = 0; i < CB_SPENTS; i++)
        sum_up(json_object_get(ranks, cobre_sddp_effort_name((cobre_sddp_effort)i)), &record->mean[i],
               &record->slowest[i]);
}

static void take_iteration(struct cb_history *history, const json_t *event, struct cb_place place) {
    double iteration = cb_json_real_in(event, "iteration");
    if (!(iteration >= 1) || iteration > 1e15) {
        history->garbage++;
        return;
    }
    forget_after(history, iteration - 1);
    if (!CB_GROW(history, history->record, history->count, history->record_room) ||
        !CB_GROW(history, history->trace, history->count, history->trace_room))
        return;
    struct cb_record *record = &history->record[history->count];
    *record = (struct cb_record){.place = place};
    fill_record(history, record, event);
    history->trace[history->count] = (struct cb_iteration){.iteration = iteration,
                                                           .bound = cb_json_real_in(event, "bound"),
                                                           .mean = cb_json_real_in(event, "window_mean"),
                                                           .half = cb_json_real_in(event, "window_half")};
    history->count++;
    history->idle = 0;
    if (iteration > history->left.newest.iteration)
        cb_time_left_note(&history->left, iteration, history->seconds);
}

static void take_pause(struct cb_history *history, bool begins) {
    if (begins)
        history->pause = history->seconds;
    else
        history->idle += fmax(0, history->seconds - history->pause);
    history->paused = begins;
    cb_time_left_pause(&history->left);
}

static void take_steered(struct cb_history *history, const json_t *event) {
    char command[CB_SHORT], words[CB_LONG - 64];
    cb_event_text(event, "command", command, sizeof command);
    cb_event_text(event, "words", words, sizeof words);
    bool begins = strcmp(command, "pause") == 0;
    bool ends = strcmp(command, "resume") == 0 || strcmp(command, "stop") == 0;
    if (history->paused ? ends : begins)
        take_pause(history, begins);
    if (strcmp(command, "rule") == 0)
        snprintf(history->note, sizeof history->note, "a stopping rule has changed%s%s", *words ? ": " : "", words);
    take_rules(history, json_object_get(event, "rules"));
}

static void take_finished(struct cb_history *history, const json_t *event) {
    history->end = CB_FINISHED;
    cb_event_text(event, "stop", history->reason, sizeof history->reason);
    history->proven = !json_is_false(json_object_get(event, "proven"));
    history->without_cut = cb_json_real_in(event, "lps_without_cut");
    history->paused = false;
}

static void take_error(struct cb_history *history, const json_t *event) {
    history->end = CB_FAILED;
    cb_event_text(event, "message", history->reason, sizeof history->reason);
    cb_event_text(event, "suggestion", history->advice, sizeof history->advice);
    memcpy(history->note, history->advice, sizeof history->note);
    history->paused = false;
}

static void take_checkpoint(struct cb_history *history, const json_t *event) {
    double iteration = cb_json_real_in(event, "iteration");
    history->saved = iteration > 0 ? iteration : history->saved;
    cb_event_text(event, "policy", history->policy, sizeof history->policy);
    snprintf(history->note, sizeof history->note, "the policy of iteration %.0f is saved", iteration);
}

static void take_warning(struct cb_history *history, const json_t *event) {
    char message[CB_LONG - 16];
    cb_event_text(event, "message", message, sizeof message);
    snprintf(history->note, sizeof history->note, "warning: %s", message);
}

static void take_event(struct cb_history *history, const json_t *event, const char *kind, struct cb_place place) {
    double seconds = cb_json_real_in(event, "seconds");
    history->events++;
    if (seconds >= 0 && seconds < 1e12)
        history->seconds = seconds;
    if (strcmp(kind, "iteration") == 0)
        take_iteration(history, event, place);
    else if (strcmp(kind, "started") == 0)
        take_started(history, event);
    else if (strcmp(kind, "checkpoint") == 0)
        take_checkpoint(history, event);
    else if (strcmp(kind, "warning") == 0)
        take_warning(history, event);
    else if (strcmp(kind, "steered") == 0)
        take_steered(history, event);
    else if (strcmp(kind, "finished") == 0)
        take_finished(history, event);
    else if (strcmp(kind, "error") == 0)
        take_error(history, event);
}

/* The arrays of the stages are half of a line, and the history needs none of them. `"per_stage":` is never within a
 * text, where quotes are escaped. Returns where the object begins, and its length; 0: it is not found, or has more than
 * numbers. */
static size_t find_stages(const char *line, size_t length, size_t *begin) {
    static const char key[] = "\"per_stage\"";
    const char *end = line + length, *at = memmem(line, length, key, sizeof key - 1);
    if (!at)
        return 0;
    for (at += sizeof key - 1; at < end && (*at == ' ' || *at == ':');)
        at++;
    const char *first = at;
    if (at == end || *at != '{')
        return 0;
    while (++at < end && *at != '}')
        if (!strchr("0123456789,. []\":abcdefghijklmnopqrstuvwxyz+-E", *at))
            return 0;
    *begin = (size_t)(first - line);
    return at < end ? (size_t)(at + 1 - first) : 0;
}

static json_t *parse(const char *line, size_t length) {
    size_t begin, skipped = find_stages(line, length, &begin);
    char *rest = skipped > 4 ? malloc(length) : NULL;
    if (!rest)
        return json_loadb(line, length, 0, NULL);
    char *at = mempcpy(mempcpy(rest, line, begin), "null", 4);
    at = mempcpy(at, line + begin + skipped, length - begin - skipped);
    json_t *event = json_loadb(rest, (size_t)(at - rest), 0, NULL);
    free(rest);
    return event;
}

void cb_history_take(struct cb_history *history, const char *line, struct cb_place place) {
    json_t *event = parse(line, place.length);
    const char *kind = json_string_value(json_object_get(event, "event"));
    if (kind)
        take_event(history, event, kind, place);
    else
        history->garbage++;
    json_decref(event);
}

void cb_history_free(struct cb_history *history) {
    free(history->record);
    free(history->trace);
    *history = (struct cb_history){.started = false};
}
