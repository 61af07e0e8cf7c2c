/* SPDX-License-Identifier: Apache-2.0 */
/* policy_json.c: what a policy holds, as JSON. */
#include "cli/plan/policy.h"

json_t *cb_policy_cut_json(const cobre_sddp_policy *policy, uint64_t index, double *slopes) {
    cobre_sddp_cut cut = {.struct_size = sizeof cut};
    cobre_sddp_policy_cut(policy, index, &cut, slopes);
    json_t *object = json_object(), *list = json_array();
    cb_json_set(object, "node", cb_json_text(cobre_sddp_policy_node_name(policy, cut.node)));
    cb_json_set(object, "outcome", cut.outcome == COBRE_SDDP_NONE ? json_null() : cb_json_count(cut.outcome + 1));
    cb_json_set(object, "iteration", cb_json_count(cut.iteration));
    cb_json_set(object, "intercept", cb_json_real(cut.intercept));
    for (size_t s = 0; s < cobre_sddp_policy_states(policy); s++)
        cb_json_append(list, cb_json_real(slopes[s]));
    cb_json_set(object, "slopes", list);
    return object;
}

json_t *cb_policy_json(const char *path, const cobre_sddp_policy *policy) {
    json_t *summary = json_object(), *states = json_array();
    cb_json_set(summary, "policy", cb_json_text(path));
    cb_json_set(summary, "name", cb_json_text(cobre_sddp_policy_name(policy)));
    cb_json_set(summary, "sense", cb_json_text(cobre_sddp_policy_maximises(policy) ? "max" : "min"));
    cb_json_set(summary, "solver", cb_json_text(cobre_sddp_policy_solver(policy)));
    cb_json_set(summary, "solver_version", cb_json_text(cobre_sddp_policy_solver_version(policy)));
    bool alone = cobre_sddp_policy_fallback(policy)[0] == 0;
    cb_json_set(summary, "fallback", alone ? json_null() : cb_json_text(cobre_sddp_policy_fallback(policy)));
    cb_json_set(summary, "fallback_version",
                alone ? json_null() : cb_json_text(cobre_sddp_policy_fallback_version(policy)));
    cb_json_set(summary, "seed", cb_json_count(cobre_sddp_policy_seed(policy)));
    cb_json_set(summary, "iterations", cb_json_count(cobre_sddp_policy_iterations(policy)));
    cb_json_set(summary, "bound", cb_json_real(cobre_sddp_policy_bound(policy)));
    cb_json_set(summary, "proven", json_boolean(cobre_sddp_policy_proven(policy)));
    cb_json_set(summary, "cut_count", cb_json_count(cobre_sddp_policy_cuts(policy)));
    for (size_t s = 0; s < cobre_sddp_policy_states(policy); s++)
        cb_json_append(states, cb_json_text(cobre_sddp_policy_state_name(policy, s)));
    cb_json_set(summary, "states", states);
    return summary;
}
