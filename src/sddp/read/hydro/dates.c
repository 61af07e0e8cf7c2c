/* SPDX-License-Identifier: Apache-2.0 */
/* dates.c: the dates at which stages begin. Calendar months are added with "time_unit": "month", and with 12 seasons
 * whose stages are about a month long. Otherwise hours are added up. */
#include <math.h>
#include <string.h>

#include "sddp/date.h"
#include "sddp/read/hydro/hydro.h"

bool cb_hydro_is_date(const char *text) {
    cb_date unused;
    return cb_date_parse(text, &unused) && strlen(text) <= 10;
}

/* Every stage is a month. */
static bool is_monthly(const cb_hydro_case *c) {
    for (size_t t = 0; t < c->stages; t++)
        if (c->months ? c->stage[t].duration != 1 : c->stage[t].duration < 640 || c->stage[t].duration > 760)
            return false;
    return c->months || c->seasons == 12;
}

static const char *text_of(cb_hydro_case *c, cb_date day, double hours) {
    long minutes = lround(hours * 60);
    if (minutes == 0)
        return cb_hydro_text(c, "%04d-%02d-%02d", day.year, day.month, day.day);
    return cb_hydro_text(c, "%04d-%02d-%02dT%02ld:%02ld", day.year, day.month, day.day, minutes / 60, minutes % 60);
}

/* `passed` months or hours after the first stage began. */
static const char *date_after(cb_hydro_case *c, cb_date first, double passed) {
    double whole = c->months ? floor(passed) : 0, hours = c->months ? (passed - whole) * 730 : passed;
    double days = floor(hours / 24 + 1e-9);
    return text_of(c, cb_date_add_days(cb_date_add_months(first, (long)whole), (long)days), fmax(0, hours - 24 * days));
}

void cb_hydro_date_stages(cb_hydro_case *c) {
    cb_date first;
    double passed = 0; /* months or hours since the first stage */
    bool monthly = is_monthly(c), known = cb_date_parse(c->start, &first);
    for (size_t t = 0; t < c->stages; t++) {
        c->stage[t].date = "";
        if (known && monthly)
            c->stage[t].date = text_of(c, cb_date_add_months(first, (long)t), 0);
        else if (known)
            c->stage[t].date = date_after(c, first, passed);
        passed += c->stage[t].duration;
    }
}
