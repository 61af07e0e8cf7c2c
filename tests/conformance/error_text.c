/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as JSON, and errors of opening. */
#include "conformance/checked.h"
#include "conformance/tables.h"

#include <string.h>

#include "kit/error_json.h"

static void error_json(kit *k) {
    double x = 1;
    cobre_region *region = NULL;
    CHECK_STATUS(cobre_allreduce(k->comm, &x, 1, &x, 2, COBRE_F64, COBRE_SUM), COBRE_INVALID_BUFFER_SIZE);
    check_error_json(cobre_last_error());
    CHECK_STATUS(cobre_broadcast_t(k->comm, &x, 1, k->size), COBRE_INVALID_ROOT);
    check_error_json(cobre_last_error());
    CHECK_STATUS(cobre_broadcast_t(k->comm, (double *)NULL, 1, 0), COBRE_INVALID_ARGUMENT);
    check_error_json(cobre_last_error());
    CHECK_STATUS(cobre_barrier(NULL), COBRE_INVALID_COMMUNICATOR);
    check_error_json(cobre_last_error());
    CHECK_STATUS(cobre_region_create(k->comm, (size_t)1 << 50, COBRE_U8, 0, &region), COBRE_ALLOCATION_FAILED);
    check_error_json(cobre_last_error());
}

/* Text from outside can hold anything. */
static void error_json_escapes(kit *k) {
    cobre_error error = {.status = COBRE_INVALID_BACKEND, .rank = COBRE_NO_RANK, .culprit = COBRE_NO_RANK};
    strcpy(error.message, "\"quoted\" \\ back\nline\ttab \x01\x1f \xc3\xa9 broken: \xff\xc3");
    strcpy(error.subject, "{\"\":");
    check_error_json(&error);
    memset(error.message, '"', sizeof error.message - 1); /* the longest texts there are */
    memset(error.suggestion, '\\', sizeof error.suggestion - 1);
    check_error_json(&error);
    for (int status = COBRE_OK; status <= COBRE_LP_FAILED; status++) {
        kit_note(k, "JSON of status %d", status);
        error = (cobre_error){.status = (cobre_status)status, .cause = COBRE_CAUSE_MISMATCH, .culprit_pid = 1};
        check_error_json(&error);
    }
}

/* As snprintf: the length is that of the whole, and what is there is always terminated. */
static void error_json_cut(kit *k) {
    (void)k;
    char whole[4096], cut[4096];
    CHECK_STATUS(cobre_barrier(NULL), COBRE_INVALID_COMMUNICATOR);
    size_t length = cobre_error_json(cobre_last_error(), whole, sizeof whole);
    CHECK_EQ(cobre_error_json(cobre_last_error(), NULL, 0), length);
    for (size_t len = 1; len <= length + 1; len++) {
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

/* What a library above reports. 0 is the struct of version 1; there is no shorter one. */
static void error_set(kit *k) {
    (void)k;
    char text[4096];
    cobre_error error = {.struct_size = sizeof error,
                         .status = COBRE_INVALID_CASE,
                         .rank = 1,
                         .culprit = 2,
                         .file = "case/thermals.csv",
                         .line = 7,
                         .message = "one -- first:\nno column",
                         .suggestion = "add it"};
    CHECK(cobre_set_error(&error) == COBRE_INVALID_CASE);
    const cobre_error *last = cobre_last_error();
    CHECK(last->struct_size == sizeof error && last->culprit == 2 && last->line == 7);
    CHECK(strcmp(last->message, "one -- first: no column") == 0 && strcmp(last->suggestion, "add it") == 0);
    check_error_json(last);
    CHECK_EQ(cobre_error_json(last, NULL, 0), cobre_error_json(NULL, text, sizeof text));
    CHECK(strcmp(text,
                 "{\"kind\": \"InvalidCase\", \"message\": \"one -- first: no column\", \"context\": {\"rank\": 1, "
                 "\"culprit\": 2, \"file\": \"case/thermals.csv\", \"line\": 7}, \"suggestion\": \"add it\"}") == 0);
    error.struct_size = offsetof(cobre_error, suggestion);
    CHECK(cobre_set_error(&error) == COBRE_INVALID_ARGUMENT && strcmp(last->subject, "error.struct_size") == 0);
    error.struct_size = 0;
    CHECK(cobre_set_error(&error) == COBRE_INVALID_CASE && strcmp(last->suggestion, "add it") == 0);
    CHECK(cobre_set_error(last) == COBRE_INVALID_CASE && strcmp(last->suggestion, "add it") == 0);
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
        check_error_json(cobre_last_error());
    }
    CHECK_STATUS(cobre_comm_open(NULL, NULL), COBRE_INVALID_ARGUMENT);
}

const kit_case error_text_cases[] = {
    KIT_CASE(error_json),
    KIT_CASE(error_json_escapes),
    KIT_CASE(error_json_cut),
    KIT_CASE(error_last),
    KIT_CASE(error_set),
    KIT_CASE(open_errors),
    KIT_END,
};
