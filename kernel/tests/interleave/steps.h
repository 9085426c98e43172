/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * Interleavings. CPUs are fibres in one thread, so a run is the same each time for the same seed. Between any two accesses of the program to memory that CPUs
 * share, and at each step of the modelled kernel, another CPU may go on, or this one be stalled.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_FIBRES 80
#define NEVER (~0ULL)

/* Where the program's accesses count as steps. */
void share(const void *memory, size_t size);
/* Up to what is looked at here: seed, and whether stores and atomics that nobody needs the result of may be seen late, as on arm64. */
void begin_steps(uint64_t seed, bool weak);

/* Fibre `number` runs `body(number)`, which never returns. */
void add_fibre(unsigned number, void (*body)(unsigned number));
/* Runs the fibres until so many steps are done, or all of them sleep at `rest_ns` or later. True: they rest. */
bool run_steps(uint64_t most, uint64_t rest_ns);

/* Of the fibre that runs; MOST_FIBRES: none does. */
unsigned running_fibre(void);
uint64_t steps_done(void);
uint64_t clock_ns(void);

/* Another may go on here. */
void step(void);
/* Nothing to do until then, or until wake_fibre(). All stores are seen by now. */
void sleep_until(uint64_t at_ns);
void wake_fibre(unsigned number);
/* What was stored before is seen before what comes after. */
void full_barrier(void);

/* The lock of a CPU, task or queue: what was stored under it is seen when it is let go, what was stored before it may be seen in it or later. */
struct lock { unsigned held_by; /* 1 + fibre; 0: free */ };
void lock(struct lock *lock);
bool try_lock(struct lock *lock);
void unlock(struct lock *lock);

/* Below `of`; and one time in `of`. */
uint64_t draw(uint64_t of);
static inline bool once_in(uint64_t of) { return draw(of) == 0; }
