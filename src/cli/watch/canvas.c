/* SPDX-License-Identifier: Apache-2.0 */
/* canvas.c: a picture of the screen in memory (canvas.h). */
#include "cli/watch/canvas.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { BAD_LETTER = '?', PLUS_MINUS = 0xb1, FULL_BLOCK = 0x2588, LIGHT_SHADE = 0x2591 };

bool cb_canvas_size(struct cb_canvas *canvas, int width, int height) {
    if (width < 1 || height < 1 || width > 4096 || height > 4096)
        return false;
    struct cb_cell *cell = realloc(canvas->cell, (size_t)width * (size_t)height * sizeof *cell);
    if (!cell)
        return false;
    canvas->cell = cell;
    canvas->width = width;
    canvas->height = height;
    for (int y = 0; y < height; y++)
        cb_canvas_fill(canvas, y, 0, width, CB_PLAIN, ' ');
    return true;
}

void cb_canvas_free(struct cb_canvas *canvas) {
    free(canvas->cell);
    canvas->cell = NULL;
}

void cb_canvas_put(struct cb_canvas *canvas, int y, int x, enum cb_style style, uint32_t letter) {
    if (y >= 0 && y < canvas->height && x >= 0 && x < canvas->width)
        canvas->cell[y * canvas->width + x] = (struct cb_cell){.letter = letter, .style = style};
}

void cb_canvas_fill(struct cb_canvas *canvas, int y, int x, int count, enum cb_style style, uint32_t letter) {
    for (int i = 0; i < count && x + i < canvas->width; i++)
        cb_canvas_put(canvas, y, x + i, style, letter);
}

/* The next letter of a text in UTF-8; a byte that belongs to none is one by itself. */
static uint32_t next_letter(const unsigned char **at) {
    uint32_t first = *(*at)++;
    int more = first >= 0xf0 && first < 0xf8 ? 3 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xc2 && first < 0xe0;
    if (first < 0x80)
        return first;
    if (more == 0)
        return BAD_LETTER;
    uint32_t letter = first & (0x3fu >> more);
    for (int i = 0; i < more; i++)
        if (((*at)[i] & 0xc0) != 0x80)
            return BAD_LETTER;
    for (int i = 0; i < more; i++)
        letter = letter << 6 | (*(*at)++ & 0x3f);
    return letter;
}

static bool is_visible(const struct cb_canvas *canvas, uint32_t letter) {
    if (letter < 0x7f)
        return letter >= ' ';
    return !canvas->ascii && letter >= 0xa0 && wcwidth((wchar_t)letter) == 1;
}

int cb_canvas_text(struct cb_canvas *canvas, int y, int x, enum cb_style style, const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    while (*at && x < canvas->width) {
        uint32_t letter = next_letter(&at);
        if (letter == PLUS_MINUS && canvas->ascii) {
            cb_canvas_put(canvas, y, x++, style, '+');
            letter = '-';
        }
        cb_canvas_put(canvas, y, x++, style, is_visible(canvas, letter) ? letter : BAD_LETTER);
    }
    return x;
}

int cb_canvas_print(struct cb_canvas *canvas, int y, int x, enum cb_style style, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return cb_canvas_text(canvas, y, x, style, text);
}

static bool continues(const char *at) {
    return ((unsigned char)*at & 0xc0) == 0x80; /* a byte within a letter */
}

/* May a line end at this blank? "± 5.28 %" stays together. */
static bool is_break(const char *text, size_t at) {
    bool after = at >= 2 && memcmp(text + at - 2, "\xc2\xb1", 2) == 0;
    return text[at] == ' ' && text[at + 1] != '%' && !after;
}

/* How many bytes of a text go into a line: up to a blank, if there is one. */
static size_t line_length(const char *text, int width) {
    size_t at = 0, blank = 0;
    for (int x = 0; text[at] && x < width; x++) {
        blank = is_break(text, at) ? at : blank;
        for (at++; continues(text + at);)
            at++;
    }
    return !text[at] || is_break(text, at) || !blank ? at : blank;
}

/* How many bytes go into so many lines. */
static size_t lines_length(const char *text, int lines, int width) {
    size_t at = 0;
    for (int i = 0; i < lines && text[at]; i++) {
        at += strspn(text + at, " ");
        at += line_length(text + at, width);
    }
    return at;
}

/* Where the last sentence ends that is whole; 0: none is. */
static size_t sentence_length(const char *text, size_t most) {
    size_t end = 0;
    for (size_t i = 0; i + 1 < most; i++)
        if (text[i] == '.' && text[i + 1] == ' ')
            end = i + 1;
    return most > 0 && text[most - 1] == '.' ? most : end;
}

void cb_canvas_paragraph(struct cb_canvas *canvas, int y, int lines, enum cb_style style, const char *text) {
    char line[1024];
    int width = canvas->width - 3; /* also where a letter becomes two */
    size_t whole = strlen(text), most = lines_length(text, lines, width);
    size_t end = most < whole ? sentence_length(text, most) : whole;
    bool cut = end == 0 && whole > 0;
    end = cut ? most : end;
    for (size_t at = 0; at < end;) {
        size_t length = line_length(text + at, width);
        length = length < end - at ? length : end - at;
        snprintf(line, sizeof line, "%.*s", (int)length, text + at);
        int x = cb_canvas_text(canvas, y++, 0, style, line);
        at += length;
        at += strspn(text + at, " ");
        if (cut && at >= end)
            cb_canvas_text(canvas, y - 1, x, style, "...");
    }
}

/* Eighths of a column; without them whole columns. */
static void draw_end(struct cb_canvas *canvas, int y, int x, double part) {
    int eighths = (int)(part * 8);
    if (!canvas->ascii && eighths > 0)
        cb_canvas_put(canvas, y, x, CB_BAR, (uint32_t)(FULL_BLOCK + 8 - eighths));
}

void cb_canvas_bar(struct cb_canvas *canvas, int y, int x, int room, double full, double rest) {
    full = full > 0 ? fmin(full, 1) * room : 0;
    rest = rest > 0 ? fmin(rest, 1) * room : 0;
    int whole = (int)full, end = (int)ceil(rest);
    cb_canvas_fill(canvas, y, x, end, CB_BAR_REST, canvas->ascii ? '-' : LIGHT_SHADE);
    cb_canvas_fill(canvas, y, x, whole, CB_BAR, canvas->ascii ? '#' : FULL_BLOCK);
    if (end <= whole + 1) /* else the shade shows where it ends */
        draw_end(canvas, y, x + whole, full - whole);
}

static void write_letter(uint32_t letter, FILE *to) {
    if (letter < 0x80) {
        putc((int)letter, to);
    } else if (letter < 0x800) {
        putc((int)(0xc0 | letter >> 6), to);
        putc((int)(0x80 | (letter & 0x3f)), to);
    } else {
        if (letter >= 0x10000)
            putc((int)(0xf0 | letter >> 18), to);
        putc((int)(letter >= 0x10000 ? 0x80 | (letter >> 12 & 0x3f) : 0xe0 | letter >> 12), to);
        putc((int)(0x80 | (letter >> 6 & 0x3f)), to);
        putc((int)(0x80 | (letter & 0x3f)), to);
    }
}

void cb_canvas_write(const struct cb_canvas *canvas, FILE *to) {
    for (int y = 0; y < canvas->height; y++) {
        const struct cb_cell *row = canvas->cell + y * canvas->width;
        int end = canvas->width;
        while (end > 0 && row[end - 1].letter == ' ')
            end--;
        for (int x = 0; x < end; x++)
            write_letter(row[x].letter, to);
        putc('\n', to);
    }
}
