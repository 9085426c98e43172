/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef LOPSIDED_H
#define LOPSIDED_H
#include <pthread.h>
/*
 * liblopsided: a program tells the scheduler Lopsided what it cannot see. C11 and C++17; link with -llopsided.
 *
 * Hints are about the calling thread, and end with it. Nothing depends on them but speed. Every call may be made at any
 * time and by any thread, returns nothing, prints nothing and leaves errno alone. Where no scheduler listens it does
 * nothing. Only the first call of a thread, and the creation of a thread or process, make system calls; that of a process
 * connects to a Unix socket.
 *
 * A process made by fork() starts without hints. One made by vfork(), _Fork() or clone() must not call before it
 * executes a program. A program that is executed starts without hints. A thread for which its process has no record left,
 * of 1023 or 4095, gives no hints.
 */

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Of this header. A later version only adds calls: an incompatible library would have another soname. */
#define LOP_VERSION 1u

/* LOP_VERSION of the library that the program runs with. */
unsigned int lop_version(void);

/*
 * How many threads of the process want to run at the same time, from 1; 0: not known. The last thread to say so
 * counts, until it ends.
 */
void lop_parallelism(unsigned int threads);

/*
 * The work of the calling thread, in any unit that is the same for all threads of the program, such as rows or files;
 * 0: not known. Of threads that run side by side, those with more left to do get the faster cores.
 */
void lop_length(unsigned int length);

/*
 * The same for the next child of the calling thread: the next that it creates by lop_pthread_create() or fork(), or, where
 * the scheduler is in the kernel, in any way.
 */
void lop_next_length(unsigned int length);

/* pthread_create() that hands the length on. The same errors, and EAGAIN if there is no memory for it. */
int lop_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);

/* How much the calling thread asks of cache and memory: misses of the last-level cache per thousand instructions. */
enum lop_memory_class {
	LOP_MEMORY_UNKNOWN,
	LOP_MEMORY_VERY_LOW,  /* below 0.1 */
	LOP_MEMORY_MODERATE,
	LOP_MEMORY_INTENSIVE, /* above 1 */
};
void lop_memory(enum lop_memory_class memory);

/*
 * From begin to end. Pairs may be nested, in one another and in themselves: the hint ends with the last end. An end
 * without a begin does nothing.
 */

/* All other threads of the program wait for this one. */
void lop_sequential_begin(void);
void lop_sequential_end(void);

/* Others wait, or soon will, for a lock that the thread holds. */
void lop_lock_holder_begin(void);
void lop_lock_holder_end(void);

/* The thread waits in a loop: whoever needs its core may have it. */
void lop_spinning_begin(void);
void lop_spinning_end(void);

/* Nobody waits for what the thread does: it may be done on the cheapest core, as slowly as that is. */
void lop_background_begin(void);
void lop_background_end(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
