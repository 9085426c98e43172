/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
/*
 * Hints of a thread about itself while it runs: one record per thread, in memory that others may map.
 *
 * Only the thread itself writes its record; anybody may read it, at any time, without a system call and without a lock. Flags are
 * raised and dropped one at a time, and are independent. A record is valid while `version` is not 0. New versions only add fields,
 * in `room`, so a reader that knows version 1 understands that part of every later record.
 *
 * All records of a program are in one array that starts on a page. If the environment variable LOP_HINT_DIR names a folder, as under
 * `lop run` by affinity, the array is the file PID.hints there, which is read at each look; otherwise only the loads themselves read it.
 */

#define LOP_HINT_VERSION 3u

enum lop_hint_flag {
	LOP_HINT_SPINNING = 1u << 0,    /* is busy waiting: its core may be taken meanwhile */
	LOP_HINT_SEQUENTIAL = 1u << 1,  /* the rest of the program waits for it */
	LOP_HINT_LOCK_HOLDER = 1u << 2, /* others wait for a lock that it holds */
};

/* How intensively the thread uses the memory that its domain shares: last-level cache misses per thousand instructions. */
enum lop_hint_memory {
	LOP_HINT_MEMORY_UNKNOWN,
	LOP_HINT_MEMORY_LIGHT,     /* below 0.1 */
	LOP_HINT_MEMORY_MODERATE,
	LOP_HINT_MEMORY_INTENSIVE, /* above 1 */
};

struct lop_hint_record {
	_Alignas(64) _Atomic uint32_t version; /* LOP_HINT_VERSION; 0 while the record is unused */
	uint32_t size_bytes;                   /* of the whole record, so that an array of them can be walked */
	int32_t thread_id;                     /* from gettid() */
	_Atomic uint32_t flags;                /* of enum lop_hint_flag; readers ignore unknown ones */
	_Atomic uint32_t length;               /* since version 2: relative length of the thread's work, 0: not declared */
	_Atomic uint32_t memory;               /* since version 3: of enum lop_hint_memory */
	uint64_t room[5];                      /* 0; for fields of later versions */
};

_Static_assert(sizeof(struct lop_hint_record) == 64, "a record is a cache line, so that no two threads write to the same one");

/* The calling thread uses this record from now on. */
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

/* For readers: whether the flag is raised; 0 for an unused record. */
static inline int lop_hint_raised(const struct lop_hint_record *record, enum lop_hint_flag flag)
{
	return atomic_load(&record->version) != 0 && (atomic_load(&record->flags) & (uint32_t)flag) != 0;
}
