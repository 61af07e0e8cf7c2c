/* hydro_kit.c: helpers of the tests of hydrothermal cases. */
#include "hydro_kit.h"

#include <dirent.h>
#include <math.h>
#include <unistd.h>

char kit_folder[64];

int kit_make_folder(void **state) {
    (void)state;
    strcpy(kit_folder, "/tmp/cobre-hydro-XXXXXX");
    return mkdtemp(kit_folder) ? 0 : -1;
}

static void empty_folder(void) {
    DIR *directory = opendir(kit_folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.')
            kit_remove(entry->d_name);
    closedir(directory);
}

int kit_remove_folder(void **state) {
    (void)state;
    empty_folder();
    return rmdir(kit_folder);
}

static void in_folder(const char *file, char path[512]) {
    snprintf(path, 512, "%s/%s", kit_folder, file);
}

void kit_put_bytes(const char *file, const void *bytes, size_t size) {
    char path[512];
    in_folder(file, path);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

void kit_put(const char *file, const char *text) {
    kit_put_bytes(file, text, strlen(text));
}

void kit_remove(const char *file) {
    char path[512];
    in_folder(file, path);
    assert_int_equal(unlink(path), 0);
}

static char *read_file(const char *path, size_t *size) {
    FILE *in = fopen(path, "rb");
    if (!in)
        fail_msg("%s cannot be opened", path);
    char *text = malloc(1 << 20);
    assert_non_null(text);
    *size = fread(text, 1, (1 << 20) - 1, in);
    text[*size] = 0;
    fclose(in);
    return text;
}

char *kit_get(const char *file, size_t *size) {
    char path[512];
    in_folder(file, path);
    return read_file(path, size);
}

void kit_copy(const char *name) {
    char folder[512];
    empty_folder();
    snprintf(folder, sizeof folder, "%s/cases/%s", COBRE_SOURCE, name);
    DIR *directory = opendir(folder);
    if (!directory)
        fail_msg("%s cannot be opened", folder);
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[1024];
        size_t size;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        char *text = read_file(path, &size);
        kit_put_bytes(entry->d_name, text, size);
        free(text);
    }
    closedir(directory);
}

void kit_edit(const char *file, const char *old, const char *new) {
    size_t size;
    char *text = kit_get(file, &size), *at = strstr(text, old);
    if (!at)
        fail_msg("%s has no \"%s\"", file, old);
    char *changed = malloc(size + strlen(new) + 1);
    assert_non_null(changed);
    sprintf(changed, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    kit_put(file, changed);
    free(changed);
    free(text);
}

static void on_issue(void *arg, const cobre_sddp_issue *issue) {
    kit_result *result = arg;
    if (result->count == MOST_ISSUES)
        return;
    kit_issue *kept = &result->issue[result->count++];
    const char *slash = strrchr(issue->file, '/');
    snprintf(kept->file, sizeof kept->file, "%s", slash ? slash + 1 : issue->file);
    kept->line = issue->line;
    snprintf(kept->place, sizeof kept->place, "%s", issue->place);
    snprintf(kept->message, sizeof kept->message, "%s", issue->message);
}

void kit_read(kit_result *result) {
    cobre_sddp_load_options options = {.struct_size = sizeof options, .issue = on_issue, .issue_arg = result};
    result->count = 0;
    result->problem = cb_read_hydrothermal(kit_folder, &options);
    assert_non_null(result->problem);
    assert_false(result->problem->no_memory);
    if (result->problem->errors == 0)
        cb_problem_check(result->problem);
    assert_int_equal(result->problem->errors > 0, result->count > 0);
}

void kit_free(kit_result *result) {
    cobre_sddp_problem_free(&result->problem);
}

void kit_read_well(kit_result *result) {
    kit_read(result);
    for (size_t i = 0; i < result->count; i++)
        print_error("%s:%zu: %s: %s\n", result->issue[i].file, result->issue[i].line, result->issue[i].place,
                    result->issue[i].message);
    assert_int_equal(result->count, 0);
}

static size_t find_column(const cb_node *node, const char *name) {
    for (size_t j = 0; j < node->columns; j++)
        if (strcmp(node->column[j].name, name) == 0)
            return j;
    fail_msg("node %s has no column %s", node->name, name);
    return 0;
}

static size_t find_row(const cb_node *node, const char *name) {
    for (size_t i = 0; i < node->rows; i++)
        if (strcmp(node->row[i].name, name) == 0)
            return i;
    fail_msg("node %s has no row %s", node->name, name);
    return 0;
}

const cb_column *kit_column(const kit_result *result, size_t node, const char *name) {
    const cb_node *n = &result->problem->node[node];
    return &n->column[find_column(n, name)];
}

const cb_row *kit_row(const kit_result *result, size_t node, const char *name) {
    const cb_node *n = &result->problem->node[node];
    return &n->row[find_row(n, name)];
}

double kit_entry(const kit_result *result, size_t node, const char *row, const char *column) {
    const cb_node *n = &result->problem->node[node];
    size_t i = find_row(n, row), j = find_column(n, column);
    double sum = 0;
    for (size_t e = 0; e < n->entries; e++)
        if ((size_t)n->entry[e].row == i && (size_t)n->entry[e].column == j)
            sum += n->entry[e].value;
    return sum;
}

void kit_near(double value, double expected) {
    if (!(fabs(value - expected) <= 1e-9 * fmax(1, fabs(expected))) && value != expected)
        fail_msg("%.12g instead of %.12g", value, expected);
}
