/* SPDX-License-Identifier: Apache-2.0 */
/* test_seal.c: cobre_region_seal when the system does not protect pages. The linker sends mprotect here (--wrap). */
#include <errno.h>

#include "kit/check.h"

static bool refuse;

int __real_mprotect(void *address, size_t bytes, int protection);
int __wrap_mprotect(void *address, size_t bytes, int protection);
int __wrap_mprotect(void *address, size_t bytes, int protection) {
    if (!refuse)
        return __real_mprotect(address, bytes, protection);
    errno = ENOMEM;
    return -1;
}

static void refused_protection_is_reported(void) {
    cobre_comm *comm;
    cobre_region *region;
    CHECK_OK(cobre_comm_open(&(cobre_config){.struct_size = sizeof(cobre_config), .backend = COBRE_LOCAL}, &comm));
    CHECK_OK(cobre_region_create(comm, 10, COBRE_F64, 0, &region));
    refuse = true;
    CHECK_STATUS(cobre_region_seal(region), COBRE_ALLOCATION_FAILED);
    refuse = false;
    CHECK_EQ(cobre_last_error()->os_error, ENOMEM);
    CHECK_TEXT(cobre_last_error()->operation, "region_seal");
    CHECK(cobre_region_claim(region, 0, 1) == NULL); /* sealed all the same */
    CHECK_OK(cobre_region_seal(region));
    CHECK_OK(cobre_region_free(&region));
    CHECK_OK(cobre_comm_free(&comm));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {CHECK_CASE(refused_protection_is_reported), CHECK_END};
    return check_main(argc, argv, cases);
}
