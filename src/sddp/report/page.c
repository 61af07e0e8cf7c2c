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

static void paragraph(FILE *to, const char *text) {
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
    paragraph(to, text);
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
    paragraph(to, text);
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

void cb_data_table(FILE *to, const char *const *names, const struct grid *grid, int digits, size_t every) {
    fputs("<details><summary>Numbers</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"Numbers\"><table><thead><tr>",
          to);
    for (size_t i = 0; i < grid->columns; i++) {
        fputs("<th scope=\"col\">", to);
        cb_html_write(to, names[i]);
        fputs("</th>", to);
    }
    fputs("</tr></thead><tbody>\n", to);
    for (size_t row = (grid->rows - 1) % every; row < grid->rows; row += every) {
        const double *values = grid->at + row * grid->columns;
        fputs("<tr><th scope=\"row\">", to);
        write_cell(to, values[0], digits);
        fputs("</th>", to);
        for (size_t i = 1; i < grid->columns; i++) {
            fputs("<td>", to);
            write_cell(to, values[i], 6);
            fputs("</td>", to);
        }
        fputs("</tr>\n", to);
    }
    fputs("</tbody></table></div></details>\n", to);
}
