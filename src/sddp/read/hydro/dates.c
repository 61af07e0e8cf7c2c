/* SPDX-License-Identifier: Apache-2.0 */
/* dates.c: when stages begin. Months count as months where the case has them: with "time_unit": "month", and with 12 seasons
 * whose stages are about a month long. Else hours are added up. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sddp/read/hydro/hydro.h"

typedef struct {
    int year, month, day;
} date;

static int days_of(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

static bool parse(const char *text, date *result) {
    int used = 0;
    *result = (date){.day = 1};
    size_t digits = strspn(text, "0123456789-");
    if (text[digits] || (strlen(text) != 7 && strlen(text) != 10))
        return false;
    if (sscanf(text, "%4d-%2d%n", &result->year, &result->month, &used) != 2 || used != 7)
        return false;
    if (strlen(text) == 10 && (sscanf(text + 7, "-%2d%n", &result->day, &used) != 1 || used != 3))
        return false;
    return result->year >= 1 && result->month >= 1 && result->month <= 12 && result->day >= 1 &&
           result->day <= days_of(result->year, result->month);
}

bool cb_hydro_is_date(const char *text) {
    date unused;
    return parse(text, &unused);
}

/* The day of a month that has fewer days is its last one. */
static date add_months(date from, long months) {
    long month = from.month - 1 + months;
    date to = {.year = from.year + (int)(month / 12), .month = (int)(month % 12) + 1, .day = from.day};
    int most = days_of(to.year, to.month);
    to.day = to.day > most ? most : to.day;
    return to;
}

static date add_days(date from, long days) {
    for (from.day += (int)days; from.day > days_of(from.year, from.month);) {
        from.day -= days_of(from.year, from.month);
        from = (date){from.year + from.month / 12, from.month % 12 + 1, from.day};
    }
    return from;
}

/* Every stage is a month. */
static bool is_monthly(const cb_hydro_case *c) {
    for (size_t t = 0; t < c->stages; t++)
        if (c->months ? c->stage[t].duration != 1 : c->stage[t].duration < 640 || c->stage[t].duration > 760)
            return false;
    return c->months || c->seasons == 12;
}

static const char *text_of(cb_hydro_case *c, date day, double hours) {
    long minutes = lround(hours * 60);
    if (minutes == 0)
        return cb_hydro_text(c, "%04d-%02d-%02d", day.year, day.month, day.day);
    return cb_hydro_text(c, "%04d-%02d-%02dT%02ld:%02ld", day.year, day.month, day.day, minutes / 60, minutes % 60);
}

/* `passed` months or hours after the first stage began. */
static const char *date_after(cb_hydro_case *c, date first, double passed) {
    double whole = c->months ? floor(passed) : 0, hours = c->months ? (passed - whole) * 730 : passed;
    double days = floor(hours / 24 + 1e-9);
    return text_of(c, add_days(add_months(first, (long)whole), (long)days), fmax(0, hours - 24 * days));
}

void cb_hydro_date_stages(cb_hydro_case *c) {
    date first;
    double passed = 0; /* months or hours since the first stage */
    bool monthly = is_monthly(c), known = parse(c->start, &first);
    for (size_t t = 0; t < c->stages; t++) {
        c->stage[t].date = "";
        if (known && monthly)
            c->stage[t].date = text_of(c, add_months(first, (long)t), 0);
        else if (known)
            c->stage[t].date = date_after(c, first, passed);
        passed += c->stage[t].duration;
    }
}
