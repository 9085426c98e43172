/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "load.h"
/* Ways of waiting, and the objects to wait for: a word that changes, a lock, a barrier. */

/* Ways of waiting; they differ in what an observer can see of a waiting thread, and how soon. */
enum load_way {
	LOAD_BUSY_WAIT,        /* spins until it may go on */
	LOAD_ADAPTIVE,         /* spins for a while, then sleeps */
	LOAD_SPIN_THEN_NOTIFY, /* spins for a while, then raises SPINNING and spins on; drops it when it goes on */
	LOAD_BLOCK,            /* sleeps at once */
};

struct load_waiting {
	unsigned way;    /* enum load_way */
	uint64_t spin_us; /* how long to spin, in elapsed time, not in work */
};

extern const char *const load_ways[];

#define LOAD_OPTION_WAITING(WAITING) \
	LOAD_OPTION_CHOICE("waiting", &(WAITING)->way, load_ways, "how threads wait for each other"), \
	LOAD_OPTION_COUNT("spin-us", &(WAITING)->spin_us, 0, 1e9, \
		"adaptive: spin so long, then sleep; spin-then-notify: then raise SPINNING")

/* Waits until *word is no longer `value`. */
void load_wait_while(_Atomic uint32_t *word, uint32_t value, const struct load_waiting *waiting, struct load_thread *thread);

/* Wakes the threads that sleep until *word changes; it must have changed already. */
void load_wake_all(_Atomic uint32_t *word, const struct load_waiting *waiting);

/* 0 free, 1 held, 2 held and perhaps awaited by sleepers. Initially 0. */
typedef _Atomic uint32_t load_lock;
void load_lock_take(load_lock *lock, const struct load_waiting *waiting, struct load_thread *thread);
void load_lock_release(load_lock *lock);

/* Initially zeroed except for `parties`. */
struct load_barrier {
	uint32_t parties;
	_Atomic uint32_t arrived, round;
};
/* True for the last thread to arrive, which does not wait. */
bool load_barrier_wait(struct load_barrier *barrier, const struct load_waiting *waiting, struct load_thread *thread);
