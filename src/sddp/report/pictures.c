/* SPDX-License-Identifier: Apache-2.0 */
/* pictures.c: the pictures of a report, each as a file of its own.
 *
 * The whole page is made first, and then cut up: a section begins with <h2>, a card with <h3>, a legend is a list, a picture
 * is an element svg. Texts in the page are escaped, so no other '<' can be mistaken for one of these. A picture alone has
 * no style sheet, and the program that draws it may not know CSS variables. So the page's colours are written out. */
#include "sddp/report/report.h"

#include "sddp/error.h"
#include "sddp/report/parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

extern const char cb_report_css[];

/* Where the page has come to. */
struct place {
    char section[CB_WORDS], card[CB_WORDS]; /* their titles, escaped */
    const char *section_legend, *legend;
};

/* What is between `at` and the next `end`. */
static void copy_until(const char *at, const char *end, char text[CB_WORDS]) {
    const char *stop = strstr(at, end);
    size_t length = stop ? (size_t)(stop - at) : 0;
    snprintf(text, CB_WORDS, "%.*s", (int)(length < CB_WORDS ? length : CB_WORDS - 1), at);
}

static bool starts(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* "N → S" is n_to_s; "Stored energy" is stored_energy. */
static void add_word(FILE *to, const char *text) {
    bool gap = false, any = false;
    for (; *text; text++) {
        if (starts(text, "→")) {
            fputs("_to", to);
            gap = true;
            text += strlen("→") - 1;
        } else if (isalnum((unsigned char)*text) || (unsigned char)*text >= 0x80) {
            if (gap && any)
                putc('_', to);
            putc(tolower((unsigned char)*text), to);
            gap = false;
            any = true;
        } else {
            gap = true;
        }
    }
}

static char *name_of(const struct place *place) {
    char *name = NULL;
    size_t size;
    FILE *to = open_memstream(&name, &size);
    if (!to)
        return NULL;
    add_word(to, place->section);
    putc('/', to);
    add_word(to, place->card);
    fclose(to);
    return name;
}

static char *title_of(const struct place *place) {
    char *title = NULL;
    bool same = strcmp(place->section, place->card) == 0;
    if (asprintf(&title, "%s%s%s", same ? "" : place->section, same ? "" : ": ", place->card) < 0)
        return NULL;
    return title;
}

static void add_picture(struct cb_pictures *pictures, const struct place *place, const char *svg) {
    const char *box = strstr(svg, "viewBox=\"0 0 "), *at = strchr(svg, '>'), *until = strstr(svg, "</svg>");
    if (!box || !at || !until || !CB_GROW(pictures, pictures->at, pictures->count, pictures->room))
        return;
    struct cb_picture *new = &pictures->at[pictures->count++];
    *new = (struct cb_picture){.name = name_of(place),
                               .title = title_of(place),
                               .at = at + 1,
                               .until = until,
                               .legend = place->legend ? place->legend : place->section_legend};
    char *end;
    strtod(box + strlen("viewBox=\"0 0 "), &end);
    new->height = strtod(end, NULL);
    pictures->no_memory |= !new->name || !new->title;
}

static void cut_up(struct cb_pictures *pictures) {
    struct place place = {.section = ""};
    for (const char *at = strstr(pictures->page, "<body>"); at && (at = strchr(at, '<')); at++)
        if (starts(at, "<h2>")) {
            place = (struct place){.section = ""};
            copy_until(at + 4, "</h2>", place.section);
        } else if (starts(at, "<h3>")) {
            copy_until(at + 4, "</h3>", place.card);
            place.legend = NULL;
        } else if (starts(at, "<ul class=\"legend\">")) {
            *(*place.card ? &place.legend : &place.section_legend) = at;
        } else if (starts(at, "<svg class=\"chart\"")) {
            add_picture(pictures, &place, at);
        }
}

cobre_status cb_pictures_make(struct cb_pictures *pictures, const char *const *folders, size_t count) {
    size_t size;
    *pictures = (struct cb_pictures){.page = NULL};
    FILE *to = open_memstream(&pictures->page, &size);
    if (!to)
        return cb_no_memory("pictures", 0);
    cobre_status status = cb_report_write(folders, count, to);
    if (fclose(to) != 0 && !status)
        status = cb_no_memory("pictures", 0);
    CB_TRY(status);
    cut_up(pictures);
    return pictures->no_memory ? cb_no_memory("pictures", 0) : COBRE_OK;
}

void cb_pictures_free(struct cb_pictures *pictures) {
    for (size_t i = 0; i < pictures->count; i++) {
        free(pictures->at[i].name);
        free(pictures->at[i].title);
    }
    free(pictures->at);
    free(pictures->page);
}

static bool is_card(const struct cb_picture *picture, const char *name) {
    return strcmp(strchr(picture->name, '/') + 1, name) == 0;
}

static bool is_section(const struct cb_picture *picture, const char *name) {
    size_t length = strlen(name);
    return strncmp(picture->name, name, length) == 0 && picture->name[length] == '/';
}

const struct cb_picture *cb_pictures_find(const struct cb_pictures *pictures, const char *name) {
    const struct cb_picture *card = NULL, *section = NULL;
    size_t cards = 0;
    for (const struct cb_picture *at = pictures->at; at < pictures->at + pictures->count; at++) {
        if (strcmp(at->name, name) == 0)
            return at;
        cards += is_card(at, name);
        card = is_card(at, name) ? at : card;
        section = !section && is_section(at, name) ? at : section;
    }
    return cards == 1 ? card : section;
}

/* The value that a variable of the style sheet has first: on a light ground. */
static void write_colour(FILE *to, const char *variable) {
    char definition[32];
    snprintf(definition, sizeof definition, "--%s: ", variable);
    const char *at = strstr(cb_report_css, definition);
    at = at ? at + strlen(definition) : "#000;";
    fprintf(to, "%.*s", (int)strcspn(at, ";"), at);
}

/* A rule; "@ink" stands for the colour of that name. */
static void write_rule(FILE *to, const char *rule) {
    for (; *rule; rule++) {
        char name[16];
        if (*rule != '@') {
            putc(*rule, to);
            continue;
        }
        size_t length = strspn(rule + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
        snprintf(name, sizeof name, "%.*s", (int)length, rule + 1);
        write_colour(to, name);
        rule += length;
    }
}

static void write_style(FILE *to) {
    static const char *const rules[] = {
        "text{font:12px sans-serif;fill:@faint}",
        "text.name{fill:@soft}",
        "text.title{font-size:15px;font-weight:bold;fill:@ink}",
        "text.over{fill:@ink}",
        ".line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}",
        ".line.capacity{stroke-dasharray:6 4;stroke-width:1.5}",
        ".line.p95{stroke-width:1.5}",
        ".line.run.s1{stroke-width:4.5;stroke-opacity:.5}",
        ".band{fill-opacity:.16}",
        ".band.inner{fill-opacity:.26}",
        "rect.bar{stroke:@card;stroke-width:1}",
        ".grid{stroke:@grid}",
        ".base{stroke:@base}",
        ".mark{stroke:@ink;stroke-dasharray:3 3}",
        ".strip rect{fill:#fff;fill-opacity:0}",
        ".strip line{stroke:@ink;stroke-opacity:0}",
        ".strip:hover line{stroke-opacity:.55}",
    };
    fputs("<style>", to);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        write_rule(to, rules[i]);
    for (int i = 1; i <= 8; i++) {
        char rule[128];
        snprintf(rule, sizeof rule, ".line.s%d{stroke:@c%d}.band.s%d,.bar.s%d,.stairs.s%d{fill:@c%d}", i, i, i, i, i,
                 i);
        write_rule(to, rule);
    }
    fputs("</style>\n", to);
}

/* XML does not know the names that HTML has for letters. */
static void write_text(FILE *to, const char *at, const char *until) {
    static const char blank[] = "&nbsp;";
    for (; at < until; at++)
        if (*at == '&' && starts(at, blank)) {
            fputs("&#160;", to);
            at += strlen(blank) - 1;
        } else {
            putc(*at, to);
        }
}

static size_t letters(const char *at, const char *until) {
    size_t count = 0;
    for (; at < until; at++)
        if (*at == '&') { /* an entity is one letter */
            const char *end = memchr(at, ';', (size_t)(until - at));
            at = end ? end : at;
            count++;
        } else {
            count += ((unsigned char)*at & 0xc0) != 0x80;
        }
    return count;
}

enum { MARGIN = 14, HEAD = 34, LEGEND_LINE = 18, KEY = 22, LETTER = 7 };

/* Lays the legend out in lines, and writes it if `to` is there. Returns how many lines. */
static int lay_legend(const struct cb_picture *picture, FILE *to) {
    const char *end = picture->legend ? strstr(picture->legend, "</ul>") : NULL, *key = picture->legend;
    double x = MARGIN;
    int lines = end ? 1 : 0;
    while (end && (key = strstr(key, "<span class=\"key ")) && key < end) {
        const char *class = key + strlen("<span class=\"key "), *text = strstr(class, "</span>") + strlen("</span>");
        const char *until = strstr(text, "</li>");
        double width = KEY + LETTER * (double)letters(text, until);
        if (x > MARGIN && x + width > CB_CHART_WIDTH - MARGIN) {
            x = MARGIN;
            lines++;
        }
        double y = HEAD + LEGEND_LINE * (lines - 1);
        bool line = starts(class, "line");
        if (to && line)
            fprintf(to, "<path class=\"%.*s\" d=\"M%g %gh14\"/>", (int)strcspn(class, "\""), class, x, y + 6);
        else if (to)
            fprintf(to, "<rect class=\"%.*s\" x=\"%g\" y=\"%g\" width=\"12\" height=\"12\"/>",
                    (int)strcspn(class, "\""), class, x, y);
        if (to) {
            fprintf(to, "<text x=\"%g\" y=\"%g\">", x + 18, y + 10);
            write_text(to, text, until);
            fputs("</text>\n", to);
        }
        x += width + 12;
        key = until;
    }
    return lines;
}

/* Tips are groups of their own. */
static void write_body(const struct cb_picture *picture, bool tips, FILE *to) {
    static const char strip[] = "<g class=\"strip\">", end[] = "</g>\n";
    for (const char *at = picture->at; at < picture->until;) {
        const char *next = strstr(at, strip);
        next = tips || !next || next > picture->until ? picture->until : next;
        write_text(to, at, next);
        at = next < picture->until ? strstr(next, end) : NULL;
        if (!at)
            return;
        at += strlen(end);
    }
}

void cb_picture_write(const struct cb_picture *picture, bool tips, FILE *to) {
    int lines = lay_legend(picture, NULL);
    double top = HEAD + LEGEND_LINE * lines, height = top + picture->height + 8;
    fprintf(to,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%g\" viewBox=\"0 0 %d %g\">\n",
            CB_CHART_WIDTH, height, CB_CHART_WIDTH, height);
    write_style(to);
    fputs("<rect width=\"100%\" height=\"100%\" fill=\"", to);
    write_colour(to, "card");
    fprintf(to, "\"/>\n<text class=\"title\" x=\"%d\" y=\"22\">", MARGIN);
    write_text(to, picture->title, picture->title + strlen(picture->title));
    fputs("</text>\n", to);
    lay_legend(picture, to);
    fprintf(to, "<g transform=\"translate(0 %g)\">\n", top);
    write_body(picture, tips, to);
    fputs("</g>\n</svg>\n", to);
}
