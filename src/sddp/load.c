/* load.c: from a path to a problem. Rank 0 reads. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sddp/read/reader.h"
#include "sddp/stage/stage.h"

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A builder with one error: "mine/case.json" was given for "mine". */
static cobre_sddp_builder *refuse_json(const char *path) {
    cobre_sddp_builder *builder;
    if (cobre_sddp_builder_new("", false, &builder))
        return NULL;
    const char *slash = strrchr(path, '/');
    cb_error_at(builder, &(cb_place){.file = path},
                CB_TEXT("give the folder: %.*s", slash ? (int)(slash - path) : 1, slash ? path : "."),
                "is a part of a case");
    return builder;
}

static bool is_case_json(const char *path) {
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, "case.json") == 0;
}

static cobre_sddp_builder *read_case(const char *path, const cobre_sddp_load_options *options) {
    if (is_folder(path))
        return cb_read_hydrothermal(path, options);
    return is_case_json(path) ? refuse_json(path) : cb_read_sof(path, options);
}

/* Are there bounds of the future costs? */
static cobre_status check_bounds(const cobre_sddp_problem *problem, const cobre_sddp_load_options *options) {
    const cb_lp_solver *solver;
    size_t rows = 0;
    for (size_t n = 0; n < problem->nodes; n++)
        rows = problem->node[n].rows > rows ? problem->node[n].rows : rows;
    CB_TRY(cb_lp_choose(options->solver, (int)rows, &solver));
    double *bounds = malloc((2 * problem->nodes + 1) * sizeof *bounds);
    if (!bounds)
        return cb_no_memory("bounds", 2 * problem->nodes * sizeof *bounds);
    cobre_status status =
        cb_find_bounds(problem, solver, options->issue, options->issue_arg, bounds, bounds + problem->nodes);
    free(bounds);
    return status;
}

cobre_status cobre_sddp_load(cobre_comm *comm, const char *path, const cobre_sddp_load_options *given,
                             cobre_sddp_problem **problem) {
    if (!comm || !problem)
        return cb_fail(COBRE_INVALID_ARGUMENT, "give both", "%s is NULL", comm ? "problem" : "comm");
    cobre_sddp_load_options options = cb_load_options(given);
    cobre_sddp_builder *builder = NULL;
    cobre_status status = COBRE_OK;
    if (cobre_rank(comm) == 0 && !path)
        status = cb_fail(COBRE_INVALID_ARGUMENT, "give the path of a case", "path is NULL");
    else if (cobre_rank(comm) == 0 && !(builder = read_case(path, &options)))
        status = cb_no_memory("the case", 0);
    CB_TRY(cb_finish(comm, status, &builder, &options, problem));
    if (cobre_rank(comm) > 0)
        options.issue = NULL;
    status = cb_agree(comm, check_bounds(*problem, &options));
    if (status)
        cobre_sddp_problem_free(problem);
    return status;
}
