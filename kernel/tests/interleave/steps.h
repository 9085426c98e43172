/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * Interleavings. CPUs are fibres in one thread, so the same seed gives the same run. Between any two accesses of the
 * program to shared memory, and at each step of the modelled kernel, another CPU may go on or this one may stall.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_FIBRES 80
#define NEVER (~0ULL)

/* Memory in which each access of the program is a step. */
void share(const void *memory, size_t size);
/* Starts from a seed. `weak`: others may see stores and atomics without a used result late, as on arm64. */
void begin_steps(uint64_t seed, bool weak);

/* Fibre `number` runs `body(number)`, which never returns. */
void add_fibre(unsigned number, void (*body)(unsigned number));
/* Runs the fibres for `most` steps, or until all of them sleep until `rest_ns` or later. True: they rest. */
bool run_steps(uint64_t most, uint64_t rest_ns);

/* Of the running fibre; MOST_FIBRES: none runs. */
unsigned running_fibre(void);
uint64_t steps_done(void);
uint64_t clock_ns(void);

/* Another fibre may go on here. */
void step(void);
/* Sleeps until this time or until wake_fibre(). All stores are seen first. */
void sleep_until(uint64_t at_ns);
void wake_fibre(unsigned number);
/* Stores before this are seen before what comes after. */
void full_barrier(void);

/*
 * Lock of a CPU, task or queue. Unlocking makes all earlier stores visible. Locking orders nothing: a store before it
 * may become visible inside the critical section, at the latest when it ends.
 */
struct lock { unsigned held_by; /* 1 + fibre; 0: free */ };
void lock(struct lock *lock);
bool try_lock(struct lock *lock);
void unlock(struct lock *lock);

/* A random number below `of`; true once in `of` times. */
uint64_t draw(uint64_t of);
static inline bool once_in(uint64_t of) { return draw(of) == 0; }
