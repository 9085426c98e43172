/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef LOPSIDED_INTERPOSE_H
#define LOPSIDED_INTERPOSE_H
#include <dlfcn.h>
/* For libraries of LD_PRELOAD: calls that take the place of another library's, and make those. */

#define EXPORTED __attribute__((visibility("default")))

/* Looked up here only if a call comes before the constructor. */
static inline void *look_up(void **next, const char *name)
{
	void *call = __atomic_load_n(next, __ATOMIC_RELAXED);

	if (!call) {
		call = dlsym(RTLD_NEXT, name);
		__atomic_store_n(next, call, __ATOMIC_RELAXED);
	}
	return call;
}

/* A look-up takes a lock of the loader, and whoever calls later may have a mutex that another thread wants in dlopen(). */
#define INTERPOSED(name) \
	static void *next_##name; \
	static __attribute__((constructor)) void look_up_##name(void) \
	{ \
		look_up(&next_##name, #name); \
	}

/* The other library's call. */
#define NEXT(name) ((__typeof__(&name))look_up(&next_##name, #name))

#endif
