/* SPDX-License-Identifier: Apache-2.0 */
/* history.h: what the events of a training have said so far: a short record of each iteration, and how the training is.
 * docs/events.md describes the events. Nothing in them is trusted: what is missing is NaN, empty or 0. */
#ifndef COBRE_CLI_WATCH_HISTORY_H
#define COBRE_CLI_WATCH_HISTORY_H

#include "cli/plan/time_left.h"
#include "sddp/run/results.h"

#include <jansson.h>

enum { CB_SHORT = 128, CB_LONG = 1024 };

/* X(code, name): where the seconds of a rank go, in an event. */
#define CB_SPENT_MAP(X)                                                                                                \
    X(FORWARD, "forward")                                                                                              \
    X(BACKWARD, "backward")                                                                                            \
    X(BOUND, "bound")                                                                                                  \
    X(COMMUNICATION, "communication")                                                                                  \
    X(WAITING, "waiting")                                                                                              \
    X(SIMULATION, "simulation")                                                                                        \
    X(OTHER, "other")

enum cb_spent {
#define CB_SPENT_ENUM(code, name) CB_SPENT_##code,
    CB_SPENT_MAP(CB_SPENT_ENUM)
#undef CB_SPENT_ENUM
        CB_SPENTS
};
extern const char *const cb_spent_name[CB_SPENTS];

/* Where a line is in what was read. */
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
    char name[CB_SHORT], backend[CB_SHORT], unit[CB_SHORT], version[CB_SHORT], host[CB_SHORT], out[CB_LONG];
    bool maximises, averse;
    double ranks, stages;
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
    double without_cut;   /* LPs that gave none */
    char reason[CB_LONG]; /* why it has ended */
    char note[CB_LONG];   /* a warning, or what was done; empty: nothing new */
    uint64_t events, garbage;
    bool no_memory;
};

/* Takes one line. */
void cb_history_take(struct cb_history *history, const char *line, struct cb_place place);
void cb_history_free(struct cb_history *history); /* all zero again: it can be used anew */

/* Members of events. */
double cb_event_number(const json_t *object, const char *key);                      /* NaN: there is none */
void cb_event_text(const json_t *object, const char *key, char *text, size_t room); /* "": there is none */

#endif
