/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "lopsided.h"
#include <dlfcn.h>
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

#define EXPORTED __attribute__((visibility("default")))

/* Mutexes that the thread had to wait for, and has. Of more than these no hint is given. */
enum { MOST_HELD = 8 };
static _Thread_local struct {
	unsigned int nr;
	pthread_mutex_t *mutex[MOST_HELD];
} held __attribute__((tls_model("initial-exec")));

/* The C library's own calls. */
enum { LOCK, TRYLOCK, UNLOCK, WAIT, TIMEDWAIT, CLOCKWAIT, NR_CALLS };
static void *calls[NR_CALLS];

/* Looked up here only if a call comes before the constructor. */
static void *own(int number)
{
	static const char *const names[] = { "pthread_mutex_lock", "pthread_mutex_trylock", "pthread_mutex_unlock",
					     "pthread_cond_wait",  "pthread_cond_timedwait", "pthread_cond_clockwait" };
	void *call = __atomic_load_n(&calls[number], __ATOMIC_RELAXED);

	if (!call) {
		call = dlsym(RTLD_NEXT, names[number]);
		__atomic_store_n(&calls[number], call, __ATOMIC_RELAXED);
	}
	return call;
}

static int own_mutex(int number, pthread_mutex_t *mutex)
{
	return ((int (*)(pthread_mutex_t *))own(number))(mutex);
}

/* The thread that forked has the child's copies of its mutexes, but no hint. */
static void after_fork_in_child(void)
{
	held.nr = 0;
}

/* A look-up takes a lock of the loader, and whoever calls later may have a mutex that another thread wants in dlopen(). */
static __attribute__((constructor)) void look_up_all(void)
{
	for (int number = 0; number < NR_CALLS; number++)
		own(number);
	pthread_atfork(NULL, NULL, after_fork_in_child);
}

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
	int error = own_mutex(TRYLOCK, mutex);

	if (error != EBUSY)
		return error;
	if (held.nr == MOST_HELD)
		return own_mutex(LOCK, mutex);
	lop_lock_holder_begin();
	error = own_mutex(LOCK, mutex);
	if (error == 0 || error == EOWNERDEAD)
		held.mutex[held.nr++] = mutex;
	else
		lop_lock_holder_end();
	return error;
}

EXPORTED int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int error = own_mutex(UNLOCK, mutex);

	no_longer_holds(mutex);
	return error;
}

/* The C library unlocks and locks inside these, without the calls above. */
EXPORTED int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	no_longer_holds(mutex);
	return ((int (*)(pthread_cond_t *, pthread_mutex_t *))own(WAIT))(condition, mutex);
}

EXPORTED int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
	no_longer_holds(mutex);
	return ((int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))own(TIMEDWAIT))(condition, mutex, until);
}

EXPORTED int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
	no_longer_holds(mutex);
	return ((int (*)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *))own(CLOCKWAIT))(condition, mutex, clock,
														until);
}
