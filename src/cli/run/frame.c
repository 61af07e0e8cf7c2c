/* SPDX-License-Identifier: Apache-2.0 */
/* frame.c: frames as bytes, and back. Nothing here does input or output.
 *
 * A frame is a byte for its type, 4 bytes for its length (most significant first), and that many bytes. Numbers in it are
 * 4 bytes. An order is a sequence of texts, each with a 0 at its end: version, host, rank, size, backend, coordinator,
 * port, name, directory, number of variables, variables, program and arguments. */
#include "cli/run/frame.h"

#include <stdlib.h>
#include <string.h>

static void put_number(char *bytes, uint32_t value) {
    for (int i = 0; i < 4; i++)
        bytes[i] = (char)(unsigned char)(value >> (24 - 8 * i));
}

static uint32_t get_number(const char *bytes) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value = value << 8 | (unsigned char)bytes[i];
    return value;
}

void cb_frame_put(struct text *text, enum frame_type type, const void *bytes, size_t count) {
    char header[FRAME_HEADER] = {(char)type};
    put_number(header + 1, (uint32_t)count);
    cb_text_append(text, header, sizeof header);
    cb_text_append(text, bytes, count);
}

void cb_frame_put_numbers(struct text *text, enum frame_type type, uint32_t first, uint32_t second) {
    char bytes[8];
    put_number(bytes, first);
    put_number(bytes + 4, second);
    cb_frame_put(text, type, bytes, sizeof bytes);
}

int cb_frame_get(const char *bytes, size_t count, struct frame *frame, size_t *used) {
    if (count == 0)
        return 0;
    unsigned type = (unsigned char)bytes[0];
    if (type < FRAME_JOB || type >= FRAME_TYPES)
        return -1;
    if (count < FRAME_HEADER)
        return 0;
    size_t length = get_number(bytes + 1);
    if (length > FRAME_LIMIT)
        return -1;
    if (count - FRAME_HEADER < length)
        return 0;
    *frame = (struct frame){.type = (enum frame_type)type, .bytes = bytes + FRAME_HEADER, .count = length};
    *used = FRAME_HEADER + length;
    return 1;
}

bool cb_frame_numbers(const struct frame *frame, uint32_t *first, uint32_t *second) {
    if (frame->count != 8)
        return false;
    *first = get_number(frame->bytes);
    *second = get_number(frame->bytes + 4);
    return true;
}

static void put_text(struct text *text, const char *value) {
    cb_text_append(text, value, strlen(value) + 1);
}

static void put_decimal(struct text *text, size_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%zu", value);
    put_text(text, digits);
}

bool cb_order_put(struct text *text, const struct order *order) {
    struct text body = {.data = NULL};
    size_t variables = 0;
    while (order->environment[variables])
        variables++;
    put_decimal(&body, FRAME_VERSION);
    put_text(&body, order->host);
    put_decimal(&body, order->rank);
    put_decimal(&body, order->size);
    put_text(&body, order->backend);
    put_text(&body, order->coordinator);
    put_decimal(&body, order->port);
    put_text(&body, order->name);
    put_text(&body, order->directory);
    put_decimal(&body, variables);
    for (char **variable = order->environment; *variable; variable++)
        put_text(&body, *variable);
    for (char **word = order->program; *word; word++)
        put_text(&body, *word);
    bool fits = body.length <= FRAME_LIMIT;
    if (fits)
        cb_frame_put(text, FRAME_JOB, body.data, body.length);
    free(body.data);
    return fits;
}

/* Where the reading of an order is. */
struct reading {
    char *at, *end;
    bool good;
};

static char *next_text(struct reading *reading) {
    static char none[] = "";
    char *zero = reading->at < reading->end ? memchr(reading->at, 0, (size_t)(reading->end - reading->at)) : NULL;
    char *text = reading->at;
    if (!zero) {
        reading->good = false;
        return none;
    }
    reading->at = zero + 1;
    return text;
}

static size_t next_decimal(struct reading *reading, size_t limit) {
    uint64_t value;
    if (!cb_parse_whole(next_text(reading), &value) || value > limit) {
        reading->good = false;
        return 0;
    }
    return (size_t)value;
}

/* With a NULL at the end; NULL if there are not so many. */
static char **next_list(struct reading *reading, size_t count) {
    char **list = reading->good ? calloc(count + 1, sizeof *list) : NULL;
    reading->good = list != NULL;
    for (size_t i = 0; i < count && reading->good; i++)
        list[i] = next_text(reading);
    return list;
}

static size_t texts_left(const struct reading *reading) {
    size_t count = 0;
    for (const char *byte = reading->at; byte < reading->end; byte++)
        count += *byte == '\0';
    return count;
}

bool cb_order_get(char *bytes, size_t count, struct order *order) {
    struct reading reading = {.at = bytes, .end = bytes + count, .good = true};
    *order = (struct order){.host = ""};
    if (next_decimal(&reading, SIZE_MAX) != FRAME_VERSION)
        return false;
    order->host = next_text(&reading);
    order->rank = next_decimal(&reading, CB_MAX_RANKS - 1);
    order->size = next_decimal(&reading, CB_MAX_RANKS);
    order->backend = next_text(&reading);
    order->coordinator = next_text(&reading);
    order->port = (uint16_t)next_decimal(&reading, UINT16_MAX);
    order->name = next_text(&reading);
    order->directory = next_text(&reading);
    size_t variables = next_decimal(&reading, texts_left(&reading));
    order->environment = next_list(&reading, variables);
    size_t words = texts_left(&reading);
    order->program = next_list(&reading, words);
    return reading.good && words > 0 && order->rank < order->size && reading.at == reading.end;
}
