/* SPDX-License-Identifier: Apache-2.0 */
/* error.c: this thread's last error, as a struct, as JSON, and as a line to the launcher. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/same_file.h"
#include "comm/select.h"
#include "comm/utf8.h"
#include "comm/versioned.h"

static _Thread_local cobre_error last = {.struct_size = sizeof last, .rank = COBRE_NO_RANK, .culprit = COBRE_NO_RANK};

const cobre_error *cobre_last_error(void) {
    return &last;
}

const char *cobre_status_name(cobre_status status) {
    switch (status) {
#define STATUS_NAME(code, name)                                                                                        \
    case COBRE_##code: return name;
        COBRE_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
    }
    return "?";
}

const char *cobre_cause_name(cobre_cause cause) {
    switch (cause) {
#define CAUSE_NAME(code, name)                                                                                         \
    case COBRE_CAUSE_##code: return name;
        COBRE_CAUSE_MAP(CAUSE_NAME)
#undef CAUSE_NAME
    }
    return "?";
}

/* The pipe to the launcher, -1 if there is none. Looked for once, at the first open; from then on it does not reach
 * programs that this one starts. */
static int launcher_pipe = -1;
static struct cb_identity launcher_pipe_id;

void cb_find_launcher(void) {
    int fd = cb_take_descriptor(CB_ENV_ERROR_FD);
    if (fd >= 0 && cb_identify(fd, &launcher_pipe_id))
        launcher_pipe = fd;
}

/* One write of one line: whole or not at all, because it is shorter than PIPE_BUF and the pipe does not block. A full
 * pipe loses the line, which is right: an error must not wait for its reader. */
static void tell_launcher(void) {
    struct pollfd pipe = {.fd = launcher_pipe, .events = POLLOUT};
    if (launcher_pipe < 0 || !cb_is_still(launcher_pipe, &launcher_pipe_id))
        return;
    if (poll(&pipe, 1, 0) > 0 && pipe.revents & POLLERR)
        return; /* nobody reads: a rank that outlives its launcher must get its error, not a SIGPIPE */
    char line[4096];
    size_t length = cobre_error_json(&last, line, sizeof line - 1);
    if (length >= sizeof line - 1)
        return;
    line[length] = '\n';
    ssize_t written = write(launcher_pipe, line, length + 1);
    (void)written;
}

/* The last error has been set: texts of programs end up in its message, which must be one line. */
static cobre_status report(void) {
    int saved_errno = errno;
    for (char *at = last.message; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = ' ';
    tell_launcher();
    errno = saved_errno;
    return last.status;
}

cobre_status cb_error(const cobre_comm *comm, cobre_backend backend, cobre_status status,
                      const struct cb_details *details, const char *format, ...) {
    int saved_errno = errno;
    last = (cobre_error){
        .struct_size = sizeof last,
        .status = status,
        .cause = details->cause,
        .backend = backend,
        .sequence = details->sequence,
        .rank = comm ? comm->rank : COBRE_NO_RANK,
        .culprit = details->cause ? details->culprit : COBRE_NO_RANK,
        .culprit_pid = details->culprit_pid,
        .os_error = details->os_error,
        .mpi_error = details->mpi_error,
        .expected = details->expected,
        .actual = details->actual,
    };
    snprintf(last.operation, sizeof last.operation, "%s", details->operation ? details->operation : "");
    snprintf(last.subject, sizeof last.subject, "%s", details->subject ? details->subject : "");
    snprintf(last.list, sizeof last.list, "%s", details->list ? details->list : "");
    snprintf(last.suggestion, sizeof last.suggestion, "%s", details->suggestion ? details->suggestion : "");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last.message, sizeof last.message, format, arguments);
    va_end(arguments);
    errno = saved_errno;
    return report();
}

static cobre_error whole(const cobre_error *error) {
    cobre_error copy = {.struct_size = 0};
    if (!cb_versioned_take(&copy, sizeof copy, CB_THROUGH(cobre_error, suggestion), error))
        copy = (cobre_error){.struct_size = sizeof copy,
                             .status = COBRE_INVALID_ARGUMENT,
                             .rank = COBRE_NO_RANK,
                             .culprit = COBRE_NO_RANK,
                             .subject = "error.struct_size",
                             .message = "error.struct_size is smaller than any version of cobre_error",
                             .suggestion = "set it to sizeof(cobre_error)"};
    return copy;
}

cobre_status cobre_set_error(const cobre_error *error) {
    last = whole(error);
    return report();
}

/* Text that grows in a fixed buffer; length counts what a larger one would hold. */
struct json {
    char *text;
    size_t size, length;
    bool first; /* no comma yet in this object */
};

static void put_char(struct json *json, char c) {
    if (json->length + 1 < json->size)
        json->text[json->length] = c;
    json->length++;
}

static void put_raw(struct json *json, const char *text) {
    while (*text)
        put_char(json, *text++);
}

static void put_string(struct json *json, const char *text) {
    put_char(json, '"');
    while (*text) {
        unsigned char c = (unsigned char)*text;
        size_t length = cb_utf8_length((const unsigned char *)text);
        if (length == 0) {
            put_raw(json, "\\ufffd");
            length = 1;
        } else if (c < 0x20 || c == 0x7f) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", c);
            put_raw(json, escape);
        } else {
            if (c == '"' || c == '\\')
                put_char(json, '\\');
            for (size_t i = 0; i < length; i++)
                put_char(json, text[i]);
        }
        text += length;
    }
    put_char(json, '"');
}

static void put_key(struct json *json, const char *key) {
    if (!json->first)
        put_raw(json, ", ");
    json->first = false;
    put_string(json, key);
    put_raw(json, ": ");
}

static void put_text(struct json *json, const char *key, const char *value) {
    if (!*value)
        return;
    put_key(json, key);
    put_string(json, value);
}

static void put_number(struct json *json, const char *key, uint64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    put_key(json, key);
    put_raw(json, digits);
}

static void put_sizes(struct json *json, const cobre_error *error) {
    static const char *const names[][2] = {
        [COBRE_INVALID_BUFFER_SIZE] = {"expected", "actual"},
        [COBRE_INVALID_ROOT] = {"size", "root"},
        [COBRE_ALLOCATION_FAILED] = {"bytes_asked", "bytes_available"},
    };
    size_t kind = (size_t)error->status;
    if (kind >= sizeof names / sizeof *names || !names[kind][0])
        return;
    put_number(json, names[kind][0], error->expected);
    put_number(json, names[kind][1], error->actual);
}

static void put_context(struct json *json, const cobre_error *error) {
    put_text(json, "operation", error->operation);
    if (error->backend != COBRE_AUTO)
        put_text(json, "backend", cobre_backend_name(error->backend));
    if (error->rank != COBRE_NO_RANK)
        put_number(json, "rank", error->rank);
    if (error->status == COBRE_COLLECTIVE_FAILED) {
        put_text(json, "cause", cobre_cause_name(error->cause));
        put_number(json, "sequence", error->sequence);
        put_number(json, "mpi_error", (uint64_t)(unsigned)error->mpi_error);
    }
    if (error->culprit != COBRE_NO_RANK)
        put_number(json, "culprit", error->culprit);
    if (error->culprit_pid > 0)
        put_number(json, "culprit_pid", (uint64_t)error->culprit_pid);
    if (error->os_error)
        put_number(json, "os_error", (uint64_t)(unsigned)error->os_error);
    put_sizes(json, error);
    put_text(json, "subject", error->subject);
    put_text(json, "list", error->list);
    put_text(json, "file", error->file);
    if (error->line)
        put_number(json, "line", error->line);
}

size_t cobre_error_json(const cobre_error *given, char *buf, size_t len) {
    struct json json = {.text = buf, .size = buf ? len : 0, .first = true};
    cobre_error copy = whole(given ? given : &last), *error = &copy;
    put_char(&json, '{');
    put_key(&json, "kind");
    put_string(&json, cobre_status_name(error->status));
    put_key(&json, "message");
    put_string(&json, error->message);
    put_key(&json, "context");
    put_char(&json, '{');
    json.first = true;
    put_context(&json, error);
    put_char(&json, '}');
    json.first = false;
    put_key(&json, "suggestion");
    put_string(&json, error->suggestion);
    put_char(&json, '}');
    if (json.size)
        buf[json.length < len ? json.length : len - 1] = '\0';
    return json.length;
}
