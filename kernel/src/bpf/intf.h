/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the BPF program and the loader share besides the program's variables: the records in the ring buffer, hints,
 * orders and counters.
 */
#pragma once
#ifndef __VMLINUX_H__
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
#endif

/*
 * The map lop_hints has a struct lop_hint_record for each thread that has a hint. A bit of its flags besides those of
 * enum lop_hint_bit:
 */
#include "../../../hints/record.h"
#define LOP_HINT_WITH_CHILDREN (1 << 16) /* processes that the thread creates belong to its application */

/* At most this many pages exist at a time (hints.bpf.h), with so many records each, of which a thread has one of eight. */
#define LOP_PAGES 512
#define LOP_PAGE_RECORDS 1023
#define LOP_PAGE_PROBES 8

/* Names one run of one program. */
struct lop_page_key {
	u64 began_ns;     /* when the process was created */
	u64 executed;     /* how many programs it and those that it was forked from have executed */
	s32 process;
	u32 unused;
};

/* Argument of lop_page_name(), which fills in the key. */
struct lop_page_args {
	struct lop_page_key key;
	s32 process;      /* its number in the caller's pid namespace */
	u32 user;         /* who is expected to be its effective user */
};

#include "../../../policy/core/record.h"

/* Argument of lop_hint_apply(). */
struct lop_hint_args {
	s32 thread;       /* thread id in the caller's pid namespace */
};

/* What the loader reads about a thread (lop_look()). The first two times count from the start of the thread. */
struct lop_look {
	u64 ran_ns;
	u64 waited_ns;    /* for a CPU */
	s32 home;         /* from here on: facts of struct lop_planned */
	u32 thread;
	s32 cpu;          /* where it runs or ran last */
	u32 memory;       /* as in its hint */
	u8 restricted, system;
	u16 unused;
};

/* Orders of the loader to the program. */
enum lop_order_kind {
	LOP_ORDER_DOMAIN, /* `thread` runs in memory domain `place` from now on; LOP_NONE: in any */
	LOP_ORDER_SPEEDUP, /* `thread` gains `place` / 1000 from speed (uclamp.h); 0: unknown */
	LOP_ORDER_ON,     /* memory domain `place` is on */
	LOP_ORDER_OFF,
	LOP_ORDER_REST,   /* no plan holds any longer */
};
struct lop_order {
	u32 kind;
	u32 thread;
	s32 place;
};

/* What the adapter did, counted by CPU; the loader adds up. */
enum lop_count {
	LOP_COUNT_CLAIMED,    /* placed on an idle member */
	LOP_COUNT_QUEUED,     /* put in a queue */
	LOP_COUNT_PINNED,     /* may run on one CPU only and went straight to its local DSQ */
	LOP_COUNT_WENT_ON,    /* went on after its slice, since no task further behind waited */
	LOP_COUNT_GIVEN_BACK, /* a claimed CPU on which its task did not run */
	LOP_COUNT_DISPLACED,  /* a higher class took the CPU */
	LOP_COUNTS,
};
