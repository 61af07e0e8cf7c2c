/* SPDX-License-Identifier: Apache-2.0 */
/* file.c: a policy as a file, which is also a checkpoint.
 *
 *     header        fixed size, below
 *     names         of the problem, the states, the nodes, each ended by a zero byte; padded to 8 bytes
 *     nodes         stage of each node, number of outcomes of each node
 *     bounds        value bound of each node, own bound of each node
 *     trace         of each iteration: bound, mean, deviation, cuts, solves
 *     starts        see starts.c; padded to 8 bytes
 *     cuts          records as in the pool, in the order of ids
 *     checksum      of all words before it
 *
 * All in words of 8 bytes, as the machine has them; the header tells the byte order. Nothing in it depends on who
 * computed it. Rank 0 writes it (draft.h): FILE is whole at any time. Rank 0 reads:
 * once to check the sum, then again; the cuts go to all ranks by gathers to which the others add nothing. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/draft.h"
#include "sddp/hash.h"
#include "sddp/policy/policy.h"

#define MAGIC "COBRESDP"
#define VERSION 2
#define ORDER 0x0102030405060708u
#define PIECE 4096 /* cuts read at a time */

typedef struct {
    char magic[8];
    uint64_t version, order, fingerprint, shape;
    cb_lp_names solvers;
    uint64_t seed, passes, multi_cut, has_risk;
    double beta, alpha;
    uint64_t maximise, averse, states, nodes, functions, iterations, cuts;
    uint64_t name_bytes;  /* padded */
    uint64_t start_bytes; /* before they are padded */
} header;

/* Of names and nodes. */
static uint64_t named_bytes(const header *head) {
    return head->name_bytes + 16 * head->nodes;
}

/* From the names to the starts. */
static uint64_t middle_bytes(const header *head) {
    return named_bytes(head) + 16 * head->nodes + sizeof(cb_trace) * head->iterations + cb_padded(head->start_bytes);
}

static uint64_t file_bytes(const header *head) {
    return sizeof *head + middle_bytes(head) + 8 * (CB_CUT_SLOPES + head->states) * head->cuts + 8;
}

static cobre_status cannot_read(const char *path, const char *remedy) {
    return cb_fail_at(COBRE_FILE_FAILED, path, 0, remedy, "%s: cannot read: %s", path, strerror(errno));
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

static header head_of(const cobre_sddp_policy *policy) {
    header head = {.version = VERSION,
                   .order = ORDER,
                   .fingerprint = policy->problem->fingerprint,
                   .shape = policy->problem->shape,
                   .solvers = policy->solvers,
                   .seed = policy->seed,
                   .passes = policy->passes,
                   .multi_cut = policy->kind.multi_cut,
                   .has_risk = policy->kind.has_risk,
                   .beta = policy->kind.risk.beta,
                   .alpha = policy->kind.risk.alpha,
                   .maximise = policy->names.maximise,
                   .averse = policy->names.averse,
                   .states = policy->names.states,
                   .nodes = policy->names.nodes,
                   .functions = policy->functions,
                   .iterations = policy->iterations,
                   .cuts = complete_cuts(policy),
                   .name_bytes = policy->names.bytes};
    memcpy(head.magic, MAGIC, sizeof head.magic);
    return head;
}

/* starts: padded. */
static void put_all(writer *out, const cobre_sddp_policy *policy, const header *head, const unsigned char *starts) {
    put(out, head, sizeof *head);
    put(out, policy->names.text, head->name_bytes);
    put(out, policy->names.stage, 8 * head->nodes);
    put(out, policy->names.outcomes, 8 * head->nodes);
    put(out, policy->value_bound, 8 * head->nodes);
    put(out, policy->own_bound, 8 * head->nodes);
    put(out, policy->trace, sizeof(cb_trace) * head->iterations);
    put(out, starts, cb_padded(head->start_bytes));
    for (uint64_t id = 0; id < head->cuts; id++)
        put(out, cb_pool_cut(&policy->pool, id), 8 * policy->pool.stride);
    uint64_t checksum = out->hash;
    put(out, &checksum, sizeof checksum);
}

static cobre_status write_file(const cobre_sddp_policy *policy, const header *head, const unsigned char *starts,
                               const char *path) {
    struct cb_draft draft;
    CB_TRY(cb_draft_open(&draft, path));
    put_all(&(writer){.file = draft.file, .hash = CB_HASH_START}, policy, head, starts);
    return cb_draft_close(&draft, COBRE_OK);
}

cobre_status cb_policy_write(const cobre_sddp_policy *policy, const char *path) {
    header head = head_of(policy);
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
    if (!policy || !path)
        return cb_refuse_null(policy ? "path" : "policy");
    if (!policy->problem)
        return cb_refuse("policy", "copy the file", "the policy was read without its problem, and cannot be saved");
    cobre_status status = cobre_rank(policy->comm) == 0 ? cb_policy_write(policy, path) : COBRE_OK;
    return cb_agree(policy->comm, status);
}

static cobre_status damaged(const char *path, const char *why) {
    return cb_fail_at(COBRE_INVALID_POLICY, path, 0, "train again, or take an older checkpoint", "%s: %s", path, why);
}

static cobre_status check_sum(FILE *file, const header *head, const char *path) {
    uint64_t hash = CB_HASH_START, word, left = file_bytes(head) / 8;
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

/* How much is read and allocated depends on these. */
static bool makes_sense(const header *head) {
    bool small = head->states <= UINT32_MAX && head->nodes <= UINT32_MAX && head->functions <= UINT32_MAX &&
                 head->iterations <= UINT32_MAX && head->cuts <= UINT32_MAX && head->name_bytes <= UINT32_MAX &&
                 head->start_bytes <= (uint64_t)1 << 40;
    return small && (double)head->cuts * (double)head->states < 1e15 && head->name_bytes % 8 == 0 && head->passes > 0 &&
           names_end(&head->solvers) && head->solvers.solver[0] &&
           (!head->has_risk || is_risk(head->beta, head->alpha));
}

static cobre_status check_head(const header *head, const cobre_sddp_problem *problem, const char *path, bool warm) {
    if (memcmp(head->magic, MAGIC, sizeof head->magic) != 0)
        return damaged(path, "this is not a policy file");
    if (head->order != ORDER)
        return damaged(path, "written by a machine of another byte order");
    if (head->version != VERSION)
        return damaged(path, head->version < VERSION ? "written by an older version of cobre, in a format that is gone"
                                                     : "written by a newer version of cobre");
    if (!makes_sense(head))
        return damaged(path, "the header makes no sense");
    if (!problem)
        return COBRE_OK;
    if (warm ? head->shape != problem->shape : head->fingerprint != problem->fingerprint)
        return cb_fail_at(COBRE_INVALID_POLICY, path, 0,
                          warm ? "a warm start needs states, nodes and numbers of outcomes of the same names"
                               : "use it as a warm start, if only numbers have changed",
                          "%s: this policy belongs to another problem", path);
    if (head->states != problem->states || head->nodes != problem->nodes)
        return damaged(path, "the header makes no sense");
    return COBRE_OK;
}

/* Rank 0 opens, checks and reads what is before the cuts. */
static cobre_status open_here(const cobre_sddp_problem *problem, const char *path, bool warm, FILE **file, header *head,
                              unsigned char **middle) {
    *file = fopen(path, "rbe");
    if (!*file)
        return cannot_read(path, "check the name");
    if (fread(head, sizeof *head, 1, *file) != 1)
        return ferror(*file) ? cannot_read(path, "check the name") : damaged(path, "the file is too short");
    CB_TRY(check_head(head, problem, path, warm));
    CB_TRY(check_sum(*file, head, path));
    size_t bytes = (size_t)middle_bytes(head);
    *middle = malloc(bytes + 1);
    if (!*middle)
        return cb_no_memory("a policy", bytes);
    if (fseek(*file, (long)sizeof *head, SEEK_SET) != 0 || (bytes > 0 && fread(*middle, bytes, 1, *file) != 1))
        return cannot_read(path, "try again");
    return COBRE_OK;
}

/* Opens on rank 0; everybody gets the header and the middle. */
static cobre_status open_together(cobre_comm *comm, const cobre_sddp_problem *problem, const char *path, bool warm,
                                  FILE **file, header *head, unsigned char **middle) {
    bool first = cobre_rank(comm) == 0;
    CB_TRY(cb_agree(comm, first ? open_here(problem, path, warm, file, head, middle) : COBRE_OK));
    CB_TRY(cobre_broadcast(comm, head, sizeof *head, COBRE_U8, 0));
    size_t bytes = (size_t)middle_bytes(head);
    bool room = first || (*middle = malloc(bytes + 1));
    CB_TRY(cb_agree(comm, room ? COBRE_OK : cb_no_memory("a policy", bytes)));
    return cobre_broadcast(comm, *middle, bytes, COBRE_U8, 0);
}

/* The next cuts of rank 0's file. iteration NULL: as they are. */
static cobre_status read_piece(const cb_pool *pool, FILE *file, const char *path, size_t cuts, const double *iteration,
                               double *piece) {
    if (fread(piece, pool->stride * sizeof *piece, cuts, file) != cuts)
        return cannot_read(path, "try again");
    for (size_t i = 0; i < cuts; i++) {
        double *cut = piece + i * pool->stride, function = cut[CB_CUT_FUNCTION], made = cut[CB_CUT_ITERATION];
        bool finite = true;
        for (size_t j = 0; j < pool->stride; j++)
            finite = finite && isfinite(cut[j]);
        if (!finite || function < 0 || function >= (double)pool->functions || made < 0 || made > UINT32_MAX)
            return damaged(path, "a cut makes no sense");
        if (iteration)
            cut[CB_CUT_ITERATION] = *iteration;
    }
    return COBRE_OK;
}

/* The cuts, PIECE at a time, from rank 0's file into the pool. */
static cobre_status read_cuts(cb_pool *pool, FILE *file, const char *path, uint64_t cuts, const double *iteration) {
    size_t *counts = calloc(cobre_size(pool->comm), sizeof *counts);
    double *piece = malloc(PIECE * pool->stride * sizeof *piece);
    cobre_status status = counts && piece ? COBRE_OK : cb_no_memory("cuts", PIECE * pool->stride * 8);
    status = cb_agree(pool->comm, status);
    for (uint64_t left = cuts; left > 0 && !status; left -= counts[0]) {
        counts[0] = left < PIECE ? (size_t)left : PIECE;
        if (file)
            status = read_piece(pool, file, path, counts[0], iteration, piece);
        status = cb_agree(pool->comm, status);
        if (!status)
            status = cb_agree(pool->comm, cb_pool_add(pool, piece, counts));
    }
    free(counts);
    free(piece);
    return status;
}

/* Bounds, trace and starts. */
static cobre_status take_middle(cobre_sddp_policy *policy, const header *head, const unsigned char *middle,
                                const char *path) {
    size_t nodes = policy->names.nodes;
    middle += named_bytes(head);
    memcpy(policy->value_bound, middle, 8 * nodes);
    memcpy(policy->own_bound, middle + 8 * nodes, 8 * nodes);
    middle += 16 * nodes;
    for (uint64_t i = 0; i < head->iterations; i++) {
        cb_trace trace;
        memcpy(&trace, middle + i * sizeof trace, sizeof trace);
        if (!cb_policy_trace(policy, trace))
            return cb_no_memory("the trace", (size_t)head->iterations * sizeof trace);
    }
    middle += head->iterations * sizeof(cb_trace);
    cobre_status status = cb_starts_unpack(policy->start, nodes, middle, (size_t)head->start_bytes);
    return status == COBRE_INVALID_POLICY ? damaged(path, "the starts make no sense") : status;
}

/* Whether LPs can start from what was read. Without its problem nothing starts. */
static cobre_status check_starts(const cobre_sddp_policy *policy, const char *path) {
    for (size_t n = 0; policy->problem && n < policy->names.nodes; n++)
        if (!(policy->value_bound[n] < INFINITY && policy->own_bound[n] < INFINITY) || /* for NaN, too */
            !cb_start_fits(&policy->kind, &policy->problem->node[n], &policy->start[n]))
            return damaged(
                path, CB_TEXT("the start of node %s makes no sense", policy->names.name[1 + policy->names.states + n]));
    return COBRE_OK;
}

/* Those of the problem, if there is one: the file's may be damaged. */
static cobre_status take_names(const cobre_sddp_problem *problem, const header *head, const unsigned char *middle,
                               const char *path, cb_policy_names *names) {
    if (problem)
        return cb_names_of(problem, head->averse != 0, names);
    *names = (cb_policy_names){.states = (size_t)head->states,
                               .nodes = (size_t)head->nodes,
                               .maximise = head->maximise != 0,
                               .averse = head->averse != 0,
                               .bytes = (size_t)head->name_bytes};
    cobre_status status = cb_names_unpack(names, middle);
    return status == COBRE_INVALID_POLICY ? damaged(path, "the names make no sense") : status;
}

/* Is that how many functions there are? The outcomes of a damaged file may add up to anything. */
static bool counts_functions(const header *head, const cb_policy_names *names) {
    uint64_t functions = 0;
    for (size_t n = 0; n < names->nodes && functions <= head->functions; n++) {
        uint64_t more = head->multi_cut ? names->outcomes[n] : 1;
        functions += more <= head->functions ? more : head->functions + 1;
    }
    return functions == head->functions;
}

static cobre_status build(cobre_comm *comm, cobre_sddp_problem *problem, const header *head,
                          const unsigned char *middle, const char *path, const char *lp_folder,
                          cobre_sddp_policy **policy) {
    cb_policy_names names = {0};
    cb_policy_options options = {.solvers = head->solvers,
                                 .seed = head->seed,
                                 .passes = (size_t)head->passes,
                                 .multi_cut = head->multi_cut != 0,
                                 .has_risk = head->has_risk != 0,
                                 .risk = {.beta = head->beta, .alpha = head->alpha},
                                 .lp_folder = lp_folder};
    cobre_status status = take_names(problem, head, middle, path, &names);
    if (!status && !counts_functions(head, &names))
        status = damaged(path, "the header makes no sense");
    if (!status)
        return cb_policy_new(comm, problem, &names, &options, policy);
    cb_arena_free(&names.memory);
    return status;
}

static cobre_status read_policy(cobre_comm *comm, cobre_sddp_problem *problem, const char *path, const char *lp_folder,
                                cobre_sddp_policy **policy) {
    FILE *file = NULL;
    header head = {0};
    unsigned char *middle = NULL;
    *policy = NULL;
    cobre_status status = open_together(comm, problem, path, false, &file, &head, &middle);
    if (!status)
        status = cb_agree(comm, build(comm, problem, &head, middle, path, lp_folder, policy));
    if (!status)
        status = cb_agree(comm, take_middle(*policy, &head, middle, path));
    if (!status)
        status = read_cuts(&(*policy)->pool, file, path, head.cuts, NULL);
    if (!status)
        status = cb_agree(comm, check_starts(*policy, path));
    if (status)
        cobre_sddp_policy_free(policy);
    if (file)
        fclose(file);
    free(middle);
    return status;
}

cobre_status cb_policy_load(cobre_sddp_problem *problem, const char *path, const char *lp_folder,
                            cobre_sddp_policy **policy) {
    return read_policy(problem->comm, problem, path, lp_folder, policy);
}

cobre_status cobre_sddp_policy_load(cobre_sddp_problem *problem, const char *path, cobre_sddp_policy **policy) {
    if (!problem || !path || !policy)
        return cb_refuse_null(!problem ? "problem" : !path ? "path" : "policy");
    return cb_policy_load(problem, path, NULL, policy);
}

/* The same as loading, by a communicator that has this process only. */
cobre_status cobre_sddp_policy_read(const char *path, cobre_sddp_policy **policy) {
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
static bool more_averse(const header *head, const cobre_sddp_policy *policy) {
    for (size_t n = 0; n < policy->problem->nodes; n++) {
        const cb_node *node = &policy->problem->node[n];
        cb_risk now = cb_node_risk(&policy->kind, node),
                then = head->has_risk ? (cb_risk){.beta = head->beta, .alpha = head->alpha} : node->risk;
        if (node->edges > 0 && then.beta < 1 && (now.beta > then.beta || now.alpha > then.alpha))
            return true;
    }
    return false;
}

cobre_status cb_policy_add_cuts(cobre_sddp_policy *policy, const char *path) {
    FILE *file = NULL;
    header head = {0};
    unsigned char *middle = NULL;
    double before = 0;
    cobre_status status = open_together(policy->comm, policy->problem, path, true, &file, &head, &middle);
    if (!status && (head.multi_cut != 0) != policy->kind.multi_cut)
        status = cb_fail_at(COBRE_INVALID_POLICY, path, 0, "use the same kind of cuts",
                            "%s: it holds %s, this run makes the other kind", path,
                            head.multi_cut ? "multi-cuts" : "single cuts");
    if (!status && more_averse(&head, policy))
        status = cb_fail_at(COBRE_INVALID_POLICY, path, 0, "start with a policy that is as averse, or less",
                            "%s: that run was more averse to risk, and its cuts are no bounds for this one", path);
    if (!status)
        status = read_cuts(&policy->pool, file, path, head.cuts, &before);
    if (file)
        fclose(file);
    free(middle);
    return status;
}
