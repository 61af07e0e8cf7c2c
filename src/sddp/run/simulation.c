/* SPDX-License-Identifier: Apache-2.0 */
/* simulation.c: the stages of all trajectories on their way to CSV tables, and the summary of a simulation.
 *
 * While simulating, each rank appends the rows of its own trajectories to a spool. Then rank 0 writes each table in the
 * order of the trajectories, so that it is the same for any number of ranks. It takes its own rows from its spool; the
 * other ranks send theirs, each row once, through a region: where memory is shared only sender and writer touch them.
 * All ranks know who has which trajectory and how long its rows are, so all know who sends next. */
#include "sddp/run/simulation.h"

#include "sddp/draft.h"
#include "sddp/error.h"
#include "sddp/policy/policy.h"
#include "sddp/run/begin.h"
#include "sddp/run/folder.h"
#include "sddp/run/numbers.h"
#include "sddp/run/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_NAME(code, name, columns) name,
#define TABLE_COLUMNS(code, name, columns) columns,
const char *const cb_table_name[CB_TABLES] = {CB_TABLE_MAP(TABLE_NAME)};
static const char *const table_columns[CB_TABLES] = {CB_TABLE_MAP(TABLE_COLUMNS)};

#define PART ((size_t)1 << 16) /* most bytes that a rank sends at once */

/* The rows of a trajectory. Words, because the pieces of all ranks are added up. */
struct cb_piece {
    uint64_t rank; /* that has them */
    uint64_t length[CB_TABLES];
};
enum { PIECE_WORDS = sizeof(struct cb_piece) / sizeof(uint64_t) };

bool cb_tables_choose(bool wanted[CB_TABLES], const char *list) {
    for (size_t table = 0; table < CB_TABLES; table++)
        wanted[table] = table == CB_TABLE_COSTS;
    for (const char *at = list; strcmp(list, "none") != 0;) {
        size_t length = strcspn(at, ","), table = CB_TABLE_COSTS + 1;
        while (table < CB_TABLES &&
               !(strlen(cb_table_name[table]) == length && memcmp(at, cb_table_name[table], length) == 0))
            table++;
        if (table == CB_TABLES)
            return false;
        wanted[table] = true;
        if (!at[length])
            break;
        at += length + 1;
    }
    return true;
}

void cb_spool_open(struct cb_spool *spool, const bool wanted[CB_TABLES], const cobre_sddp_problem *problem) {
    *spool = (struct cb_spool){.problem = problem};
    for (size_t table = 0; table < CB_TABLES; table++) {
        spool->wanted[table] = wanted[table];
        if (!wanted[table])
            continue;
        spool->file[table] = tmpfile();
        spool->labels[table] = calloc(cobre_sddp_problem_nodes(problem), sizeof *spool->labels[table]);
        spool->failed |= !spool->file[table] || !spool->labels[table];
    }
}

static size_t label_count(const cobre_sddp_problem *problem, size_t table, size_t node) {
    return table == CB_TABLE_STATES      ? cobre_sddp_problem_states(problem)
           : table == CB_TABLE_VARIABLES ? cobre_sddp_problem_columns(problem, node)
           : table == CB_TABLE_DUALS     ? cobre_sddp_problem_rows(problem, node)
                                         : cobre_sddp_problem_randoms(problem, node);
}

static const char *label_name(const cobre_sddp_problem *problem, size_t table, size_t node, size_t index) {
    return table == CB_TABLE_STATES      ? cobre_sddp_problem_state_name(problem, index)
           : table == CB_TABLE_VARIABLES ? cobre_sddp_problem_column_name(problem, node, index)
           : table == CB_TABLE_DUALS     ? cobre_sddp_problem_row_name(problem, node, index)
                                         : cobre_sddp_problem_random_name(problem, node, index);
}

/* "kind[element,tier]" in parts; kind is empty when the name has no brackets. */
struct label {
    char kind[64], element[192];
};

static void split_label(const char *name, struct label *label) {
    size_t kind = strcspn(name, "["), length = strlen(name);
    bool has_kind = kind > 0 && kind < sizeof label->kind && length > kind + 1 && name[length - 1] == ']';
    if (!has_kind) {
        label->kind[0] = '\0';
        snprintf(label->element, sizeof label->element, "%s", name);
        return;
    }
    snprintf(label->kind, sizeof label->kind, "%.*s", (int)kind, name);
    snprintf(label->element, sizeof label->element, "%.*s", (int)(length - kind - 2), name + kind + 1);
}

/* "kind,element", in quotes where needed: the same for every row about it. */
static char *make_label(const char *name) {
    struct label label;
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    if (!file)
        return NULL;
    split_label(name, &label);
    cb_field_write(file, label.kind);
    putc(',', file);
    cb_field_write(file, label.element);
    fclose(file);
    return text;
}

static char **labels_of(struct cb_spool *spool, size_t table, size_t node) {
    size_t at = table == CB_TABLE_STATES ? 0 : node; /* states are the same everywhere */
    char **labels = spool->labels[table][at];
    if (labels)
        return labels;
    size_t count = label_count(spool->problem, table, node);
    labels = calloc(count + 1, sizeof *labels);
    for (size_t i = 0; labels && i < count; i++) {
        labels[i] = make_label(label_name(spool->problem, table, node, i));
        spool->failed |= !labels[i];
    }
    spool->failed |= !labels;
    spool->labels[table][at] = labels;
    return labels;
}

/* Room for `count` trajectories. */
static bool grow(struct cb_spool *spool, size_t count) {
    if (count > spool->room) {
        size_t room = count < 32 ? 64 : 2 * count;
        struct cb_piece *more = realloc(spool->pieces, room * sizeof *more);
        if (!more)
            return false;
        memset(more + spool->room, 0, (room - spool->room) * sizeof *more);
        spool->pieces = more;
        spool->room = room;
    }
    spool->count = count;
    return true;
}

static void begin_trajectory(struct cb_spool *spool, size_t trajectory) {
    spool->failed |= !grow(spool, trajectory + 1);
    for (size_t table = 0; table < CB_TABLES; table++)
        spool->start[table] = spool->file[table] ? ftell(spool->file[table]) : 0;
    spool->steps = 0;
    spool->cost = 0;
}

static void end_trajectory(struct cb_spool *spool) {
    if (spool->count == 0 || spool->failed)
        return;
    char cost[32];
    fprintf(spool->file[CB_TABLE_COSTS], "%zu,%zu,%s\n", spool->count, spool->steps, cb_exact_text(spool->cost, cost));
    for (size_t table = 0; table < CB_TABLES; table++)
        if (spool->file[table])
            spool->pieces[spool->count - 1].length[table] = (uint64_t)(ftell(spool->file[table]) - spool->start[table]);
}

static void write_stage(struct cb_spool *spool, const cobre_sddp_stage *stage) {
    FILE *file = spool->file[CB_TABLE_STAGES];
    fprintf(file, "%zu,%zu,%zu,", stage->trajectory + 1, stage->step + 1,
            cobre_sddp_problem_node_stage(spool->problem, stage->node));
    cb_field_write(file, cobre_sddp_problem_node_name(spool->problem, stage->node));
    if (stage->outcome == SIZE_MAX)
        fputs(",", file);
    else
        fprintf(file, ",%zu", stage->outcome + 1);
    fprintf(file, ",%.10g,%.10g,%.10g\n", stage->stage_cost, stage->future_cost, stage->discount);
}

static void write_values(struct cb_spool *spool, const cobre_sddp_stage *stage, enum cb_table table,
                         const double *first, const double *second) {
    if (!spool->file[table] || !first)
        return;
    char **labels = labels_of(spool, table, stage->node);
    size_t count = label_count(spool->problem, table, stage->node);
    for (size_t i = 0; labels && i < count; i++) {
        fprintf(spool->file[table], "%zu,%zu,%s,%.10g", stage->trajectory + 1, stage->step + 1, labels[i],
                first[i] + 0.0); /* no "-0" */
        if (second)
            fprintf(spool->file[table], ",%.10g", second[i] + 0.0);
        putc('\n', spool->file[table]);
    }
}

void cb_spool_stage(void *arg, const cobre_sddp_stage *stage) {
    struct cb_spool *spool = arg;
    if (spool->failed)
        return;
    if (spool->count != stage->trajectory + 1) {
        end_trajectory(spool);
        begin_trajectory(spool, stage->trajectory);
    }
    if (spool->failed)
        return;
    spool->steps++;
    spool->cost += stage->discount * stage->stage_cost;
    if (spool->file[CB_TABLE_STAGES])
        write_stage(spool, stage);
    write_values(spool, stage, CB_TABLE_STATES, stage->state_in, stage->state_out);
    write_values(spool, stage, CB_TABLE_VARIABLES, stage->columns, NULL);
    write_values(spool, stage, CB_TABLE_DUALS, stage->row_duals, NULL);
    write_values(spool, stage, CB_TABLE_NOISE, stage->noise, NULL);
}

static void free_labels(struct cb_spool *spool, size_t table) {
    for (size_t node = 0; spool->labels[table] && node < cobre_sddp_problem_nodes(spool->problem); node++) {
        char **labels = spool->labels[table][node];
        for (size_t i = 0; labels && i < label_count(spool->problem, table, node); i++)
            free(labels[i]);
        free(labels);
    }
    free(spool->labels[table]);
}

void cb_spool_close(struct cb_spool *spool) {
    for (size_t table = 0; table < CB_TABLES; table++) {
        if (spool->file[table])
            fclose(spool->file[table]);
        free_labels(spool, table);
    }
    free(spool->pieces);
}

/* Makes the pieces those of all ranks. Collective. */
static cobre_status share_pieces(struct cb_spool *spool, cobre_comm *comm) {
    uint64_t count = spool->count;
    for (size_t i = 0; i < spool->count; i++)
        if (spool->pieces[i].length[CB_TABLE_COSTS] > 0)
            spool->pieces[i].rank = cobre_rank(comm);
    CB_TRY(cobre_allreduce_t(comm, &count, &count, 1, COBRE_MAX));
    cobre_status status = grow(spool, count) ? COBRE_OK : cb_no_memory("trajectories", count * sizeof *spool->pieces);
    CB_TRY(cb_agree(comm, status));
    return cobre_allreduce(comm, spool->pieces, count * PIECE_WORDS, spool->pieces, count * PIECE_WORDS, COBRE_U64,
                           COBRE_SUM);
}

/* Rows on their way to rank 0. */
struct gathering {
    cobre_comm *comm;
    cobre_region *region;  /* the part that one rank sends */
    size_t *count, *place; /* of each rank, in a gather: 0 but for the sender */
    cobre_status status;   /* of this rank, until the ranks meet */
};

static cobre_status open_gathering(struct gathering *gathering) {
    size_t ranks = cobre_size(gathering->comm);
    gathering->count = calloc(ranks, sizeof *gathering->count);
    gathering->place = calloc(ranks, sizeof *gathering->place);
    bool room = gathering->count && gathering->place;
    CB_TRY(cb_agree(gathering->comm, room ? COBRE_OK : cb_no_memory("counts", ranks * sizeof *gathering->count)));
    return cobre_region_create(gathering->comm, PART, COBRE_U8, 0, &gathering->region);
}

static void close_gathering(struct gathering *gathering) {
    cobre_region_free(&gathering->region);
    free(gathering->count);
    free(gathering->place);
}

static cobre_status read_back(FILE *file, unsigned char *part, size_t bytes) {
    return fread(part, 1, bytes, file) == bytes
               ? COBRE_OK
               : cb_fail(COBRE_FILE_FAILED, NULL, "the tables cannot be read back from " P_tmpdir);
}

/* The next part of `file`, from `sender` to the region. */
static cobre_status send_part(struct gathering *gathering, FILE *file, size_t sender, size_t bytes) {
    unsigned char part[PART];
    bool mine = cobre_rank(gathering->comm) == sender;
    if (mine)
        gathering->status = read_back(file, part, bytes);
    CB_TRY(cb_agree(gathering->comm, gathering->status));
    gathering->count[sender] = bytes;
    cobre_status status = cobre_allgatherv_region(gathering->comm, part, mine ? bytes : 0, gathering->region,
                                                  gathering->count, gathering->place);
    gathering->count[sender] = 0;
    return status;
}

/* The next `length` bytes of `file`, from `sender` to rank 0's table. */
static cobre_status send_rows(struct gathering *gathering, FILE *file, size_t sender, uint64_t length, FILE *to) {
    for (size_t bytes; length > 0; length -= bytes) {
        bytes = length < PART ? (size_t)length : PART;
        CB_TRY(send_part(gathering, file, sender, bytes));
        if (to)
            fwrite(cobre_region_data(gathering->region), 1, bytes, to);
    }
    return COBRE_OK;
}

/* Rank 0's own rows do not travel. */
static void copy_rows(struct gathering *gathering, FILE *file, uint64_t length, FILE *to) {
    unsigned char part[PART];
    for (size_t bytes; length > 0 && !gathering->status; length -= bytes) {
        bytes = length < PART ? (size_t)length : PART;
        gathering->status = read_back(file, part, bytes);
        fwrite(part, 1, bytes, to);
    }
}

/* A rank's rows of consecutive trajectories go together. */
static cobre_status gather_table(struct gathering *gathering, const struct cb_spool *spool, size_t table, FILE *to) {
    const struct cb_piece *piece = spool->pieces, *end = piece + spool->count;
    rewind(spool->file[table]);
    while (piece < end) {
        size_t sender = piece->rank;
        uint64_t length = 0;
        for (; piece < end && piece->rank == sender; piece++)
            length += piece->length[table];
        if (sender > 0)
            CB_TRY(send_rows(gathering, spool->file[table], sender, length, to));
        else if (to)
            copy_rows(gathering, spool->file[table], length, to);
    }
    return COBRE_OK;
}

static cobre_status table_path(const char *folder, size_t table, char path[PATH_MAX]) {
    char name[32];
    snprintf(name, sizeof name, "%s.csv", cb_table_name[table]);
    return cb_folder_join(folder, name, path);
}

static cobre_status open_tables(const struct cb_spool *spool, const char *folder, struct cb_draft *to) {
    char path[PATH_MAX];
    for (size_t table = 0; table < CB_TABLES; table++) {
        if (!spool->wanted[table])
            continue;
        CB_TRY(table_path(folder, table, path));
        CB_TRY(cb_draft_open(&to[table], path));
        fprintf(to[table].file, "%s\n", table_columns[table]);
    }
    return COBRE_OK;
}

/* All of them or none: tables of two simulations do not go together. */
static cobre_status close_tables(const struct cb_spool *spool, const char *folder, struct cb_draft *to,
                                 cobre_status status) {
    char path[PATH_MAX];
    for (size_t table = 0; table < CB_TABLES && !status; table++)
        if (to[table].file && (fflush(to[table].file) != 0 || ferror(to[table].file)))
            status = cb_write_failed(to[table].path);
    for (size_t table = CB_TABLES; table-- > 0;) {
        if (to[table].file)
            status = cb_draft_close(&to[table], status);
        if (!status && !spool->wanted[table] && !table_path(folder, table, path))
            remove(path); /* of an older simulation */
    }
    return status;
}

static cobre_status finish_spool(struct cb_spool *spool) {
    end_trajectory(spool);
    for (size_t table = 0; table < CB_TABLES; table++)
        if (spool->file[table] && (fflush(spool->file[table]) != 0 || ferror(spool->file[table])))
            spool->failed = true;
    if (!spool->failed)
        return COBRE_OK;
    return cb_fail(COBRE_FILE_FAILED, NULL,
                   "there is no room left for the tables (in " P_tmpdir ", within ulimit -f, or of memory)");
}

static cobre_status gather(struct cb_spool *spool, cobre_comm *comm, const struct cb_draft *to) {
    struct gathering gathering = {.comm = comm};
    CB_TRY(share_pieces(spool, comm));
    cobre_status status = open_gathering(&gathering);
    for (size_t table = 0; table < CB_TABLES && !status; table++)
        if (spool->wanted[table])
            status = gather_table(&gathering, spool, table, to[table].file);
    close_gathering(&gathering);
    return status ? status : gathering.status;
}

cobre_status cb_spool_write(struct cb_spool *spool, cobre_comm *comm, const char *folder) {
    struct cb_draft to[CB_TABLES] = {{.file = NULL}};
    bool writes = cobre_rank(comm) == 0;
    CB_TRY(cb_agree(comm, finish_spool(spool)));
    cobre_status status = cb_agree(comm, writes ? open_tables(spool, folder, to) : COBRE_OK);
    if (!status)
        status = cb_agree(comm, gather(spool, comm, to));
    if (!status)
        return cb_agree(comm, writes ? close_tables(spool, folder, to, COBRE_OK) : COBRE_OK);
    return writes ? close_tables(spool, folder, to, status) : status;
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

cobre_status cb_simulation_summary(const char *folder, const char *sampling, const char *start,
                                   const cobre_sddp_simulate_options *options, const cobre_sddp_policy *policy,
                                   const cobre_sddp_simulation *result) {
    char path[PATH_MAX], text[6][32];
    double gap = cb_simulation_gap(options, policy, result);
    double half = cb_simulation_is_sample(options) ? result->half : NAN;
    struct cb_draft draft;
    CB_TRY(cb_folder_join(folder, CB_FILE_SIMULATION, path));
    CB_TRY(cb_draft_open(&draft, path));
    fprintf(draft.file,
            CB_COLUMNS_FACTS "\nsampling,%s\nseed,%" PRIu64 "\ntrajectories,%zu\nbound,%s\nmean,%s\nhalf,%s\n"
                             "deviation,%.10g\nminimum,%s\nmaximum,%s\ngap,%s\n",
            sampling, options->seed, result->trajectories, cb_exact_text(cb_simulation_bound(options, policy), text[0]),
            cb_exact_text(result->mean, text[1]), cb_exact_text(half, text[2]), result->deviation,
            cb_exact_text(result->minimum, text[3]), cb_exact_text(result->maximum, text[4]),
            isnan(gap) ? "none" : cb_exact_text(gap, text[5]));
    if (*start)
        write_fact(draft.file, "start", start);
    if (cobre_sddp_policy_difference(policy))
        write_fact(draft.file, "difference", cobre_sddp_policy_difference(policy));
    return cb_draft_close(&draft, COBRE_OK);
}
