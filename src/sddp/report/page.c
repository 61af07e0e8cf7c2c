/* page.c: the HTML page around the charts: one file, no scripts, nothing from elsewhere. */
#include "sddp/report/report.h"

#include <math.h>

static const char style[] =
    ":root{color-scheme:light dark;--page:#f4f4f1;--card:#fcfcfb;--ink:#161614;--soft:#52514e;--faint:#6f6d67;"
    "--grid:#e4e3dc;--edge:#dedcd4;--base:#a9a79d;--c1:#2a78d6;--c2:#d9541e;--c3:#178f65;--c4:#b87a00;--c5:#c2487f;"
    "--c6:#4a3aa7;--c7:#d03b3b;--c8:#5b7083}\n"
    "@media(prefers-color-scheme:dark){:root{--page:#111110;--card:#1b1b1a;--ink:#f4f3ef;--soft:#c3c2b7;"
    "--faint:#9b998f;--grid:#2e2e2b;--edge:#30302d;--base:#5d5c56;--c1:#4a94ea;--c2:#e8703f;--c3:#2fb286;"
    "--c4:#d59a1e;--c5:#e078a5;--c6:#9a8ff0;--c7:#ec6a68;--c8:#8ea3b5}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,"
    "\"Helvetica Neue\",Arial,sans-serif;-webkit-text-size-adjust:100%}\n"
    "main,header,footer{max-width:74rem;margin:0 auto;padding:0 1.5rem}\n"
    "header{padding-top:2.75rem}\n"
    ".eyebrow{margin:0;color:var(--faint);font-size:.8125rem;letter-spacing:.02em}\n"
    "h1{margin:.15rem 0 .35rem;font-size:2rem;line-height:1.2;letter-spacing:-.015em;font-weight:650;"
    "overflow-wrap:anywhere}\n"
    ".lead{margin:0;color:var(--soft);max-width:60rem}\n"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.25rem,1fr));gap:.8rem;margin:1.75rem 0 0;"
    "padding:0}\n"
    ".tile{background:var(--card);border:1px solid var(--edge);border-radius:.625rem;padding:.8rem .9rem .85rem}\n"
    ".tile dt{color:var(--soft);font-size:.8125rem}\n"
    ".tile dd{margin:.1rem 0 0;font-size:1.125rem;line-height:1.3;font-weight:600;letter-spacing:-.02em;"
    "overflow-wrap:anywhere}\n"
    ".tile dd.note{font-size:.8125rem;font-weight:400;line-height:1.4;color:var(--faint);letter-spacing:0}\n"
    "section{margin-top:2.75rem}\n"
    "h2{margin:0;font-size:1.25rem;line-height:1.3;font-weight:650;letter-spacing:-.01em}\n"
    "section>p{margin:.25rem 0 0;color:var(--soft);max-width:46rem}section>.legend{margin-top:.5rem}\n"
    ".cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr));gap:1.25rem;"
    "margin-top:1.1rem}\n"
    ".card{min-width:0;background:var(--card);border:1px solid var(--edge);border-radius:.75rem;padding:1.1rem 1.2rem "
    ".8rem}\n"
    "h3{margin:0;font-size:1rem;line-height:1.4;font-weight:600}\n"
    ".card>p{margin:.1rem 0 0;color:var(--soft);font-size:.875rem;line-height:1.45}\n"
    ".legend{display:flex;flex-wrap:wrap;gap:.25rem 1rem;list-style:none;margin:.6rem 0 0;padding:0;color:var(--soft);"
    "font-size:.8125rem}\n"
    ".legend li{display:flex;align-items:center;gap:.45rem}\n"
    ".key{width:1rem;height:.1875rem;border-radius:1px;background:var(--c)}\n"
    ".key.bar{width:.7rem;height:.7rem;border-radius:2px}.key.band{height:.7rem;border-radius:2px;opacity:.25}\n"
    ".key.inner{opacity:.45}\n"
    ".chart{display:block;width:100%;height:auto;margin-top:.5rem;font-variant-numeric:tabular-nums}\n"
    ".s1{--c:var(--c1)}.s2{--c:var(--c2)}.s3{--c:var(--c3)}.s4{--c:var(--c4)}.s5{--c:var(--c5)}.s6{--c:var(--c6)}"
    ".s7{--c:var(--c7)}.s8{--c:var(--c8)}\n"
    ".line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round;stroke-linecap:round}\n"
    ".band{fill:var(--c);fill-opacity:.16}.band.inner{fill-opacity:.26}\n"
    "rect.bar{fill:var(--c);stroke:var(--card);stroke-width:1;paint-order:fill}rect.bar:hover{fill-opacity:.8}\n"
    ".grid{stroke:var(--grid)}.base{stroke:var(--base)}.mark{stroke:var(--ink);stroke-dasharray:3 3}\n"
    ".chart text{font-size:12px;fill:var(--faint)}.chart text.name{fill:var(--soft)}.chart "
    "text.over{fill:var(--ink);stroke:"
    "var(--card);stroke-width:4px;paint-order:stroke;stroke-linejoin:round}\n"
    ".strip rect{fill:transparent}.strip line{stroke:var(--ink);stroke-opacity:0}.strip:hover "
    "line{stroke-opacity:.55}\n"
    "details{margin-top:.4rem;border-top:1px solid var(--grid);padding-top:.5rem;font-size:.8125rem}\n"
    "summary{color:var(--soft);cursor:pointer;padding:.15rem 0}summary:hover{color:var(--ink)}\n"
    "summary:focus-visible,.scroll:focus-visible{outline:2px solid var(--c1);outline-offset:2px;border-radius:3px}\n"
    ".scroll{overflow:auto;max-height:22rem;margin:.35rem 0 .3rem}\n"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.25rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--grid)}\n"
    "th:first-child,td:first-child{text-align:left;padding-left:0}\n"
    "thead th{position:sticky;top:0;background:var(--card);color:var(--soft);font-weight:600}\n"
    "tbody th{font-weight:400}\n"
    "footer{margin-top:3rem;padding-bottom:2.5rem;color:var(--faint);font-size:.8125rem}\n"
    "code{font:.92em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}\n"
    "@media(max-width:40rem){main,header,footer{padding:0 1rem}header{padding-top:1.5rem}h1{font-size:1.6rem}"
    ".tiles{grid-template-columns:1fr 1fr;gap:.7rem;margin-top:1.25rem}.tile{padding:.65rem .8rem .7rem}"
    ".tile dd{font-size:1.2rem}section{margin-top:2.1rem}.cards{gap:.9rem}.card{padding:.9rem .85rem .6rem}"
    ".chart text{font-size:17px}}\n"
    "@media print{body{background:#fff}.card,.tile{break-inside:avoid}details{display:none}}\n";

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
    fprintf(to, " - cobre report</title>\n<style>\n%s</style>\n</head>\n<body>\n", style);
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
