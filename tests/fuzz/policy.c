/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "kit/check.h"
#include "sddp/hash.h"
#include "sddp/policy/format.h"

enum { MOST_BYTES = 1 << 16, MOST_PASSES = 4, SEASONS = 3 };

static const char nowhere[] = "/dev/null/none"; /* LPs that fail are not written */

cobre_sddp_problem *fuzz_problem(unsigned which) {
    static const char *const path[FUZZ_PROBLEMS] = {COBRE_SOURCE "/cases/gas.sof.json", COBRE_SOURCE "/cases/toy"};
    static cobre_sddp_problem *problem[FUZZ_PROBLEMS];
    static cobre_comm *comm;
    if (!comm)
        CHECK_OK(cobre_comm_open(&(cobre_config){.backend = COBRE_LOCAL}, &comm));
    which %= FUZZ_PROBLEMS;
    if (!problem[which]) {
        CHECK_OK(cobre_sddp_load(comm, path[which], NULL, &problem[which]));
        problem[which]->seasons = which ? SEASONS : 0; /* so that a horizon can move */
        problem[which]->first_season = which ? 1 : 0;
    }
    return problem[which];
}

/* All that can be asked of a policy. */
static void ask(const cobre_sddp_policy *policy) {
    size_t states = cobre_sddp_policy_states(policy), nodes = cobre_sddp_policy_nodes(policy), length = 0;
    double *slopes = calloc(states + 1, sizeof *slopes);
    CHECK(slopes);
    length += strlen(cobre_sddp_policy_name(policy)) + strlen(cobre_sddp_policy_fallback_version(policy));
    for (size_t s = 0; s < states; s++)
        length += strlen(cobre_sddp_policy_state_name(policy, s));
    for (size_t n = 0; n < nodes; n++)
        length += strlen(cobre_sddp_policy_node_name(policy, n)) + (cobre_sddp_policy_node_stage(policy, n) > 0);
    for (uint64_t c = 0; c < cobre_sddp_policy_cuts(policy); c++) {
        cobre_sddp_cut cut = {.struct_size = sizeof cut};
        CHECK_OK(cobre_sddp_policy_cut(policy, c, &cut, slopes));
        CHECK(cut.node < nodes);
    }
    CHECK(length < MOST_BYTES + nodes);
    (void)cobre_sddp_policy_bound(policy);
    free(slopes);
}

static void train(cobre_sddp_problem *problem, cobre_sddp_train_options *options) {
    cobre_sddp_policy *policy;
    options->lp_folder = nowhere;
    options->checkpoint = "/dev/null";
    if (cobre_sddp_train(problem, options, &policy, NULL) == COBRE_OK)
        ask(policy);
    cobre_sddp_policy_free(&policy);
}

/* Simulates, saves, resumes. */
static void use(cobre_sddp_problem *problem, cobre_sddp_policy *policy, const char *path) {
    (void)cobre_sddp_simulate(policy, &(cobre_sddp_simulate_options){.trajectories = 2, .lp_folder = nowhere}, NULL);
    (void)cobre_sddp_policy_save(policy, "/dev/null");
    if (policy->passes > MOST_PASSES)
        return;
    train(problem, &(cobre_sddp_train_options){.resume = path,
                                               .seed = policy->seed,
                                               .forward_passes = policy->passes,
                                               .multi_cut = policy->kind.multi_cut,
                                               .has_risk = policy->kind.has_risk,
                                               .risk_beta = policy->kind.risk.beta,
                                               .risk_alpha = policy->kind.risk.alpha,
                                               .iterations = policy->iterations + 1});
}

/* Gives the file the length that its header asks for, and a right checksum. */
static uint64_t *repair(const uint8_t *data, size_t size, size_t *words) {
    cb_policy_head head = {.version = 0};
    memcpy(&head, data, size < sizeof head ? size : sizeof head);
    memcpy(head.magic, CB_POLICY_MAGIC, sizeof head.magic);
    head.version = CB_POLICY_VERSION;
    head.order = CB_POLICY_ORDER;
    uint64_t wanted = cb_policy_head_good(&head) ? cb_policy_file_bytes(&head) : size;
    *words = (size_t)(wanted <= MOST_BYTES ? wanted : size) / 8;
    *words = *words > sizeof head / 8 ? *words : sizeof head / 8 + 1;
    uint64_t *word = calloc(*words, sizeof *word);
    CHECK(word);
    memcpy(word, data, size < *words * 8 ? size : *words * 8);
    memcpy(word, &head, sizeof head);
    word[*words - 1] = CB_HASH_START;
    cb_hash_words(&word[*words - 1], word, *words - 1);
    return word;
}

static void write_file(int file, const uint64_t *word, size_t words) {
    CHECK(ftruncate(file, 0) == 0 && pwrite(file, word, words * 8, 0) == (ssize_t)words * 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int file = -1;
    static char path[64];
    check_at_failure = abort; /* which the fuzzer notices */
    if (file < 0) {
        file = memfd_create("policy.cobre", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (size == 0)
        return 0;
    cobre_sddp_problem *problem = fuzz_problem(data[0]);
    cobre_sddp_policy *policy;
    size_t words;
    uint64_t *word = repair(data + 1, size - 1, &words);
    write_file(file, word, words);
    if (cobre_sddp_policy_read(path, &policy) == COBRE_OK)
        ask(policy);
    bool multi_cut = policy && policy->kind.multi_cut;
    cobre_sddp_policy_free(&policy);
    if (cobre_sddp_policy_load(problem, path, &policy) == COBRE_OK) {
        ask(policy);
        use(problem, policy, path);
    }
    cobre_sddp_policy_free(&policy);
    train(problem, &(cobre_sddp_train_options){
                       .warm_start = path, .accept_other_case = true, .multi_cut = multi_cut, .iterations = 1});
    free(word);
    return 0;
}
