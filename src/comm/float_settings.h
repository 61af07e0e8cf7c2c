/* SPDX-License-Identifier: Apache-2.0 */
/* float_settings.h: the processor's floating-point settings of a thread, and those that every thread starts with: rounding to
 * nearest, subnormals as they are, no traps. A program may have others: -Ofast flushes subnormals to zero.
 *
 * The compiler knows nothing of these settings. What must run between a change and the next one is a call that is not
 * inlined. */
#ifndef COBRE_COMM_FLOAT_SETTINGS_H
#define COBRE_COMM_FLOAT_SETTINGS_H

#include <stdbool.h>

#if defined(__x86_64__)
#include <xmmintrin.h>

typedef unsigned cb_float_settings; /* MXCSR, with the flags of what has happened */

/* Changes to the usual settings; says whether these are others than before, which are then in *was. */
static inline bool cb_float_settings_default(cb_float_settings *was) {
    const unsigned usual = _MM_MASK_MASK;
    *was = _mm_getcsr();
    if ((*was & ~(unsigned)_MM_EXCEPT_MASK) == usual)
        return false;
    _mm_setcsr(usual);
    return true;
}

static inline void cb_float_settings_restore(const cb_float_settings *was) {
    _mm_setcsr(*was);
}

#elif defined(__aarch64__)
typedef unsigned long cb_float_settings; /* FPCR */

static inline bool cb_float_settings_default(cb_float_settings *was) {
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(*was));
    if (*was == 0)
        return false;
    __asm__ __volatile__("msr fpcr, %0" : : "r"(0ul) : "memory");
    return true;
}

static inline void cb_float_settings_restore(const cb_float_settings *was) {
    __asm__ __volatile__("msr fpcr, %0" : : "r"(*was) : "memory");
}

#else
#include <fenv.h>

typedef fenv_t cb_float_settings;

static inline bool cb_float_settings_default(cb_float_settings *was) {
    fegetenv(was);
    fesetenv(FE_DFL_ENV);
    return true;
}

static inline void cb_float_settings_restore(const cb_float_settings *was) {
    fesetenv(was);
}
#endif

#endif
