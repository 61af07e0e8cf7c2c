/* SPDX-License-Identifier: Apache-2.0 */
/* policy_corpus.c: the policy files that the fuzzer begins with.
 *
 *     fuzz_policy_corpus FOUND [DIRECTORY]    gives each input to the target and, for libFuzzer, writes it into DIRECTORY
 *
 * The seeds are files of trainings, and each of them with every word another one in turn. FOUND holds what the fuzzer found
 * beyond that: a line is the number of the problem and the file's bytes in hex. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "fuzz/hex.h"
#include "fuzz/policy.h"
#include "kit/check.h"
#include "sddp/problem/problem.h"

enum { MOST = 1 << 16 };

static const char *directory; /* NULL: nothing is written */
static uint8_t input[1 + MOST];
static size_t size, count;

static void write_input(void) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%zu", directory, count);
    FILE *file = fopen(path, "wb");
    CHECK_SAY(file && fwrite(input, 1, size, file) == size && fclose(file) == 0, "%s can be written", path);
}

static void add(bool keep) {
    LLVMFuzzerTestOneInput(input, size);
    count++;
    if (directory && keep)
        write_input();
}

static void add_bent(void) {
    static const uint64_t strange[] = {0, 1, UINT32_MAX, UINT64_MAX, 0x4141414141414141, 0x7ff0000000000000};
    for (size_t at = 1; at + 8 <= size; at += 8)
        for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
            uint64_t kept;
            memcpy(&kept, input + at, sizeof kept);
            memcpy(input + at, &strange[i], sizeof kept);
            add(false);
            memcpy(input + at, &kept, sizeof kept);
        }
}

static void seed(unsigned which, size_t first_season, const cobre_sddp_train_options *options) {
    char path[] = "/tmp/cobre-fuzz-XXXXXX";
    int made = mkstemp(path);
    cobre_sddp_problem *problem = fuzz_problem(which);
    cobre_sddp_policy *policy;
    CHECK(made >= 0 && close(made) == 0);
    size_t season = problem->first_season;
    problem->first_season = first_season; /* if it is another one, the file is of another problem */
    problem->fingerprint ^= first_season ^ season;
    CHECK_OK(cobre_sddp_train(problem, options, &policy, NULL));
    CHECK_OK(cobre_sddp_policy_save(policy, path));
    cobre_sddp_policy_free(&policy);
    problem->fingerprint ^= first_season ^ season;
    problem->first_season = season;
    FILE *file = fopen(path, "rb");
    CHECK(file);
    input[0] = (uint8_t)which;
    size = 1 + fread(input + 1, 1, MOST, file);
    CHECK_SAY(size > 1 && size < MOST, "the file of %zu bytes fits", size - 1);
    fclose(file);
    unlink(path);
    add(true);
    add_bent();
}

static void found(const char *path) {
    static char hex[2 * MOST + 1];
    unsigned which;
    FILE *file = fopen(path, "r");
    CHECK_SAY(file, "%s can be read", path);
    while (fscanf(file, "%u %131072s", &which, hex) == 2) {
        input[0] = (uint8_t)which;
        size = 1 + fuzz_unhex(hex, input + 1);
        add(true);
    }
    CHECK_SAY(feof(file), "%s can be read to its end", path);
    fclose(file);
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3)
        return 2;
    directory = argv[2];
    if (directory)
        mkdir(directory, 0777);
    const cobre_sddp_train_options single = {.iterations = 2},
                                   several = {.iterations = 2, .forward_passes = 2, .multi_cut = true},
                                   averse = {.iterations = 1,
                                             .multi_cut = true,
                                             .has_risk = true,
                                             .risk_beta = 0.5,
                                             .risk_alpha = 0.5};
    seed(0, 0, &single);
    seed(0, 0, &averse);
    seed(1, 1, &single);
    seed(1, 1, &several);
    seed(1, 2, &single);
    printf("%zu seeds\n", count);
    found(argv[1]);
    printf("%zu inputs\n", count);
    return 0;
}
