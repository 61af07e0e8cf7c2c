/* SPDX-License-Identifier: Apache-2.0 */
/* words.c: numbers, dates and names in the words of a report. */
#include "sddp/report/parts.h"

#include <math.h>
#include <string.h>

const char *cb_grouped_text(const char *number, char text[CB_WORDS]) {
    size_t sign = *number == '-', digits = strspn(number + sign, "0123456789"), used = 0;
    bool plain = digits > 3 && !strpbrk(number, "eE");
    for (size_t i = 0; number[i] && used < CB_WORDS - 3; i++) {
        size_t at = i - sign;
        if (plain && i > sign && at < digits && (digits - at) % 3 == 0)
            text[used++] = ',';
        text[used++] = number[i];
    }
    text[used] = '\0';
    return text;
}

double cb_amount_scale(double largest, const char **name) {
    static const struct {
        double size;
        const char *name;
    } units[] = {{1e12, "trillion "}, {1e9, "billion "}, {1e6, "million "}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (fabs(largest) >= 0.9995 * units[i].size && fabs(largest) < 1e15) {
            *name = units[i].name;
            return units[i].size;
        }
    *name = "";
    return 1;
}

/* 50.00 is 50. */
static const char *without_zeros(char number[32]) {
    char *end = number + strlen(number);
    while (strchr(number, '.') && !strchr(number, 'e') && (end[-1] == '0' || end[-1] == '.'))
        *--end = '\0';
    return number;
}

const char *cb_amount_text(double value, char text[CB_WORDS]) {
    char number[32], grouped[CB_WORDS];
    const char *name;
    double size = cb_amount_scale(value, &name);
    cb_short_text(value / size, 4, number);
    cb_grouped_text(value == 0 ? "0" : without_zeros(number), grouped);
    snprintf(text, CB_WORDS, "%.60s%s%.*s", grouped, *name ? " " : "", (int)strcspn(name, " "), name);
    return text;
}

const char *cb_quantity_text(double value, const char *unit, char text[CB_WORDS]) {
    char amount[CB_WORDS];
    bool times = *unit >= '0' && *unit <= '9'; /* "1200 $" */
    snprintf(text, CB_WORDS, "%.60s%s%.60s", cb_amount_text(value, amount), times ? " × " : *unit ? " " : "", unit);
    return text;
}

const char *cb_percent_text(double share, char text[CB_WORDS]) {
    double percent = 100 * share;
    bool exact = percent == 0 || share == 1;
    if (!exact && fabs(percent) < 0.1)
        snprintf(text, CB_WORDS, fabs(percent) < 0.01 ? "< 0.01 %%" : "%.2f %%", percent);
    else if (!exact && percent > 99.5 && percent < 100)
        snprintf(text, CB_WORDS, "%.1f %%", floor(10 * percent) / 10);
    else
        snprintf(text, CB_WORDS, "%.*f %%", exact || fabs(percent) >= 10 ? 0 : 1, percent);
    return text;
}

const char *cb_kind_text(const char *kind, char text[CB_WORDS]) {
    snprintf(text, CB_WORDS, "%.100s", kind);
    for (char *at = text; (at = strchr(at, '_'));)
        *at = ' ';
    return text;
}

const char *cb_element_text(const char *element, char text[CB_WORDS]) {
    const char *arrow = strstr(element, "->");
    if (!arrow || strlen(element) > CB_WORDS - 8)
        return element;
    snprintf(text, CB_WORDS, "%.*s → %s", (int)(arrow - element), element, arrow + 2);
    return text;
}

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

int cb_month_of(const char *date) {
    int year, month;
    return sscanf(date, "%d-%d", &year, &month) == 2 && month >= 1 && month <= 12 ? 12 * year + month - 1 : -1;
}

const char *cb_date_text(const char *date, char text[CB_WORDS]) {
    int month = cb_month_of(date), day = strlen(date) > 8 ? atoi(date + 8) : 1;
    if (month < 0)
        snprintf(text, CB_WORDS, "%.40s", date);
    else if (day == 1)
        snprintf(text, CB_WORDS, "%s %d", months[month % 12], month / 12);
    else
        snprintf(text, CB_WORDS, "%d %s %d", day, months[month % 12], month / 12);
    return text;
}

const char *cb_step_text(const struct cb_point *point, char text[CB_WORDS]) {
    if (*point->date)
        return cb_date_text(point->date, text);
    snprintf(text, CB_WORDS, "%s %zu", point->stage ? "stage" : "step", point->stage ? point->stage : point->step);
    return text;
}
