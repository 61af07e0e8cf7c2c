/* error.c: see error.h. */
#include "sddp/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *cobre_sddp_stop_name(cobre_sddp_stop stop) {
    switch (stop) {
#define STOP_NAME(code, name)                                                                                          \
    case COBRE_SDDP_STOP_##code: return name;
        COBRE_SDDP_STOP_MAP(STOP_NAME)
#undef STOP_NAME
    }
    return "?";
}

const char *cb_text(char text[sizeof((cobre_error *)0)->suggestion], const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof((cobre_error *)0)->suggestion, format, arguments);
    va_end(arguments);
    return text;
}

/* The last error itself may be among the arguments: a new one is made first. */
static cobre_status set(cobre_status status, const char *file, size_t line, const char *advice, const char *format,
                        va_list arguments) {
    cobre_error error = {
        .struct_size = sizeof error, .status = status, .rank = COBRE_NO_RANK, .culprit = COBRE_NO_RANK, .line = line};
    vsnprintf(error.message, sizeof error.message, format, arguments);
    snprintf(error.file, sizeof error.file, "%s", file ? file : "");
    snprintf(error.suggestion, sizeof error.suggestion, "%s", advice ? advice : "");
    return cobre_set_error(&error);
}

cobre_status cb_fail(cobre_status status, const char *advice, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    set(status, NULL, 0, advice, format, arguments);
    va_end(arguments);
    return status;
}

cobre_status cb_fail_at(cobre_status status, const char *file, size_t line, const char *advice, const char *format,
                        ...) {
    va_list arguments;
    va_start(arguments, format);
    set(status, file, line, advice, format, arguments);
    va_end(arguments);
    return status;
}

cobre_status cb_no_memory(const char *what, size_t bytes) {
    return cb_fail(COBRE_ALLOCATION_FAILED, "use fewer ranks or a larger machine", "no memory for %s (%zu bytes)", what,
                   bytes);
}

cobre_status cb_agree(cobre_comm *comm, cobre_status status) {
    uint64_t first = status ? cobre_rank(comm) : UINT64_MAX;
    CB_TRY(cobre_allreduce(comm, &first, 1, &first, 1, COBRE_U64, COBRE_MIN));
    if (first == UINT64_MAX)
        return COBRE_OK;
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
