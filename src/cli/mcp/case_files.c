/* SPDX-License-Identifier: Apache-2.0 */
/* case_files.c: reads the files of a case, and finds the fields of its tables. */
#include "cli/mcp/case_files.h"

#include "sddp/grow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static char *read_all(int fd, size_t size, size_t *length) {
    char *text = malloc(size + 1);
    ssize_t count = 1;
    *length = 0;
    while (text && *length < size && count > 0) {
        count = read(fd, text + *length, size - *length);
        *length += count > 0 ? (size_t)count : 0;
    }
    if (text)
        text[*length] = 0;
    return text;
}

char *cb_case_read(struct cb_places *places, const char *path, size_t most, size_t *size, char why[CB_PLACE_WHY]) {
    struct cb_place place;
    struct stat status;
    char link[64], *text = NULL;
    if (!cb_place_find(places, path, CB_PLACE_FILE, &place, why))
        return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", place.fd); /* what was checked, whatever becomes of the path */
    int fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) < 0)
        snprintf(why, CB_PLACE_WHY, "%s: %s", path, strerror(errno));
    else if ((size_t)status.st_size > most)
        snprintf(why, CB_PLACE_WHY, "%s has more than %zu MiB", path, most >> 20);
    else if (!(text = read_all(fd, (size_t)status.st_size, size)))
        snprintf(why, CB_PLACE_WHY, "there is no memory for %s", path);
    if (fd >= 0)
        close(fd);
    cb_place_close(&place);
    return text;
}

/* Fields. */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* The field at `at`, in a line that ends at `end`; *at: behind it. */
static struct cb_span next_field(const char *text, size_t *at, size_t end) {
    while (*at < end && is_blank(text[*at]))
        (*at)++;
    size_t first = *at, last;
    if (*at < end && text[*at] == '"')
        for ((*at)++; *at < end && !(text[*at] == '"' && text[*at + 1] != '"'); (*at)++)
            *at += text[*at] == '"';
    while (*at < end && text[*at] != ',')
        (*at)++;
    for (last = *at; last > first && is_blank(text[last - 1]);)
        last--;
    return (struct cb_span){first, last - first};
}

static bool split_line(struct cb_case_file *file, size_t at, size_t end) {
    for (bool more = true; more; at++) {
        struct cb_span span = next_field(file->text, &at, end);
        if (!CB_GROW(file, file->field, file->fields, file->fields_room))
            return false;
        file->field[file->fields++] = span;
        more = at < end;
    }
    return true;
}

static void add_line(struct cb_case_file *file, size_t at, size_t end, size_t line) {
    size_t before = file->fields;
    if (!split_line(file, at, end))
        return;
    if (before == 0) {
        file->columns = file->fields;
        file->header_line = line;
    } else if (file->fields - before != file->columns || !CB_GROW(file, file->line, file->rows, file->rows_room)) {
        file->fields = before;
    } else {
        file->line[file->rows++] = line;
    }
}

static bool holds_something(const char *text, size_t at, size_t end) {
    if (text[at] == '#')
        return false;
    while (at < end && is_blank(text[at]))
        at++;
    return at < end;
}

static void split(struct cb_case_file *file) {
    size_t at = file->size >= 3 && memcmp(file->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, line = 1;
    for (; at < file->size && !file->no_memory; line++) {
        const char *newline = memchr(file->text + at, '\n', file->size - at);
        size_t end = newline ? (size_t)(newline - file->text) : file->size;
        if (holds_something(file->text, at, end))
            add_line(file, at, end, line);
        at = end + 1;
    }
}

const char *cb_case_text(const struct cb_case_file *file, struct cb_span span, char text[CB_CASE_VALUE]) {
    const char *from = file->text + span.at, *end = from + span.length;
    bool quoted = span.length >= 2 && *from == '"';
    size_t length = 0;
    for (from += quoted, end -= quoted; from < end && length + 1 < CB_CASE_VALUE; from++) {
        text[length++] = *from;
        from += quoted && *from == '"'; /* a quote is doubled */
    }
    text[length] = 0;
    return text;
}

size_t cb_case_column(const struct cb_case_file *file, const char *name) {
    char text[CB_CASE_VALUE];
    for (size_t c = 0; c < file->columns; c++)
        if (strcasecmp(cb_case_text(file, cb_case_header(file, c), text), name) == 0)
            return c;
    return SIZE_MAX;
}

/* Folders. */

static bool ends_with(const char *name, const char *ending) {
    size_t length = strlen(name), its = strlen(ending);
    return length > its && strcmp(name + length - its, ending) == 0;
}

static bool is_wanted(const char *name) {
    return ends_with(name, ".csv") || ends_with(name, ".json") || ends_with(name, ".cobre") || ends_with(name, ".md");
}

static bool add_file(struct cb_places *places, struct cb_case_files *files, const char *name, char why[CB_PLACE_WHY]) {
    enum { MOST = 256 << 20 };
    char path[PATH_MAX + NAME_MAX + 2];
    snprintf(path, sizeof path, "%s/%s", files->folder, name);
    if (!CB_GROW(files, files->at, files->count, files->room)) {
        snprintf(why, CB_PLACE_WHY, "there is no memory for the files of the case");
        return false;
    }
    struct cb_case_file *new = &files->at[files->count++];
    *new = (struct cb_case_file){.name = strdup(name), .table = ends_with(name, ".csv")};
    new->text = new->name ? cb_case_read(places, path, MOST, &new->size, why) : NULL;
    if (new->text &&new->table)
        split(new);
    return new->text && !new->no_memory;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int select_entry(const struct dirent *entry) {
    return is_wanted(entry->d_name);
}

static bool add_folder(struct cb_places *places, const struct cb_place *place, struct cb_case_files *files,
                       char why[CB_PLACE_WHY]) {
    struct dirent **entry = NULL;
    int count = scandirat(place->fd, ".", &entry, select_entry, by_name);
    bool good = count >= 0;
    if (!good)
        snprintf(why, CB_PLACE_WHY, "%s: %s", place->path, strerror(errno));
    for (int i = 0; i < count; i++) {
        good = good && add_file(places, files, entry[i]->d_name, why);
        free(entry[i]);
    }
    free(entry);
    return good;
}

bool cb_case_files_read(struct cb_places *places, const struct cb_place *place, struct cb_case_files *files,
                        char why[CB_PLACE_WHY]) {
    *files = (struct cb_case_files){.count = 0};
    snprintf(files->folder, sizeof files->folder, "%s", place->path);
    if (place->folder)
        return add_folder(places, place, files, why);
    char *slash = strrchr(files->folder, '/');
    if (!slash)
        return false;
    *slash = 0;
    return add_file(places, files, slash + 1, why);
}

void cb_case_files_free(struct cb_case_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        free(files->at[i].name);
        free(files->at[i].text);
        free(files->at[i].field);
        free(files->at[i].line);
    }
    free(files->at);
}

const struct cb_case_file *cb_case_file_find(const struct cb_case_files *files, const char *name) {
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->at[i].name, name) == 0)
            return &files->at[i];
    return NULL;
}
