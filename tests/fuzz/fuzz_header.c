/* fuzz_header.c: the head of a frame. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < CB_HEADER_BYTES)
        return 0;
    unsigned char *bytes = exact_copy(data, CB_HEADER_BYTES), again[CB_HEADER_BYTES];
    cb_header header;
    if (cb_parse_header(bytes, &header)) {
        char text[128];
        HOLDS(header.tag >= CB_TAG_CALL && header.tag <= CB_TAG_FAILED);
        cb_pack_header(&header, again);
        HOLDS(memcmp(bytes, again, sizeof again) == 0);
        cb_describe(&header.print, text, sizeof text); /* as a mismatch prints it, whatever it says */
        HOLDS(memchr(text, '\0', sizeof text));
    }
    free(bytes);
    return 0;
}
