/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h: the fuzz target for policy files.
 *
 * The first byte of an input says for which problem the file is, the others are the file. The target gives it the length
 * that its header asks for and a right checksum, so that what is inside is looked at. Then it reads the file, alone and for
 * the problem, asks all, simulates, saves, resumes and starts warm. Numbers may come out wrong; nothing else. */
#ifndef COBRE_TEST_FUZZ_POLICY_H
#define COBRE_TEST_FUZZ_POLICY_H

#include "cobre/sddp.h"

enum { FUZZ_PROBLEMS = 2 };

cobre_sddp_problem *fuzz_problem(unsigned which);

#endif
