/* SPDX-License-Identifier: Apache-2.0 */
/* page.c: the HTML page around the charts: one file, no scripts, nothing from elsewhere. */
#include "sddp/report/parts.h"

extern const char cb_report_css[]; /* report.css, put into a source by CMake */

void cb_page_begin(FILE *to, const char *name) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
          "img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>",
          to);
    cb_html_write(to, name);
    fprintf(to, " - cobre report</title>\n<style>\n%s</style>\n</head>\n<body>\n", cb_report_css);
}

void cb_page_end(FILE *to) {
    fputs("</body>\n</html>\n", to);
}

void cb_paragraph(FILE *to, const char *text) {
    if (!text || !*text)
        return;
    fputs("<p>", to);
    cb_html_write(to, text);
    fputs("</p>\n", to);
}

void cb_section_begin(FILE *to, const char *title, const char *text, const struct legend *legend, size_t count) {
    fputs("<section>\n<h2>", to);
    cb_html_write(to, title);
    fputs("</h2>\n", to);
    cb_paragraph(to, text);
    if (count)
        cb_legend(to, legend, count);
    fputs("<div class=\"cards\">\n", to);
}

void cb_section_end(FILE *to) {
    fputs("</div>\n</section>\n", to);
}

void cb_card_begin(FILE *to, const char *title, const char *text) {
    fputs("<article class=\"card\">\n<h3>", to);
    cb_html_write(to, title);
    fputs("</h3>\n", to);
    cb_paragraph(to, text);
}

void cb_card_end(FILE *to) {
    fputs("</article>\n", to);
}

void cb_tile(FILE *to, const char *name, const char *value, const char *note) {
    fputs("<div class=\"tile\"><dt>", to);
    cb_html_write(to, name);
    fputs("</dt><dd>", to);
    cb_html_write(to, value);
    fputs("</dd><dd class=\"note\">", to);
    cb_html_write(to, note);
    fputs("</dd></div>\n", to);
}

void cb_answer(FILE *to, const char *question, const char *class, const char *figure, const char *text) {
    fprintf(to, "<article class=\"answer %s\">\n<h2>", class);
    cb_html_write(to, question);
    fputs("</h2>\n<p class=\"figure\">", to);
    cb_html_write(to, figure);
    fputs("</p>\n", to);
    cb_paragraph(to, text);
    fputs("</article>\n", to);
}

void cb_table_begin(FILE *to, const char *label, const char *const *names) {
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", to);
    cb_html_write(to, label);
    fputs("\"><table><thead><tr>", to);
    for (; *names; names++) {
        fputs("<th scope=\"col\">", to);
        cb_html_write(to, *names);
        fputs("</th>", to);
    }
    fputs("</tr></thead><tbody>\n", to);
}

void cb_row_begin(FILE *to, const char *name) {
    fputs("<tr><th scope=\"row\">", to);
    cb_html_write(to, name);
    fputs("</th>", to);
}

void cb_cell(FILE *to, const char *text) {
    fputs("<td>", to);
    cb_html_write(to, text);
    fputs("</td>", to);
}

void cb_row_end(FILE *to) {
    fputs("</tr>\n", to);
}

void cb_table_end(FILE *to) {
    fputs("</tbody></table></div>\n", to);
}

void cb_legend(FILE *to, const struct legend *legend, size_t count) {
    fputs("<ul class=\"legend\">\n", to);
    for (size_t i = 0; i < count; i++) {
        fprintf(to, "<li><span class=\"key %s s%u\"></span>", legend[i].shape, legend[i].colour);
        cb_html_write(to, legend[i].name);
        fputs("</li>\n", to);
    }
    fputs("</ul>\n", to);
}

static void write_cell(FILE *to, double value, int digits) {
    char text[32];
    fputs(value == 0 ? "0" : cb_short_text(value, digits, text), to);
}

static void write_first(FILE *to, double value, int digits, const struct cb_point *points) {
    char text[CB_WORDS];
    fputs("<tr><th scope=\"row\">", to);
    if (points)
        cb_html_write(to, cb_step_text(&points[(size_t)value - 1], text));
    else
        write_cell(to, value, digits);
    fputs("</th>", to);
}

void cb_data_table(FILE *to, const char *const *names, const struct grid *grid, int digits,
                   const struct cb_point *points) {
    enum { MOST_ROWS = 60 };
    size_t every = (grid->rows + MOST_ROWS - 1) / MOST_ROWS;
    const char *all[32] = {NULL};
    for (size_t i = 0; i < grid->columns && i < 31; i++)
        all[i] = names[i];
    fputs("<details><summary>Numbers</summary>", to);
    cb_table_begin(to, "Numbers", all);
    for (size_t row = grid->rows ? (grid->rows - 1) % every : 0; row < grid->rows; row += every) {
        const double *values = grid->at + row * grid->columns;
        write_first(to, values[0], digits, points);
        for (size_t i = 1; i < grid->columns; i++) {
            fputs("<td>", to);
            write_cell(to, values[i], 6);
            fputs("</td>", to);
        }
        fputs("</tr>\n", to);
    }
    cb_table_end(to);
    fputs("</details>\n", to);
}
