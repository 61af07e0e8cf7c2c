/* SPDX-License-Identifier: Apache-2.0 */
/* axis.c: scales and ticks of a picture. */
#include "sddp/report/parts.h"

#include <math.h>

double cb_scale_at(const struct scale *scale, double value) {
    double range = scale->to - scale->from;
    return scale->start + (range != 0 ? (value - scale->from) / range : 0.5) * (scale->end - scale->start);
}

double cb_nice_step(double range, int ticks) {
    if (!(range > 0) || !isfinite(range))
        return 1;
    double rough = range / ticks, power = pow(10, floor(log10(rough))), share = rough / power;
    return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

void cb_scale_fit(struct scale *scale, int ticks) {
    if (!isfinite(scale->from) || !isfinite(scale->to))
        scale->from = 0, scale->to = 1;
    if (!(scale->to > scale->from)) {
        double size = scale->from != 0 ? fabs(scale->from) * 0.1 : 1;
        scale->from -= scale->from >= 0 && size > scale->from ? scale->from : size;
        scale->to += size;
    }
    double range = scale->to - scale->from, step = cb_nice_step(range, ticks);
    double bottom = floor(scale->from / step + 1e-9) * step;
    scale->from = scale->from < 0 ? fmax(bottom, scale->from - 0.03 * range) : bottom;
    scale->to = fmin(ceil(scale->to / step - 1e-9) * step, scale->to + 0.03 * range);
}

int cb_whole_ticks(const struct scale *scale, int most) {
    double range = scale->to - scale->from;
    return range >= most ? most : range >= 2 ? (int)range : 1;
}

const char *cb_tick_text(double value, double step, double largest, char text[32]) {
    static const struct {
        double size;
        const char *name;
    } units[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
    size_t unit = 0;
    if (largest < 1e4 || !isfinite(largest)) /* 9500 reads better than 9.5k */
        unit = 4;
    while (unit < 4 && largest < units[unit].size)
        unit++;
    if (largest < 1e-3) {
        snprintf(text, 32, "%.2g", fabs(value) < step * 1e-9 ? 0 : value);
        return text;
    }
    double size = units[unit].size;
    int decimals = (int)ceil(-log10(step / size) - 1e-9);
    decimals = decimals < 0 ? 0 : decimals > 6 ? 6 : decimals;
    if (fabs(value) < step * 1e-9)
        value = 0;
    snprintf(text, 32, "%.*f%s", value == 0 ? 0 : decimals, value / size, value == 0 ? "" : units[unit].name);
    return text;
}

/* Months that are whole shares of a year, or whole years; labels of years are shorter. */
int cb_months_between(const struct cb_point *point, size_t count) {
    static const int choices[] = {1, 2, 3, 6, 12, 24, 60, 120, 240, 600};
    int range = cb_month_of(point[count - 1].date) - cb_month_of(point[0].date);
    size_t i = 0;
    while (i + 1 < sizeof choices / sizeof *choices && range / choices[i] + 1 > (choices[i] < 12 ? 4 : 7))
        i++;
    return choices[i];
}

/* The first step of a month that is a multiple of them. */
bool cb_is_date_tick(const struct cb_point *point, size_t at, int months) {
    int month = cb_month_of(point[at].date), before = at ? cb_month_of(point[at - 1].date) : month - 1;
    return month >= 0 && month / months != before / months;
}
