/* Errors as JSON, and errors of opening. */
#include "conformance/checked.h"
#include "conformance/tables.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A checker of JSON, just large enough for what an error can be: objects, strings, numbers. Each function returns what
 * follows the thing it was asked for, or NULL. */
static const char *json_space(const char *at) {
    while (at && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

static const char *json_string(const char *at) {
    if (*at++ != '"')
        return NULL;
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20) /* the end of the text included */
            return NULL;
        if (*at != '\\')
            continue;
        if (*++at == 'u') {
            for (int digit = 0; digit < 4; digit++)
                if (!isxdigit((unsigned char)*++at))
                    return NULL;
        } else if (*at == '\0' || !strchr("\"\\/bfnrt", *at)) {
            return NULL;
        }
    }
    return at + 1;
}

static const char *json_number(const char *at) {
    at += *at == '-';
    size_t digits = strspn(at, "0123456789");
    return digits == 0 || (digits > 1 && *at == '0') ? NULL : at + digits;
}

static const char *json_object(const char *at);

static const char *json_value(const char *at) {
    return *at == '{' ? json_object(at) : *at == '"' ? json_string(at) : json_number(at);
}

static const char *json_object(const char *at) {
    at = json_space(at + 1);
    if (*at == '}')
        return at + 1;
    for (;;) {
        at = json_space(json_string(at));
        if (!at || *at != ':')
            return NULL;
        at = json_space(json_value(json_space(at + 1)));
        if (!at || (*at != ',' && *at != '}'))
            return NULL;
        if (*at++ == '}')
            return at;
        at = json_space(at);
    }
}

/* The value of a key of the outermost object, NULL if it has none. */
static const char *json_find(const char *text, const char *key) {
    const char *at = json_space(text + 1);
    while (*at == '"') {
        bool found = strncmp(at + 1, key, strlen(key)) == 0 && at[1 + strlen(key)] == '"';
        at = json_space(json_space(json_string(at)) + 1);
        if (found)
            return at;
        at = json_space(json_value(at));
        at = json_space(at + (*at == ','));
    }
    return NULL;
}

static void check_json(kit *k, const cobre_error *error) {
    char text[4096];
    size_t length = cobre_error_json(error, text, sizeof text);
    kit_note(k, "JSON: %.100s", text);
    CHECK(length < sizeof text);
    CHECK_EQ(strlen(text), length);
    const char *end = text[0] == '{' ? json_object(text) : NULL;
    CHECK(end != NULL && *end == '\0');
    const char *kind = json_find(text, "kind"), *name = cobre_status_name(error->status);
    CHECK(kind && kind[0] == '"' && strncmp(kind + 1, name, strlen(name)) == 0 && kind[1 + strlen(name)] == '"');
    CHECK(json_find(text, "message") && *json_find(text, "message") == '"');
    CHECK(json_find(text, "context") && *json_find(text, "context") == '{');
    CHECK(json_find(text, "suggestion") && *json_find(text, "suggestion") == '"');
}

/* The checker itself must tell good from bad. */
static void check_the_checker(void) {
    static const char *const good[] = {"{}", "{\"a\": 1}", "{\"a\": {\"b\": \"\\u00e9\\\"\"}, \"c\": -20}"};
    static const char *const bad[] = {"{",
                                      "{\"a\"}",
                                      "{\"a\": }",
                                      "{\"a\": 01}",
                                      "{\"a\": \"\\x\"}",
                                      "{\"a\": \"\n\"}",
                                      "{\"a\": 1,}",
                                      "{\"a\": 1 \"b\": 2}",
                                      "{\"a\": \"",
                                      "{\"a\": \"\\"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CHECK(json_object(good[i]) && *json_object(good[i]) == '\0');
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(json_object(bad[i]) == NULL);
}

static void error_json(kit *k) {
    double x = 1;
    cobre_region *region = NULL;
    check_the_checker();
    CHECK_STATUS(cobre_allreduce(k->comm, &x, 1, &x, 2, COBRE_F64, COBRE_SUM), COBRE_INVALID_BUFFER_SIZE);
    check_json(k, cobre_last_error());
    CHECK_STATUS(cobre_broadcast_t(k->comm, &x, 1, k->size), COBRE_INVALID_ROOT);
    check_json(k, cobre_last_error());
    CHECK_STATUS(cobre_broadcast_t(k->comm, (double *)NULL, 1, 0), COBRE_INVALID_ARGUMENT);
    check_json(k, cobre_last_error());
    CHECK_STATUS(cobre_barrier(NULL), COBRE_INVALID_COMMUNICATOR);
    check_json(k, cobre_last_error());
    CHECK_STATUS(cobre_region_create(k->comm, (size_t)1 << 50, COBRE_U8, 0, &region), COBRE_ALLOCATION_FAILED);
    check_json(k, cobre_last_error());
}

/* Text from outside can hold anything. */
static void error_json_escapes(kit *k) {
    cobre_error error = {.status = COBRE_INVALID_BACKEND, .rank = COBRE_NO_RANK, .culprit = COBRE_NO_RANK};
    strcpy(error.message, "\"quoted\" \\ back\nline\ttab \x01\x1f \xc3\xa9 broken: \xff\xc3");
    strcpy(error.subject, "{\"\":");
    check_json(k, &error);
    memset(error.message, '"', sizeof error.message - 1); /* the longest texts there are */
    memset(error.suggestion, '\\', sizeof error.suggestion - 1);
    check_json(k, &error);
    for (int status = COBRE_OK; status <= COBRE_MISSING_CONFIGURATION; status++) {
        error = (cobre_error){.status = (cobre_status)status, .cause = COBRE_CAUSE_MISMATCH, .culprit_pid = 1};
        check_json(k, &error);
    }
}

/* As snprintf: the length is that of the whole, and what is there is always terminated. */
static void error_json_cut(kit *k) {
    char whole[4096], cut[4096];
    CHECK_STATUS(cobre_barrier(NULL), COBRE_INVALID_COMMUNICATOR);
    size_t length = cobre_error_json(cobre_last_error(), whole, sizeof whole);
    CHECK_EQ(cobre_error_json(cobre_last_error(), NULL, 0), length);
    for (size_t len = 1; len <= length + 1; len++) {
        kit_note(k, "JSON in %zu bytes", len);
        memset(cut, 'x', sizeof cut);
        CHECK_EQ(cobre_error_json(cobre_last_error(), cut, len), length);
        CHECK(strncmp(cut, whole, len - 1) == 0 && cut[len - 1] == '\0' && cut[len] == 'x');
    }
}

/* The last error is the thread's last failure; a success in between leaves it. */
static void error_last(kit *k) {
    double x = 1, y;
    CHECK_STATUS(cobre_barrier(NULL), COBRE_INVALID_COMMUNICATOR);
    CHECK_OK(cobre_barrier(k->comm));
    CHECK_OK(cobre_allreduce_t(k->comm, &x, &y, 1, COBRE_SUM));
    CHECK(cobre_last_error()->status == COBRE_INVALID_COMMUNICATOR);
    CHECK(strcmp(cobre_status_name(COBRE_INVALID_COMMUNICATOR), "InvalidCommunicator") == 0);
    CHECK(strcmp(cobre_status_name((cobre_status)999), "?") == 0);
    CHECK(strcmp(cobre_cause_name(COBRE_CAUSE_PEER_DIED), "peer died") == 0);
    for (size_t t = 0; t < REFERENCE_TYPES; t++)
        CHECK_EQ(cobre_type_size(reference_types[t]), reference_size(reference_types[t]));
    CHECK_EQ(cobre_type_size((cobre_type)0), 0);
    CHECK(strcmp(cobre_type_name(COBRE_F64), "f64") == 0 && strcmp(cobre_backend_name(COBRE_SHM), "shm") == 0);
}

/* Configurations that cannot work. Nothing is left behind, which the runner looks for. */
static void open_errors(kit *k) {
    static const struct {
        cobre_config config;
        cobre_status status;
    } rows[] = {
        {{.backend = COBRE_SHM, .size = 2}, COBRE_MISSING_CONFIGURATION},
        {{.backend = COBRE_SHM, .shm_name = "/cobre-test-x"}, COBRE_MISSING_CONFIGURATION},
        {{.backend = COBRE_SHM, .shm_name = "/cobre-test-x", .rank = 2, .size = 2}, COBRE_INITIALIZATION_FAILED},
        {{.backend = COBRE_SHM, .shm_name = "no-slash", .size = 1}, COBRE_INITIALIZATION_FAILED},
        {{.backend = COBRE_SHM, .shm_name = "/two/slashes", .size = 1}, COBRE_INITIALIZATION_FAILED},
        {{.backend = COBRE_SHM, .shm_name = "/", .size = 1}, COBRE_INITIALIZATION_FAILED},
        {{.backend = COBRE_LOCAL, .join_timeout_secs = -1}, COBRE_INITIALIZATION_FAILED},
        {{.backend = (cobre_backend)77}, COBRE_INVALID_BACKEND},
        {{.struct_size = 1}, COBRE_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cobre_comm *comm = (cobre_comm *)rows; /* must become NULL */
        kit_note(k, "row %zu", i);
        cobre_config config = rows[i].config;
        if (config.struct_size == 0)
            config.struct_size = sizeof config;
        cobre_status status = cobre_comm_open(&config, &comm);
        if (status != COBRE_BACKEND_NOT_AVAILABLE || k->backend == COBRE_SHM) /* a build may have local only */
            CHECK_STATUS(status, rows[i].status);
        CHECK(comm == NULL);
        CHECK(cobre_last_error()->message[0] && cobre_last_error()->suggestion[0]);
        CHECK(strcmp(cobre_last_error()->operation, "open") == 0);
        check_json(k, cobre_last_error());
    }
    CHECK_STATUS(cobre_comm_open(NULL, NULL), COBRE_INVALID_ARGUMENT);
}

/* The texts are the same on any number of ranks. */
const kit_case error_text_cases[] = {
    KIT_CASE_WITH(error_json, .ranks = "1,2"),     KIT_CASE_WITH(error_json_escapes, .ranks = "1,2"),
    KIT_CASE_WITH(error_json_cut, .ranks = "1,2"), KIT_CASE_WITH(error_last, .ranks = "1,2"),
    KIT_CASE_WITH(open_errors, .ranks = "1,2"),    KIT_END,
};
