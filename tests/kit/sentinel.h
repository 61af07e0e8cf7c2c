/* SPDX-License-Identifier: Apache-2.0 */
/* sentinel.h: how much time the machine gave.
 *
 * A promise such as "within 100 ms" holds for a process that runs when it wants to run. On a crowded machine a process can
 * wait for a second before it gets a CPU, and a virtual machine can stand still. A test of a promise subtracts such time:
 *
 *     elapsed - sentinel_lost(from, to) - (delay of the rank that answers) <= promise
 *
 * The sentinel is a process that naps for a moment again and again, and records how long it overslept. On a quiet machine
 * it records nothing, and the promise is tested as it stands. The delay of one thread is counted by the kernel: the time in
 * which it was ready to run and did not.
 *
 * For shell scripts there is a program. Its times are monotonic and in microseconds: the time of day can jump.
 *
 *     sentinel watch FILE           records into FILE until its parent ends
 *     sentinel now                  prints the time
 *     sentinel lost FILE FROM TO    prints the microseconds that were lost between two times */
#ifndef COBRE_TEST_SENTINEL_H
#define COBRE_TEST_SENTINEL_H

#include <sys/types.h>

/* Starts the sentinel of this process and its children; it ends with this process. A second call does nothing. */
void sentinel_start(void);
void sentinel_stop(void); /* by the process that started it: ends it */

/* The seconds that a chain of events between two monotonic times may have lost to other processes: each of a few steps (a
 * process dies, another one notices, a third is told) at most the longest time that the sentinel overslept. Never more
 * than it overslept in all. */
double sentinel_lost(double from, double to);

/* The seconds that a thread has waited for a CPU so far; 0: the calling thread. 0.0 where the kernel does not count. */
double sentinel_waited(pid_t thread);

#endif
