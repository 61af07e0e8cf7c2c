/* SPDX-License-Identifier: Apache-2.0 */
/* load.c: from a path to a problem. Rank 0 reads. */
#include <string.h>
#include <sys/stat.h>

#include "sddp/read/reader.h"
#include "sddp/usual_floats.h"

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

cobre_status cobre_sddp_load(cobre_comm *comm, const char *path, const cobre_sddp_load_options *given,
                             cobre_sddp_problem **problem) {
    CB_USUAL_FLOATS();
    cobre_sddp_load_options options = {0};
    if (!comm || !path || !problem)
        return cb_refuse_null(!comm ? "comm" : !path ? "path" : "problem");
    *problem = NULL;
    CB_TRY(CB_TAKE_OPTIONS(&options, given, cobre_sddp_load_options, issue));
    cobre_sddp_builder *builder = NULL;
    cobre_status status = COBRE_OK;
    if (cobre_rank(comm) == 0 && !(builder = read_case(path, &options)))
        status = cb_no_memory("the case", 0);
    return cb_finish(comm, status, &builder, &options, problem);
}
