/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/*
 * The memory in which programs give hints. The only definition: the library, the agent and the kernel's program include
 * it, so it uses no type that one of them lacks. Numbers are of the machine's byte order.
 *
 * A field that is 0 says nothing. Only the thread that a record belongs to writes it, but that the kernel clears
 * next_length when a child has it. Anybody who may map or read the memory may read it at any time: each word is written
 * at once, and says something without the others. Later versions only add fields in `unused`.
 */

#define LOP_HINT_VERSION 2
#define LOP_HINT_MAGIC 0x68706f6cu /* "loph" on a little-endian machine */

/* The flags of enum lop_hint_flags in policy/, by the same bits. */
enum lop_hint_bit {
	LOP_HINT_SPINNING = 1,    /* runs, but only waits: its core may be taken meanwhile */
	LOP_HINT_SEQUENTIAL = 2,  /* the rest of its program waits for it */
	LOP_HINT_LOCK_HOLDER = 4, /* others wait for a lock that it holds */
	LOP_HINT_BACKGROUND = 8,  /* nobody waits for it */
};

/* What is said about one thread. A cache line, so that no two threads write to the same one. */
struct lop_hint_record {
	unsigned int version;     /* LOP_HINT_VERSION; 0: the record is not valid */
	unsigned int flags;       /* enum lop_hint_bit; a reader ignores those that it does not know */
	unsigned int length;      /* of its work, in units that only its application knows */
	unsigned int next_length; /* the same for the next child that it creates */
	unsigned int parallelism; /* number of threads of its process that want to run at the same time */
	unsigned int memory;      /* enum lop_memory_class: 1 very low, 2 moderate, 3 intensive */
	unsigned int thread;      /* since version 2, in pages: its gettid(); 0: the record is free */
	unsigned int unused[9];
};

/* How a process's page begins. `nr_records` records follow. */
struct lop_hint_page {
	unsigned int magic;        /* LOP_HINT_MAGIC */
	unsigned int version;      /* LOP_HINT_VERSION of whoever made the page */
	unsigned int record_bytes; /* from one record to the next, and the size of this header */
	unsigned int nr_records;   /* for which there is room */
	unsigned int nr_used;      /* records behind these were never taken */
	/*
	 * A thread has one of so many records, the first of which is its gettid() modulo nr_records; behind the last comes
	 * the first. So a reader finds it without a search. 0: it may have any.
	 */
	unsigned int probes;
	unsigned int unused[10];
};

_Static_assert(sizeof(struct lop_hint_record) == 64 && sizeof(struct lop_hint_page) == 64, "the size is part of the format");
