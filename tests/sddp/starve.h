/* SPDX-License-Identifier: Apache-2.0 */
/* starve.h: memory that runs out. */
#ifndef COBRE_TEST_SDDP_STARVE_H
#define COBRE_TEST_SDDP_STARVE_H

/* From now on this process gets memory `times` times, and never again after that. Only where the program itself asks for
 * it: the libraries that it uses are spared. */
void starve_after(long times);

#endif
