/* SPDX-License-Identifier: Apache-2.0 */
/* file.c: reads and writes a policy file (format.h), which is also a checkpoint. Rank 0 writes it as a draft (draft.h),
 * so that the file is complete at any time. Rank 0 reads it twice: first to check the sum, then for its contents. It
 * sends the cuts to all ranks by gathers to which the others add nothing.
 *
 * A file with the right checksum may still hold anything. Every index, size and count is checked: the header before
 * anything is allocated (cb_policy_head_good); names, functions and starts while they are unpacked; the trace against
 * the number of cuts; each cut; and the starts against the LPs of the problem (check_starts). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/draft.h"
#include "sddp/hash.h"
#include "sddp/open.h"
#include "sddp/policy/format.h"
#include "sddp/usual_floats.h"

#define PIECE 4096 /* cuts read at a time */
#define MOST 1e100 /* of numbers that come into LPs: solvers crash on what overflows there */

static cobre_status cannot_read(const char *path, const char *remedy) {
    return cb_fail_at(COBRE_FILE_FAILED, path, 0, remedy, "%s: cannot read: %s", path, cb_open_why(errno));
}

typedef struct {
    FILE *file; /* it remembers a failure */
    uint64_t hash;
} writer;

static void put(writer *out, const void *bytes, uint64_t count) {
    if (count > 0)
        fwrite(bytes, 1, count, out->file);
    cb_hash_words(&out->hash, bytes, count / 8);
}

/* Behind them there may be those of an iteration that failed. */
static uint64_t complete_cuts(const cobre_sddp_policy *policy) {
    return policy->iterations > 0 ? policy->trace[policy->iterations - 1].cuts : policy->pool.cuts;
}

static cb_policy_head head_of(const cobre_sddp_policy *policy) {
    cb_policy_head head = {.version = CB_POLICY_VERSION,
                           .order = CB_POLICY_ORDER,
                           .fingerprint = policy->problem->fingerprint,
                           .solvers = policy->solvers,
                           .seed = policy->seed,
                           .passes = policy->passes,
                           .multi_cut = policy->kind.multi_cut,
                           .has_risk = policy->kind.has_risk,
                           .beta = policy->kind.risk.beta,
                           .alpha = policy->kind.risk.alpha,
                           .drop = policy->drop,
                           .drop_after = policy->drop_after,
                           .proven = policy->proven,
                           .maximise = policy->names.maximise,
                           .averse = policy->names.averse,
                           .seasons = policy->names.seasons,
                           .first_season = policy->names.first_season,
                           .ranges = policy->names.ranges,
                           .states = policy->names.states,
                           .nodes = policy->names.nodes,
                           .functions = policy->functions,
                           .iterations = policy->iterations,
                           .cuts = complete_cuts(policy),
                           .name_bytes = policy->names.bytes};
    memcpy(head.magic, CB_POLICY_MAGIC, sizeof head.magic);
    return head;
}

/* starts: padded. */
static void put_all(writer *out, const cobre_sddp_policy *policy, const cb_policy_head *head,
                    const unsigned char *starts) {
    put(out, head, sizeof *head);
    put(out, policy->names.text, head->name_bytes);
    put(out, policy->names.stage, 8 * head->nodes);
    put(out, policy->names.outcomes, 8 * head->nodes);
    put(out, policy->names.sum, 8 * head->nodes);
    put(out, policy->names.initial, 8 * head->states);
    put(out, policy->value_bound, 8 * head->nodes);
    put(out, policy->own_bound, 8 * head->nodes);
    put(out, policy->trace, sizeof(cb_trace) * head->iterations);
    put(out, starts, cb_padded(head->start_bytes));
    for (uint64_t id = 0; id < head->cuts; id++)
        put(out, cb_pool_cut(&policy->pool, id), 8 * policy->pool.stride);
    uint64_t checksum = out->hash;
    put(out, &checksum, sizeof checksum);
}

static cobre_status write_file(const cobre_sddp_policy *policy, const cb_policy_head *head, const unsigned char *starts,
                               const char *path) {
    struct cb_draft draft;
    CB_TRY(cb_draft_open(&draft, path));
    put_all(&(writer){.file = draft.file, .hash = CB_HASH_START}, policy, head, starts);
    return cb_draft_close(&draft, COBRE_OK);
}

cobre_status cb_policy_write(const cobre_sddp_policy *policy, const char *path) {
    cb_policy_head head = head_of(policy);
    size_t bytes = 0;
    unsigned char *starts = cb_starts_pack(policy->start, policy->names.nodes, &bytes);
    if (!starts)
        return cb_no_memory("a policy file", bytes);
    head.start_bytes = bytes;
    cobre_status status = write_file(policy, &head, starts, path);
    free(starts);
    return status;
}

cobre_status cobre_sddp_policy_save(cobre_sddp_policy *policy, const char *path) {
    CB_USUAL_FLOATS();
    if (!policy || !path)
        return cb_refuse_null(policy ? "path" : "policy");
    if (!policy->problem)
        return cb_refuse("policy", "copy the file", "the policy was read without its problem, and cannot be saved");
    if (policy->match.what[0])
        return cb_refuse("policy", "copy the file, or train with it as a warm start",
                         "the policy was trained for another case, and cannot be saved");
    cobre_status status = cobre_rank(policy->comm) == 0 ? cb_policy_write(policy, path) : COBRE_OK;
    return cb_agree(policy->comm, status);
}

static const char give_policy[] = "give a policy file: policy.cobre of a folder of results";

static cobre_status damaged(const char *path, const char *why) {
    return cb_fail_at(COBRE_INVALID_POLICY, path, 0, "train again, or take an older checkpoint", "%s: %s", path, why);
}

static cobre_status check_sum(FILE *file, const cb_policy_head *head, const char *path) {
    uint64_t hash = CB_HASH_START, word, left = cb_policy_file_bytes(head) / 8;
    rewind(file);
    for (; left > 1 && fread(&word, sizeof word, 1, file) == 1; left--)
        cb_hash_word(&hash, word);
    if (left > 1 || fread(&word, sizeof word, 1, file) != 1 || fgetc(file) != EOF)
        return damaged(path, "the file is cut off or too long");
    return word == hash ? COBRE_OK : damaged(path, "the checksum is wrong");
}

static bool names_end(const cb_lp_names *names) {
    return memchr(names->solver, 0, sizeof names->solver) &&
           memchr(names->solver_version, 0, sizeof names->solver_version) &&
           memchr(names->fallback, 0, sizeof names->fallback) &&
           memchr(names->fallback_version, 0, sizeof names->fallback_version);
}

static bool is_risk(double beta, double alpha) {
    return beta >= 0 && beta <= 1 && alpha > 0 && alpha <= 1;
}

static bool are_flags(const cb_policy_head *head) {
    return head->multi_cut <= 1 && head->has_risk <= 1 && head->proven <= 1 && head->maximise <= 1 &&
           head->averse <= 1 && head->drop <= COBRE_SDDP_DROP_LAST_ACTIVE;
}

/* A season of a cycle, if there are any (problem.h). */
static bool are_seasons(const cb_policy_head *head) {
    return head->seasons <= UINT32_MAX && head->first_season <= head->seasons &&
           (head->first_season > 0 || head->seasons == 0);
}

bool cb_policy_head_good(const cb_policy_head *head) {
    bool small = head->states <= UINT32_MAX && head->nodes <= UINT32_MAX && head->functions <= UINT32_MAX &&
                 head->iterations <= UINT32_MAX && head->cuts <= UINT32_MAX && head->passes <= UINT32_MAX &&
                 head->name_bytes <= UINT32_MAX && head->start_bytes <= (uint64_t)1 << 40;
    return small && (double)head->cuts * (double)head->states < 1e15 && head->name_bytes % 8 == 0 && head->nodes > 0 &&
           head->passes > 0 && names_end(&head->solvers) && head->solvers.solver[0] && are_flags(head) &&
           are_seasons(head) && (!head->has_risk || is_risk(head->beta, head->alpha));
}

static cobre_status check_head(const cb_policy_head *head, const char *path) {
    if (memcmp(head->magic, CB_POLICY_MAGIC, sizeof head->magic) != 0)
        return cb_fail_at(COBRE_INVALID_POLICY, path, 0, give_policy, "%s: this is not a policy file", path);
    if (head->order != CB_POLICY_ORDER)
        return damaged(path, "written by a machine of another byte order");
    if (head->version < CB_POLICY_VERSION)
        return damaged(path, "written by an older version of cobre");
    if (head->version > CB_POLICY_VERSION)
        return damaged(path, "written by a newer version of cobre");
    return cb_policy_head_good(head) ? COBRE_OK : damaged(path, "the header makes no sense");
}

/* A file that is being read. All but `file` is the same on all ranks. */
typedef struct {
    const char *path;
    FILE *file; /* on rank 0 */
    cb_policy_head head;
    unsigned char *middle; /* from the names to the starts */
    cb_policy_names names;
    cb_match match; /* with the problem, if there is one */
} opened;

/* Rank 0 opens, checks and reads what is before the cuts. */
static cobre_status open_here(opened *from) {
    from->file = cb_open_stream(from->path, "rb");
    if (!from->file)
        return cannot_read(from->path, "check the name");
    bool whole = fread(&from->head, sizeof from->head, 1, from->file) == 1;
    if (ferror(from->file)) /* a folder, say */
        return cannot_read(from->path, give_policy);
    if (!whole && memcmp(from->head.magic, CB_POLICY_MAGIC, sizeof from->head.magic) == 0)
        return damaged(from->path, "the file is too short");
    CB_TRY(check_head(&from->head, from->path));
    CB_TRY(check_sum(from->file, &from->head, from->path));
    size_t bytes = (size_t)cb_policy_middle_bytes(&from->head);
    from->middle = malloc(bytes + 1);
    if (!from->middle)
        return cb_no_memory("a policy", bytes);
    if (fseek(from->file, (long)sizeof from->head, SEEK_SET) != 0 ||
        (bytes > 0 && fread(from->middle, bytes, 1, from->file) != 1))
        return cannot_read(from->path, "try again");
    return COBRE_OK;
}

/* Is that how many functions there are? The outcomes of a damaged file may add up to anything. */
static bool counts_functions(const cb_policy_head *head, const cb_policy_names *names) {
    uint64_t functions = 0;
    for (size_t n = 0; n < names->nodes && functions <= head->functions; n++) {
        uint64_t more = head->multi_cut ? names->outcomes[n] : 1;
        functions += more <= head->functions ? more : head->functions + 1;
    }
    return functions == head->functions;
}

/* What the file says about its problem. */
static cobre_status take_names(opened *from) {
    const cb_policy_head *head = &from->head;
    from->names = (cb_policy_names){.states = (size_t)head->states,
                                    .nodes = (size_t)head->nodes,
                                    .maximise = head->maximise != 0,
                                    .averse = head->averse != 0,
                                    .bytes = (size_t)head->name_bytes,
                                    .fingerprint = head->fingerprint,
                                    .seasons = head->seasons,
                                    .first_season = head->first_season,
                                    .ranges = head->ranges};
    cobre_status status = cb_names_unpack(&from->names, from->middle);
    if (status == COBRE_INVALID_POLICY)
        return damaged(from->path, "the names make no sense");
    if (!status && !counts_functions(head, &from->names))
        return damaged(from->path, "the header makes no sense");
    return status;
}

/* Opens on rank 0; everybody gets the header and the middle. */
static cobre_status open_together(cobre_comm *comm, const cobre_sddp_problem *problem, opened *from) {
    bool first = cobre_rank(comm) == 0;
    CB_TRY(cb_agree(comm, first ? open_here(from) : COBRE_OK));
    CB_TRY(cobre_broadcast(comm, &from->head, sizeof from->head, COBRE_U8, 0));
    size_t bytes = (size_t)cb_policy_middle_bytes(&from->head);
    bool room = first || (from->middle = malloc(bytes + 1));
    CB_TRY(cb_agree(comm, room ? COBRE_OK : cb_no_memory("a policy", bytes)));
    CB_TRY(cobre_broadcast(comm, from->middle, bytes, COBRE_U8, 0));
    cobre_status status = take_names(from);
    if (!status && problem)
        status = cb_policy_match(from->path, &from->names, from->head.multi_cut != 0, problem, &from->match);
    return cb_agree(comm, status);
}

static void close_file(opened *from) {
    if (from->file)
        fclose(from->file);
    free(from->middle);
    cb_arena_free(&from->names.memory);
}

/* For each function of the file that of the policy; CB_NONE: there is none. NULL: no memory. */
static size_t *map_functions(const cobre_sddp_policy *policy, const opened *from) {
    size_t *map = malloc((size_t)(from->head.functions + 1) * sizeof *map), function = 0;
    for (size_t n = 0; map && n < from->names.nodes; n++) {
        size_t outcomes = from->head.multi_cut ? (size_t)from->names.outcomes[n] : 1;
        size_t to = n - from->match.shift; /* far beyond the last, if it is before the first */
        for (size_t k = 0; k < outcomes; k++)
            map[function++] = to < policy->names.nodes ? policy->function[to] + k : CB_NONE;
    }
    return map;
}

static bool is_count(double number) {
    return number >= 0 && number <= UINT32_MAX;
}

static bool is_cut(const cb_policy_head *head, const double *cut) {
    size_t stride = cb_policy_stride(head);
    for (size_t j = 0; j < stride; j++)
        if (!(fabs(cut[j]) <= MOST)) /* also NaN */
            return false;
    return cut[CB_CUT_FUNCTION] >= 0 && cut[CB_CUT_FUNCTION] < (double)head->functions &&
           is_count(cut[CB_CUT_ITERATION]) &&
           (head->drop != COBRE_SDDP_DROP_LAST_ACTIVE || is_count(cut[CB_CUT_SLOPES + head->states]));
}

/* The next cuts of rank 0's file, as the pool has them; those without a function here are left out. warm: they are not of this
 * training: it made them in iteration 0. */
static cobre_status read_piece(const cb_pool *pool, const opened *from, const size_t *map, bool warm, size_t *cuts,
                               double *piece) {
    size_t kept = 0, stride = cb_policy_stride(&from->head);
    double *cut = piece + PIECE * pool->stride; /* one */
    for (size_t i = 0; i < *cuts; i++) {
        if (fread(cut, stride * sizeof *cut, 1, from->file) != 1)
            return cannot_read(from->path, "try again");
        if (!is_cut(&from->head, cut))
            return damaged(from->path, "a cut makes no sense");
        size_t to = map[(size_t)cut[CB_CUT_FUNCTION]];
        if (to == CB_NONE)
            continue;
        cut[CB_CUT_FUNCTION] = (double)to;
        if (warm) {
            cut[CB_CUT_ITERATION] = 0;
            memset(cut + CB_CUT_SLOPES + pool->states, 0, pool->more * sizeof *cut);
        }
        memcpy(piece + kept++ * pool->stride, cut, pool->stride * sizeof *cut);
    }
    *cuts = kept;
    return COBRE_OK;
}

/* The cuts, PIECE at a time, from rank 0's file into the pool. */
static cobre_status read_cuts(cobre_sddp_policy *policy, const opened *from, bool warm) {
    cb_pool *pool = &policy->pool;
    size_t *counts = calloc(cobre_size(pool->comm), sizeof *counts), *map = map_functions(policy, from);
    double *piece = malloc((PIECE * pool->stride + CB_CUT_SLOPES + 2 * pool->states + 1) * sizeof *piece);
    cobre_status status = counts && map && piece ? COBRE_OK : cb_no_memory("cuts", PIECE * pool->stride * 8);
    status = cb_agree(pool->comm, status);
    for (uint64_t left = from->head.cuts, now; left > 0 && !status; left -= now) {
        now = left < PIECE ? left : PIECE;
        counts[0] = (size_t)now;
        if (from->file)
            status = read_piece(pool, from, map, warm, &counts[0], piece);
        status = cb_agree(pool->comm, status);
        if (!status)
            status = cobre_broadcast(pool->comm, counts, 1, COBRE_U64, 0);
        if (!status && counts[0] > 0)
            status = cb_agree(pool->comm, cb_pool_add(pool, piece, counts));
    }
    free(counts);
    free(map);
    free(piece);
    return status;
}

/* Each iteration adds to the cuts of those before, and the last one has them all. */
static cobre_status take_trace(cobre_sddp_policy *policy, const opened *from, const unsigned char *packed) {
    const cb_policy_head *head = &from->head;
    uint64_t cuts = 0;
    for (uint64_t i = 0; i < head->iterations; i++) {
        cb_trace trace;
        memcpy(&trace, packed + i * sizeof trace, sizeof trace);
        bool last = i + 1 == head->iterations;
        if (trace.cuts < cuts || (last ? trace.cuts != head->cuts : trace.cuts > head->cuts))
            return damaged(from->path, "the trace makes no sense");
        cuts = trace.cuts;
        if (!cb_policy_trace(policy, trace))
            return cb_no_memory("the trace", (size_t)head->iterations * sizeof trace);
    }
    return COBRE_OK;
}

/* Bounds, trace and starts. A node that the file knows nothing of has the bound 0: without cuts any will do. Where the
 * horizon has moved, LPs start anew. */
static cobre_status take_middle(cobre_sddp_policy *policy, const opened *from) {
    const unsigned char *middle = from->middle + cb_policy_named_bytes(&from->head);
    size_t nodes = from->names.nodes, shift = from->match.shift;
    size_t both = nodes - shift < policy->names.nodes ? nodes - shift : policy->names.nodes;
    memcpy(policy->value_bound, middle + 8 * shift, 8 * both);
    memcpy(policy->own_bound, middle + 8 * (nodes + shift), 8 * both);
    middle += 16 * nodes;
    CB_TRY(take_trace(policy, from, middle));
    middle += from->head.iterations * sizeof(cb_trace);
    cobre_status status =
        shift > 0 ? COBRE_OK : cb_starts_unpack(policy->start, nodes, middle, (size_t)from->head.start_bytes);
    return status == COBRE_INVALID_POLICY ? damaged(from->path, "the starts make no sense") : status;
}

/* Whether LPs can start from what was read. Those of other data need not fit. Without its problem nothing starts. */
static cobre_status check_starts(cobre_sddp_policy *policy, const opened *from) {
    for (size_t n = 0; policy->problem && n < policy->names.nodes; n++) {
        double own = policy->own_bound[n]; /* there may be none */
        bool bounded = (fabs(own) <= MOST || own == -INFINITY) && fabs(policy->value_bound[n]) <= MOST;
        bool fits = cb_start_fits(&policy->kind, &policy->problem->node[n], &policy->start[n]);
        if (!bounded || (!fits && from->match.same))
            return damaged(from->path, CB_TEXT("the start of node %s makes no sense", policy->problem->node[n].name));
        policy->start[n].set = policy->start[n].set && fits;
    }
    return COBRE_OK;
}

static cobre_status build(cobre_comm *comm, cobre_sddp_problem *problem, opened *from, const char *lp_folder,
                          cobre_sddp_policy **policy) {
    const cb_policy_head *head = &from->head;
    cb_policy_names names = {0};
    cb_policy_options options = {.solvers = head->solvers,
                                 .seed = head->seed,
                                 .passes = (size_t)head->passes,
                                 .multi_cut = head->multi_cut != 0,
                                 .has_risk = head->has_risk != 0,
                                 .risk = {.beta = head->beta, .alpha = head->alpha},
                                 .drop = (cobre_sddp_drop)head->drop,
                                 .drop_after = head->drop_after,
                                 .lp_folder = lp_folder};
    cobre_status status = COBRE_OK;
    if (problem) {
        status = cb_names_of(problem, head->averse != 0, &names);
    } else {
        names = from->names;
        from->names.memory = (cb_arena){0}; /* it is the policy's now */
    }
    if (!status)
        return cb_policy_new(comm, problem, &names, &options, policy);
    cb_arena_free(&names.memory);
    return status;
}
static cobre_status read_policy(cobre_comm *comm, cobre_sddp_problem *problem, const char *path, const char *lp_folder,
                                cobre_sddp_policy **policy) {
    opened from = {.path = path};
    *policy = NULL;
    cobre_status status = open_together(comm, problem, &from);
    if (!status)
        status = cb_agree(comm, build(comm, problem, &from, lp_folder, policy));
    if (!status) {
        (*policy)->match = from.match;
        (*policy)->proven = from.head.proven && (!problem || from.match.proven);
        status = cb_agree(comm, take_middle(*policy, &from));
    }
    if (!status)
        status = read_cuts(*policy, &from, false);
    if (!status)
        status = cb_agree(comm, check_starts(*policy, &from));
    if (status)
        cobre_sddp_policy_free(policy);
    close_file(&from);
    return status;
}

cobre_status cb_policy_load(cobre_sddp_problem *problem, const char *path, const char *lp_folder,
                            cobre_sddp_policy **policy) {
    return read_policy(problem->comm, problem, path, lp_folder, policy);
}

cobre_status cobre_sddp_policy_load(cobre_sddp_problem *problem, const char *path, cobre_sddp_policy **policy) {
    CB_USUAL_FLOATS();
    if (!problem || !path || !policy)
        return cb_refuse_null(!problem ? "problem" : !path ? "path" : "policy");
    return cb_policy_load(problem, path, NULL, policy);
}

/* The same as loading, by a communicator that has this process only. */
cobre_status cobre_sddp_policy_read(const char *path, cobre_sddp_policy **policy) {
    CB_USUAL_FLOATS();
    if (!path || !policy)
        return cb_refuse_null(path ? "policy" : "path");
    cobre_config config = {.struct_size = sizeof config, .backend = COBRE_LOCAL};
    cobre_comm *alone;
    *policy = NULL;
    CB_TRY(cobre_comm_open(&config, &alone));
    cobre_status status = read_policy(alone, NULL, path, NULL, policy);
    if (status)
        cobre_comm_free(&alone);
    else
        (*policy)->alone = alone;
    return status;
}

/* Cuts of a run that was more averse to risk may lie above the costs of this one: then its bound is not valid. */
static bool more_averse(const cb_policy_head *head, const cobre_sddp_policy *policy) {
    for (size_t n = 0; n < policy->problem->nodes; n++) {
        const cb_node *node = &policy->problem->node[n];
        cb_risk now = cb_node_risk(&policy->kind, node),
                then = head->has_risk ? (cb_risk){.beta = head->beta, .alpha = head->alpha} : node->risk;
        if (node->edges > 0 && then.beta < 1 && (now.beta > then.beta || now.alpha > then.alpha))
            return true;
    }
    return false;
}

static cobre_status check_warm(const cobre_sddp_policy *policy, const opened *from, bool accept) {
    const char *path = from->path;
    if ((from->head.multi_cut != 0) != policy->kind.multi_cut)
        return cb_fail_at(COBRE_INVALID_POLICY, path, 0, "use the same kind of cuts",
                          "%s: it holds %s, this run makes the other kind", path,
                          from->head.multi_cut ? "multi-cuts" : "single cuts");
    if (more_averse(&from->head, policy))
        return cb_fail_at(COBRE_INVALID_POLICY, path, 0, "start with a policy that is as averse, or less",
                          "%s: that run was more averse to risk, and its cuts are no bounds for this one", path);
    if (!from->match.valid && !accept)
        return cb_fail_at(COBRE_INVALID_POLICY, path, 0,
                          "accept that (--accept-other-case), and the bound will be unproven",
                          "%s: it was trained for another case: %s", path, from->match.what);
    return COBRE_OK;
}

cobre_status cb_policy_add_cuts(cobre_sddp_policy *policy, const char *path, bool accept) {
    opened from = {.path = path};
    cobre_status status = open_together(policy->comm, policy->problem, &from);
    if (!status)
        status = check_warm(policy, &from, accept);
    if (!status)
        status = read_cuts(policy, &from, true);
    policy->proven = policy->proven && from.head.proven && from.match.proven;
    close_file(&from);
    return status;
}
