/* error.h: how the parts of the trainer report failure. */
#ifndef COBRE_SDDP_ERROR_H
#define COBRE_SDDP_ERROR_H

#include "cobre/sddp.h"

/* Sets this thread's last error and returns `status`. The text after the last " -- " becomes the suggestion. */
cobre_sddp_status cb_sddp_fail(cobre_sddp_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
cobre_sddp_status cb_sddp_fail_at(cobre_sddp_status status, const char *file, size_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* After a call of comm.h failed: its message and suggestion become ours. */
cobre_sddp_status cb_sddp_comm(cobre_status status);

cobre_sddp_status cb_sddp_memory(const char *what, size_t bytes);

/* After what a rank may fail at alone: everybody gets the status and the error of the first rank that failed, so that
 * none goes on and waits for it. Collective. */
cobre_sddp_status cb_agree(cobre_comm *comm, cobre_sddp_status status);

/* Returns from the enclosing function on failure. */
#define CB_TRY(call)                                                                                                   \
    do {                                                                                                               \
        cobre_sddp_status try_status_ = (call);                                                                        \
        if (try_status_)                                                                                               \
            return try_status_;                                                                                        \
    } while (0)

#endif
