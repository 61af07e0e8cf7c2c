/* SPDX-License-Identifier: Apache-2.0 */
/* policy_json.h: the contents of a policy as JSON, for `cobre policy --json` and `cobre mcp`. NULL: no memory. */
#ifndef COBRE_SDDP_RUN_POLICY_JSON_H
#define COBRE_SDDP_RUN_POLICY_JSON_H

#include "cobre/sddp.h"

#include <jansson.h>

/* Everything but the cuts. path: as the user named it. */
json_t *cb_policy_json(const char *path, const cobre_sddp_policy *policy);

/* Cut `index`. slopes: has room for one per state, and receives them. */
json_t *cb_policy_cut_json(const cobre_sddp_policy *policy, uint64_t index, double *slopes);

#endif
