/* SPDX-License-Identifier: Apache-2.0 */
/* risk.h: the weights of outcomes under rho = beta * E + (1 - beta) * AVaR_alpha. */
#ifndef COBRE_SDDP_TRAIN_RISK_H
#define COBRE_SDDP_TRAIN_RISK_H

#include "sddp/problem/problem.h"

/* probability and cost have `count` entries; the probabilities add up to about 1. Weight k is beta * p_k plus
 * (1 - beta) times its share in the worst alpha. That share is p_k / alpha each, from the highest cost down (equal costs in
 * their order), until 1 is used up. worst: scratch of `count`. */
void cb_risk_weights(cb_risk risk, const double *probability, const double *cost, size_t count, const double **worst,
                     double *weight);

#endif
