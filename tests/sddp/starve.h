/* starve.h: memory that runs out. */
#ifndef STARVE_H
#define STARVE_H

/* From now on this process gets memory `times` times, and never again after that. Only where the program itself asks for
 * it: the libraries that it uses are spared. */
void starve_after(long times);

#endif
