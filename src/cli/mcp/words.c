/* SPDX-License-Identifier: Apache-2.0 */
/* words.c: rewrites the planner's texts for clients of tools (words.h). */
#include "cli/mcp/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* What takes the place of what; it is never longer. */
static const char *const other[][2] = {
    {"`cobre ", "`"},                               /* tools are called as the commands are */
    {"docs/case-format.md", "cobre://case-format"}, /* a resource */
    {"cobre-validate(1) explains it", "validate_case tells more"},
};

void cb_mcp_plain(char *text) {
    char *to = text, before = ' ';
    for (const char *at = text; *at;) {
        size_t i = 0, count = sizeof other / sizeof *other;
        while (i < count && strncmp(at, other[i][0], strlen(other[i][0])) != 0)
            i++;
        if (i < count) {
            to = stpcpy(to, other[i][1]);
            at += strlen(other[i][0]);
        } else if (strchr(" (`\"", before) && strncmp(at, "--", 2) == 0 && islower((unsigned char)at[2])) {
            at += 2;
        } else {
            *to++ = *at++;
        }
        before = at[-1];
    }
    *to = 0;
}

json_t *cb_mcp_plain_json(const char *text) {
    char *copy = strdup(text ? text : "");
    if (!copy)
        return cb_json_text("");
    cb_mcp_plain(copy);
    json_t *json = cb_json_text(copy);
    free(copy);
    return json;
}

json_t *cb_mcp_plain_list(const json_t *texts) {
    json_t *list = json_array(), *text;
    size_t i;
    json_array_foreach((json_t *)texts, i, text) cb_json_append(list, cb_mcp_plain_json(json_string_value(text)));
    return list;
}
