/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef LOPSIDED_REGIONS_H
#define LOPSIDED_REGIONS_H
#include <stdbool.h>
/*
 * The hints of a program that uses OpenMP, whatever its runtime:
 *     parallelism   threads in parallel regions, all together. A thread that has no region running says 0, not known: the program
 *                   may have threads of its own
 *     SPINNING      as the caller says
 *     SEQUENTIAL    said by an initial thread, one that is no worker, outside of its regions, if it is the only one
 * A region of one thread counts as none. All calls are about the calling thread.
 */

/* Whether it spins from now on. Returns whether it did. */
bool set_spins(bool spins);

void begin_initial_thread(void);
/* It may go on, without OpenMP. Does nothing in a worker. */
void end_initial_thread(void);
bool is_initial_thread(void);

/* The thread starts a region of so many threads, itself included. It ends its regions in reverse order. */
void begin_region(unsigned int team);
void end_region(unsigned int team);

/* For pthread_atfork(): the child has the thread that forked, outside of all regions. */
void after_fork_in_child(void);

#endif
