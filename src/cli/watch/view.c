/* SPDX-License-Identifier: Apache-2.0 */
/* view.c: code that views share. */
#include "cli/watch/dashboard.h"

#include "sddp/run/numbers.h"
#include "sddp/run/table.h"

#include <math.h>

const struct cb_record *cb_view_record(struct cb_dashboard *dashboard) {
    size_t count = dashboard->history.count;
    if (count == 0)
        return NULL;
    if (dashboard->follows || dashboard->cursor >= count)
        dashboard->cursor = count - 1;
    return &dashboard->history.record[dashboard->cursor];
}

bool cb_view_detail(struct cb_dashboard *dashboard, int top) {
    const struct cb_record *record = cb_view_record(dashboard);
    if (!record) {
        cb_canvas_text(&dashboard->canvas, top + 1, 2, CB_PLAIN, "There is no iteration yet.");
        return false;
    }
    if (cb_detail_take(&dashboard->detail, &dashboard->source, record))
        return true;
    if (dashboard->how->folder)
        cb_canvas_text(&dashboard->canvas, top + 1, 2, CB_PLAIN, "The event of this iteration can no longer be read.");
    else
        cb_canvas_print(&dashboard->canvas, top + 1, 2, CB_PLAIN,
                        "Of a pipe only the last %d iterations are kept, in at most %d MB.", CB_SOURCE_KEPT,
                        CB_SOURCE_MOST >> 20);
    return false;
}

size_t cb_view_scroll(struct cb_dashboard *dashboard, size_t rows, int lines) {
    size_t room = lines > 0 ? (size_t)lines : 0;
    dashboard->scroll_most = rows > room ? rows - room : 0;
    dashboard->page = room > 1 ? room - 1 : 1;
    if (dashboard->scroll > dashboard->scroll_most)
        dashboard->scroll = dashboard->scroll_most;
    return dashboard->scroll;
}

const char *cb_view_bytes(double bytes, char text[32]) {
    static const char *const unit[] = {"B", "kB", "MB", "GB", "TB"};
    size_t i = 0;
    char number[32];
    if (isnan(bytes)) {
        snprintf(text, 32, "-");
        return text;
    }
    for (; i < 4 && fabs(bytes) >= 999.5; i++)
        bytes /= 1000;
    cb_brief_text(bytes, 3, number);
    snprintf(text, 32, "%.24s %s", number, unit[i]);
    return text;
}

const char *cb_view_seconds(double seconds, char text[32]) {
    if (isnan(seconds))
        snprintf(text, 32, "-");
    else if (seconds > 0 && seconds < 0.9995)
        snprintf(text, 32, "%.3g ms", 1000 * seconds);
    else
        snprintf(text, 32, seconds < 100 ? "%.3g s" : seconds < 1e6 ? "%.0f s" : "%.2e s", seconds);
    return text;
}

void cb_view_field(FILE *to, double value, char after) {
    char text[32];
    fprintf(to, "%s%c", isnan(value) ? "" : cb_exact_text(value, text), after);
}

void cb_view_key(const struct cb_dashboard *dashboard, FILE *to, double iteration) {
    cb_field_write(to, cb_steer_folder(dashboard));
    putc(',', to);
    cb_view_field(to, iteration, ',');
}

/* A unit may be "$" or "1200 $". */
const char *cb_view_cost(const struct cb_dashboard *dashboard, char text[64]) {
    const char *unit = dashboard->history.unit, *what = dashboard->history.maximises ? "value" : "cost";
    const char *words = !*unit ? "" : *unit >= '0' && *unit <= '9' ? " in units of " : " in ";
    snprintf(text, 64, "%s%s%.20s", what, words, unit);
    return text;
}
