/* SPDX-License-Identifier: Apache-2.0 */
/* compare_json.h: a comparison of runs, as `cobre compare --json` and `cobre mcp` say it. */
#ifndef COBRE_SDDP_RUN_COMPARE_JSON_H
#define COBRE_SDDP_RUN_COMPARE_JSON_H

#include "cobre/sddp.h"

#include <jansson.h>

json_t *cb_compare_json(const cobre_sddp_comparison *comparison); /* NULL: no memory */

#endif
