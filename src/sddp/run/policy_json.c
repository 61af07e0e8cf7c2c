/* SPDX-License-Identifier: Apache-2.0 */
/* policy_json.c: the contents of a policy as JSON. */
#include "sddp/run/policy_json.h"

#include "sddp/run/json.h"

json_t *cb_policy_cut_json(const cobre_sddp_policy *policy, uint64_t index, double *slopes) {
    cobre_sddp_cut cut = {.struct_size = sizeof cut};
    cobre_sddp_policy_cut(policy, index, &cut, slopes);
    json_t *object = json_object(), *list = json_array();
    bool good = true;
    good &= cb_put(object, "node", cb_json_of_text(cobre_sddp_policy_node_name(policy, cut.node)));
    good &=
        cb_put(object, "outcome", cut.outcome == COBRE_SDDP_NONE ? json_null() : cb_json_of_number(cut.outcome + 1));
    good &= cb_put(object, "iteration", cb_json_of_number(cut.iteration));
    good &= cb_put(object, "intercept", cb_json_of_real(cut.intercept));
    for (size_t s = 0; s < cobre_sddp_policy_states(policy); s++)
        good &= cb_push(list, cb_json_of_real(slopes[s]));
    good &= cb_put(object, "slopes", list);
    return cb_json_whole(object, good);
}

json_t *cb_policy_json(const char *path, const cobre_sddp_policy *policy) {
    json_t *summary = json_object(), *states = json_array();
    bool good = true;
    good &= cb_put(summary, "policy", cb_json_of_text(path));
    good &= cb_put(summary, "name", cb_json_of_text(cobre_sddp_policy_name(policy)));
    good &= cb_put(summary, "sense", cb_json_of_text(cobre_sddp_policy_maximises(policy) ? "max" : "min"));
    good &= cb_put(summary, "solver", cb_json_of_text(cobre_sddp_policy_solver(policy)));
    good &= cb_put(summary, "solver_version", cb_json_of_text(cobre_sddp_policy_solver_version(policy)));
    bool alone = cobre_sddp_policy_fallback(policy)[0] == 0;
    good &= cb_put(summary, "fallback", alone ? json_null() : cb_json_of_text(cobre_sddp_policy_fallback(policy)));
    good &= cb_put(summary, "fallback_version",
                   alone ? json_null() : cb_json_of_text(cobre_sddp_policy_fallback_version(policy)));
    good &= cb_put(summary, "seed", cb_json_of_number(cobre_sddp_policy_seed(policy)));
    good &= cb_put(summary, "iterations", cb_json_of_number(cobre_sddp_policy_iterations(policy)));
    good &= cb_put(summary, "bound", cb_json_of_real(cobre_sddp_policy_bound(policy)));
    good &= cb_put(summary, "proven", json_boolean(cobre_sddp_policy_proven(policy)));
    good &= cb_put(summary, "cut_count", cb_json_of_number(cobre_sddp_policy_cuts(policy)));
    for (size_t s = 0; s < cobre_sddp_policy_states(policy); s++)
        good &= cb_push(states, cb_json_of_text(cobre_sddp_policy_state_name(policy, s)));
    good &= cb_put(summary, "states", states);
    return cb_json_whole(summary, good);
}
