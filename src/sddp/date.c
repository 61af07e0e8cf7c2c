/* SPDX-License-Identifier: Apache-2.0 */
#include "sddp/date.h"

#include <stdio.h>
#include <string.h>

static int days_in(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

bool cb_date_parse(const char *text, cb_date *date) {
    int hour = 0, minute = 0, used = 0;
    size_t length = strlen(text);
    *date = (cb_date){.day = 1};
    if (text[strspn(text, "0123456789-T:")] || (length != 7 && length != 10 && length != 16))
        return false;
    if (sscanf(text, "%4d-%2d%n", &date->year, &date->month, &used) != 2 || used != 7)
        return false;
    if (length > 7 && (sscanf(text + 7, "-%2d%n", &date->day, &used) != 1 || used != 3))
        return false;
    if (length > 10 && (sscanf(text + 10, "T%2d:%2d%n", &hour, &minute, &used) != 2 || used != 6))
        return false;
    date->hours = hour + minute / 60.0;
    return date->year >= 1 && date->month >= 1 && date->month <= 12 && date->day >= 1 &&
           date->day <= days_in(date->year, date->month);
}

cb_date cb_date_add_months(cb_date from, long months) {
    long month = from.month - 1 + months;
    cb_date to = from;
    to.year += (int)(month / 12);
    to.month = (int)(month % 12) + 1;
    int most = days_in(to.year, to.month);
    to.day = to.day > most ? most : to.day;
    return to;
}

cb_date cb_date_add_days(cb_date from, long days) {
    for (from.day += (int)days; from.day > days_in(from.year, from.month);) {
        from.day -= days_in(from.year, from.month);
        from.year += from.month / 12;
        from.month = from.month % 12 + 1;
    }
    return from;
}

/* Years are counted from March on, so that a leap day is their last one. */
double cb_date_days(const cb_date *date) {
    long y = date->year - (date->month <= 2), era = y / 400, of_era = y - era * 400;
    long of_year = (153 * (date->month + (date->month > 2 ? -3 : 9)) + 2) / 5 + date->day - 1;
    return (double)(era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468) + date->hours / 24;
}
