/* SPDX-License-Identifier: Apache-2.0 */
/* simulation.c: the files of a simulation. Rank 0 writes all of them or none, because files of two simulations must not
 * be mixed. */
#include "sddp/run/simulation.h"
#include "sddp/open.h"

#include "sddp/draft.h"
#include "sddp/error.h"
#include "sddp/policy/policy.h"
#include "sddp/run/begin.h"
#include "sddp/run/folder.h"
#include "sddp/run/netcdf.h"
#include "sddp/run/numbers.h"
#include "sddp/run/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TABLE_NAME(code, name, columns) name,
#define TABLE_COLUMNS(code, name, columns) columns,
const char *const cb_table_name[CB_TABLES] = {CB_TABLE_MAP(TABLE_NAME)};
static const char *const table_columns[CB_TABLES] = {CB_TABLE_MAP(TABLE_COLUMNS)};

static bool choose_one(struct cb_tables *tables, const char *name, size_t length) {
    for (size_t table = CB_TABLE_COSTS + 1; table < CB_TABLES; table++)
        if (strlen(cb_table_name[table]) == length && memcmp(name, cb_table_name[table], length) == 0) {
            tables->wanted[table] = true;
            return true;
        }
    return false;
}

/* "stages,states" */
static cobre_status choose_list(struct cb_tables *tables, const char *list) {
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        if (!choose_one(tables, at, length))
            return cb_refuse("options.tables",
                             "choose from stages, states, variables, duals and noise, or all, or none",
                             "there is no table \"%.*s\"", (int)length, at);
        at += length;
        if (!*at)
            return COBRE_OK;
    }
}

cobre_status cb_tables_choose(const cobre_sddp_simulate_options *options, struct cb_tables *tables) {
    const char *list = options->tables ? options->tables : options->netcdf ? "all" : "none";
    bool all = strcmp(list, "all") == 0;
    *tables = (struct cb_tables){.wanted = {[CB_TABLE_COSTS] = true}};
    if (options->netcdf) {
        tables->netcdf = tables->cells = true;
        return all ? COBRE_OK
                   : cb_refuse("options.tables", "leave the tables out, or write CSV",
                               "tables \"%.100s\": in NetCDF all of them are in one file", list);
    }
    for (size_t table = 0; all && table < CB_TABLES; table++)
        tables->wanted[table] = true;
    return all || strcmp(list, "none") == 0 ? COBRE_OK : choose_list(tables, list);
}

/* The files of a simulation: the tables, then these two. */
enum { STATISTICS = CB_TABLES, NETCDF, FILES };

static cobre_status path_of(const char *folder, size_t file, char path[PATH_MAX]) {
    char name[32];
    snprintf(name, sizeof name, "%s.csv", file < CB_TABLES ? cb_table_name[file] : "");
    return cb_folder_join(folder,
                          file == STATISTICS ? CB_FILE_STATISTICS
                          : file == NETCDF   ? CB_FILE_NETCDF
                                             : name,
                          path);
}

static bool is_wanted(const struct cb_tables *tables, size_t file) {
    return file == STATISTICS || (file == NETCDF ? tables->netcdf : tables->wanted[file]);
}

static cobre_status open_files(const struct cb_tables *tables, const char *folder, struct cb_draft *to) {
    char path[PATH_MAX];
    for (size_t file = 0; file < FILES; file++) {
        if (!is_wanted(tables, file))
            continue;
        CB_TRY(path_of(folder, file, path));
        CB_TRY(cb_draft_open(&to[file], path));
        if (file < CB_TABLES)
            fprintf(to[file].file, "%s\n", table_columns[file]);
    }
    return COBRE_OK;
}

static cobre_status close_files(const struct cb_tables *tables, const char *folder, struct cb_draft *to,
                                cobre_status status) {
    char path[PATH_MAX];
    for (size_t file = 0; file < FILES && !status; file++)
        if (to[file].file && (fflush(to[file].file) != 0 || ferror(to[file].file)))
            status = cb_write_failed(to[file].path);
    bool is_run = cb_folder_join(folder, CB_FILE_RUN, path) == COBRE_OK && access(path, F_OK) == 0;
    for (size_t file = FILES; file-- > 0;) {
        if (to[file].file)
            status = cb_draft_close(&to[file], status);
        if (!status && is_run && !is_wanted(tables, file) && !path_of(folder, file, path))
            cb_remove(path); /* of an older simulation; elsewhere such a file is somebody's own */
    }
    return status;
}

static cobre_status take_rows(void *file, const void *bytes, size_t count) {
    fwrite(bytes, 1, count, file);
    return COBRE_OK; /* close_files looks for errors */
}

static cobre_status fill_files(struct cb_spool *spool, const struct cb_tables *tables, struct cb_draft *to) {
    for (size_t table = 0; table < CB_TABLES; table++)
        if (tables->wanted[table])
            CB_TRY(cb_spool_gather(spool, table, take_rows, to[table].file));
    if (tables->netcdf)
        CB_TRY(cb_netcdf_write(spool, &to[NETCDF], NULL));
    return cb_spool_statistics(spool, to[STATISTICS].file);
}

/* The same where rank 0 has some of it in memory. */
static cobre_status fill_from_memory(struct cb_spool *spool, const struct cb_tables *tables, struct cb_draft *to,
                                     const struct cb_kept *kept) {
    for (size_t table = CB_TABLE_COSTS + 1; table < CB_TABLES; table++)
        if (tables->wanted[table])
            CB_TRY(cb_spool_gather(spool, table, take_rows, to[table].file));
    if (cobre_rank(spool->comm) == 0) {
        fputs(strchr(kept->costs, '\n') + 1, to[CB_TABLE_COSTS].file); /* which has its columns already */
        fputs(kept->statistics, to[STATISTICS].file);
    }
    return tables->netcdf ? cb_netcdf_write(spool, &to[NETCDF], &kept->cells) : COBRE_OK;
}

static cobre_status keep_texts(struct cb_spool *spool, FILE *costs, FILE *statistics) {
    bool keeps = cobre_rank(spool->comm) == 0;
    CB_TRY(cb_agree(spool->comm, !keeps || (costs && statistics) ? COBRE_OK : cb_no_memory("costs", 0)));
    if (keeps)
        fprintf(costs, "%s\n", table_columns[CB_TABLE_COSTS]);
    CB_TRY(cb_spool_gather(spool, CB_TABLE_COSTS, take_rows, costs));
    return cb_spool_statistics(spool, statistics);
}

/* Of a stream in memory. */
static cobre_status close_text(FILE *file, cobre_status status) {
    bool whole = !file || (fflush(file) == 0 && !ferror(file));
    if (file && fclose(file) != 0)
        whole = false;
    return status || whole ? status : cb_no_memory("costs", 0);
}

cobre_status cb_tables_keep(struct cb_spool *spool, struct cb_kept *kept) {
    size_t unused[2];
    bool keeps = cobre_rank(spool->comm) == 0;
    FILE *costs = keeps ? open_memstream(&kept->costs, &unused[0]) : NULL;
    FILE *statistics = keeps ? open_memstream(&kept->statistics, &unused[1]) : NULL;
    cobre_status status = keep_texts(spool, costs, statistics);
    status = cb_agree(spool->comm, close_text(statistics, close_text(costs, status)));
    return !status && spool->wanted[CB_STREAM_CELLS] ? cb_cells_gather(spool, &kept->cells) : status;
}

void cb_kept_free(struct cb_kept *kept) {
    free(kept->costs);
    free(kept->statistics);
    cb_cells_free(&kept->cells);
    *kept = (struct cb_kept){0};
}

cobre_status cb_tables_write(struct cb_spool *spool, const struct cb_tables *tables, const char *folder,
                             const struct cb_kept *kept) {
    struct cb_draft to[FILES] = {{.file = NULL}};
    bool writes = cobre_rank(spool->comm) == 0;
    cobre_status status = cb_agree(spool->comm, writes ? open_files(tables, folder, to) : COBRE_OK);
    if (!status)
        status = kept ? fill_from_memory(spool, tables, to, kept) : fill_files(spool, tables, to);
    if (!status)
        return cb_agree(spool->comm, writes ? close_files(tables, folder, to, COBRE_OK) : COBRE_OK);
    return writes ? close_files(tables, folder, to, status) : status;
}

bool cb_simulation_is_sample(const cobre_sddp_simulate_options *options) {
    return options->sampling != COBRE_SDDP_GIVEN;
}

double cb_simulation_bound(const cobre_sddp_simulate_options *options, const cobre_sddp_policy *policy) {
    return cb_begins_elsewhere(policy->problem, options) ? NAN : cobre_sddp_policy_bound(policy);
}

double cb_simulation_gap(const cobre_sddp_simulate_options *options, const cobre_sddp_policy *policy,
                         const cobre_sddp_simulation *result) {
    double bound = cb_simulation_bound(options, policy);
    bool known = cb_simulation_is_sample(options) && !cobre_sddp_policy_averse(policy) && !options->max_steps;
    if (!known || result->mean == 0)
        return NAN;
    double distance = cobre_sddp_policy_maximises(policy) ? bound - result->mean : result->mean - bound;
    return distance / fabs(result->mean);
}

static void write_fact(FILE *file, const char *key, const char *text) {
    fprintf(file, "%s,", key);
    cb_field_write(file, text);
    putc('\n', file);
}

void cb_simulation_write(FILE *to, const char *sampling, const char *start, const cobre_sddp_simulate_options *options,
                         const cobre_sddp_policy *policy, const cobre_sddp_simulation *result) {
    char text[6][32];
    double gap = cb_simulation_gap(options, policy, result);
    double half = cb_simulation_is_sample(options) ? result->half : NAN;
    fprintf(to,
            CB_COLUMNS_FACTS "\nsampling,%s\nseed,%" PRIu64 "\ntrajectories,%zu\nbound,%s\nmean,%s\nhalf,%s\n"
                             "deviation,%.10g\nminimum,%s\nmaximum,%s\ngap,%s\n",
            sampling, options->seed, result->trajectories, cb_exact_text(cb_simulation_bound(options, policy), text[0]),
            cb_exact_text(result->mean, text[1]), cb_exact_text(half, text[2]), result->deviation,
            cb_exact_text(result->minimum, text[3]), cb_exact_text(result->maximum, text[4]),
            isnan(gap) ? "none" : cb_exact_text(gap, text[5]));
    write_fact(to, "sense", cobre_sddp_policy_maximises(policy) ? "max" : "min");
    write_fact(to, "name", cobre_sddp_problem_name(policy->problem));
    write_fact(to, "unit", cobre_sddp_problem_cost_unit(policy->problem));
    if (*start)
        write_fact(to, "start", start);
    if (cobre_sddp_policy_difference(policy))
        write_fact(to, "difference", cobre_sddp_policy_difference(policy));
}

cobre_status cb_simulation_summary(const char *folder, const char *sampling, const char *start,
                                   const cobre_sddp_simulate_options *options, const cobre_sddp_policy *policy,
                                   const cobre_sddp_simulation *result) {
    char path[PATH_MAX];
    struct cb_draft draft;
    CB_TRY(cb_folder_join(folder, CB_FILE_SIMULATION, path));
    CB_TRY(cb_draft_open(&draft, path));
    cb_simulation_write(draft.file, sampling, start, options, policy, result);
    return cb_draft_close(&draft, COBRE_OK);
}
