/* SPDX-License-Identifier: Apache-2.0 */
/* say.c: messages of a command besides its results: errors, warnings, advice. They go to standard error and to the log
 * of a training. The log also gets the output of the training. */
#include "cli/live.h"
#include "cli/plan/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static FILE *file;
static int file_fd = -1; /* for handlers of signals */
static const char *file_path;

/* It does not wait for a reader of a pipe. */
bool cb_log_open(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0)
        return false;
    fcntl(fd, F_SETFL, O_APPEND);
    file = fdopen(fd, "a");
    if (!file) {
        close(fd);
        return false;
    }
    setvbuf(file, NULL, _IOLBF, BUFSIZ); /* who reads it sees each line, also when the process is killed */
    file_path = path;
    file_fd = fd;
    return true;
}

FILE *cb_log(void) {
    if (!file || !ferror(file))
        return file;
    int error = errno;
    cb_log_close();
    cb_say("cobre train: --log %s: %s: the log ends here, and training goes on\n", file_path, strerror(error));
    return NULL;
}

void cb_log_close(void) {
    if (file)
        fclose(file);
    file = NULL;
    file_fd = -1;
}

FILE *cb_say_to(size_t i) {
    FILE *log = i > 0 ? cb_log() : NULL; /* also after the last one */
    if (i > 0)
        return i == 1 ? log : NULL;
    cb_live_clear();
    return stderr;
}

void cb_say(const char *format, ...) {
    FILE *to;
    for (size_t i = 0; (to = cb_say_to(i)); i++) {
        va_list arguments;
        va_start(arguments, format);
        vfprintf(to, format, arguments);
        va_end(arguments);
    }
}

static void put(int fd, const char *text) {
    ssize_t written = write(fd, text, strlen(text));
    (void)written;
}

void cb_say_in_handler(const char *line) {
    if (!*line)
        return;
    if (!cb_live_clear())
        put(STDERR_FILENO, "\n"); /* behind what was typed */
    put(STDERR_FILENO, line);
    if (file_fd >= 0)
        put(file_fd, line);
}

/* Where the next line ends: at a semicolon, or at the last comma that fits. */
static size_t find_end(const char *text, size_t most) {
    const char *semicolon = strstr(text, "; ");
    size_t length = semicolon ? (size_t)(semicolon - text) : strlen(text), end = length;
    for (size_t i = 0; length > most && i + 1 < most; i++)
        if (text[i] == ',' && text[i + 1] == ' ')
            end = i + 1;
    return end;
}

void cb_write_lines(FILE *to, const char *prefix, const char *text) {
    enum { MOST = 100 };
    for (size_t end; *text; text += end + strspn(text + end, "; ")) {
        end = find_end(text, MOST);
        fprintf(to, "%.*s\n%s", (int)end, text, text[end] ? prefix : "");
    }
}
