/* SPDX-License-Identifier: Apache-2.0 */
/* png.h: pictures as PNG, by librsvg where it is there. */
#ifndef COBRE_CLI_MCP_PNG_H
#define COBRE_CLI_MCP_PNG_H

#include <stdbool.h>
#include <stddef.h>

enum { CB_PNG_WHY = 256 };

/* NULL, or why it cannot be done here. */
const char *cb_png_missing(void);

/* Draws SVG at `scale`. *png: its bytes, to be freed. False: `why` says what is wrong. */
bool cb_png_of_svg(const char *svg, size_t length, double scale, char **png, size_t *size, char why[CB_PNG_WHY]);

#endif
