/* SPDX-License-Identifier: Apache-2.0 */
/* help.c: all keys. */
#include "cli/watch/dashboard.h"

static const struct {
    const char *key, *text;
} lines[] = {
    {"1 - 5, Tab, Shift-Tab", "views"},
    {"left, right", "an iteration back or on; in the plot a column"},
    {"Home, End", "the first iteration; the newest, and follow"},
    {"up, down, PgUp, PgDn", "scroll; PgUp and PgDn move the plot by half of it"},
    {"l", "plot: linear or logarithmic"},
    {"x", "plot: over the iterations or the time"},
    {"+, -, 0", "plot: zoom in, zoom out, all"},
    {"p", "pause the training, or let it go on"},
    {"s", "stop it, and save the policy (asks)"},
    {"c", "save the policy now: a checkpoint"},
    {"r", "change a stopping rule: iterations 200, time 2h, stall off"},
    {"i", "inspect the cuts of a stage, as they were saved last"},
    {"e", "export what is seen, here: watch-VIEW-N.txt and .csv"},
    {"?", "this page"},
    {"q, Ctrl-C", "quit; the training goes on, unless it writes to a pipe"},
};

void cb_help_draw(struct cb_dashboard *dashboard) {
    enum { KEYS = 24 };
    struct cb_canvas *canvas = &dashboard->canvas;
    cb_canvas_text(canvas, CB_TOP + 1, 2, CB_STRONG, "Keys");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        int y = CB_TOP + 2 + (int)i;
        cb_canvas_text(canvas, y, 2, CB_STRONG, lines[i].key);
        cb_canvas_text(canvas, y, 2 + KEYS, CB_PLAIN, lines[i].text);
    }
}
