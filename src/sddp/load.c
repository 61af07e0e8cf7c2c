/* load.c: from a path to a problem. */
#include <string.h>
#include <sys/stat.h>

#include "sddp/read/reader.h"

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A problem with one error: "mine/case.json" was given for "mine". */
static cobre_sddp_problem *refuse_json(const char *path, const cobre_sddp_load_options *options) {
    cobre_sddp_problem *problem = cb_problem_new("", false);
    if (!problem)
        return NULL;
    const char *slash = strrchr(path, '/');
    cb_problem_on_issue(problem, options->issue, options->arg);
    cb_problem_at(problem, path, 0, "%s", "");
    cb_builder_error(problem, CB_TEXT("give the folder: %.*s", slash ? (int)(slash - path) : 1, slash ? path : "."),
                     "is a part of a case");
    return problem;
}

static bool is_case_json(const char *path) {
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, "case.json") == 0;
}

static cobre_sddp_problem *read_case(const char *path, const cobre_sddp_load_options *options) {
    if (is_folder(path))
        return cb_read_hydrothermal(path, options);
    return is_case_json(path) ? refuse_json(path, options) : cb_read_sof(path, options);
}

cobre_status cobre_sddp_load(cobre_comm *comm, const char *path, const cobre_sddp_load_options *given,
                             cobre_sddp_problem **problem) {
    cobre_sddp_load_options options = {0};
    if (!comm || !path || !problem)
        return cb_refuse_null(!comm ? "comm" : !path ? "path" : "problem");
    *problem = NULL;
    CB_TRY(CB_TAKE_OPTIONS(&options, given, cobre_sddp_load_options, issue));
    *problem = read_case(path, &options);
    cobre_status status = cb_agree(comm, *problem ? COBRE_OK : cb_no_memory("the case", 0));
    if (!status)
        status = cb_problem_finish(comm, *problem);
    if (status)
        cobre_sddp_problem_free(problem);
    return status;
}
