/* sof.h: the two halves of the StochOptFormat reader. */
#ifndef CB_SOF_H
#define CB_SOF_H

#include <jansson.h>

#include "problem.h"

/* A place in the file is a JSON path. */
typedef struct {
    cobre_sddp_problem *problem;
    const char *file;
    char place[512];
} cb_sof;

void cb_sof_at(cb_sof *sof, const char *place, ...) __attribute__((format(printf, 2, 3)));

/* The member of an object, if it is of that type; else NULL, with an error if it is needed or of another type. The place
 * must be the object's. */
json_t *cb_sof_member(cb_sof *sof, const json_t *object, const char *key, json_type type, bool needed);
double cb_sof_number(cb_sof *sof, const json_t *object, const char *key, double otherwise); /* NAN: needed */
void cb_sof_known(cb_sof *sof, const json_t *object, const char *const *keys); /* others are errors; NULL ends keys */

/* Builds the LP of node `node` from entry `name` of the subproblems. */
void cb_sof_subproblem(cb_sof *sof, size_t node, const char *name, const json_t *entry);

#endif
