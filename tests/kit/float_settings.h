/* SPDX-License-Identifier: Apache-2.0 */
/* float_settings.h: floating-point settings of the processor that a program may have. On other processors than x86-64 only
 * the rounding. Link with m. */
#ifndef COBRE_TEST_FLOAT_SETTINGS_H
#define COBRE_TEST_FLOAT_SETTINGS_H

#include <fenv.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "kit/check.h"

struct float_settings {
    const char *name;
    int rounding;
    unsigned set, clear; /* bits of MXCSR */
};

struct floats_now {
    int rounding;
    unsigned control; /* MXCSR without the flags of what has happened; else 0 */
};

#ifdef __x86_64__
enum { FLOATS_DAZ = 1 << 6, FLOATS_FTZ = 1 << 15 };
enum { FLOATS_TRAPS = _MM_MASK_INVALID | _MM_MASK_DIV_ZERO | _MM_MASK_OVERFLOW };

static inline unsigned read_control(void) {
    return _mm_getcsr() & ~(unsigned)_MM_EXCEPT_MASK;
}

static inline void write_control(unsigned control) {
    _mm_setcsr(control);
}
#else
enum { FLOATS_DAZ, FLOATS_FTZ = 0, FLOATS_TRAPS = 0 };

static inline unsigned read_control(void) {
    return 0;
}

static inline void write_control(unsigned control) {
    (void)control;
}
#endif

static const struct float_settings float_settings[] = {
    {"flush to zero", FE_TONEAREST, FLOATS_FTZ, 0},
    {"subnormals are zero", FE_TONEAREST, FLOATS_DAZ, 0},
    {"both, rounding up", FE_UPWARD, FLOATS_FTZ | FLOATS_DAZ, 0},
    {"rounding up", FE_UPWARD, 0, 0},
    {"rounding down", FE_DOWNWARD, 0, 0},
    {"rounding towards zero", FE_TOWARDZERO, 0, 0},
    {"traps", FE_TONEAREST, 0, FLOATS_TRAPS},
};
enum { FLOAT_SETTINGS = sizeof float_settings / sizeof float_settings[0] };

static inline struct floats_now read_floats(void) {
    return (struct floats_now){.rounding = fegetround(), .control = read_control()};
}

static inline void set_floats(const struct float_settings *settings) {
    CHECK(fesetround(settings->rounding) == 0);
    write_control((read_control() | settings->set) & ~settings->clear);
}

static inline void set_usual_floats(void) {
    CHECK(fesetenv(FE_DFL_ENV) == 0);
}

#endif
