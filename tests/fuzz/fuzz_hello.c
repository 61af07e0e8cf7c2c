/* fuzz_hello.c: the first bytes of a connection, which anybody can send. */
#include "fuzz.h"

static const char magic[8] = {'c', 'o', 'b', 'r', 'e', 't', 'c', 'p'};

/* A beginning is judged alike however much of it has come. */
static void check_beginning(const unsigned char *bytes, size_t size) {
    bool may_be = true;
    for (size_t count = 0; count <= size && count <= CB_HELLO_BYTES; count++) {
        if (count && count <= sizeof magic)
            may_be = may_be && bytes[count - 1] == (unsigned char)magic[count - 1];
        unsigned char *beginning = exact_copy(bytes, count);
        HOLDS(cb_may_be_ours(beginning, count) == may_be);
        free(beginning);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check_beginning(data, size < 12 ? size : 12);
    if (size < CB_HELLO_BYTES)
        return 0;
    unsigned char *bytes = exact_copy(data, CB_HELLO_BYTES), again[CB_HELLO_BYTES];
    cb_hello hello, second;
    int verdict = cb_parse_hello(bytes, &hello);
    HOLDS((verdict >= 0) == cb_may_be_ours(bytes, CB_HELLO_BYTES));
    if (verdict >= 0) {
        HOLDS(verdict == CB_NOT_REFUSED || verdict == CB_REFUSED_VERSION || verdict == CB_REFUSED_BYTE_ORDER ||
              verdict == CB_REFUSED_TYPE_SIZES);
        cb_pack_hello(&hello, again);
        memset(bytes + 13, 0, 3);
        memset(bytes + 26, 0, 2);
        HOLDS(memcmp(bytes, again, sizeof again) == 0);
        HOLDS(cb_parse_hello(again, &second) == verdict && second.rank == hello.rank && second.pid == hello.pid);
    }
    free(bytes);
    return 0;
}
