/* validate.c: would a training start? */
#include <math.h>
#include <stdlib.h>

#include "sddp/stage/stage.h"

cobre_status cb_choose_solver(const cobre_sddp_problem *problem, const char *name, const cb_lp_solver **solver) {
    size_t rows = 0;
    for (size_t n = 0; n < problem->nodes; n++)
        rows = problem->node[n].rows > rows ? problem->node[n].rows : rows;
    return cb_lp_choose(name, (int)rows, solver);
}

cobre_status cb_check_value_bound(bool given, double bound) {
    if (!given || fabs(bound) <= CB_MOST)
        return COBRE_OK;
    return cb_refuse("options.value_bound", CB_TEXT("give a number between -%g and %g", CB_MOST, CB_MOST),
                     "the value bound is %g", bound);
}

cobre_status cobre_sddp_validate(cobre_sddp_problem *problem, const cobre_sddp_validate_options *given) {
    cobre_sddp_validate_options options = {0};
    const cb_lp_solver *solver;
    if (!problem)
        return cb_refuse_null("problem");
    CB_TRY(CB_TAKE_OPTIONS(&options, given, cobre_sddp_validate_options, issue));
    CB_TRY(cb_check_value_bound(options.has_value_bound, options.value_bound));
    double *bounds = calloc(2 * problem->nodes + 1, sizeof *bounds);
    cobre_status status = cb_choose_solver(problem, options.solver, &solver);
    if (!status && !bounds)
        status = cb_no_memory("value bounds", 2 * problem->nodes * sizeof *bounds);
    status = cb_agree(problem->comm, status);
    if (!status)
        status = cb_find_bounds(problem, solver, &options, bounds, bounds + problem->nodes);
    free(bounds);
    return status;
}
