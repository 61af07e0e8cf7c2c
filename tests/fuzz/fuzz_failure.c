/* fuzz_failure.c: "it failed" of a control connection, and the error that is made of it. The byte behind the message is
 * the number of ranks less 1. */
#include "fuzz.h"

static void check_error(const cb_failure *failure, size_t ranks) {
    struct cobre_comm comm = {.backend = COBRE_TCP, .size = ranks};
    char json[8192];
    HOLDS(cb_report_failure(&comm, CB_ALLREDUCE, 1, failure) == COBRE_COLLECTIVE_FAILED);
    const cobre_error *error = cobre_last_error();
    HOLDS(error->culprit < ranks && memchr(error->message, '\0', sizeof error->message));
    size_t length = cobre_error_json(error, json, sizeof json);
    HOLDS(length < sizeof json && json[length - 1] == '}' && strlen(json) == length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < CB_FAILURE_BYTES)
        return 0;
    size_t ranks = size > CB_FAILURE_BYTES ? (size_t)data[CB_FAILURE_BYTES] + 1 : 4;
    unsigned char *bytes = exact_copy(data, CB_FAILURE_BYTES), again[CB_FAILURE_BYTES];
    cb_failure failure;
    if (cb_parse_failure(bytes, ranks, &failure)) {
        HOLDS(failure.cause > COBRE_CAUSE_NONE && failure.cause <= COBRE_CAUSE_TRANSPORT);
        HOLDS(failure.culprit < ranks && failure.rank_a < ranks && failure.rank_b < ranks);
        HOLDS(memchr(failure.text, '\0', sizeof failure.text));
        cb_pack_failure(&failure, again);
        memset(bytes + 12, 0, 4);
        memset(bytes + 80, 0, 8);
        bytes[CB_FAILURE_BYTES - 1] = 0;
        HOLDS(memcmp(bytes, again, sizeof again) == 0);
        check_error(&failure, ranks);
    }
    free(bytes);
    return 0;
}
