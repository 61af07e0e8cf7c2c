/* SPDX-License-Identifier: Apache-2.0 */
/* validate.c: checks whether a training of a problem could start. */
#include <stdlib.h>

#include "sddp/stage/stage.h"
#include "sddp/usual_floats.h"

cobre_status cobre_sddp_validate(cobre_sddp_problem *problem, const cobre_sddp_validate_options *given) {
    CB_USUAL_FLOATS();
    cobre_sddp_validate_options options = {0};
    cb_lp_pair pair;
    if (!problem)
        return cb_refuse_null("problem");
    CB_TRY(CB_TAKE_OPTIONS(&options, given, cobre_sddp_validate_options, issue));
    double *bounds = calloc(2 * problem->nodes + 1, sizeof *bounds);
    cobre_status status = bounds ? COBRE_OK : cb_no_memory("value bounds", 2 * problem->nodes * sizeof *bounds);
    status = cb_agree(problem->comm, status);
    if (!status)
        status = cb_lp_agree(problem->comm, options.solver, (int)cb_usual_rows(problem), &pair);
    if (!status)
        status = cb_find_bounds(problem, &pair, &options, bounds, bounds + problem->nodes);
    free(bounds);
    return status;
}
