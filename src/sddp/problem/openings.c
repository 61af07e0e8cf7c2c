/* openings.c: the opening tree, all outcomes of all nodes in one region a host, and the last steps of building.
 *
 * Rank l of the L ranks of a host fills outcomes [total * l / L, total * (l + 1) / L), counted over all nodes; then the
 * region is sealed and the builder's tables are given back: more ranks on a host need no more memory for it. */
#include <math.h>
#include <stdlib.h>

#include "sddp/hash.h"
#include "sddp/problem/problem.h"

#define LARGE_COST 8192.0 /* beyond it costs are scaled to at most 2^USUAL_EXPONENT */
#define USUAL_EXPONENT 10

static void hash_edges(uint64_t *h, const cb_edge *edge, size_t count) {
    cb_hash_word(h, count);
    for (size_t e = 0; e < count; e++) {
        cb_hash_word(h, edge[e].to);
        cb_hash_double(h, edge[e].probability);
        cb_hash_double(h, edge[e].discount);
    }
}

static void hash_lp(uint64_t *h, const cb_node *node) {
    cb_hash_word(h, node->columns);
    for (size_t j = 0; j < node->columns; j++) {
        cb_hash_double(h, node->column[j].lower);
        cb_hash_double(h, node->column[j].upper);
        cb_hash_double(h, node->column[j].cost);
    }
    cb_hash_word(h, node->rows);
    for (size_t i = 0; i < node->rows; i++) {
        cb_hash_double(h, node->row[i].lower);
        cb_hash_double(h, node->row[i].upper);
    }
    for (size_t e = 0; e < node->entries; e++) {
        cb_hash_word(h, (uint64_t)node->entry[e].row << 32 | (uint64_t)node->entry[e].column);
        cb_hash_double(h, node->entry[e].value);
    }
    cb_hash_double(h, node->constant);
}

static void hash_noise(uint64_t *h, const cb_node *node) {
    for (size_t i = 0; i < node->noises; i++) {
        cb_hash_word(h, (uint64_t)node->noise[i].target << 32 | node->noise[i].random);
        cb_hash_word(h, (uint64_t)node->noise[i].index << 32 | node->noise[i].column);
        cb_hash_double(h, node->noise[i].factor);
    }
    cb_hash_word(h, node->outcomes);
    for (size_t k = 0; k < node->outcomes; k++)
        cb_hash_double(h, node->probability[k]);
    for (size_t k = 0; k < node->outcomes * node->randoms; k++)
        cb_hash_double(h, node->outcome[k]);
}

static void hash_node(uint64_t *h, const cobre_sddp_problem *problem, const cb_node *node) {
    cb_hash_text(h, node->name);
    hash_lp(h, node);
    hash_noise(h, node);
    hash_edges(h, node->edge, node->edges);
    cb_hash_double(h, node->risk.beta);
    cb_hash_double(h, node->risk.alpha);
    for (size_t s = 0; s < problem->states; s++)
        cb_hash_word(h, (uint64_t)node->state_in[s] << 32 | node->state_out[s]);
}

static uint64_t fingerprint(const cobre_sddp_problem *problem) {
    uint64_t h = CB_HASH_START;
    cb_hash_word(&h, problem->maximise);
    for (size_t s = 0; s < problem->states; s++) {
        cb_hash_text(&h, problem->state[s].name);
        cb_hash_double(&h, problem->state[s].initial);
    }
    hash_edges(&h, problem->root_edge, problem->root_edges);
    for (size_t n = 0; n < problem->nodes; n++)
        hash_node(&h, problem, &problem->node[n]);
    return h;
}

/* Of what cuts depend on: the states, and the nodes with the number of their outcomes. */
static uint64_t shape(const cobre_sddp_problem *problem) {
    uint64_t h = CB_HASH_START;
    cb_hash_word(&h, problem->maximise);
    for (size_t s = 0; s < problem->states; s++)
        cb_hash_text(&h, problem->state[s].name);
    for (size_t n = 0; n < problem->nodes; n++) {
        cb_hash_text(&h, problem->node[n].name);
        cb_hash_word(&h, problem->node[n].outcomes);
    }
    return h;
}

/* Of the scenarios, which change no policy. */
static uint64_t scenario_hash(const cobre_sddp_problem *problem) {
    uint64_t h = CB_HASH_START;
    for (size_t s = 0; s < problem->scenarios; s++) {
        const cb_scenario *scenario = &problem->scenario[s];
        cb_hash_word(&h, scenario->steps);
        for (size_t k = 0; k < scenario->steps; k++) {
            cb_hash_word(&h, scenario->node[k]);
            cb_hash_words(&h, scenario->values[k], problem->node[scenario->node[k]].randoms);
        }
    }
    return h;
}

static void fill_outcome(const cobre_sddp_problem *problem, size_t n, size_t k, double *values) {
    const cb_node *node = &problem->node[n];
    if (!node->draw) {
        for (size_t i = 0; i < node->randoms; i++)
            values[i] = node->table[k * node->randoms + i];
        return;
    }
    cb_rng rng;
    cb_rng_start(&rng, problem->opening_seed, CB_RNG_OPENING, 0, (uint32_t)k, (uint32_t)n);
    node->draw(node->model, n, &rng, values);
}

static void fill(const cobre_sddp_problem *problem, cobre_region *region, size_t first, size_t last) {
    size_t outcome = 0, offset = 0;
    for (size_t n = 0; n < problem->nodes; n++) {
        const cb_node *node = &problem->node[n];
        for (size_t k = 0; k < node->outcomes && node->randoms > 0; k++, outcome++, offset += node->randoms)
            if (outcome >= first && outcome < last)
                fill_outcome(problem, n, k, cobre_region_claim(region, offset, node->randoms));
    }
}

static double largest_cost(const cb_node *node) {
    double largest = 0;
    for (size_t j = 0; j < node->columns; j++)
        largest = fmax(largest, fabs(node->column[j].cost));
    for (size_t i = 0; i < node->noises; i++)
        for (size_t k = 0; k < node->outcomes && node->noise[i].target == CB_NOISE_COST; k++)
            largest =
                fmax(largest, fabs(node->noise[i].factor * node->outcome[k * node->randoms + node->noise[i].random]));
    return largest;
}

/* Large costs make cuts with large slopes, which stand beside the 1 of the future cost and take the solver its digits.
 * A power of two changes no bit of the costs themselves. */
static double find_scale(const cobre_sddp_problem *problem) {
    double largest = 0;
    int exponent;
    for (size_t n = 0; n < problem->nodes; n++)
        largest = fmax(largest, largest_cost(&problem->node[n]));
    frexp(largest, &exponent);
    return largest > LARGE_COST && isfinite(largest) ? ldexp(1, USUAL_EXPONENT - exponent) : 1;
}

cobre_status cb_problem_share(cobre_comm *comm, cobre_sddp_problem *problem) {
    size_t values = 0, outcomes = 0, offset = 0;
    for (size_t n = 0; n < problem->nodes; n++) {
        values += problem->node[n].outcomes * problem->node[n].randoms;
        outcomes += problem->node[n].randoms > 0 ? problem->node[n].outcomes : 0;
    }
    CB_TRY(cobre_region_create(comm, values, COBRE_F64, COBRE_REGION_INTERLEAVE, &problem->openings));
    size_t l = cobre_node_rank(comm), ranks = cobre_node_size(comm);
    fill(problem, problem->openings, outcomes * l / ranks, outcomes * (l + 1) / ranks);
    CB_TRY(cobre_region_seal(problem->openings));
    const double *data = cobre_region_data(problem->openings);
    for (size_t n = 0; n < problem->nodes; n++) {
        cb_node *node = &problem->node[n];
        node->outcome = data + offset;
        offset += node->outcomes * node->randoms;
        free(node->table);
        node->table = NULL;
    }
    problem->scale = find_scale(problem);
    return COBRE_OK;
}

/* All errors have been told; the last error sums them up. */
static cobre_status refuse(const cobre_sddp_problem *problem) {
    const cobre_error first = *cobre_last_error();
    return cb_fail_at(COBRE_INVALID_CASE, first.file, first.line, first.suggestion,
                      "%zu error%s in the case; the first: %s", problem->errors, problem->errors > 1 ? "s" : "",
                      first.message);
}

static cobre_status check(cobre_sddp_problem *problem) {
    if (!problem->no_memory)
        cb_problem_check(problem);
    if (problem->no_memory)
        return cb_no_memory("the problem", 0);
    return problem->errors > 0 ? refuse(problem) : COBRE_OK;
}

/* The minima of a hash and of its complement meet only if all ranks have the same. */
static cobre_status compare(cobre_comm *comm, cobre_sddp_problem *problem) {
    uint64_t hash = problem->fingerprint ^ scenario_hash(problem), word[2] = {hash, ~hash};
    CB_TRY(cobre_allreduce(comm, word, 2, word, 2, COBRE_U64, COBRE_MIN));
    if (word[0] == ~word[1])
        return COBRE_OK;
    cb_problem_at(problem, problem->at_file, 0, "%s", "");
    cb_builder_error(problem, "the files must be the same on all hosts", "the ranks have read different cases");
    return refuse(problem);
}

cobre_status cb_problem_finish(cobre_comm *comm, cobre_sddp_problem *problem, const char *solver) {
    CB_TRY(cb_agree(comm, check(problem)));
    CB_TRY(cb_problem_share(comm, problem));
    problem->fingerprint = fingerprint(problem);
    problem->shape = shape(problem);
    CB_TRY(compare(comm, problem));
    CB_TRY(cb_problem_find_bounds(comm, problem, solver));
    CB_TRY(cb_agree(comm, problem->errors > 0 ? refuse(problem) : COBRE_OK));
    cb_json_forget(problem);
    return COBRE_OK;
}
