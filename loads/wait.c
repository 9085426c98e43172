/* SPDX-License-Identifier: GPL-2.0-only */
#include "wait.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *const load_ways[] = { "busy-wait", "adaptive", "spin-then-notify", "block", NULL };

/* How often a spinning thread looks at the word between two readings of the clock. */
#define LOOKS_PER_READING 32

/* State of one wait of one thread. */
struct spin {
	const struct load_waiting *waiting;
	struct load_thread *thread;
	uint64_t since_ns, looks;
	bool begun, over, raised;
};

static void pause_core(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

static bool spun_long_enough(struct spin *spin)
{
	if (!spin->over && spin->looks++ % LOOKS_PER_READING == 0)
		spin->over = load_now_ns() - spin->since_ns >= spin->waiting->spin_us * 1000;
	return spin->over;
}

/* Called after each look that found nothing. False: it is time to sleep. */
static bool spin_on(struct spin *spin)
{
	unsigned way = spin->waiting->way;

	if (!spin->begun) {
		spin->begun = true;
		spin->thread->waits++;
		spin->since_ns = load_now_ns();
	}
	if (way == LOAD_BLOCK || (way == LOAD_ADAPTIVE && spun_long_enough(spin)))
		return false;
	if (way == LOAD_SPIN_THEN_NOTIFY && !spin->raised && spun_long_enough(spin)) {
		lop_spinning_begin();
		atomic_store(&spin->thread->spinning, true);
		spin->thread->flags_raised++;
		spin->raised = true;
	}
	pause_core();
	return true;
}

static void spin_end(struct spin *spin)
{
	if (!spin->raised)
		return;
	lop_spinning_end();
	atomic_store(&spin->thread->spinning, false);
}

/* Sleeps unless *word has changed. May return early, so the caller checks *word again. */
static void sleep_while(_Atomic uint32_t *word, uint32_t value, struct load_thread *thread)
{
	thread->sleeps++;
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *word, int count)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

void load_wait_while(_Atomic uint32_t *word, uint32_t value, const struct load_waiting *waiting, struct load_thread *thread)
{
	struct spin spin = { .waiting = waiting, .thread = thread };

	while (atomic_load(word) == value)
		if (!spin_on(&spin))
			sleep_while(word, value, thread);
	spin_end(&spin);
}

void load_wake_all(_Atomic uint32_t *word, const struct load_waiting *waiting)
{
	if (waiting->way == LOAD_BLOCK || waiting->way == LOAD_ADAPTIVE)
		wake(word, INT_MAX);
}

/*
 * A release wakes one thread, and only if the lock is 2. So a thread writes 2 before it sleeps, and from then on takes
 * the lock as 2, since others may still sleep. Taken as 1, the next release would wake none of them. The price is one
 * unnecessary wakeup by the last of these holders.
 */
void load_lock_take(load_lock *lock, const struct load_waiting *waiting, struct load_thread *thread)
{
	struct spin spin = { .waiting = waiting, .thread = thread };
	uint32_t taken = 1;

	for (;;) {
		uint32_t free = 0;

		if (atomic_load(lock) == 0 && atomic_compare_exchange_strong(lock, &free, taken))
			break;
		if (spin_on(&spin))
			continue;
		taken = 2;
		if (atomic_exchange(lock, 2) == 0)
			break;
		sleep_while(lock, 2, thread);
	}
	spin_end(&spin);
}

void load_lock_release(load_lock *lock)
{
	if (atomic_exchange(lock, 0) == 2)
		wake(lock, 1);
}

bool load_barrier_wait(struct load_barrier *barrier, const struct load_waiting *waiting, struct load_thread *thread)
{
	uint32_t round = atomic_load(&barrier->round);

	if (atomic_fetch_add(&barrier->arrived, 1) + 1 < barrier->parties) {
		load_wait_while(&barrier->round, round, waiting, thread);
		return false;
	}
	atomic_store(&barrier->arrived, 0);
	atomic_store(&barrier->round, round + 1);
	load_wake_all(&barrier->round, waiting);
	return true;
}
