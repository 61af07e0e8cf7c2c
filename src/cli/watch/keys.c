/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c: what the keys do. */
#include "cli/watch/dashboard.h"
#include "cli/watch/screen.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ZOOM = 30 };

/* Why a command to the training makes no sense now; NULL: it does. */
static const char *why_not(const struct cb_dashboard *dashboard) {
    switch (dashboard->state) {
    case CB_ENDED: return "it has finished";
    case CB_BROKEN: return "it has failed";
    case CB_DIED: return "it has died";
    case CB_STARTING: return "it has not started yet";
    default: return NULL;
    }
}

static bool can(struct cb_dashboard *dashboard, const char *what) {
    const char *reason = why_not(dashboard);
    if (reason)
        cb_say_line(dashboard, "%s: there is nothing to %s", reason, what);
    return !reason;
}

static void ask(struct cb_dashboard *dashboard, enum cb_wish wish, const char *question) {
    dashboard->mode = CB_ASKING;
    dashboard->wish = wish;
    cb_say_line(dashboard, "%s (y/n)", question);
}

static void prompt(struct cb_dashboard *dashboard, enum cb_wish wish) {
    dashboard->mode = CB_TYPING;
    dashboard->wish = wish;
    dashboard->typed_length = 0;
    dashboard->typed[0] = 0;
}

static void prompt_rule(struct cb_dashboard *dashboard) {
    if (!can(dashboard, "change"))
        return;
    prompt(dashboard, CB_WISH_RULE);
    cb_say_line(dashboard, "a name and a value, or off; now: %s", dashboard->history.rules_text);
}

static void prompt_stage(struct cb_dashboard *dashboard) {
    prompt(dashboard, CB_WISH_STAGE);
    cb_say_line(dashboard, "whose cuts are shown, from 1 to %.0f", dashboard->history.stages);
}

/* A pipe that nobody reads ends its writer. */
static void quit(struct cb_dashboard *dashboard) {
    if (!dashboard->how->folder && !cb_state_is_over(dashboard))
        ask(dashboard, CB_WISH_QUIT, "nobody would read the events then: the training stops and saves. Quit?");
    else
        dashboard->quits = true;
}

static void open_view(struct cb_dashboard *dashboard, size_t view) {
    cb_inspect_close(dashboard);
    dashboard->mode = CB_BROWSING;
    dashboard->view = view % CB_VIEWS;
    dashboard->scroll = 0;
}

static void move_cursor(struct cb_dashboard *dashboard, bool on, size_t step) {
    size_t count = dashboard->history.count, at = dashboard->cursor;
    if (count == 0)
        return;
    at = at < count && !dashboard->follows ? at : count - 1;
    if (on)
        at = count - 1 - at > step ? at + step : count - 1;
    else
        at = at > step ? at - step : 0;
    dashboard->cursor = at;
    dashboard->follows = at == count - 1;
}

static void scroll_by(struct cb_dashboard *dashboard, bool on, size_t step) {
    size_t at = dashboard->scroll, most = dashboard->scroll_most;
    if (on)
        dashboard->scroll = at + step < most ? at + step : most;
    else
        dashboard->scroll = at > step ? at - step : 0;
}

static void move(struct cb_dashboard *dashboard, int key) {
    bool plot = dashboard->view == 0 && dashboard->mode == CB_BROWSING;
    size_t half = (dashboard->to - dashboard->from) / 2 + 1;
    switch (key) {
    case CB_KEY_LEFT: move_cursor(dashboard, false, plot ? dashboard->per_column : 1); break;
    case CB_KEY_RIGHT: move_cursor(dashboard, true, plot ? dashboard->per_column : 1); break;
    case CB_KEY_UP: scroll_by(dashboard, false, 1); break;
    case CB_KEY_DOWN: scroll_by(dashboard, true, 1); break;
    case CB_KEY_HOME: move_cursor(dashboard, false, dashboard->history.count); break;
    case CB_KEY_END: move_cursor(dashboard, true, dashboard->history.count); break;
    case CB_KEY_PAGE_UP:
    case CB_KEY_PAGE_DOWN:
        if (plot)
            move_cursor(dashboard, key == CB_KEY_PAGE_DOWN, half);
        else
            scroll_by(dashboard, key == CB_KEY_PAGE_DOWN, dashboard->page);
        break;
    }
}

static void zoom(struct cb_dashboard *dashboard, int key) {
    if (dashboard->view != 0)
        cb_say_line(dashboard, "only the plot can be zoomed: press 1");
    else if (key == '+' || key == '=')
        dashboard->zoom += dashboard->zoom < MOST_ZOOM && dashboard->history.count >> dashboard->zoom > 4;
    else
        dashboard->zoom = key == '0' || dashboard->zoom == 0 ? 0 : dashboard->zoom - 1;
}

static void steer(struct cb_dashboard *dashboard, int key) {
    if (key == 'p' && can(dashboard, dashboard->history.paused ? "resume" : "pause"))
        cb_steer_send(dashboard, dashboard->history.paused ? "resume" : "pause");
    if (key == 'c' && can(dashboard, "save"))
        cb_steer_send(dashboard, "checkpoint");
    if (key == 's' && can(dashboard, "stop"))
        ask(dashboard, CB_WISH_STOP, "stop the training after this iteration, and save the policy?");
}

static void browse(struct cb_dashboard *dashboard, int key) {
    switch (key) {
    case '1':
    case '2':
    case '3':
    case '4':
    case '5': open_view(dashboard, (size_t)(key - '1')); break;
    case CB_KEY_TAB: open_view(dashboard, dashboard->view + 1); break;
    case CB_KEY_BACK_TAB: open_view(dashboard, dashboard->view + CB_VIEWS - 1); break;
    case 'l': dashboard->log = !dashboard->log; break;
    case 'x': dashboard->clock = !dashboard->clock; break;
    case '+':
    case '=':
    case '-':
    case '0': zoom(dashboard, key); break;
    case 'p':
    case 'c':
    case 's': steer(dashboard, key); break;
    case 'r': prompt_rule(dashboard); break;
    case 'i': prompt_stage(dashboard); break;
    case 'e': cb_export(dashboard); break;
    case '?':
    case 'h': dashboard->mode = CB_HELP; break;
    case 'q': quit(dashboard); break;
    default: move(dashboard, key);
    }
}

static void answer(struct cb_dashboard *dashboard, int key) {
    bool yes = key == 'y' || key == 'Y';
    if (!yes && key != 'n' && key != 'N' && key != CB_KEY_ESCAPE && key != 'q')
        return;
    dashboard->mode = CB_BROWSING;
    dashboard->message[0] = 0;
    if (yes && dashboard->wish == CB_WISH_QUIT)
        dashboard->quits = true;
    if (yes && dashboard->wish == CB_WISH_STOP)
        cb_steer_send(dashboard, "stop");
}

/* What was typed is complete. */
static void enter(struct cb_dashboard *dashboard) {
    char words[CB_STEERING_LINE + 8], *end;
    dashboard->mode = dashboard->policy ? CB_INSPECTING : CB_BROWSING;
    dashboard->message[0] = 0;
    if (!*dashboard->typed)
        return;
    if (dashboard->wish == CB_WISH_RULE) {
        snprintf(words, sizeof words, "rule %s", dashboard->typed);
        cb_steer_send(dashboard, words);
        return;
    }
    unsigned long stage = strtoul(dashboard->typed, &end, 10);
    if (*end || strchr(dashboard->typed, '-'))
        cb_say_line(dashboard, "%s: not the number of a stage", dashboard->typed);
    else
        cb_inspect_open(dashboard, stage);
}

static void type(struct cb_dashboard *dashboard, int key) {
    if (key == CB_KEY_ESCAPE) {
        dashboard->mode = dashboard->policy ? CB_INSPECTING : CB_BROWSING;
        cb_say_line(dashboard, "cancelled");
    } else if (key == CB_KEY_ENTER) {
        enter(dashboard);
    } else if (key == CB_KEY_BACKSPACE) {
        dashboard->typed_length -= dashboard->typed_length > 0;
    } else if (key >= ' ' && key < 127 && dashboard->typed_length + 8 < sizeof dashboard->typed) {
        dashboard->typed[dashboard->typed_length++] = (char)key;
    }
    dashboard->typed[dashboard->typed_length] = 0;
}

static void inspect(struct cb_dashboard *dashboard, int key) {
    if (key == CB_KEY_ESCAPE)
        open_view(dashboard, dashboard->view);
    else if (key == 'l' || key == 'x' || key == '+' || key == '-' || key == '0')
        cb_say_line(dashboard, "there is no plot here: press Esc first");
    else
        browse(dashboard, key);
}

void cb_keys_take(struct cb_dashboard *dashboard, int key) {
    dashboard->dirty = true;
    if (key == CB_KEY_INTERRUPT) {
        if (dashboard->mode == CB_ASKING && dashboard->wish == CB_WISH_QUIT)
            dashboard->quits = true; /* who presses it twice means it */
        else
            quit(dashboard);
        return;
    }
    if (dashboard->mode != CB_ASKING && dashboard->mode != CB_TYPING && dashboard->answer < 0)
        dashboard->message[0] = dashboard->history.note[0] = 0;
    switch (dashboard->mode) {
    case CB_BROWSING: browse(dashboard, key); break;
    case CB_ASKING: answer(dashboard, key); break;
    case CB_TYPING: type(dashboard, key); break;
    case CB_INSPECTING: inspect(dashboard, key); break;
    case CB_HELP:
        dashboard->mode = dashboard->policy ? CB_INSPECTING : CB_BROWSING;
        if (key == 'q')
            quit(dashboard);
        break;
    }
}
