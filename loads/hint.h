/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
/*
 * Hints that a thread gives about itself while it runs: one record per thread, in memory that others may map.
 *
 * Only the thread writes its record. Any reader may read it at any time, without a system call or a lock. Flags are set
 * and cleared one at a time and are independent of each other. A record is valid while `version` is not 0. Later
 * versions only add fields, in `unused`: a reader that knows version 1 understands those fields of every later record.
 *
 * All records of a program lie in one array that starts on a page. If the environment variable LOP_HINT_DIR names a
 * folder, as under `lop run` by affinity, the array is the file PID.hints there, and the agent reads it once per look.
 * Otherwise only the load itself reads it.
 */

#define LOP_HINT_VERSION 3u

enum lop_hint_flag {
	LOP_HINT_SPINNING = 1u << 0,    /* runs, but only waits: its core may be taken meanwhile */
	LOP_HINT_SEQUENTIAL = 1u << 1,  /* the rest of the program waits for it */
	LOP_HINT_LOCK_HOLDER = 1u << 2, /* others wait for a lock that it holds */
};

/*
 * How much the thread asks of the cache and memory that its domain shares: misses of the last-level cache per thousand
 * instructions.
 */
enum lop_hint_memory {
	LOP_HINT_MEMORY_UNKNOWN,
	LOP_HINT_MEMORY_VERY_LOW,  /* below 0.1 */
	LOP_HINT_MEMORY_MODERATE,
	LOP_HINT_MEMORY_INTENSIVE, /* above 1 */
};

struct lop_hint_record {
	_Alignas(64) _Atomic uint32_t version; /* LOP_HINT_VERSION; 0: the record is not valid */
	uint32_t size_bytes;                   /* of the whole record, so that a reader can walk an array of them */
	int32_t thread_id;                     /* as from gettid() */
	_Atomic uint32_t flags;                /* enum lop_hint_flag; a reader ignores flags that it does not know */
	_Atomic uint32_t length;               /* since version 2: relative length of the thread's work, 0: not declared */
	_Atomic uint32_t memory;               /* since version 3: of enum lop_hint_memory */
	uint64_t unused[5];                    /* 0; for fields of later versions */
};

_Static_assert(sizeof(struct lop_hint_record) == 64, "a record is a cache line, so that no two threads write to the same one");

/* The calling thread writes this record from now on. */
static inline void lop_hint_open(struct lop_hint_record *record)
{
	record->size_bytes = sizeof(*record);
	record->thread_id = (int32_t)syscall(SYS_gettid);
	atomic_store(&record->flags, 0);
	atomic_store(&record->version, LOP_HINT_VERSION);
}

static inline void lop_hint_close(struct lop_hint_record *record)
{
	atomic_store(&record->version, 0);
}

static inline void lop_hint_raise(struct lop_hint_record *record, enum lop_hint_flag flag)
{
	atomic_fetch_or(&record->flags, (uint32_t)flag);
}

static inline void lop_hint_drop(struct lop_hint_record *record, enum lop_hint_flag flag)
{
	atomic_fetch_and(&record->flags, ~(uint32_t)flag);
}

/* For readers: whether the flag is set. 0 also for a record that is not valid. */
static inline int lop_hint_raised(const struct lop_hint_record *record, enum lop_hint_flag flag)
{
	return atomic_load(&record->version) != 0 && (atomic_load(&record->flags) & (uint32_t)flag) != 0;
}
