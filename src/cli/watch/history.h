/* SPDX-License-Identifier: Apache-2.0 */
/* history.h: the contents of a training's events so far: a short record of each iteration, and the state of the training.
 * docs/events.md describes the events. None of them is trusted: missing members are NaN, empty or 0. */
#ifndef COBRE_CLI_WATCH_HISTORY_H
#define COBRE_CLI_WATCH_HISTORY_H

#include "cli/plan/time_left.h"
#include "sddp/run/json.h"
#include "sddp/run/results.h"

#include <jansson.h>

enum { CB_SHORT = 128, CB_LONG = 1024 };

/* The quantities of a rank (cobre_sddp_effort) before this one are seconds of wall-clock time. */
enum { CB_SPENTS = COBRE_SDDP_EFFORT_CPU };

/* The position of a line in the input. */
struct cb_place {
    uint64_t begin;
    size_t length;
};

/* An iteration. Its bound, mean and half interval are in the trace. */
struct cb_record {
    double seconds; /* since the first training of this policy started, without the time between trainings */
    double took;    /* NaN: the event before it is missing */
    double gap, cuts, solves, passes;
    double rate;                               /* LPs per second */
    float mean[CB_SPENTS], slowest[CB_SPENTS]; /* seconds: over the ranks, and of the rank that took longest */
    struct cb_place place;                     /* of its event */
};

enum cb_end { CB_NO_END, CB_FINISHED, CB_FAILED };

struct cb_history {
    /* From the newest `started`. */
    bool started;
    char name[CB_SHORT], backend[CB_SHORT], unit[CB_SHORT], version[CB_SHORT], host[CB_SHORT], out[CB_LONG],
        problem[CB_LONG];
    bool maximises, averse;
    double ranks, stages, forward_passes;
    cobre_sddp_train_options rules;
    char rules_text[CB_LONG];

    struct cb_record *record;
    struct cb_iteration *trace; /* beside the records */
    size_t count, record_room, trace_room;
    double before;  /* seconds of the trainings that the newest one goes on from */
    double seconds; /* of the newest event, since the start of its training */
    struct time_left left;

    bool paused;
    double pause; /* when it began */
    double idle;  /* seconds of pauses since the newest iteration */
    enum cb_end end;
    bool proven;          /* the bound; true until an end says otherwise */
    double without_cut;   /* the number of LPs that gave no cut */
    char reason[CB_LONG]; /* why it has ended */
    char advice[CB_LONG]; /* the remedy, after an error */
    double saved;         /* the iteration of the newest policy that was saved; 0: none was */
    char policy[CB_LONG]; /* its file; "": not known */
    char note[CB_LONG];   /* a warning, or what was done; empty: nothing new */
    uint64_t events, garbage;
    bool no_memory;
};

/* Takes one line. */
void cb_history_take(struct cb_history *history, const char *line, struct cb_place place);
void cb_history_free(struct cb_history *history); /* all zero again: it can be used anew */

/* A member of an event; "": there is none. */
void cb_event_text(const json_t *object, const char *key, char *text, size_t room);

#endif
