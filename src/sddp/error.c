/* error.c: this thread's last error in the trainer. */
#include "sddp/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local cobre_sddp_error last;

const cobre_sddp_error *cobre_sddp_last_error(void) {
    return &last;
}

const char *cobre_sddp_status_name(cobre_sddp_status status) {
    switch (status) {
#define STATUS_NAME(code, name)                                                                                        \
    case COBRE_SDDP_##code: return name;
        COBRE_SDDP_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
    }
    return "?";
}

const char *cobre_sddp_stop_name(cobre_sddp_stop stop) {
    switch (stop) {
#define STOP_NAME(code, name)                                                                                          \
    case COBRE_SDDP_STOP_##code: return name;
        COBRE_SDDP_STOP_MAP(STOP_NAME)
#undef STOP_NAME
    }
    return "?";
}

static void set(cobre_sddp_status status, const char *file, size_t line, const char *format, va_list arguments) {
    char message[sizeof last.message]; /* the old message may be among the arguments */
    vsnprintf(message, sizeof message, format, arguments);
    char path[sizeof last.file];
    snprintf(path, sizeof path, "%s", file ? file : "");
    last = (cobre_sddp_error){.status = status, .line = line};
    memcpy(last.file, path, sizeof path);
    char *cut = NULL;
    for (char *at = strstr(message, " -- "); at; at = strstr(at + 1, " -- "))
        cut = at;
    if (cut) {
        snprintf(last.suggestion, sizeof last.suggestion, "%s", cut + 4);
        *cut = 0;
    }
    memcpy(last.message, message, sizeof message);
}

cobre_sddp_status cb_sddp_fail(cobre_sddp_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    set(status, NULL, 0, format, arguments);
    va_end(arguments);
    return status;
}

cobre_sddp_status cb_sddp_fail_at(cobre_sddp_status status, const char *file, size_t line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    set(status, file, line, format, arguments);
    va_end(arguments);
    return status;
}

cobre_sddp_status cb_sddp_comm(cobre_status status) {
    if (!status)
        return COBRE_SDDP_OK;
    const cobre_error *error = cobre_last_error();
    return cb_sddp_fail(status == COBRE_ALLOCATION_FAILED ? COBRE_SDDP_OUT_OF_MEMORY : COBRE_SDDP_COMMUNICATION_FAILED,
                        "%s -- %s", error->message, error->suggestion);
}

cobre_sddp_status cb_sddp_memory(const char *what, size_t bytes) {
    return cb_sddp_fail(COBRE_SDDP_OUT_OF_MEMORY, "no memory for %s (%zu bytes) -- use fewer ranks or a larger machine",
                        what, bytes);
}

cobre_sddp_status cb_agree(cobre_comm *comm, cobre_sddp_status status) {
    uint64_t first = status ? cobre_rank(comm) : UINT64_MAX;
    CB_TRY(cb_sddp_comm(cobre_allreduce(comm, &first, 1, &first, 1, COBRE_U64, COBRE_MIN)));
    if (first == UINT64_MAX)
        return COBRE_SDDP_OK;
    cobre_sddp_error error = last;
    CB_TRY(cb_sddp_comm(cobre_broadcast(comm, &error, sizeof error, COBRE_U8, (size_t)first)));
    char who[32] = "";
    if (first > 0)
        snprintf(who, sizeof who, "rank %zu: ", (size_t)first);
    return cb_sddp_fail_at(error.status, error.file, error.line, "%s%s%s%s", who, error.message,
                           *error.suggestion ? " -- " : "", error.suggestion);
}
