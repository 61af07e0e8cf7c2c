/* SPDX-License-Identifier: Apache-2.0 */
/* usual_floats.h: the planner computes with the default floating-point settings of a thread, whatever the caller has
 * set: rounding to nearest, subnormals kept, no traps. It sets all of fenv.h, which takes longer than
 * comm/float_settings.h, because on x86-64 strtod and printf depend on the rounding mode of the x87 unit. */
#ifndef COBRE_SDDP_USUAL_FLOATS_H
#define COBRE_SDDP_USUAL_FLOATS_H

#include <fenv.h>

/* Holds from here to the end of the function. It stands in functions of sddp.h. */
#define CB_USUAL_FLOATS()                                                                                              \
    __attribute__((cleanup(cb_restore_floats))) fenv_t callers_floats_ = cb_set_usual_floats();                        \
    (void)callers_floats_

static inline fenv_t cb_set_usual_floats(void) {
    fenv_t callers;
    fegetenv(&callers);
    fesetenv(FE_DFL_ENV);
    return callers;
}

static inline void cb_restore_floats(const fenv_t *callers) {
    fesetenv(callers);
}

#endif
