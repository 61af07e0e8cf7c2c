/* SPDX-License-Identifier: Apache-2.0 */
/* error_json.h: is the JSON of an error what comm.h promises? */
#ifndef COBRE_TEST_ERROR_JSON_H
#define COBRE_TEST_ERROR_JSON_H

#include "cobre/comm.h"

/* One object in UTF-8 with "kind", "message", "context" and "suggestion"; cut short, it stays in its buffer. */
void check_error_json(const cobre_error *error);

#endif
