/* SPDX-License-Identifier: Apache-2.0 */
#include "sddp/run/spool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/error.h"
#include "sddp/grow.h"
#include "sddp/run/numbers.h"
#include "sddp/run/table.h"

#define PART ((size_t)1 << 18) /* most bytes that a rank sends at once */
enum { PIECE_WORDS = sizeof(struct cb_piece) / sizeof(uint64_t), ROW = 1024 };
enum { NODE, LOWEST, HIGHEST, MOMENT }; /* words about a step */

static cobre_status no_room(void) {
    return cb_fail(COBRE_FILE_FAILED, "make room, raise ulimit -f, or ask for fewer tables or trajectories",
                   "there is no room left for the tables (in " P_tmpdir ", within ulimit -f, or of memory)");
}

/* "kind,element," and ",unit\n": what comes before the value of an item, and after it. */
static char *make_text(const cb_item *item, bool tail) {
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    if (!file)
        return NULL;
    if (tail) {
        putc(',', file);
        cb_field_write(file, item->label.unit);
        putc('\n', file);
    } else {
        cb_field_write(file, item->label.kind);
        putc(',', file);
        cb_field_write(file, item->label.element);
        putc(',', file);
    }
    fclose(file);
    return text;
}

static void make_texts(struct cb_spool *spool) {
    size_t items = spool->outputs.items;
    spool->text.head = calloc(items + 1, sizeof *spool->text.head);
    spool->text.tail = calloc(items + 1, sizeof *spool->text.tail);
    spool->text.block = calloc(spool->problem->blocks + 1, sizeof *spool->text.block);
    spool->failed |= !spool->text.head || !spool->text.tail || !spool->text.block;
    size_t longest = 0;
    for (size_t i = 0; i < items && !spool->failed; i++) {
        const char *head = spool->text.head[i] = make_text(&spool->outputs.item[i], false);
        const char *tail = spool->text.tail[i] = make_text(&spool->outputs.item[i], true);
        spool->failed |= !head || !tail;
        size_t length = spool->failed ? 0 : strlen(head) + strlen(tail);
        longest = length > longest ? length : longest;
    }
    spool->row = malloc(longest + ROW);
    spool->failed |= !spool->row;
}

cobre_status cb_spool_open(struct cb_spool *spool, cobre_comm *comm, const struct cb_tables *tables,
                           const cobre_sddp_problem *problem) {
    *spool = (struct cb_spool){.problem = problem, .comm = comm};
    memcpy(spool->wanted, tables->wanted, sizeof tables->wanted);
    spool->wanted[CB_STREAM_FIGURES] = true;
    spool->wanted[CB_STREAM_CELLS] = tables->cells;
    cobre_status status = cb_outputs_open(&spool->outputs, problem);
    if (!status && tables->cells)
        status = cb_grid_open(&spool->grid, &spool->outputs);
    for (size_t stream = 0; stream < CB_STREAMS && !status; stream++)
        if (spool->wanted[stream]) {
            spool->file[stream] = tmpfile();
            spool->failed |= !spool->file[stream];
        }
    if (!status)
        make_texts(spool);
    spool->total = calloc(spool->outputs.figures + 1, sizeof *spool->total);
    spool->cells = calloc(spool->grid.cells + 1, sizeof *spool->cells);
    spool->failed |= !spool->total || !spool->cells;
    return cb_agree(comm, status ? status : spool->failed ? no_room() : COBRE_OK);
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
    for (size_t stream = 0; stream < CB_STREAMS; stream++)
        spool->start[stream] = spool->file[stream] ? ftell(spool->file[stream]) : 0;
    spool->steps = 0;
    spool->cost = 0;
    for (size_t f = 0; f < spool->outputs.figures; f++)
        spool->total[f] = spool->outputs.figure[f].adds_up ? 0 : NAN;
}

static void write_figures(struct cb_spool *spool) {
    size_t figures = spool->outputs.figures;
    fwrite(spool->total, sizeof(double), figures, spool->file[CB_STREAM_FIGURES]);
    fwrite(spool->figures, sizeof(double), figures * spool->steps, spool->file[CB_STREAM_FIGURES]);
}

static void end_trajectory(struct cb_spool *spool) {
    if (spool->count == 0 || spool->failed)
        return;
    char cost[32];
    struct cb_piece *piece = &spool->pieces[spool->count - 1];
    fprintf(spool->file[CB_TABLE_COSTS], "%zu,%zu,%s\n", spool->count, spool->steps, cb_exact_text(spool->cost, cost));
    write_figures(spool);
    piece->steps = spool->steps;
    for (size_t stream = 0; stream < CB_STREAMS; stream++)
        if (spool->file[stream])
            piece->length[stream] = (uint64_t)(ftell(spool->file[stream]) - spool->start[stream]);
}

static void note_moment(struct cb_spool *spool, const cobre_sddp_stage *stage) {
    uint64_t number = spool->problem->node[stage->node].stage;
    if (stage->step == spool->own_longest) {
        while (spool->node_room < (spool->own_longest + 1) * MOMENT)
            if (!cb_grow(&spool->node, sizeof *spool->node, spool->node_room, &spool->node_room)) {
                spool->failed = true;
                return;
            }
        uint64_t *new = &spool->node[spool->own_longest++ * MOMENT];
        new[NODE] = stage->node;
        new[LOWEST] = new[HIGHEST] = number;
    }
    uint64_t *its = &spool->node[stage->step * MOMENT];
    its[NODE] = stage->node < its[NODE] ? stage->node : its[NODE];
    its[LOWEST] = number < its[LOWEST] ? number : its[LOWEST];
    its[HIGHEST] = number > its[HIGHEST] ? number : its[HIGHEST];
}

static void keep_figures(struct cb_spool *spool, const cobre_sddp_stage *stage) {
    size_t figures = spool->outputs.figures;
    if (spool->steps == spool->steps_room) {
        size_t room = spool->steps_room ? 2 * spool->steps_room : 16;
        double *more = realloc(spool->figures, room * figures * sizeof *more);
        if (!more) {
            spool->failed = true;
            return;
        }
        spool->figures = more;
        spool->steps_room = room;
    }
    double *values = spool->figures + spool->steps * figures;
    cb_outputs_figures(&spool->outputs, stage, values);
    for (size_t f = 0; f < figures; f++)
        if (spool->outputs.figure[f].adds_up && !isnan(values[f]))
            spool->total[f] += spool->outputs.figure[f].discounted ? stage->discount * values[f] : values[f];
}

/* What the rows of a step have in common: "trajectory,step,stage,date,". */
static int begin_row(const struct cb_spool *spool, const cobre_sddp_stage *stage, char *row) {
    return sprintf(row, "%zu,%zu,%zu,%.64s,", stage->trajectory + 1, stage->step + 1,
                   cobre_sddp_problem_node_stage(spool->problem, stage->node),
                   cobre_sddp_problem_node_date(spool->problem, stage->node));
}

static void write_stage(struct cb_spool *spool, const cobre_sddp_stage *stage) {
    FILE *file = spool->file[CB_TABLE_STAGES];
    if (!file)
        return;
    fwrite(spool->row, 1, (size_t)begin_row(spool, stage, spool->row), file);
    cb_field_write(file, cobre_sddp_problem_node_name(spool->problem, stage->node));
    if (stage->outcome == SIZE_MAX)
        fputs(",", file);
    else
        fprintf(file, ",%zu", stage->outcome + 1);
    fprintf(file, ",%.10g,%.10g,%.10g,%s\n", stage->stage_cost, stage->future_cost, stage->discount,
            spool->problem->money);
}

/* One row per item. items: of the values; second: a value more, or NULL. by_block: with load block and share. */
static void write_values(struct cb_spool *spool, const cobre_sddp_stage *stage, enum cb_table table, size_t count,
                         const uint32_t *items, const double *first, const double *second, bool by_block) {
    FILE *file = spool->file[table];
    if (!file || !first)
        return;
    char *at = spool->row + begin_row(spool, stage, spool->row);
    for (size_t i = 0; i < count; i++) {
        const cb_item *item = &spool->outputs.item[items[i]];
        char *to = at;
        if (by_block)
            to = stpcpy(to, spool->text.block[item->block == CB_NONE ? spool->problem->blocks : item->block]);
        to = stpcpy(to, spool->text.head[items[i]]);
        to = cb_number_put(to, cb_item_value(item, first[i]));
        if (second) {
            *to++ = ',';
            to = cb_number_put(to, cb_item_value(item, second[i]));
        }
        to = stpcpy(to, spool->text.tail[items[i]]);
        fwrite(spool->row, 1, (size_t)(to - spool->row), file);
    }
}

static void write_tables(struct cb_spool *spool, const cobre_sddp_stage *stage) {
    const cb_node *node = &spool->problem->node[stage->node];
    for (size_t b = 0; b < spool->problem->blocks; b++)
        snprintf(spool->text.block[b], sizeof *spool->text.block, "%.100s,%.6g,", spool->problem->block[b],
                 node->share[b]);
    strcpy(spool->text.block[spool->problem->blocks], ",,");
    const cb_node_items *its = &spool->outputs.node[stage->node];
    write_stage(spool, stage);
    write_values(spool, stage, CB_TABLE_STATES, spool->problem->states, spool->outputs.state, stage->state_in,
                 stage->state_out, false);
    write_values(spool, stage, CB_TABLE_VARIABLES, node->columns, its->column, stage->columns, NULL, true);
    write_values(spool, stage, CB_TABLE_DUALS, node->rows, its->row, stage->row_duals, NULL, true);
    write_values(spool, stage, CB_TABLE_NOISE, node->randoms, its->random, stage->noise, NULL, false);
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
    note_moment(spool, stage);
    keep_figures(spool, stage);
    spool->steps++;
    spool->cost += stage->discount * stage->stage_cost;
    write_tables(spool, stage);
    if (spool->file[CB_STREAM_CELLS]) {
        cb_grid_fill(&spool->grid, &spool->outputs, stage, spool->cells);
        fwrite(spool->cells, sizeof *spool->cells, spool->grid.cells, spool->file[CB_STREAM_CELLS]);
    }
}

void cb_spool_close(struct cb_spool *spool) {
    for (size_t stream = 0; stream < CB_STREAMS; stream++)
        if (spool->file[stream])
            fclose(spool->file[stream]);
    for (size_t i = 0; i < spool->outputs.items; i++) {
        free(spool->text.head ? spool->text.head[i] : NULL);
        free(spool->text.tail ? spool->text.tail[i] : NULL);
    }
    free(spool->text.block);
    free(spool->text.head);
    free(spool->text.tail);
    free(spool->row);
    free(spool->total);
    free(spool->figures);
    free(spool->cells);
    free(spool->pieces);
    free(spool->node);
    free(spool->node_at);
    if (spool->handed)
        return;
    cb_grid_close(&spool->grid);
    cb_outputs_close(&spool->outputs);
}

static cobre_status check_files(struct cb_spool *spool) {
    end_trajectory(spool);
    for (size_t stream = 0; stream < CB_STREAMS; stream++)
        if (spool->file[stream] && (fflush(spool->file[stream]) != 0 || ferror(spool->file[stream])))
            spool->failed = true;
    return spool->failed ? no_room() : COBRE_OK;
}

/* What the ranks know about the steps becomes what all know. low: node and lowest stage of each step, high: highest stage. */
static cobre_status join_moments(struct cb_spool *spool, uint64_t *low, uint64_t *high) {
    for (size_t k = 0; k < spool->longest; k++) {
        const uint64_t *its = k < spool->own_longest ? &spool->node[k * MOMENT] : NULL;
        low[2 * k] = its ? its[NODE] : UINT64_MAX;
        low[2 * k + 1] = its ? its[LOWEST] : UINT64_MAX;
        high[k] = its ? its[HIGHEST] : 0;
    }
    CB_TRY(cobre_allreduce_t(spool->comm, low, low, 2 * spool->longest, COBRE_MIN));
    CB_TRY(cobre_allreduce_t(spool->comm, high, high, spool->longest, COBRE_MAX));
    spool->node_at[0] = CB_NONE;
    for (size_t k = 0; k < spool->longest; k++)
        spool->node_at[k + 1] = low[2 * k + 1] == high[k] ? low[2 * k] : CB_NONE;
    return COBRE_OK;
}

/* Which node each step is about. Collective. */
static cobre_status find_moments(struct cb_spool *spool) {
    uint64_t longest = spool->own_longest;
    CB_TRY(cobre_allreduce_t(spool->comm, &longest, &longest, 1, COBRE_MAX));
    spool->longest = longest;
    uint64_t *low = malloc((3 * longest + 1) * sizeof *low);
    spool->node_at = malloc((longest + 1) * sizeof *spool->node_at);
    bool room = low && spool->node_at;
    cobre_status status = cb_agree(spool->comm, room ? COBRE_OK : cb_no_memory("steps", longest * sizeof *low));
    if (!status)
        status = join_moments(spool, low, low + 2 * longest);
    free(low);
    return status;
}

cobre_status cb_spool_finish(struct cb_spool *spool) {
    CB_TRY(cb_agree(spool->comm, check_files(spool)));
    uint64_t count = spool->count;
    for (size_t i = 0; i < spool->count; i++)
        if (spool->pieces[i].steps > 0)
            spool->pieces[i].rank = cobre_rank(spool->comm);
    CB_TRY(cobre_allreduce_t(spool->comm, &count, &count, 1, COBRE_MAX));
    cobre_status status = grow(spool, count) ? COBRE_OK : cb_no_memory("trajectories", count * sizeof *spool->pieces);
    CB_TRY(cb_agree(spool->comm, status));
    CB_TRY(find_moments(spool));
    return cobre_allreduce(spool->comm, spool->pieces, count * PIECE_WORDS, spool->pieces, count * PIECE_WORDS,
                           COBRE_U64, COBRE_SUM);
}

/* Bytes on their way to rank 0. */
struct gathering {
    cobre_comm *comm;
    cobre_region *region;  /* the part that one rank sends */
    unsigned char *part;   /* the same, before */
    size_t *count, *place; /* of each rank, in a gather: 0 but for the sender */
    cobre_status status;   /* of this rank, until the ranks meet */
    FILE *file;
    cobre_status (*take)(void *arg, const void *bytes, size_t count);
    void *arg;
};

static cobre_status open_gathering(struct gathering *gathering) {
    size_t ranks = cobre_size(gathering->comm);
    gathering->part = malloc(PART);
    gathering->count = calloc(ranks, sizeof *gathering->count);
    gathering->place = calloc(ranks, sizeof *gathering->place);
    bool room = gathering->part && gathering->count && gathering->place;
    CB_TRY(cb_agree(gathering->comm, room ? COBRE_OK : cb_no_memory("counts", PART)));
    return ranks > 1 ? cobre_region_create(gathering->comm, PART, COBRE_U8, 0, &gathering->region) : COBRE_OK;
}

static void close_gathering(struct gathering *gathering) {
    cobre_region_free(&gathering->region);
    free(gathering->part);
    free(gathering->count);
    free(gathering->place);
}

static cobre_status read_back(const struct gathering *gathering, size_t bytes) {
    return fread(gathering->part, 1, bytes, gathering->file) == bytes
               ? COBRE_OK
               : cb_fail(COBRE_FILE_FAILED, NULL, "the tables cannot be read back from " P_tmpdir);
}

/* The next bytes of the stream, from `sender` to rank 0. */
static cobre_status send_part(struct gathering *gathering, size_t sender, size_t bytes) {
    bool mine = cobre_rank(gathering->comm) == sender;
    if (mine)
        gathering->status = read_back(gathering, bytes);
    CB_TRY(cb_agree(gathering->comm, gathering->status));
    gathering->count[sender] = bytes;
    cobre_status status = cobre_allgatherv_region(gathering->comm, gathering->part, mine ? bytes : 0, gathering->region,
                                                  gathering->count, gathering->place);
    gathering->count[sender] = 0;
    if (!status && cobre_rank(gathering->comm) == 0)
        gathering->status = gathering->take(gathering->arg, cobre_region_data(gathering->region), bytes);
    return status;
}

/* Rank 0's own bytes do not travel. */
static void take_own(struct gathering *gathering, size_t bytes) {
    if (!gathering->status)
        gathering->status = read_back(gathering, bytes);
    if (!gathering->status)
        gathering->status = gathering->take(gathering->arg, gathering->part, bytes);
}

static cobre_status move(struct gathering *gathering, size_t sender, uint64_t length) {
    for (size_t bytes; length > 0; length -= bytes) {
        bytes = length < PART ? (size_t)length : PART;
        if (sender > 0)
            CB_TRY(send_part(gathering, sender, bytes));
        else if (cobre_rank(gathering->comm) == 0)
            take_own(gathering, bytes);
    }
    return COBRE_OK;
}

/* A rank's consecutive trajectories go together. */
static cobre_status gather(struct gathering *gathering, const struct cb_spool *spool, size_t stream) {
    const struct cb_piece *piece = spool->pieces, *end = piece + spool->count;
    while (piece < end) {
        size_t sender = piece->rank;
        uint64_t length = 0;
        for (; piece < end && piece->rank == sender; piece++)
            length += piece->length[stream];
        CB_TRY(move(gathering, sender, length));
    }
    return COBRE_OK;
}

cobre_status cb_spool_gather(struct cb_spool *spool, size_t stream,
                             cobre_status (*take)(void *arg, const void *bytes, size_t count), void *arg) {
    struct gathering gathering = {.comm = spool->comm, .file = spool->file[stream], .take = take, .arg = arg};
    rewind(gathering.file);
    cobre_status status = open_gathering(&gathering);
    if (!status)
        status = gather(&gathering, spool, stream);
    if (!status)
        status = cb_agree(spool->comm, gathering.status);
    close_gathering(&gathering);
    return status;
}
