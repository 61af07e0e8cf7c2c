/* SPDX-License-Identifier: Apache-2.0 */
/* choose.c: chooses the pair of LP solvers of a job. Bits depend on it, so rank 0 chooses, and all ranks use the
 * same. */
#include <stdio.h>
#include <string.h>

#include "sddp/lp/plugins.h"

/* Preferred is the solver with the largest from_rows that the model reaches; then the one that it misses least. */
static bool is_better(const cb_lp_solver *a, const cb_lp_solver *b, int rows) {
    bool a_fits = a->from_rows <= rows, b_fits = b->from_rows <= rows;
    if (a_fits != b_fits)
        return a_fits;
    return a_fits ? a->from_rows > b->from_rows : a->from_rows < b->from_rows;
}

static const cb_lp_solver *best(int rows, const cb_lp_solver *except) {
    const cb_lp_solver *found = NULL;
    const cb_lp_plugin *plugin;
    for (size_t i = 0; (plugin = cb_lp_plugin_at(i)); i++)
        if (plugin->solver && plugin->solver != except && (!found || is_better(plugin->solver, found, rows)))
            found = plugin->solver;
    return found;
}

#define HOW_TO_GET                                                                                                     \
    "GLPK and CLP need libglpk40 and coinor-libclp1 (Debian) to run; if cobre was built without them: install "        \
    "libglpk-dev, coinor-libclp-dev or HiGHS (docs/install.md) and build it again"

static cobre_status missing(const char *name) {
    char others[256] = "", why[CB_LP_WHY];
    const cb_lp_plugin *plugin;
    for (size_t i = 0, length = 0; (plugin = cb_lp_plugin_at(i)) && length < sizeof others; i++)
        if (plugin->solver)
            length += (size_t)snprintf(others + length, sizeof others - length, "%s%s", length ? " or " : "use ",
                                       plugin->name);
    cb_lp_why_not(why, name);
    if (!name)
        return cb_fail(COBRE_SOLVER_NOT_AVAILABLE, HOW_TO_GET "; `cobre info` shows what is here",
                       "there is no LP solver here: %s", why);
    return cb_fail(COBRE_SOLVER_NOT_AVAILABLE, CB_TEXT("%s%s" HOW_TO_GET, others, *others ? "; " : ""),
                   "the LP solver \"%s\" cannot be used: %s", name, why);
}

cobre_status cb_lp_choose(const char *name, int rows, cb_lp_pair *pair) {
    pair->solver = name ? cb_lp_solver_by_name(name) : best(rows, NULL);
    pair->fallback = pair->solver ? best(rows, pair->solver) : NULL;
    return pair->solver ? COBRE_OK : missing(name);
}

cb_lp_names cb_lp_names_of(const cb_lp_pair *pair) {
    cb_lp_names names = {0};
    snprintf(names.solver, sizeof names.solver, "%s", pair->solver->name);
    snprintf(names.solver_version, sizeof names.solver_version, "%s", pair->solver->version());
    if (pair->fallback) {
        snprintf(names.fallback, sizeof names.fallback, "%s", pair->fallback->name);
        snprintf(names.fallback_version, sizeof names.fallback_version, "%s", pair->fallback->version());
    }
    return names;
}

static cobre_status take(const char *name, const char *version, const char *who, const char *instead,
                         const cb_lp_solver **solver) {
    char why[CB_LP_WHY];
    *solver = *name ? cb_lp_solver_by_name(name) : NULL;
    if (*name && !*solver)
        return cb_fail(COBRE_SOLVER_NOT_AVAILABLE, CB_TEXT("install it%s; " HOW_TO_GET, instead),
                       "%s the LP solver %s %s, which cannot be used here: %s", who, name, version,
                       cb_lp_why_not(why, name));
    if (*name && strcmp((*solver)->version(), version) != 0)
        return cb_fail(COBRE_SOLVER_NOT_AVAILABLE, CB_TEXT("install version %s of %s%s", version, name, instead),
                       "%s the LP solver %s %s, but the version here is %s", who, name, version, (*solver)->version());
    return COBRE_OK;
}

cobre_status cb_lp_find(const cb_lp_names *names, const char *who, const char *instead, cb_lp_pair *pair) {
    CB_TRY(take(names->solver, names->solver_version, who, instead, &pair->solver));
    return take(names->fallback, names->fallback_version, who, instead, &pair->fallback);
}

cobre_status cb_lp_take(cobre_comm *comm, const cb_lp_names *names, const char *who, const char *instead,
                        cb_lp_pair *pair) {
    return cb_agree(comm, cb_lp_find(names, who, instead, pair));
}

cobre_status cb_lp_agree(cobre_comm *comm, const char *name, int rows, cb_lp_pair *pair) {
    bool first = cobre_rank(comm) == 0;
    CB_TRY(cb_agree(comm, first ? cb_lp_choose(name, rows, pair) : COBRE_OK));
    cb_lp_names names = first ? cb_lp_names_of(pair) : (cb_lp_names){0};
    CB_TRY(cobre_broadcast(comm, &names, sizeof names, COBRE_U8, 0));
    return cb_lp_take(comm, &names, "rank 0 uses", ", the same on all ranks", pair);
}
