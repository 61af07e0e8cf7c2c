/* SPDX-License-Identifier: Apache-2.0 */
/* detail.c: the data of an iteration by rank, stage and operation. */
#include "cli/watch/detail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const stage_quantity[CB_STAGE_QUANTITIES] = {"made", "kept", "active"};

double cb_detail_sum(const double *values, size_t count) {
    double sum = NAN;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            sum = (isnan(sum) ? 0 : sum) + values[i];
    return sum;
}

double cb_detail_most(const double *values, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, values[i]);
    return most;
}

static size_t longest(const json_t *object, const char *const *keys, size_t count) {
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        size_t size = json_array_size(json_object_get(object, keys[i]));
        length = size > length ? size : length;
    }
    return length < CB_MOST_ITEMS ? length : CB_MOST_ITEMS;
}

/* Arrays as long as the longest of them. */
static bool take_arrays(const json_t *object, const char *const *keys, size_t count, double **array, size_t *length) {
    *length = longest(object, keys, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *list = json_object_get(object, keys[i]);
        array[i] = malloc((*length + 1) * sizeof *array[i]);
        if (!array[i])
            return false;
        for (size_t j = 0; j < *length; j++) {
            const json_t *value = json_array_get(list, j);
            array[i][j] = json_is_number(value) ? json_number_value(value) : NAN;
        }
    }
    return true;
}

static int by_seconds(const void *left, const void *right) {
    double a = ((const struct cb_operation *)left)->seconds, b = ((const struct cb_operation *)right)->seconds;
    return (a < b) - (a > b);
}

static void take_operations(struct cb_detail *detail, const json_t *operations) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)operations, name, value) {
        if (detail->operations == CB_MOST_OPERATIONS)
            break;
        struct cb_operation *operation = &detail->operation[detail->operations++];
        snprintf(operation->name, sizeof operation->name, "%s", name);
        operation->calls = cb_json_real_in(value, "calls");
        operation->bytes = cb_json_real_in(value, "bytes");
        operation->seconds = cb_json_real_in(value, "seconds");
    }
    qsort(detail->operation, detail->operations, sizeof *detail->operation, by_seconds);
}

void cb_detail_free(struct cb_detail *detail) {
    for (size_t i = 0; i < COBRE_SDDP_EFFORTS; i++)
        free(detail->rank[i]);
    for (size_t i = 0; i < CB_STAGE_QUANTITIES; i++)
        free(detail->stage[i]);
    memset(detail, 0, sizeof *detail);
}

static bool take_ranks(struct cb_detail *detail, const json_t *ranks) {
    const char *quantity[COBRE_SDDP_EFFORTS];
    for (int i = 0; i < COBRE_SDDP_EFFORTS; i++)
        quantity[i] = cobre_sddp_effort_name((cobre_sddp_effort)i);
    return take_arrays(ranks, quantity, COBRE_SDDP_EFFORTS, detail->rank, &detail->ranks);
}

bool cb_detail_take(struct cb_detail *detail, const struct cb_source *source, const struct cb_record *record) {
    if (detail->known && detail->place.begin == record->place.begin && detail->place.length == record->place.length)
        return true;
    cb_detail_free(detail);
    char *line = cb_source_line(source, record->place);
    json_t *event = line ? json_loads(line, JSON_DECODE_INT_AS_REAL, NULL) : NULL;
    free(line);
    if (!event)
        return false;
    detail->known = take_ranks(detail, json_object_get(event, "per_rank")) &&
                    take_arrays(json_object_get(event, "per_stage"), stage_quantity, CB_STAGE_QUANTITIES, detail->stage,
                                &detail->stages);
    take_operations(detail, json_object_get(event, "operations"));
    detail->place = record->place;
    json_decref(event);
    if (!detail->known)
        cb_detail_free(detail);
    return detail->known;
}
