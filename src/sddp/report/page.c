/* page.c: the HTML page around the charts: one file, no scripts, nothing from elsewhere. */
#include "sddp/report/report.h"

extern const char cb_report_css[]; /* report.css, put into a source by CMake */

void cb_html_write(FILE *to, const char *text) {
    for (; *text; text++)
        switch (*text) {
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        case '&': fputs("&amp;", to); break;
        case '"': fputs("&quot;", to); break;
        default: putc(*text, to);
        }
}

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

void cb_data_begin(FILE *to, const char *const *columns, size_t count) {
    fputs("<details><summary>Numbers</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"Numbers\"><table><thead><tr>",
          to);
    for (size_t i = 0; i < count; i++) {
        fputs("<th scope=\"col\">", to);
        cb_html_write(to, columns[i]);
        fputs("</th>", to);
    }
    fputs("</tr></thead><tbody>\n", to);
}

void cb_data_row(FILE *to, const char *name, const double *values, size_t count) {
    char text[32];
    fputs("<tr><th scope=\"row\">", to);
    cb_html_write(to, name);
    fputs("</th>", to);
    for (size_t i = 0; i < count; i++)
        fprintf(to, "<td>%s</td>", values[i] == 0 ? "0" : cb_short_text(values[i], 6, text));
    fputs("</tr>\n", to);
}

void cb_data_end(FILE *to) {
    fputs("</tbody></table></div></details>\n", to);
}
