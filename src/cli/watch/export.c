/* SPDX-License-Identifier: Apache-2.0 */
/* export.c: what is seen, as a text, and what it is drawn from, as a table: two new files in the current directory. */
#include "cli/watch/dashboard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FILES = 10000 };

static FILE *create(const char *view, int number, const char *ending, char name[64]) {
    snprintf(name, 64, "watch-%s-%d.%s", view, number, ending);
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return fd >= 0 ? fdopen(fd, "w") : NULL;
}

static bool finish(FILE *file) {
    bool good = !ferror(file);
    return fclose(file) == 0 && good;
}

/* The first number of which neither file is there. */
static FILE *create_text(const char *view, char text[64], char table[64], FILE **to) {
    for (int i = 1; i < MOST_FILES; i++) {
        snprintf(table, 64, "watch-%s-%d.csv", view, i);
        if (access(table, F_OK) == 0)
            continue;
        FILE *file = create(view, i, "txt", text);
        if (!file && errno == EEXIST)
            continue;
        *to = file ? create(view, i, "csv", table) : NULL;
        return file;
    }
    return NULL;
}

/* Draws first: keys can be faster than the screen. */
void cb_export(struct cb_dashboard *dashboard) {
    if (!cb_canvas_size(&dashboard->canvas, dashboard->canvas.width, dashboard->canvas.height))
        return;
    cb_frame_draw(dashboard);
    const struct cb_view *view = cb_views[dashboard->view];
    char text[64], table[64];
    FILE *rows = NULL, *picture = create_text(dashboard->policy ? "stage" : view->name, text, table, &rows);
    bool good = picture && rows;
    int error = errno;
    if (picture) {
        cb_canvas_write(&dashboard->canvas, picture);
        good = finish(picture) && good;
    }
    if (rows) {
        if (dashboard->policy)
            cb_inspect_write(dashboard, rows);
        else
            view->write(dashboard, rows);
        good = finish(rows) && good;
    }
    if (good)
        cb_say_line(dashboard, "exported to %s and %s", text, table);
    else
        cb_say_line(dashboard, "%s: %s: nothing is exported", text, strerror(error));
}
