/* load.c: from a path to a problem. */
#include <string.h>
#include <sys/stat.h>

#include "reader.h"

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

cobre_sddp_status cobre_sddp_load(cobre_comm *comm, const char *path, const cobre_sddp_load_options *given,
                                  cobre_sddp_problem **problem) {
    cobre_sddp_load_options options = {0};
    if (given)
        memcpy(&options, given, given->struct_size < sizeof options ? given->struct_size : sizeof options);
    *problem = NULL;
    *problem = is_folder(path) ? cb_read_hydrothermal(path, &options) : cb_read_sof(path, &options);
    if (!*problem)
        return cb_sddp_memory("the case", 0);
    for (size_t n = 0; options.has_value_bound && n < (*problem)->nodes; n++)
        cb_set_value_bound(*problem, n, options.value_bound);
    cobre_sddp_status status = cb_problem_finish(comm, *problem, options.solver);
    if (status)
        cobre_sddp_problem_free(problem);
    return status;
}
