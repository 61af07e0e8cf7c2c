/* simulate_tables.c: the stages of all trajectories on their way to CSV tables.
 *
 * While simulating each rank appends the rows of its trajectories to a spool of its own. Then, trajectory by trajectory,
 * the owner broadcasts its rows and rank 0 writes them: the tables are the same for any number of ranks. */
#include "cli/plan/simulate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_NAME(code, name, header) name,
#define TABLE_HEADER(code, name, header) header,
const char *const cb_table_name[CB_TABLES] = {CB_TABLE_MAP(TABLE_NAME)};
static const char *const headers[CB_TABLES] = {CB_TABLE_MAP(TABLE_HEADER)};

struct piece {
    size_t trajectory;
    long start[CB_TABLES], end[CB_TABLES];
};

bool cb_spool_open(struct spool *spool, const cobre_sddp_problem *problem) {
    spool->problem = problem;
    for (size_t table = 0; table < CB_TABLES; table++) {
        if (!spool->wanted[table])
            continue;
        spool->file[table] = tmpfile();
        spool->labels[table] = calloc(cobre_sddp_nodes(problem), sizeof *spool->labels[table]);
        if (!spool->file[table] || !spool->labels[table])
            return false;
    }
    return true;
}

static size_t label_count(const cobre_sddp_problem *problem, size_t table, size_t node) {
    return table == CB_TABLE_STATES      ? cobre_sddp_states(problem)
           : table == CB_TABLE_VARIABLES ? cobre_sddp_columns(problem, node)
           : table == CB_TABLE_DUALS     ? cobre_sddp_rows(problem, node)
                                         : cobre_sddp_randoms(problem, node);
}

static const char *label_name(const cobre_sddp_problem *problem, size_t table, size_t node, size_t index) {
    return table == CB_TABLE_STATES      ? cobre_sddp_state_name(problem, index)
           : table == CB_TABLE_VARIABLES ? cobre_sddp_column_name(problem, node, index)
           : table == CB_TABLE_DUALS     ? cobre_sddp_row_name(problem, node, index)
                                         : cobre_sddp_random_name(problem, node, index);
}

/* "kind,element", in quotes where needed: the same for every row about it. */
static char *make_label(const char *name) {
    struct label label;
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    if (!file)
        return NULL;
    cb_label_split(name, &label);
    cb_field_write(file, label.kind);
    putc(',', file);
    cb_field_write(file, label.element);
    fclose(file);
    return text;
}

static char **labels_of(struct spool *spool, size_t table, size_t node) {
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

static void begin_trajectory(struct spool *spool, size_t trajectory) {
    if (spool->count == spool->room) {
        size_t room = spool->room ? 2 * spool->room : 64;
        struct piece *more = realloc(spool->pieces, room * sizeof *more);
        spool->failed |= !more;
        if (!more)
            return;
        spool->pieces = more;
        spool->room = room;
    }
    struct piece *piece = &spool->pieces[spool->count++];
    piece->trajectory = trajectory;
    for (size_t table = 0; table < CB_TABLES; table++)
        piece->start[table] = spool->file[table] ? ftell(spool->file[table]) : 0;
    spool->steps = 0;
    spool->cost = 0;
}

static void end_trajectory(struct spool *spool) {
    if (spool->count == 0 || spool->failed)
        return;
    char cost[32];
    struct piece *piece = &spool->pieces[spool->count - 1];
    fprintf(spool->file[CB_TABLE_COSTS], "%zu,%zu,%s\n", piece->trajectory + 1, spool->steps,
            cb_exact_text(spool->cost, cost));
    for (size_t table = 0; table < CB_TABLES; table++)
        piece->end[table] = spool->file[table] ? ftell(spool->file[table]) : 0;
}

static void write_stage(struct spool *spool, const cobre_sddp_stage *stage) {
    FILE *file = spool->file[CB_TABLE_STAGES];
    fprintf(file, "%zu,%zu,%zu,", stage->trajectory + 1, stage->step + 1,
            cobre_sddp_node_stage(spool->problem, stage->node));
    cb_field_write(file, cobre_sddp_node_name(spool->problem, stage->node));
    if (stage->outcome == SIZE_MAX)
        fputs(",", file);
    else
        fprintf(file, ",%zu", stage->outcome + 1);
    fprintf(file, ",%.10g,%.10g,%.10g\n", stage->stage_cost, stage->future_cost, stage->discount);
}

static void write_values(struct spool *spool, const cobre_sddp_stage *stage, enum cb_table table, const double *first,
                         const double *second) {
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
    struct spool *spool = arg;
    if (spool->failed)
        return;
    if (spool->count == 0 || spool->pieces[spool->count - 1].trajectory != stage->trajectory) {
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

static void free_labels(struct spool *spool, size_t table) {
    for (size_t node = 0; spool->labels[table] && node < cobre_sddp_nodes(spool->problem); node++) {
        char **labels = spool->labels[table][node];
        for (size_t i = 0; labels && i < label_count(spool->problem, table, node); i++)
            free(labels[i]);
        free(labels);
    }
    free(spool->labels[table]);
}

void cb_spool_close(struct spool *spool) {
    for (size_t table = 0; table < CB_TABLES; table++) {
        if (spool->file[table])
            fclose(spool->file[table]);
        free_labels(spool, table);
    }
    free(spool->pieces);
}

/* Which rank has each trajectory, plus one; 0: it was not simulated. The caller frees it. */
static uint32_t *find_owners(const struct spool *spool, const struct session *session, uint64_t *count) {
    uint64_t mine = 0;
    for (size_t i = 0; i < spool->count; i++)
        if (spool->pieces[i].trajectory >= mine)
            mine = spool->pieces[i].trajectory + 1;
    if (cobre_allreduce_t(session->comm, &mine, count, 1, COBRE_MAX) != COBRE_OK)
        return NULL;
    uint32_t *owners = calloc(*count + 1, sizeof *owners);
    for (size_t i = 0; owners && i < spool->count; i++)
        owners[spool->pieces[i].trajectory] = (uint32_t)cobre_rank(session->comm) + 1;
    if (!cb_session_agree(session, owners != NULL) ||
        cobre_allreduce_t(session->comm, owners, owners, *count + 1, COBRE_MAX) != COBRE_OK) {
        free(owners);
        return NULL;
    }
    return owners;
}

/* Asked for in increasing order, which is how they were simulated: the next one is nearly always the answer. */
static const struct piece *find_piece(struct spool *spool, size_t trajectory) {
    for (size_t tried = 0; tried < spool->count; tried++) {
        const struct piece *piece = &spool->pieces[spool->next++ % spool->count];
        if (piece->trajectory == trajectory)
            return piece;
    }
    return NULL;
}

/* One trajectory's rows of one table, from `owner` to the file of rank 0. An owner that cannot read them sends zeros: the
 * others wait for it, and hear of it at the end. */
static bool send_piece(struct spool *spool, const struct session *session, size_t table, long start, uint64_t length,
                       size_t owner, FILE *to) {
    static unsigned char bytes[1 << 18];
    FILE *from = spool->file[table];
    bool mine = cobre_rank(session->comm) == owner;
    if (length > 0 && mine && fseek(from, start, SEEK_SET) != 0)
        spool->failed = true;
    while (length > 0) {
        size_t part = length < sizeof bytes ? (size_t)length : sizeof bytes;
        if (mine && (spool->failed || fread(bytes, 1, part, from) != part)) {
            spool->failed = true;
            memset(bytes, 0, part);
        }
        if (cobre_broadcast_t(session->comm, bytes, part, owner) != COBRE_OK)
            return false;
        if (to)
            fwrite(bytes, 1, part, to);
        length -= part;
    }
    return true;
}

static bool send_trajectory(struct spool *spool, const struct session *session, size_t trajectory, size_t owner,
                            struct draft *to) {
    uint64_t length[CB_TABLES] = {0};
    bool mine = cobre_rank(session->comm) == owner;
    const struct piece *piece = mine ? find_piece(spool, trajectory) : NULL;
    for (size_t table = 0; piece && table < CB_TABLES; table++)
        length[table] = (uint64_t)(piece->end[table] - piece->start[table]);
    if (cobre_broadcast_t(session->comm, length, CB_TABLES, owner) != COBRE_OK)
        return false;
    for (size_t table = 0; table < CB_TABLES; table++)
        if (!send_piece(spool, session, table, piece ? piece->start[table] : 0, length[table], owner, to[table].file))
            return false;
    return true;
}

static bool table_path(const char *folder, size_t table, char path[PATH_MAX]) {
    char name[32];
    snprintf(name, sizeof name, "%s.csv", cb_table_name[table]);
    return cb_join_path("simulate", path, folder, name);
}

static bool open_tables(const struct spool *spool, const char *folder, struct draft *to) {
    char path[PATH_MAX];
    for (size_t table = 0; table < CB_TABLES; table++) {
        if (!spool->wanted[table])
            continue;
        if (!table_path(folder, table, path))
            return false;
        if (!cb_draft_open(&to[table], path)) {
            fprintf(stderr, "cobre simulate: %s: %s\n", path, strerror(errno));
            return false;
        }
        fprintf(to[table].file, "%s\n", headers[table]);
    }
    return true;
}

/* All of them or none: tables of two simulations do not go together. */
static bool close_tables(const struct spool *spool, const char *folder, struct draft *to, bool good) {
    bool whole = true;
    char path[PATH_MAX];
    for (size_t table = 0; table < CB_TABLES; table++)
        whole = (!to[table].file || (fflush(to[table].file) == 0 && !ferror(to[table].file))) && whole;
    if (!whole)
        fprintf(stderr, "cobre simulate: the tables could not be written to %s: %s\n", folder, strerror(errno));
    for (size_t table = 0; table < CB_TABLES; table++) {
        if (to[table].file && !cb_draft_close(&to[table], good && whole) && good && whole) {
            fprintf(stderr, "cobre simulate: %s: %s\n", to[table].path, strerror(errno));
            whole = false;
        }
        if (good && whole && !spool->wanted[table] && table_path(folder, table, path))
            remove(path); /* of an older simulation */
    }
    return good && whole;
}

/* All ranks' spools are whole. */
static bool spools_are_good(struct spool *spool, const struct session *session) {
    end_trajectory(spool);
    for (size_t table = 0; table < CB_TABLES; table++)
        if (spool->file[table] && (fflush(spool->file[table]) != 0 || ferror(spool->file[table])))
            spool->failed = true;
    if (spool->failed)
        fprintf(stderr, "cobre simulate: rank %zu has no room left for its tables (TMPDIR, memory)\n",
                cobre_rank(session->comm));
    return cb_session_agree(session, !spool->failed);
}

bool cb_spool_write(struct spool *spool, const struct session *session, const char *folder) {
    struct draft to[CB_TABLES] = {{.file = NULL}};
    uint64_t count = 0;
    bool speaks = cb_session_speaks(session);
    if (!spools_are_good(spool, session) || !cb_session_agree(session, !speaks || open_tables(spool, folder, to)))
        return close_tables(spool, folder, to, false);
    uint32_t *owners = find_owners(spool, session, &count);
    bool good = owners != NULL;
    for (size_t i = 0; good && i < count; i++)
        if (owners[i])
            good = send_trajectory(spool, session, i, owners[i] - 1, to);
    if (!good)
        fprintf(stderr, "cobre simulate: the tables could not be gathered from all ranks\n");
    free(owners);
    if (spool->failed)
        fprintf(stderr, "cobre simulate: rank %zu cannot read back its tables (TMPDIR)\n", cobre_rank(session->comm));
    good = cb_session_agree(session, good && !spool->failed);
    return cb_session_agree(session, speaks ? close_tables(spool, folder, to, good) : good);
}
