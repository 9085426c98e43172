/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "interpose.h"
#include "lopsided.h"
#include <errno.h>
#include <time.h>
/*
 * For LD_PRELOAD: gives the hints of programs that know nothing of them. A thread that had to wait for a mutex is a
 * LOCK_HOLDER until it unlocks it, or waits for a condition: the guess is that a mutex for which one waits is waited for by
 * others too. Who got a mutex at once says nothing, since most locks are held by nobody else, and their holders must not
 * pay for that.
 * A recursive mutex counts until it is unlocked for the first time. Nothing is said of pthread_barrier_wait(), in which
 * threads sleep, nor of mutexes taken by pthread_mutex_timedlock(), or again after a condition.
 */

/* Mutexes that the thread had to wait for, and has. Of more than these no hint is given. */
enum { MOST_HELD = 8 };
static _Thread_local struct {
	unsigned int nr;
	pthread_mutex_t *mutex[MOST_HELD];
} held __attribute__((tls_model("initial-exec")));

/* The thread that forked has the child's copies of its mutexes, but no hint. */
static void after_fork_in_child(void)
{
	held.nr = 0;
}

static __attribute__((constructor)) void watch_forks(void)
{
	pthread_atfork(NULL, NULL, after_fork_in_child);
}

INTERPOSED(pthread_mutex_lock)
INTERPOSED(pthread_mutex_trylock)
INTERPOSED(pthread_mutex_unlock)
INTERPOSED(pthread_cond_wait)
INTERPOSED(pthread_cond_timedwait)
INTERPOSED(pthread_cond_clockwait)

static void no_longer_holds(pthread_mutex_t *mutex)
{
	for (unsigned int n = held.nr; n-- > 0;) {
		if (held.mutex[n] != mutex)
			continue;
		held.mutex[n] = held.mutex[--held.nr];
		lop_lock_holder_end();
		break;
	}
}

/* The hint begins before the thread has the mutex: its first hint connects to a socket, for which nobody should wait. */
EXPORTED int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int error = NEXT(pthread_mutex_trylock)(mutex);

	if (error != EBUSY)
		return error;
	if (held.nr == MOST_HELD)
		return NEXT(pthread_mutex_lock)(mutex);
	lop_lock_holder_begin();
	error = NEXT(pthread_mutex_lock)(mutex);
	if (error == 0 || error == EOWNERDEAD)
		held.mutex[held.nr++] = mutex;
	else
		lop_lock_holder_end();
	return error;
}

EXPORTED int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int error = NEXT(pthread_mutex_unlock)(mutex);

	no_longer_holds(mutex);
	return error;
}

/* The C library unlocks and locks inside these, without the calls above. */
EXPORTED int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	no_longer_holds(mutex);
	return NEXT(pthread_cond_wait)(condition, mutex);
}

EXPORTED int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
	no_longer_holds(mutex);
	return NEXT(pthread_cond_timedwait)(condition, mutex, until);
}

EXPORTED int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
	no_longer_holds(mutex);
	return NEXT(pthread_cond_clockwait)(condition, mutex, clock, until);
}
