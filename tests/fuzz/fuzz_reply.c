/* fuzz_reply.c: what the one who accepts answers; an impostor can send anything. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < CB_REPLY_BYTES)
        return 0;
    unsigned char *bytes = exact_copy(data, CB_REPLY_BYTES), again[CB_REPLY_BYTES];
    cb_reply reply;
    if (cb_parse_reply(bytes, &reply)) {
        HOLDS(reply.type == CB_CHALLENGE || reply.type == CB_WELCOME || reply.type == CB_REFUSAL);
        HOLDS(cb_refusal_text(reply.reason)[0]); /* also for a reason that there is not */
        cb_pack_reply(&reply, again);
        HOLDS(memcmp(bytes, again, sizeof again) == 0);
    }
    free(bytes);
    return 0;
}
