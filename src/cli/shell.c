/* SPDX-License-Identifier: Apache-2.0 */
/* shell.c: words for a shell. */
#include "cli/cli.h"

#include <string.h>

void cb_shell_write(FILE *file, const char *word) {
    size_t plain = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-");
    if (plain > 0 && !word[plain]) {
        fputs(word, file);
        return;
    }
    putc('\'', file);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", file);
        else
            putc(*word, file);
    putc('\'', file);
}
