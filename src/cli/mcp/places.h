/* SPDX-License-Identifier: Apache-2.0 */
/* places.h: the files that a client may name. Every path of a client is resolved here, and nowhere else. */
#ifndef COBRE_CLI_MCP_PLACES_H
#define COBRE_CLI_MCP_PLACES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { CB_PLACES_MOST = 16, CB_PLACE_WHY = 2 * PATH_MAX };

/* The allowed folders. */
struct cb_places {
    struct cb_root {
        char path[PATH_MAX]; /* without symbolic links */
        int fd;              /* O_PATH; -1: not open yet */
    } root[CB_PLACES_MOST + 1];
    size_t roots;          /* without the output, which is root[roots]; its descriptor is -1 until it is there */
    char output[PATH_MAX]; /* as given */
    bool usual;            /* it was not given: then a link in its place is not followed */
};

/* What a path leads to. */
enum cb_place_kind { CB_PLACE_ANY, CB_PLACE_FOLDER, CB_PLACE_FILE };
struct cb_place {
    int fd;              /* O_PATH: it stays the checked file, even if the path changes */
    char path[PATH_MAX]; /* absolute, without symbolic links */
    bool folder;
    unsigned made; /* by cb_place_make: so many folders at the end of the path are new */
};

/* NULL, or an error in the options. output NULL: cobre-output in the first root. Nothing is made. */
const char *cb_places_open(struct cb_places *places, const char *const *roots, const char *output);
void cb_places_close(struct cb_places *places);

/* Resolves a path: absolute, or below a root. False: `why` says what it was resolved to, and what is allowed. Symbolic
 * links may not lead out, nor may "..", and nothing but files and folders is opened. */
bool cb_place_find(struct cb_places *places, const char *path, enum cb_place_kind wanted, struct cb_place *place,
                   char why[CB_PLACE_WHY]);
void cb_place_close(struct cb_place *place);

/* Makes a folder below the output, which is made itself when it is not there: `name` is relative, and its parents are
 * made, too. It is not the output itself, nor inside of a case or a run, where nobody would find it. fresh: it must be
 * new; false with errno EEXIST if it is not. */
bool cb_place_make(struct cb_places *places, const char *name, bool fresh, struct cb_place *place,
                   char why[CB_PLACE_WHY]);

/* Is it below the output? */
bool cb_place_is_output(const struct cb_places *places, const struct cb_place *place);

/* The output may have been made since it was last looked for. */
void cb_places_look(struct cb_places *places);

/* "/studies, /studies/cobre-output" */
void cb_places_list(const struct cb_places *places, char *text, size_t size);

#endif
