/* SPDX-License-Identifier: Apache-2.0 */
/* canvas.h: a picture of the screen in memory: letters with a style. Drawing outside of it is cut off. It is shown
 * on the terminal (screen.c) and written to exported files. */
#ifndef COBRE_CLI_WATCH_CANVAS_H
#define COBRE_CLI_WATCH_CANVAS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The meaning of a letter, not its look: on a terminal without colours several look alike. */
enum cb_style {
    CB_PLAIN,
    CB_FAINT,  /* axes, rules, hints */
    CB_STRONG, /* titles */
    CB_CHOSEN, /* in reverse: the view that is open, the cursor */
    CB_BOUND,
    CB_MEAN,
    CB_BAND, /* the interval around the mean */
    CB_GOOD,
    CB_CARE,
    CB_BAD,
    CB_BAR,
    CB_BAR_REST, /* the part of a bar beyond its mean */
    CB_STYLES
};

struct cb_cell {
    uint32_t letter;
    enum cb_style style;
};

struct cb_canvas {
    int width, height;
    bool ascii; /* only letters of ASCII */
    struct cb_cell *cell;
};

/* Makes it as large as that, and blank. False: there is no memory. */
bool cb_canvas_size(struct cb_canvas *canvas, int width, int height);
void cb_canvas_free(struct cb_canvas *canvas);

void cb_canvas_put(struct cb_canvas *canvas, int y, int x, enum cb_style style, uint32_t letter);
void cb_canvas_fill(struct cb_canvas *canvas, int y, int x, int count, enum cb_style style, uint32_t letter);

/* Writes a text in UTF-8. What cannot be shown in one column, as control characters, becomes '?'. Returns the column
 * behind it. */
int cb_canvas_text(struct cb_canvas *canvas, int y, int x, enum cb_style style, const char *text);
int cb_canvas_print(struct cb_canvas *canvas, int y, int x, enum cb_style style, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The same from the left edge on, in so many lines, broken at blanks. What does not fit is
 * cut at the end of a sentence, or ends with "...". */
void cb_canvas_paragraph(struct cb_canvas *canvas, int y, int lines, enum cb_style style, const char *text);

/* A bar in `room` columns: the share that is full, and up to which share it goes on in another style. */
void cb_canvas_bar(struct cb_canvas *canvas, int y, int x, int room, double full, double rest);

/* Lines of text in UTF-8, without blanks at their ends. */
void cb_canvas_write(const struct cb_canvas *canvas, FILE *to);

#endif
