/* SPDX-License-Identifier: Apache-2.0 */
/* compare_json.h: a comparison of runs, as in the JSON of `cobre compare` and others. */
#ifndef COBRE_SDDP_RUN_COMPARE_JSON_H
#define COBRE_SDDP_RUN_COMPARE_JSON_H

#include "cobre/sddp.h"

#include <jansson.h>

json_t *cb_compare_json(const cobre_sddp_comparison *comparison); /* NULL: no memory */
cobre_status cb_compare_csv(const char *path, const cobre_sddp_comparison *comparison);

#endif
