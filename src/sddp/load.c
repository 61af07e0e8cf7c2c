/* SPDX-License-Identifier: Apache-2.0 */
/* load.c: loads a problem from a path. Rank 0 reads. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sddp/read/reader.h"
#include "sddp/usual_floats.h"

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A builder with one error. */
static cobre_sddp_builder *refuse(const char *path, const char *advice, const char *what) {
    cobre_sddp_builder *builder;
    if (cobre_sddp_builder_new("", false, &builder))
        return NULL;
    cb_error_at(builder, &(cb_place){.file = path}, advice, "%s", what);
    return builder;
}

/* "mine/case.json" or "mine/load.csv" was given for "mine": case.json is there, and this is no StochOptFormat file. */
static bool is_part_of_case(const char *path, const char *folder) {
    return access(CB_TEXT("%s/case.json", folder), F_OK) == 0 && !strstr(path, ".sof.json");
}

static cobre_sddp_builder *read_case(const char *path, const cobre_sddp_load_options *options) {
    const char *slash = strrchr(path, '/');
    const char *folder = CB_TEXT("%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    if (is_folder(path))
        return cb_read_hydrothermal(path, options);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return refuse(path, "check the path; 'cobre init FOLDER' makes a case to start from",
                      "cannot be read: No such file or directory");
    return is_part_of_case(path, folder) ? refuse(path, CB_TEXT("give the folder: %s", folder), "is a part of a case")
                                         : cb_read_sof(path, options);
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
