/* SPDX-License-Identifier: Apache-2.0 */
/* export.c: exports the screen as a text, and its numbers as a table: two new files in the current folder. */
#include "cli/watch/dashboard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FILES = 10000 };

/* Two files of one name. */
struct pair {
    char text[64], table[64];
    FILE *picture, *rows;
};

static FILE *create(const char *name) {
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return fd >= 0 ? fdopen(fd, "w") : NULL;
}

/* The first number of which neither file is there. False: errno says why. */
static bool create_pair(struct pair *pair, const char *view) {
    for (int i = 1; i < MOST_FILES; i++) {
        snprintf(pair->text, sizeof pair->text, "watch-%s-%d.txt", view, i);
        snprintf(pair->table, sizeof pair->table, "watch-%s-%d.csv", view, i);
        if (access(pair->table, F_OK) == 0)
            continue;
        pair->picture = create(pair->text);
        if (!pair->picture && errno == EEXIST)
            continue;
        pair->rows = pair->picture ? create(pair->table) : NULL;
        return pair->rows;
    }
    errno = EEXIST;
    return false;
}

/* 0: all of it was written; else the error. */
static int finish(FILE *file) {
    errno = 0;
    bool good = fflush(file) == 0 && !ferror(file);
    int error = good ? 0 : errno ? errno : EIO;
    if (fclose(file) != 0 && good)
        error = errno;
    return error;
}

static int write_pair(struct cb_dashboard *dashboard, struct pair *pair) {
    cb_canvas_write(&dashboard->canvas, pair->picture);
    if (dashboard->policy)
        cb_inspect_write(dashboard, pair->rows);
    else
        cb_views[dashboard->view]->write(dashboard, pair->rows);
    int first = finish(pair->picture), second = finish(pair->rows);
    return first ? first : second;
}

/* Draws first: keys can be faster than the screen. On a screen that is too small nothing is drawn, but the rows are
 * there. */
static bool prepare(struct cb_dashboard *dashboard) {
    if (!cb_canvas_size(&dashboard->canvas, dashboard->canvas.width, dashboard->canvas.height))
        return false;
    cb_frame_draw(dashboard);
    const struct cb_record *record = cb_view_record(dashboard);
    if (record)
        cb_detail_take(&dashboard->detail, &dashboard->source, record);
    return true;
}

void cb_export(struct cb_dashboard *dashboard) {
    struct pair pair = {.picture = NULL};
    char name[32];
    if (!prepare(dashboard))
        return;
    snprintf(name, sizeof name, "stage%zu", dashboard->stage);
    bool made = create_pair(&pair, dashboard->policy ? name : cb_views[dashboard->view]->name);
    int error = made ? write_pair(dashboard, &pair) : errno;
    if (!error) {
        cb_say_line(dashboard, "exported to %s and %s", pair.text, pair.table);
        return;
    }
    if (!made && pair.picture)
        fclose(pair.picture);
    if (pair.picture)
        unlink(pair.text);
    if (pair.rows)
        unlink(pair.table);
    cb_say_line(dashboard, "%s: %s: nothing is exported", pair.text, strerror(error));
}
