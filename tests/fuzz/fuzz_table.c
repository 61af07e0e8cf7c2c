/* fuzz_table.c: what rank 0 tells when all are in. The number of ranks is what the bytes have room for. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < cb_table_bytes(0))
        return 0;
    size_t ranks = (size - cb_table_bytes(0)) / 8, used = cb_table_bytes(ranks);
    HOLDS(used <= size);
    unsigned char *bytes = exact_copy(data, used), *again = malloc(used);
    int64_t *pids = malloc(ranks ? ranks * sizeof *pids : 1);
    cb_address successor;
    if (!again || !pids)
        abort();
    cb_parse_table(bytes, ranks, &successor, pids);
    cb_pack_table(&successor, pids, ranks, again);
    bytes[1] = 0;
    HOLDS(memcmp(bytes, again, used) == 0);
    free(pids);
    free(again);
    free(bytes);
    return 0;
}
