/* cases.c: names of cases, of their parts and of where results go. */
#include "cli/plan/session.h"

#include <string.h>

void cb_write_issue(FILE *file, const cobre_sddp_issue *issue) {
    fprintf(file, "%s:", issue->file && *issue->file ? issue->file : "case");
    if (issue->line)
        fprintf(file, "%zu:", issue->line);
    if (issue->place && *issue->place)
        fprintf(file, " %s:", issue->place);
    fprintf(file, " %s\n", issue->message);
}

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

static bool too_long(const char *command, const char *path) {
    fprintf(stderr, "cobre %s: %.60s...: the path is too long\n", command, path);
    return false;
}

bool cb_join_path(const char *command, char path[PATH_MAX], const char *folder, const char *name) {
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return (length > 0 && length < PATH_MAX) || too_long(command, folder);
}

void cb_folder_of(const char *path, char folder[PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    size_t length = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
    snprintf(folder, PATH_MAX, "%.*s", length ? (int)length : 1, length ? path : ".");
}

/* The case's own name, without folder and ending: two cases trained in one place must not share their results. */
bool cb_default_folder(const char *command, const char *case_path, char folder[PATH_MAX]) {
    size_t end = strlen(case_path);
    while (end > 1 && case_path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && case_path[start - 1] != '/')
        start--;
    static const char *const endings[] = {".json", ".sof"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]);
        if (end - start > length && memcmp(case_path + end - length, endings[i], length) == 0)
            end -= length;
    }
    bool dots = end - start <= 2 && strspn(case_path + start, "./") >= end - start;
    int length = dots ? snprintf(folder, PATH_MAX, "case-out")
                      : snprintf(folder, PATH_MAX, "%.*s-out", (int)(end - start), case_path + start);
    return (length > 0 && length < PATH_MAX) || too_long(command, case_path);
}

void cb_label_split(const char *name, struct label *label) {
    size_t kind = strcspn(name, "["), length = strlen(name);
    bool has_kind = kind > 0 && kind < sizeof label->kind && length > kind + 1 && name[length - 1] == ']';
    if (!has_kind) {
        label->kind[0] = '\0';
        snprintf(label->element, sizeof label->element, "%s", name);
        return;
    }
    snprintf(label->kind, sizeof label->kind, "%.*s", (int)kind, name);
    snprintf(label->element, sizeof label->element, "%.*s", (int)(length - kind - 2), name + kind + 1);
}

bool cb_policy_path(const char *command, const char *case_path, const char *given, char policy[PATH_MAX]) {
    char folder[PATH_MAX];
    if (!given)
        return cb_default_folder(command, case_path, folder) && cb_join_path(command, policy, folder, "policy.cobre");
    return snprintf(policy, PATH_MAX, "%s", given) < PATH_MAX || too_long(command, given);
}

size_t cb_stages(const cobre_sddp_problem *problem) {
    size_t last = 0;
    for (size_t i = 0; i < cobre_sddp_nodes(problem); i++)
        if (cobre_sddp_node_stage(problem, i) > last)
            last = cobre_sddp_node_stage(problem, i);
    return last;
}

void cb_print_size(const cobre_sddp_problem *problem) {
    size_t stages = cb_stages(problem), nodes = cobre_sddp_nodes(problem), states = cobre_sddp_states(problem);
    printf("%zu stage%s, %zu node%s, %zu state%s", stages, stages == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s", states,
           states == 1 ? "" : "s");
}
