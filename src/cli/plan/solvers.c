/* SPDX-License-Identifier: Apache-2.0 */
/* solvers.c: the lines of `cobre info` about the parts of the planner and the LP solvers. */
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/mcp/png.h"
#include "cli/watch/watch.h"
#include "cobre/sddp.h"
#include "sddp/run/netcdf.h"

#include <string.h>

/* NULL, or why the planner cannot solve anything. */
static const char *solver_missing(void) {
    for (size_t i = 0; i < cobre_sddp_solvers(); i++) {
        cobre_sddp_solver solver = {.struct_size = sizeof solver};
        if (cobre_sddp_solver_at(i, &solver) == COBRE_OK && !solver.problem)
            return NULL;
    }
    return "no LP solver can be used: install a plugin and its library (Debian: coinor-libclp1, libglpk40); cobre(7) "
           "says where "
           "plugins are looked for";
}

static bool is_found(const char *name) {
    cobre_sddp_solver solver = {.struct_size = sizeof solver};
    for (size_t i = 0; cobre_sddp_solver_at(i, &solver) == COBRE_OK; i++)
        if (strcmp(solver.name, name) == 0)
            return true;
    return false;
}

/* what: "LP solver " and the name. package: what brings it to a build that lacks it, "" if Debian 12 has none; NULL: this
 * build has it. */
static size_t add_if_missing(struct cb_part *part, const char *what, const char *name, const char *package) {
    if (is_found(name))
        return 0;
    part->name = what;
    if (!package)
        snprintf(part->problem, sizeof part->problem,
                 "there is no libcobre-lp-%s.so (package: cobre-lp-%s); cobre(7) says where plugins are looked for",
                 name, name);
    else if (*package)
        snprintf(part->problem, sizeof part->problem, "not in this build; it needs %s when it is built (Debian: %s)",
                 name, package);
    else
        snprintf(part->problem, sizeof part->problem,
                 "not in this build; docs/install.md says how to get it (Debian 12 has no package)");
    return 1;
}

size_t cb_parts(struct cb_part parts[CB_PARTS]) {
    const char *problems[] = {solver_missing(), cb_watch_missing(),
                              cb_netcdf_ready() != COBRE_OK ? cobre_last_error()->message : NULL, cb_png_missing()};
    static const char *const names[] = {"planner", "dashboard of a training (watch)", "simulations as NetCDF",
                                        "charts for assistants as PNG (mcp)"};
    size_t count = sizeof names / sizeof *names;
    for (size_t i = 0; i < count; i++) {
        parts[i].name = names[i];
        snprintf(parts[i].problem, sizeof parts[i].problem, "%s", problems[i] ? problems[i] : "");
    }
#define X(name, package) count += add_if_missing(&parts[count], "LP solver " name, name, package);
    COBRE_LP_SOLVERS
#undef X
    return count;
}

void cb_solvers_print(void) {
    size_t count = cobre_sddp_solvers();
    printf("LP solvers:%s\n", count ? "" : " none");
    for (size_t i = 0; i < count; i++) {
        cobre_sddp_solver solver = {.struct_size = sizeof solver};
        if (cobre_sddp_solver_at(i, &solver) != COBRE_OK)
            continue;
        if (solver.problem)
            printf("  %-5s cannot be used: %s (%s)\n", solver.name, solver.problem, solver.file);
        else
            printf("  %-5s %s, licence %s (%s)\n", solver.name, solver.version, solver.license, solver.file);
    }
}

static json_t *text_or_null(const char *text) {
    return text ? cb_json_text(text) : json_null();
}

json_t *cb_solvers_json(void) {
    json_t *list = json_array();
    for (size_t i = 0; i < cobre_sddp_solvers(); i++) {
        cobre_sddp_solver solver = {.struct_size = sizeof solver};
        if (cobre_sddp_solver_at(i, &solver) != COBRE_OK)
            continue;
        json_t *one = json_object();
        cb_json_set(one, "name", cb_json_text(solver.name));
        cb_json_set(one, "version", text_or_null(solver.version));
        cb_json_set(one, "license", text_or_null(solver.license));
        cb_json_set(one, "file", cb_json_text(solver.file));
        cb_json_set(one, "problem", text_or_null(solver.problem));
        cb_json_append(list, one);
    }
    return list;
}
