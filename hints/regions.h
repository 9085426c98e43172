/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef LOPSIDED_REGIONS_H
#define LOPSIDED_REGIONS_H
#include <stdbool.h>
/*
 * What is said of a program that uses OpenMP, whatever its runtime:
 *     parallelism   threads in parallel regions, all together; 0 (not known) from a thread of whose regions none runs: the
 *                   program may have threads of its own
 *     SPINNING      as the runtime's tool says
 *     SEQUENTIAL    the only initial thread, which is one that is no worker, is outside of its regions
 * A region of one thread is none. All calls are about the calling thread.
 */

/* Whether it spins from now on. Returns whether it did. */
bool set_spins(bool spins);

void begin_initial_thread(void);
/* It may go on, without OpenMP. Does nothing in a worker. */
void end_initial_thread(void);
bool is_initial_thread(void);

/* It starts a region of so many threads, itself included; in the same thread that region ends, after all that it started later. */
void begin_region(unsigned int team);
void end_region(unsigned int team);

/* For pthread_atfork(): the child has the thread that forked, outside of all regions. */
void after_fork_in_child(void);

#endif
