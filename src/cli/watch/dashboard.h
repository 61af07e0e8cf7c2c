/* SPDX-License-Identifier: Apache-2.0 */
/* dashboard.h: the data that the parts of the dashboard share. There is one thread, and nothing here waits. */
#ifndef COBRE_CLI_WATCH_DASHBOARD_H
#define COBRE_CLI_WATCH_DASHBOARD_H

#include "cli/watch/canvas.h"
#include "cli/watch/detail.h"
#include "cli/watch/watch.h"
#include "sddp/run/steering.h"
#include "sddp/run/verdict.h"

enum { CB_LEAST_WIDTH = 80, CB_LEAST_HEIGHT = 24, CB_TOP = 2, CB_BOTTOM = 4 }; /* lines above and below a view */

/* The state of the training. */
enum cb_state { CB_STARTING, CB_RUNNING, CB_PAUSED, CB_LAGGING, CB_ENDED, CB_BROKEN, CB_DIED };

/* The receiver of keys. */
enum cb_mode { CB_BROWSING, CB_ASKING, CB_TYPING, CB_HELP, CB_INSPECTING };

/* The subject of a question or a prompt. */
enum cb_wish { CB_WISH_QUIT, CB_WISH_STOP, CB_WISH_RULE, CB_WISH_STAGE };

struct cb_dashboard {
    const struct cb_watch *how;
    char events[PATH_MAX]; /* the path of the file; "": a pipe */
    struct cb_source source;
    struct cb_history history;
    struct cb_detail detail;
    struct cb_canvas canvas;
    enum cb_state state;
    bool unlocked; /* nobody holds the lock of the folder */

    size_t view;
    bool follows;  /* the cursor is at the newest iteration */
    size_t cursor; /* a record */
    size_t scroll, scroll_most, page;
    bool log, clock;   /* of the plot: its axes */
    int zoom;          /* 2^zoom times */
    bool whole;        /* its values: all of them, also the first ones */
    size_t from, to;   /* the records in the plot */
    size_t per_column; /* records in a column of it */

    enum cb_mode mode;
    enum cb_wish wish;
    char typed[CB_STEERING_LINE];
    size_t typed_length;
    char message[CB_LONG];
    int answer; /* the descriptor of a command that was sent; -1: none */
    double sent;
    cobre_sddp_policy *policy; /* whose cuts are inspected */
    uint64_t *cut;
    size_t cuts, stage;
    size_t *column, aside; /* its states, the largest slopes first; the first one that is shown */
    bool nodes;            /* the stage has several */

    bool dirty, quits;
    double cleaned; /* when all of the screen was drawn */
};

/* A view. Its area are the lines between the first and the last ones. */
struct cb_view {
    const char *name;
    void (*draw)(struct cb_dashboard *dashboard, int top, int height);
    void (*write)(struct cb_dashboard *dashboard, FILE *to); /* its numbers, as CSV */
};
enum { CB_VIEWS = 5 };
extern const struct cb_view cb_view_convergence, cb_view_iteration, cb_view_cuts, cb_view_resources,
    cb_view_communication;
extern const struct cb_view *const cb_views[CB_VIEWS];

/* view.c: code that views share. */
const struct cb_record *cb_view_record(struct cb_dashboard *dashboard); /* at the cursor; NULL: there is none */
bool cb_view_detail(struct cb_dashboard *dashboard, int top); /* false: there is none, and the view shows why */
size_t cb_view_scroll(struct cb_dashboard *dashboard, size_t rows, int lines);      /* the first row that is shown */
const char *cb_view_cost(const struct cb_dashboard *dashboard, char text[64]);      /* "cost in kR$" */
const char *cb_view_bytes(double bytes, char text[32]);                             /* "12.3 MB" */
const char *cb_view_seconds(double seconds, char text[32]);                         /* "12.3 ms" */
void cb_view_key(const struct cb_dashboard *dashboard, FILE *to, double iteration); /* the first columns of CSV */
void cb_view_field(FILE *to, double value, char after);                             /* of CSV; empty: not known */

/* state.c */
void cb_state_find(struct cb_dashboard *dashboard);
bool cb_state_is_over(const struct cb_dashboard *dashboard);   /* there will be no more events */
double cb_state_elapsed(const struct cb_dashboard *dashboard); /* seconds since the training started */
void cb_state_text(const struct cb_dashboard *dashboard, char text[CB_LONG]);
void cb_state_judge(const struct cb_dashboard *dashboard, struct cb_run_verdict *verdict);

/* frame.c: the whole screen. */
void cb_frame_draw(struct cb_dashboard *dashboard);

void cb_help_draw(struct cb_dashboard *dashboard); /* help.c */

/* inspect.c: the cuts of a stage. */
void cb_inspect_open(struct cb_dashboard *dashboard, size_t stage);
void cb_inspect_draw(struct cb_dashboard *dashboard);
void cb_inspect_write(struct cb_dashboard *dashboard, FILE *to); /* as CSV */
void cb_inspect_close(struct cb_dashboard *dashboard);

/* keys.c. key: of screen.h. */
void cb_keys_take(struct cb_dashboard *dashboard, int key);

/* steer.c: commands to the training. */
void cb_steer_send(struct cb_dashboard *dashboard, const char *words);
void cb_steer_hear(struct cb_dashboard *dashboard); /* after input, or when it is time to give up */
const char *cb_steer_folder(const struct cb_dashboard *dashboard);

/* export.c */
void cb_export(struct cb_dashboard *dashboard);

void cb_say_line(struct cb_dashboard *dashboard, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
