/* SPDX-License-Identifier: Apache-2.0 */
/* test_hydro_csv.c: tables as programs and people write them, and where a JSON value stands. */
#include "sddp/hydro_kit.h"

#include <locale.h>

#include "sddp/read/csv.h"
#include "sddp/read/json_file.h"

static char message[512];
static size_t issues, line;

static cobre_sddp_builder *problem;

static bool read_bytes(const char *bytes, size_t size, cb_csv *table) {
    char path[128];
    snprintf(path, sizeof path, "%s/t.csv", kit_folder);
    kit_put_bytes("t.csv", bytes, size);
    CHECK_EQ(cobre_sddp_builder_new("", false, &problem), 0);
    line = 0;
    message[0] = 0;
    bool read = cb_csv_read(problem, path, false, table);
    issues = problem->errors;
    if (issues > 0) {
        const cobre_sddp_issue *first = &problem->issue[0];
        snprintf(message, sizeof message, "%s%s%s", first->message, *first->suggestion ? " -- " : "",
                 first->suggestion);
        line = first->line;
    }
    return read;
}

static void done(cb_csv *table) {
    cb_csv_free(table);
    cobre_sddp_builder_free(&problem);
}

static void one_table(const char *text) {
    cb_csv table;
    CHECK(read_bytes(text, strlen(text), &table));
    CHECK_EQ(issues, 0);
    CHECK_EQ(table.columns, 2);
    CHECK_EQ(table.rows, 2);
    CHECK_TEXT(table.header[0], "name");
    CHECK_TEXT(table.header[1], "x");
    CHECK_TEXT(cb_csv_text(&table, 0, 0), "a");
    CHECK_TEXT(cb_csv_text(&table, 0, 1), "1");
    CHECK_TEXT(cb_csv_text(&table, 1, 0), "b");
    CHECK_TEXT(cb_csv_text(&table, 1, 1), "");
    done(&table);
}

static void dialects(void) {
    one_table("name,x\na,1\nb,\n");
    one_table("name,x\na,1\nb,"); /* no newline at the end */
    one_table("name,x\r\na,1\r\nb,\r\n");
    one_table("\xEF\xBB\xBFname,x\na,1\nb,\n");
    one_table("  name , x\t\n a ,1 \n\n   \nb,\n\n");
    one_table("# a remark\nname,x\n# another, with \"quotes\na,1\nb,\n");
    one_table("\"name\",\"x\"\r\n\"a\",\"1\"\r\n\"b\",\"\"");
}

static void quotes(void) {
    const char *text = "\"a \"\"b\"\", c\" ,\" d \"\n";
    cb_csv table;
    CHECK(read_bytes(text, strlen(text), &table));
    CHECK_TEXT(table.header[0], "a \"b\", c");
    CHECK_TEXT(table.header[1], " d ");
    done(&table);
}

static void lines_are_counted(void) {
    const char *text = "# x\n\nname,x\r\n\r\na,1\n#\nb,2\n";
    cb_csv table;
    CHECK(read_bytes(text, strlen(text), &table));
    CHECK_EQ(table.header_line, 3);
    CHECK_EQ(table.line[0], 5);
    CHECK_EQ(table.line[1], 7);
    done(&table);
}

static void wrong(const char *text, size_t size, size_t at, const char *expected) {
    cb_csv table;
    read_bytes(text, size, &table);
    CHECK_SAY(issues == 1 && line == at && strstr(message, expected), "\"%s\": %zu issues, line %zu: %s", text, issues,
              line, message);
    done(&table);
}

#define WRONG(text, at, expected) wrong(text, sizeof(text) - 1, at, expected)

static void mistakes(void) {
    WRONG("", 1, "is empty");
    WRONG("\n\n# only a remark\n", 1, "is empty");
    WRONG("a;b\n1;2\n", 1, "separated by \";\"");
    WRONG("a,a\n1,2\n", 1, "two columns are called \"a\"");
    WRONG("a,\n1,2\n", 1, "column 2 has no name");
    WRONG("a,b\n1,2\n1\n3,4\n", 3, "has 1 field, but the header names 2 columns");
    WRONG("a,b\n1,2,3\n", 2, "has 3 fields");
    WRONG("a,b\n\"1,2\n3,4\n", 2, "not closed on its line");
    WRONG("a,b\n1,\"2\"x\n3,4\n", 2, "text after a closing quote");
    WRONG("a,b\n1,2\"\n3,4\n", 2, "quote inside a field");
    WRONG("a,b\n1,2\x01\n3,4\n", 2, "control character (0x01)");
    WRONG("a,b\n1,Itaip\xFA\n3,4\n", 2, "not UTF-8");
    WRONG("a,b\n1,\0\n", 0, "zero byte");
    WRONG("a,b\r1,2\r", 1, "control character (0x0d)");
}

static void number(const char *text, double expected) {
    double value = 0;
    CHECK(cb_csv_number(text, &value));
    CHECK(value == expected);
}

static void numbers(void) {
    double value;
    number("1", 1);
    number("-2.5e3", -2500);
    number("+.5", 0.5);
    number("1.", 1);
    number("0.1", 0.1);
    static const char *const none[] = {"",   "nan", "NaN", "inf",   "0x10",  "1,5", "1 2",
                                       "1e", "e5",  "-",   "1.2.3", "1e999", "5%"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CHECK_SAY(!cb_csv_number(none[i], &value), "\"%s\" was taken for %g", none[i], value);
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8")) /* where a decimal comma is usual */
        number("1.5", 1.5);
    setlocale(LC_NUMERIC, "C");
}

static void json_lines(void) {
    const char *text = "{\n  \"a\": 1,\n  \"b\": [\n    {\"x\\\"}\": 1},\n    {\n      \"y\": \"}\\\\\",\n      "
                       "\"z/~\": 2}],\n \"c\": -1e5\n}\n";
    static const struct {
        const char *pointer;
        size_t line;
    } expected[] = {{"", 1},   {"/a", 2},         {"/b", 3},   {"/b/0", 4},   {"/b/1", 5}, {"/b/1/y", 6},
                    {"/c", 8}, {"/b/1/z~1~0", 7}, {"/x/y", 1}, {"/b/1/x", 5}, /* the innermost that is there */
                    {"row", 0}};
    char path[512];
    snprintf(path, sizeof path, "%s/lines.json", kit_folder);
    kit_put("lines.json", text);
    cobre_sddp_builder *own;
    CHECK_EQ(cobre_sddp_builder_new("", false, &own), 0);
    json_t *top = cb_json_load(own, path);
    CHECK(top);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        CHECK_EQ(cb_json_line(own->json, path, expected[i].pointer), expected[i].line);
    CHECK_EQ(cb_json_line(own->json, "other.json", "/a"), 0);
    json_decref(top);
    cobre_sddp_builder_free(&own);
}

int main(int argc, char **argv) {
    static const check_case tests[] = {
        CHECK_CASE(dialects),
        CHECK_CASE(quotes),
        CHECK_CASE(lines_are_counted),
        CHECK_CASE(mistakes),
        CHECK_CASE(numbers),
        CHECK_CASE(json_lines),
        CHECK_END,
    };
    return kit_main(argc, argv, tests);
}
