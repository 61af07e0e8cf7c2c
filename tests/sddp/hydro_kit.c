/* SPDX-License-Identifier: Apache-2.0 */
/* hydro_kit.c: helpers of the tests that read cases. */
#include "sddp/hydro_kit.h"

#include <dirent.h>
#include <ftw.h>
#include <math.h>
#include <unistd.h>

char kit_folder[64];
static char sof_file[64]; /* of the case, if it is no folder */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status, (void)type;
    if (place->level > 0)
        remove(path);
    return 0;
}

/* Without checks: a check that fails calls it. */
static void empty_folder(void) {
    nftw(kit_folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void kit_remove_folder(void) {
    empty_folder();
    rmdir(kit_folder);
}

void kit_make_folder(void) {
    strcpy(kit_folder, "/tmp/cobre-hydro-XXXXXX");
    CHECK(mkdtemp(kit_folder));
    check_at_failure = kit_remove_folder;
}

int kit_main(int argc, char **argv, const check_case *cases) {
    kit_make_folder();
    int failed = check_main(argc, argv, cases);
    kit_remove_folder();
    return failed;
}

static void in_folder(const char *file, char path[512]) {
    snprintf(path, 512, "%s/%s", kit_folder, file);
}

void kit_put_bytes(const char *file, const void *bytes, size_t size) {
    char path[512];
    in_folder(file, path);
    FILE *out = fopen(path, "wb");
    CHECK(out);
    CHECK_EQ(fwrite(bytes, 1, size, out), size);
    CHECK_EQ(fclose(out), 0);
}

void kit_put(const char *file, const char *text) {
    kit_put_bytes(file, text, strlen(text));
}

void kit_remove(const char *file) {
    char path[512];
    in_folder(file, path);
    CHECK_EQ(unlink(path), 0);
}

static char *read_file(const char *path, size_t *size) {
    FILE *in = fopen(path, "rb");
    CHECK_SAY(in, "%s cannot be opened", path);
    char *text = malloc(1 << 20);
    CHECK(text);
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
    sof_file[0] = 0;
    if (strstr(name, ".sof.json")) {
        size_t size;
        char *text = read_file(folder, &size);
        kit_put_bytes(name, text, size);
        free(text);
        strcpy(sof_file, name);
        return;
    }
    DIR *directory = opendir(folder);
    CHECK_SAY(directory, "%s cannot be opened", folder);
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
    CHECK_SAY(at, "%s has no \"%s\"", file, old);
    char *changed = malloc(size + strlen(new) + 1);
    CHECK(changed);
    sprintf(changed, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    kit_put(file, changed);
    free(changed);
    free(text);
}

void kit_on_issue(void *arg, const cobre_sddp_issue *issue) {
    kit_result *result = arg;
    if (result->count == MOST_ISSUES)
        return;
    kit_issue *kept = &result->issue[result->count++];
    const char *slash = strrchr(issue->file, '/');
    snprintf(kept->file, sizeof kept->file, "%s", slash ? slash + 1 : issue->file);
    kept->line = issue->line;
    snprintf(kept->place, sizeof kept->place, "%s", issue->place);
    snprintf(kept->message, sizeof kept->message, "%s%s%s", issue->message, *issue->suggestion ? " -- " : "",
             issue->suggestion);
}

void kit_read(kit_result *result) {
    cobre_sddp_load_options options = {.struct_size = sizeof options};
    char path[512];
    in_folder(sof_file, path);
    result->builder = *sof_file ? cb_read_sof(path, &options) : cb_read_hydrothermal(kit_folder, &options);
    CHECK(result->builder);
    CHECK(!result->builder->no_memory);
    cb_builder_check(result->builder);
    result->count = 0;
    for (size_t i = 0; i < result->builder->issues; i++)
        kit_on_issue(result, &result->builder->issue[i]);
}

void kit_free(kit_result *result) {
    cobre_sddp_builder_free(&result->builder);
}

void kit_show(const kit_result *result) {
    for (size_t i = 0; i < result->count; i++)
        fprintf(stderr, "    %s:%zu: %s: %s\n", result->issue[i].file, result->issue[i].line, result->issue[i].place,
                result->issue[i].message);
}

void kit_read_well(kit_result *result) {
    kit_read(result);
    kit_show(result);
    CHECK_EQ(result->count, 0);
}

static void make(const kit_mistake *m) {
    kit_copy(m->base);
    if (m->old)
        kit_edit(m->file, m->old, m->new);
    else if (m->new)
        kit_put(m->file, m->new);
    else
        kit_remove(m->file);
}

static bool as_expected(const kit_mistake *m, const kit_result *result) {
    if (!m->expected)
        return result->count == 0;
    const kit_issue *first = &result->issue[0];
    return result->count > 0 && strcmp(first->file, m->where ? m->where : m->file) == 0 && first->line == m->line &&
           (strstr(first->message, m->expected) || strstr(first->place, m->expected));
}

void kit_each_mistake(const kit_mistake *mistakes, size_t count) {
    static kit_result result;
    size_t wrong = 0;
    for (const kit_mistake *m = mistakes; m < mistakes + count; m++) {
        make(m);
        kit_read(&result);
        if (!as_expected(m, &result)) {
            fprintf(stderr, "%s, %s: \"%s\" -> \"%s\"; expected line %zu, \"%s\"; found:\n", m->base, m->file,
                    m->old ? m->old : "", m->new ? m->new : "", m->line, m->expected ? m->expected : "nothing");
            kit_show(&result);
            wrong++;
        }
        kit_free(&result);
    }
    CHECK_EQ(wrong, 0);
}

static void read_bytes(const char *file, const char *text, size_t size, void then(kit_result *)) {
    static kit_result result;
    kit_put_bytes(file, text, size);
    kit_read(&result);
    if (then)
        then(&result);
    kit_free(&result);
}

void kit_scramble(const char *file, uint32_t rounds, void then(kit_result *)) {
    static const char likely[] = ",,\"\n\r\t;-+.eE0123456789[]{}:x\0\x80\xFF#";
    size_t size;
    char *text = kit_get(file, &size), *copy = malloc(size + 1);
    CHECK(copy);
    for (size_t cut = 0; cut < size; cut += 1 + size / 97)
        read_bytes(file, text, cut, then);
    for (uint32_t round = 0; round < rounds; round++) {
        cb_rng rng;
        cb_rng_start(&rng, 4711, CB_RNG_OPENING, (uint32_t)size, round, 0);
        memcpy(copy, text, size + 1);
        for (size_t k = 0; k < 1 + round % 7; k++)
            copy[cb_rng_bits(&rng) % size] = likely[cb_rng_bits(&rng) % (sizeof likely - 1)];
        read_bytes(file, copy, size, then);
    }
    kit_put_bytes(file, text, size);
    free(copy);
    free(text);
}

static size_t find_column(const cb_builder_node *node, const char *name) {
    for (size_t j = 0; j < node->columns; j++)
        if (strcmp(node->column[j].name, name) == 0)
            return j;
    CHECK_NEVER("node %s has no column %s", node->name, name);
}

static size_t find_row(const cb_builder_node *node, const char *name) {
    for (size_t i = 0; i < node->rows; i++)
        if (strcmp(node->row[i].name, name) == 0)
            return i;
    CHECK_NEVER("node %s has no row %s", node->name, name);
}

const cb_builder_column *kit_column(const kit_result *result, size_t node, const char *name) {
    const cb_builder_node *n = &result->builder->node[node];
    return &n->column[find_column(n, name)];
}

const cb_builder_row *kit_row(const kit_result *result, size_t node, const char *name) {
    const cb_builder_node *n = &result->builder->node[node];
    return &n->row[find_row(n, name)];
}

double kit_entry(const kit_result *result, size_t node, const char *row, const char *column) {
    const cb_builder_node *n = &result->builder->node[node];
    size_t i = find_row(n, row), j = find_column(n, column);
    double sum = 0;
    for (size_t e = 0; e < n->entries; e++)
        if ((size_t)n->entry[e].row == i && (size_t)n->entry[e].column == j)
            sum += n->entry[e].value;
    return sum;
}

void kit_near(double value, double expected) {
    CHECK_NEAR(value, expected, 1e-9 * fmax(1, fabs(expected)));
}
