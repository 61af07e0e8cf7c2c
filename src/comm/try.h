/* SPDX-License-Identifier: Apache-2.0 */
/* try.h: passes failures on, in both libraries. */
#ifndef COBRE_COMM_TRY_H
#define COBRE_COMM_TRY_H

#include "cobre/comm.h"

/* Returns from the enclosing function on failure. */
#define CB_TRY(call)                                                                                                   \
    do {                                                                                                               \
        cobre_status try_status_ = (call);                                                                             \
        if (try_status_)                                                                                               \
            return try_status_;                                                                                        \
    } while (0)

#endif
