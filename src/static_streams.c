/* SPDX-License-Identifier: Apache-2.0 */
/* static_streams.c: lets a static library that was compiled for programs be linked into a shared object (COBRE_STATIC).
 *
 * Such a library takes stdin, stdout and stderr as variables of the file that it is linked into. So here they are, hidden from
 * all other files, with the values of libc's. stdio.h is not included: it declares them as libc's. */
#include <dlfcn.h>
#include <stddef.h>

void *cb_static_stdin __asm__("stdin");
void *cb_static_stdout __asm__("stdout");
void *cb_static_stderr __asm__("stderr");

static void *of_libc(const char *name) {
    void *const *stream = dlsym(RTLD_DEFAULT, name);
    return stream ? *stream : NULL;
}

__attribute__((constructor(101))) static void begin(void) { /* before all constructors of C++ */
    cb_static_stdin = of_libc("stdin");
    cb_static_stdout = of_libc("stdout");
    cb_static_stderr = of_libc("stderr");
}
