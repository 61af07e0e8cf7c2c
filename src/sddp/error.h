/* SPDX-License-Identifier: Apache-2.0 */
/* error.h: how the parts of the trainer report failure. There is one last error per thread, that of comm.h: a call of
 * comm.h that fails has set it, and its status is handed on as it is. */
#ifndef COBRE_SDDP_ERROR_H
#define COBRE_SDDP_ERROR_H

#include "cobre/sddp.h"
#include "comm/try.h"
#include "comm/versioned.h"

/* Sets this thread's last error and returns `status`. advice tells the user how to mend it; NULL: none. file: the
 * file that it is about; NULL: none. */
cobre_status cb_fail(cobre_status status, const char *advice, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
cobre_status cb_fail_at(cobre_status status, const char *file, size_t line, const char *advice, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

cobre_status cb_no_memory(const char *what, size_t bytes);

/* A wrong argument. subject: its name, "options.sampling". */
cobre_status cb_refuse(const char *subject, const char *advice, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
cobre_status cb_refuse_null(const char *subject); /* it is NULL */

/* Copies a caller's options, if there are any, into `own`, which is zero. Refuses a struct shorter than version 1. last: the
 * last member of version 1. */
#define CB_TAKE_OPTIONS(own, given, type, last)                                                                        \
    cb_take_options((own), sizeof(type), CB_THROUGH(type, last), (given), #type)
cobre_status cb_take_options(void *own, size_t size, size_t first_version, const void *given, const char *type);

/* The same check for a struct that receives results; NULL: none is wanted. cb_versioned_give fills it. */
#define CB_CHECK_RESULT(result, type, last) cb_check_result((result), CB_THROUGH(type, last), #type)
cobre_status cb_check_result(const void *result, size_t first_version, const char *type);

/* An advice with arguments: CB_TEXT("add \"%s\"", name). It lasts as long as the enclosing block. */
#define CB_TEXT(...) cb_text((char[sizeof((cobre_error *)0)->suggestion]){0}, __VA_ARGS__)
const char *cb_text(char text[sizeof((cobre_error *)0)->suggestion], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* How a failure of one rank is told, here and everywhere in the planner:
 *   - A rank that fails keeps its status, skips the rest of its work, and comes to the next meeting like the others.
 *   - The only meeting that tells failures is cb_agree: all ranks get the status and the error of the first rank that
 *     failed, and all end what they were doing. If all of them agree on it again, nothing changes.
 *   - A collective that moves data comes only after a cb_agree that said COBRE_OK. A rank that fails alone
 *     between the two, or after them, carries its status to the next cb_agree.
 * So data says nothing about failures, and a rank that failed may come to another cb_agree than the others: any two fit
 * together. Collective. */
cobre_status cb_agree(cobre_comm *comm, cobre_status status);

/* A status that is told in the same way but is not a failure: a rank was asked to end at once, and so all do. There is no
 * error then. A failure of another rank takes precedence. */
#define CB_STOPPED ((cobre_status)-1)

#endif
