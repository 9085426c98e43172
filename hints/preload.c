/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "lopsided.h"
#include <dlfcn.h>
#include <errno.h>
/*
 * For LD_PRELOAD: gives the hints of programs that know nothing of them. A thread that had to wait for a mutex is a
 * LOCK_HOLDER until it unlocks it: whoever waited beside it still waits. Who got a mutex at once says nothing, since most
 * locks are held by nobody else, and their holders must not pay for that.
 * A recursive mutex counts until it is unlocked for the first time. Nothing is said of pthread_barrier_wait(), in which
 * threads sleep, nor of mutexes taken by pthread_mutex_timedlock().
 */

typedef int mutex_call(pthread_mutex_t *mutex);

/* Mutexes that the thread had to wait for, and has. Of more than these no hint is given. */
enum { MOST_HELD = 8 };
static _Thread_local struct {
	unsigned int nr;
	pthread_mutex_t *mutex[MOST_HELD];
} held __attribute__((tls_model("initial-exec")));

/* The C library's own call. Found at the first one, which may come before any constructor. */
static mutex_call *own_call(mutex_call **known, const char *name)
{
	mutex_call *call = __atomic_load_n(known, __ATOMIC_RELAXED);

	if (!call) {
		call = (mutex_call *)dlsym(RTLD_NEXT, name);
		__atomic_store_n(known, call, __ATOMIC_RELAXED);
	}
	return call;
}

__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static mutex_call *trylock, *lock;
	int error = own_call(&trylock, "pthread_mutex_trylock")(mutex);

	if (error != EBUSY)
		return error;
	error = own_call(&lock, "pthread_mutex_lock")(mutex);
	if ((error == 0 || error == EOWNERDEAD) && held.nr < MOST_HELD) {
		held.mutex[held.nr++] = mutex;
		lop_lock_holder_begin();
	}
	return error;
}

__attribute__((visibility("default"))) int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static mutex_call *unlock;
	int error = own_call(&unlock, "pthread_mutex_unlock")(mutex);

	for (unsigned int n = held.nr; n-- > 0;) {
		if (held.mutex[n] != mutex)
			continue;
		held.mutex[n] = held.mutex[--held.nr];
		lop_lock_holder_end();
		break;
	}
	return error;
}
