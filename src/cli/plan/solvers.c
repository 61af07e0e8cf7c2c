/* SPDX-License-Identifier: Apache-2.0 */
/* solvers.c: the lines of `cobre info` about the parts of the planner and the LP solvers. */
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/mcp/png.h"
#include "cli/watch/watch.h"
#include "cobre/sddp.h"
#include "sddp/run/netcdf.h"

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

size_t cb_parts(struct cb_part parts[CB_PARTS]) {
    const char *problems[] = {solver_missing(), cb_watch_missing(),
                              cb_netcdf_ready() != COBRE_OK ? cobre_last_error()->message : NULL, cb_png_missing()};
    static const char *const names[] = {"planner", "dashboard of a training (watch)", "simulations as NetCDF",
                                        "charts for assistants as PNG (mcp)"};
    for (size_t i = 0; i < CB_PARTS; i++) {
        parts[i].name = names[i];
        snprintf(parts[i].problem, sizeof parts[i].problem, "%s", problems[i] ? problems[i] : "");
    }
    return CB_PARTS;
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
