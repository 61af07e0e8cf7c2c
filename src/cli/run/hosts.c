/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.c: reads the list of hosts from --hosts and --hostfile. A host is "name", "name:slots" or "[address]:slots", in
 * a file also "name slots=2". */
#include "cli/run/job.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Says what is wrong with a host, and where it stands. */
__attribute__((format(printf, 2, 3))) static bool refuse(const char *place, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cb_usage_error("run", "%s: %s", place, text);
    return false;
}

static bool parse_slots(const char *text, const char *place, size_t *slots) {
    uint64_t value;
    if (!cb_parse_whole(text, &value) || value < 1 || value > CB_MAX_RANKS)
        return refuse(place, "'%s' is not a number of slots from 1 to %d", text, CB_MAX_RANKS);
    *slots = (size_t)value;
    return true;
}

/* The remote shell must not take it for an option, nor a shell for more than one word. */
static bool is_name(const char *name) {
    if (!*name || *name == '-' || *cb_host_address(name) == '-')
        return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-._:@%", *c))
            return false;
    return *cb_host_address(name);
}

static bool add(struct host_list *list, const char *name, size_t slots, const char *place) {
    if (!is_name(name))
        return refuse(place, "'%s' is not the name of a host", name);
    struct host *hosts = realloc(list->hosts, (list->count + 1) * sizeof *hosts);
    char *copy = strdup(name);
    if (hosts)
        list->hosts = hosts;
    if (!hosts || !copy) {
        free(copy);
        return refuse(place, "no memory");
    }
    hosts[list->count++] = (struct host){.name = copy, .slots = slots};
    list->slots += slots;
    return true;
}

/* Cuts "name:slots" in two; *slots is NULL if there is none. */
static bool split(char *word, const char *place, char **name, char **slots) {
    char *open = strchr(word, '['), *close = strchr(word, ']');
    *name = word;
    *slots = NULL;
    if (open && close > open && (close[1] == '\0' || close[1] == ':')) {
        *slots = close[1] ? close + 2 : NULL;
        *close = '\0';
        memmove(open, open + 1, strlen(open)); /* "user@" may come before it */
        return true;
    }
    char *colon = strchr(word, ':');
    if (colon && strchr(colon + 1, ':'))
        return refuse(place, "'%s' has more than one ':'; write an IPv6 address as [%s]", word, word);
    if (colon) {
        *colon = '\0';
        *slots = colon + 1;
    }
    return true;
}

static bool add_word(struct host_list *list, char *word, const char *place) {
    char *name, *text;
    size_t slots = 1;
    return split(word, place, &name, &text) && (!text || parse_slots(text, place, &slots)) &&
           add(list, name, slots, place);
}

bool cb_hosts_parse(const char *text, struct host_list *list) {
    char *copy = strdup(text), *rest = copy, *word;
    bool good = copy != NULL;
    while (good && (word = strsep(&rest, ",")))
        good = add_word(list, word, "--hosts");
    free(copy);
    return good;
}

static bool add_line(struct host_list *list, char *line, const char *place) {
    static const char blanks[] = " \t\r\n";
    line[strcspn(line, "#")] = '\0';
    char *rest = line, *word = strtok_r(line, blanks, &rest);
    const char *more = word ? strtok_r(NULL, blanks, &rest) : NULL;
    size_t slots = 1;
    if (!word)
        return true;
    if (!more)
        return add_word(list, word, place);
    if (strncmp(more, "slots=", 6) != 0)
        return refuse(place, "'%s' is not understood; a line is HOST, HOST:SLOTS or HOST slots=SLOTS", more);
    const char *too_many = strtok_r(NULL, blanks, &rest);
    if (too_many)
        return refuse(place, "unexpected word '%s'", too_many);
    char *name, *text;
    if (!split(word, place, &name, &text) || !parse_slots(more + 6, place, &slots))
        return false;
    return text ? refuse(place, "the slots of %s are there twice", name) : add(list, name, slots, place);
}

bool cb_hosts_read(const char *path, struct host_list *list) {
    FILE *file = fopen(path, "re");
    if (!file) {
        cb_usage_error("run", "--hostfile %s: %s", path, strerror(errno));
        return false;
    }
    char *line = NULL, place[4096];
    size_t size = 0, number = 0;
    bool good = true;
    while (good && getline(&line, &size, file) >= 0) {
        snprintf(place, sizeof place, "%s:%zu", path, ++number);
        good = add_line(list, line, place);
    }
    if (good && ferror(file))
        good = refuse(path, "cannot be read");
    if (good && list->count == 0)
        good = refuse(path, "names no host");
    free(line);
    fclose(file);
    return good;
}

const char *cb_host_of_rank(const struct host_list *list, size_t rank) {
    for (size_t i = 0; i < list->count; i++) {
        if (rank < list->hosts[i].slots)
            return list->hosts[i].name;
        rank -= list->hosts[i].slots;
    }
    return NULL;
}

const char *cb_host_address(const char *name) {
    const char *at = strrchr(name, '@');
    return at ? at + 1 : name;
}

void cb_hosts_free(struct host_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->hosts[i].name);
    free(list->hosts);
    *list = (struct host_list){.count = 0};
}
