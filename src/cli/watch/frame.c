/* SPDX-License-Identifier: Apache-2.0 */
/* frame.c: the whole screen: two lines above the view, four below it. */
#include "cli/watch/dashboard.h"

#include "sddp/run/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MESSAGE = CB_BOTTOM - 2 }; /* its lines */

const struct cb_view *const cb_views[CB_VIEWS] = {&cb_view_convergence, &cb_view_iteration, &cb_view_cuts,
                                                  &cb_view_resources, &cb_view_communication};

/* Puts a text at the right end of a line. Returns the column before it. */
static int draw_right(struct cb_canvas *canvas, int y, const char *text) {
    int x = canvas->width - (int)strlen(text);
    cb_canvas_text(canvas, y, x, CB_PLAIN, text);
    return x - 2;
}

/* The end of a path says more than its beginning. */
static void draw_path(struct cb_canvas *canvas, int y, int x, int end, const char *path) {
    int length = (int)strnlen(path, PATH_MAX), room = end - x;
    if (length <= room)
        cb_canvas_text(canvas, y, x, CB_FAINT, path);
    else if (room > 8)
        cb_canvas_print(canvas, y, x, CB_FAINT, "...%s", path + length - (room - 3));
}

/* In the first third of the line, so that the rest has its place, too. Returns the column behind it. */
static int draw_name(struct cb_canvas *canvas, const char *name) {
    int end = canvas->width / 3, x = cb_canvas_text(canvas, 0, 0, CB_STRONG, name);
    if (x <= end)
        return x;
    cb_canvas_fill(canvas, 0, end - 3, x - end + 3, CB_PLAIN, ' ');
    return cb_canvas_text(canvas, 0, end - 3, CB_STRONG, "...");
}

static void draw_header(struct cb_dashboard *dashboard) {
    struct cb_canvas *canvas = &dashboard->canvas;
    const struct cb_history *history = &dashboard->history;
    const struct cb_record *record = cb_view_record(dashboard);
    char right[64] = "", clock[32];
    if (record)
        snprintf(right, sizeof right, "iteration %.0f  %s", history->trace[dashboard->cursor].iteration,
                 cb_clock_text(record->seconds, clock));
    int x = draw_name(canvas, history->started && *history->name ? history->name : "cobre watch") + 2;
    if (history->ranks >= 1 && history->ranks < 1e9) {
        x = cb_canvas_print(canvas, 0, x, CB_PLAIN, "%.0f rank%s", history->ranks, history->ranks == 1 ? "" : "s");
        if (*history->backend)
            x = cb_canvas_print(canvas, 0, x, CB_PLAIN, " (%.20s)", history->backend);
        x += 2;
    }
    int end = draw_right(canvas, 0, right);
    draw_path(canvas, 0, x, end, dashboard->how->folder ? dashboard->how->folder : "standard input");
}

static void draw_tabs(struct cb_dashboard *dashboard) {
    struct cb_canvas *canvas = &dashboard->canvas;
    int x = 0;
    for (size_t i = 0; i < CB_VIEWS; i++) {
        bool open = i == dashboard->view;
        x = cb_canvas_print(canvas, 1, x, open ? CB_CHOSEN : CB_PLAIN, open ? "[%zu %s]" : " %zu %s ", i + 1,
                            cb_views[i]->name) +
            1;
    }
}

/* A part that does not fit is left out, not cut: half a number is a wrong one. */
static int add_part(struct cb_canvas *canvas, int y, int x, enum cb_style style, const char *text) {
    if (x > 0 && x + 3 + (int)strlen(text) > canvas->width)
        return x;
    if (x > 0)
        x = cb_canvas_text(canvas, y, x, CB_FAINT, " | ");
    return cb_canvas_text(canvas, y, x, style, text);
}

static int draw_verdict(struct cb_dashboard *dashboard, int y, int x) {
    static const enum cb_style style[] = {CB_GOOD, CB_CARE, CB_PLAIN, CB_PLAIN};
    static struct cb_run_verdict verdict;
    char text[64];
    const struct cb_record *record = cb_view_record(dashboard);
    if (!record)
        return x;
    cb_state_judge(dashboard, &verdict);
    snprintf(text, sizeof text, verdict.word == CB_NOT_YET || verdict.word == CB_UNKNOWN ? "converged: %s" : "%s",
             cb_convergence_name(verdict.word));
    x = add_part(&dashboard->canvas, y, x, style[verdict.word], text);
    double gap = fabs(record->gap) < 5e-5 ? 0 : 100 * record->gap; /* no "-0.00" */
    snprintf(text, sizeof text, !isfinite(gap) ? "no gap" : fabs(gap) < 100 ? "gap %.2f %%" : "gap %.3g %%", gap);
    x = add_part(&dashboard->canvas, y, x, CB_PLAIN, text);
    return x;
}

static void draw_status(struct cb_dashboard *dashboard, int y) {
    static const enum cb_style style[] = {CB_PLAIN, CB_GOOD, CB_CARE, CB_BAD, CB_GOOD, CB_BAD, CB_BAD};
    const struct cb_history *history = &dashboard->history;
    char state[CB_LONG], text[CB_TIME_LEFT + 32];
    cb_state_text(dashboard, state);
    int room = dashboard->canvas.width - 45;
    snprintf(text, sizeof text, "%.*s", room < 100 ? room : 100, state);
    int x = add_part(&dashboard->canvas, y, 0, style[dashboard->state], text);
    if (history->count && (!dashboard->follows || cb_state_is_over(dashboard))) {
        snprintf(text, sizeof text, "replay %.0f/%.0f", history->trace[dashboard->cursor].iteration,
                 history->trace[history->count - 1].iteration);
        x = add_part(&dashboard->canvas, y, x, CB_CARE, text);
    }
    if (dashboard->source.loading && dashboard->source.size) {
        snprintf(text, sizeof text, "reading: %.0f %%",
                 100 * (double)dashboard->source.done / (double)dashboard->source.size);
        x = add_part(&dashboard->canvas, y, x, CB_PLAIN, text);
    }
    if (history->garbage) {
        snprintf(text, sizeof text, "%" PRIu64 " line%s unreadable", history->garbage,
                 history->garbage == 1 ? "" : "s");
        x = add_part(&dashboard->canvas, y, x, CB_BAD, text);
    }
    x = draw_verdict(dashboard, y, x);
    if (!cb_state_is_over(dashboard)) {
        cb_time_left_text(&history->left, cb_state_elapsed(dashboard), text);
        if (*text)
            add_part(&dashboard->canvas, y, x, CB_PLAIN, text);
    }
}

/* What is asked, typed or told; else a note of the training; else why it has converged or not. */
static void draw_message(struct cb_dashboard *dashboard, int y) {
    static struct cb_run_verdict verdict;
    struct cb_canvas *canvas = &dashboard->canvas;
    if (dashboard->mode == CB_ASKING)
        cb_canvas_paragraph(canvas, y, MESSAGE, CB_CARE, dashboard->message);
    else if (dashboard->mode == CB_TYPING) {
        int x = cb_canvas_text(canvas, y, 0, CB_STRONG, dashboard->wish == CB_WISH_RULE ? "rule: " : "stage: ");
        x = cb_canvas_text(canvas, y, x, CB_PLAIN, dashboard->typed);
        cb_canvas_put(canvas, y, x, CB_CHOSEN, ' ');
        cb_canvas_paragraph(canvas, y + 1, 1, CB_FAINT, dashboard->message);
    } else if (*dashboard->message)
        cb_canvas_paragraph(canvas, y, MESSAGE, CB_STRONG, dashboard->message);
    else if (*dashboard->history.note)
        cb_canvas_paragraph(canvas, y, MESSAGE, CB_CARE, dashboard->history.note);
    else if (cb_view_record(dashboard)) {
        cb_state_judge(dashboard, &verdict);
        cb_canvas_paragraph(canvas, y, MESSAGE, CB_FAINT, verdict.sentence);
    }
}

static const char *key_line(const struct cb_dashboard *dashboard) {
    switch (dashboard->mode) {
    case CB_ASKING: return "y yes  n no";
    case CB_TYPING: return "Enter done  Esc cancel  Backspace delete";
    case CB_HELP: return "any key: back";
    case CB_INSPECTING: return "up/down scroll  e export  Esc back  q quit";
    case CB_BROWSING: break;
    }
    if (dashboard->view == 0)
        return "1-5 view  l log  x time  + - 0 zoom  p pause  s stop  c save  ? help  q quit";
    return "1-5 view  p pause  s stop  c save  r rule  i cuts  e export  ? help  q quit";
}

static void draw_too_small(struct cb_canvas *canvas) {
    char text[96];
    snprintf(text, sizeof text, "too small: %d x %d is needed, this is %d x %d", CB_LEAST_WIDTH, CB_LEAST_HEIGHT,
             canvas->width, canvas->height);
    cb_canvas_text(canvas, canvas->height / 2, 0, CB_STRONG, text);
}

void cb_frame_draw(struct cb_dashboard *dashboard) {
    struct cb_canvas *canvas = &dashboard->canvas;
    int height = canvas->height;
    if (canvas->width < CB_LEAST_WIDTH || height < CB_LEAST_HEIGHT) {
        draw_too_small(canvas);
        return;
    }
    draw_header(dashboard);
    draw_tabs(dashboard);
    if (dashboard->mode == CB_HELP)
        cb_help_draw(dashboard);
    else if (dashboard->policy)
        cb_inspect_draw(dashboard);
    else
        cb_views[dashboard->view]->draw(dashboard, CB_TOP, height - CB_TOP - CB_BOTTOM);
    draw_status(dashboard, height - CB_BOTTOM);
    draw_message(dashboard, height - 1 - MESSAGE);
    cb_canvas_text(canvas, height - 1, 0, CB_FAINT, key_line(dashboard));
}
