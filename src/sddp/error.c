/* SPDX-License-Identifier: Apache-2.0 */
/* error.c: see error.h. */
#include "sddp/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *cb_text(char text[sizeof((cobre_error *)0)->suggestion], const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof((cobre_error *)0)->suggestion, format, arguments);
    va_end(arguments);
    return text;
}

/* The last error itself may be among the arguments: a new one is made first. */
static cobre_status set(cobre_status status, const char *subject, const char *file, size_t line, const char *advice,
                        const char *format, va_list arguments) {
    cobre_error error = {
        .struct_size = sizeof error, .status = status, .rank = COBRE_NO_RANK, .culprit = COBRE_NO_RANK, .line = line};
    vsnprintf(error.message, sizeof error.message, format, arguments);
    snprintf(error.subject, sizeof error.subject, "%s", subject ? subject : "");
    snprintf(error.file, sizeof error.file, "%s", file ? file : "");
    snprintf(error.suggestion, sizeof error.suggestion, "%s", advice ? advice : "");
    return cobre_set_error(&error);
}

cobre_status cb_fail(cobre_status status, const char *advice, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    set(status, NULL, NULL, 0, advice, format, arguments);
    va_end(arguments);
    return status;
}

cobre_status cb_fail_at(cobre_status status, const char *file, size_t line, const char *advice, const char *format,
                        ...) {
    va_list arguments;
    va_start(arguments, format);
    set(status, NULL, file, line, advice, format, arguments);
    va_end(arguments);
    return status;
}

cobre_status cb_no_memory(const char *what, size_t bytes) {
    return cb_fail(COBRE_ALLOCATION_FAILED, "use fewer ranks or a larger machine", "no memory for %s (%zu bytes)", what,
                   bytes);
}

cobre_status cb_refuse(const char *subject, const char *advice, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    set(COBRE_INVALID_ARGUMENT, subject, NULL, 0, advice, format, arguments);
    va_end(arguments);
    return COBRE_INVALID_ARGUMENT;
}

cobre_status cb_refuse_null(const char *subject) {
    return cb_refuse(subject, "pass a valid pointer", "%s is NULL", subject);
}

static cobre_status refuse_size(const char *struct_name, size_t size, const char *type) {
    return cb_refuse(CB_TEXT("%s.struct_size", struct_name), CB_TEXT("set it to sizeof(%s)", type),
                     "%s.struct_size is %zu, smaller than any version of %s", struct_name, size, type);
}

cobre_status cb_take_options(void *own, size_t size, size_t first_version, const void *given, const char *type) {
    if (!given || cb_versioned_take(own, size, first_version, given))
        return COBRE_OK;
    return refuse_size("options", cb_versioned_size(given, first_version), type);
}

cobre_status cb_check_result(const void *result, size_t first_version, const char *type) {
    if (!result || cb_versioned_size(result, first_version) >= first_version)
        return COBRE_OK;
    return refuse_size("result", cb_versioned_size(result, first_version), type);
}

/* Where the communicator is broken nobody can meet: the error that broke it stays the last one. */
cobre_status cb_agree(cobre_comm *comm, cobre_status status) {
    if (status == COBRE_COLLECTIVE_FAILED)
        return status;
    const uint64_t good = UINT64_MAX, stopped = UINT64_MAX - 1;
    uint64_t first = !status ? good : status == CB_STOPPED ? stopped : cobre_rank(comm);
    CB_TRY(cobre_allreduce(comm, &first, 1, &first, 1, COBRE_U64, COBRE_MIN));
    if (first >= stopped)
        return first == good ? COBRE_OK : CB_STOPPED;
    cobre_error error = *cobre_last_error();
    CB_TRY(cobre_broadcast(comm, &error, sizeof error, COBRE_U8, (size_t)first));
    error.rank = cobre_rank(comm);
    if (error.culprit != COBRE_NO_RANK)
        return cobre_set_error(&error);
    char message[sizeof error.message];
    memcpy(message, error.message, sizeof message);
    if (first > 0)
        snprintf(error.message, sizeof error.message, "rank %zu: %.*s", (size_t)first, (int)sizeof message - 32,
                 message);
    error.culprit = (size_t)first;
    return cobre_set_error(&error);
}
