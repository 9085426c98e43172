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

enum lop_record_kind {
	/*
	 * Asks the loader to set `cpu` to the speed of the set in the lowest 8 bits of `value`. Above these: for a green
	 * CPU its share of its highest frequency, x 1000.
	 */
	LOP_RECORD_SPEED,
	LOP_RECORD_GIVEN_UP,  /* `cpu` is no longer reserved */
	LOP_RECORD_LOOK,      /* a thread that is worth a plan runs */
	LOP_RECORD_LIST,      /* the loader is to make the lists of threads with declared lengths again */
	LOP_RECORD_MAKE,      /* process `value` has become a make */
	LOP_RECORD_ISOLATED,  /* the set of isolated CPUs may have changed */
	LOP_RECORD_LIMIT,     /* a cgroup has got a finite limit of CPU time */
	LOP_RECORD_EXIT,      /* the program has ended */
	/* Only while decisions are logged. First decisions of the policy, each after the call that led to it. */
	LOP_RECORD_SET,       /* `cpu` belongs to the set `value` now */
	LOP_RECORD_PLACED,    /* lop_wake() chose `cpu`, `value`: claimed; or lop_enqueue() starts `task` there, claimed */
	LOP_RECORD_QUEUED,    /* lop_enqueue() put `task` in the queue `value` */
	LOP_RECORD_PREEMPT,   /* preempts what runs on `cpu` */
	LOP_RECORD_RESERVED,  /* `cpu` is on the reserved core, whose speed is raised by `value` steps */
	LOP_RECORD_LEAVES,    /* after lop_set_domain() or lop_put_on_list(): `task` is elsewhere and has to leave */
	/* Then calls of the policy, in the order in which they were made. `value` with an adjective is a flag. */
	LOP_RECORD_START,
	/*
	 * Task `task` (its address, the only name for its whole life) may use the CPUs in `words`. `value`: 1 + the
	 * place of its application; 0: it has none.
	 */
	LOP_RECORD_TASK,
	LOP_RECORD_ALLOWED,   /* the affinity of `task` is now `words` */
	LOP_RECORD_USER,      /* lop_belong() of `task` to the user `cpu`, with the weight `value` */
	LOP_RECORD_BACKGROUND, /* lop_task.nobody_waits of `task` is now `value` */
	LOP_RECORD_GONE,      /* `task` no longer exists */
	LOP_RECORD_CLOCK,     /* lop_task.clock_ns of `task`, which wakes next, is so many ns ago: `cpu` << 32 | `value` */
	LOP_RECORD_WAKE,      /* lop_wake(), last on `cpu`, `value`: bits of enum lop_woken */
	LOP_RECORD_ENQUEUE,   /* lop_enqueue() at `cpu`; if `value`, lop_wait_at_claimed(), `cpu` is claimed */
	LOP_RECORD_DEQUEUE,
	LOP_RECORD_STARTED,   /* lop_running(), lop_started() on `cpu`, `value`: gain from speed x 1000 */
	LOP_RECORD_RAN,       /* lop_stopping() on `cpu`, `value`: ns; only where work is paced, as only virtual times follow from it elsewhere */
	LOP_RECORD_STOPPED,   /* lop_stopped() on `cpu`, `value`: bits of enum lop_how_stopped */
	LOP_RECORD_BLOCK,
	LOP_RECORD_ENDED,
	LOP_RECORD_FORGET,    /* lop_forget(), lop_pace_exits() */
	LOP_RECORD_LENGTH,    /* lop_declare_length() of `value` */
	LOP_RECORD_HINTS,     /* lop_set_hints() of the flags `value` */
	LOP_RECORD_SPIN,      /* lop_spin(), `value`: spinning */
	LOP_RECORD_DECLARE,   /* lop_declare() of `value` for the process of `task` */
	LOP_RECORD_IDLE,      /* lop_cpu_idle() of `cpu`, `value`: idle */
	LOP_RECORD_TIMER,
	LOP_RECORD_ONLINE,
	LOP_RECORD_OFFLINE,
	LOP_RECORD_ANCHOR,    /* lop_anchor_anew() of `task` */
	LOP_RECORD_TAKEN,     /* lop_cpu_taken() of `cpu`, `value`: taken */
	/* Orders of the loader (enum lop_order_kind), which are calls of the policy too. */
	LOP_RECORD_DOMAIN,    /* lop_set_domain() of `task`, now at `cpu`, `value`: memory domain, (u32)LOP_NONE: any */
	LOP_RECORD_GO_TO,     /* lop_go_to() of `task` and `cpu` */
	LOP_RECORD_DOMAIN_ON, /* lop_set_domain_on() of the memory domain `value` */
	LOP_RECORD_DOMAIN_OFF,
	LOP_RECORD_REST,      /* lop_end_plans() */
	LOP_RECORD_LISTED,    /* lop_put_on_list() of `task` at `cpu`; LOP_NONE: on no list */
};

/* Bits: what the policy has to know about a waking task. */
enum lop_woken {
	LOP_WOKEN_BRIEF = 1,  /* lop_task.brief */
	LOP_WOKEN_SYSTEM = 2, /* lop_task.system */
	LOP_WOKEN_AHEAD = 4,  /* lop_task.ahead, which follows from virtual times, as the next one does */
};

/* Bits: how a task stopped. */
enum lop_how_stopped {
	LOP_STOPPED_RUNNABLE = 1,
	LOP_STOPPED_AHEAD = 2,
};

#define LOP_RECORD_WORDS 8

struct lop_record {
	u64 at_ns;
	u64 task;
	u32 kind;
	s32 cpu;
	u32 value;
	u32 unused;
};

/* For records with a set of CPUs: LOP_RECORD_TASK and LOP_RECORD_ALLOWED. */
struct lop_record_of_cpus {
	struct lop_record record;
	u64 words[LOP_RECORD_WORDS];
};

/* Argument of lop_hint_apply(). */
struct lop_hint_args {
	s32 thread;       /* thread id in the caller's pid namespace */
};

/* What the loader reads about a thread (lop_look()). The first two times count from the start of the thread. */
struct lop_look {
	u64 ran_ns;
	u64 waited_ns;    /* for a CPU */
	/* When the thread was created. From here to `listed`: for lists only, filled in where the loader makes any. */
	u64 began_ns;
	u64 done_ns;      /* work done so far, ns on the fastest kind of core */
	u32 app;          /* 1 + the place of its application; 0: none */
	/* Declared length. 0: none, or no list may take the thread: its affinity is restricted or it is exiting. */
	u32 length;
	u32 listed;       /* 1 + the CPU where a list makes it wait; 0: none does */
	/* For all plans: facts of struct lop_planned. */
	s32 home;
	u32 thread;
	s32 cpu;          /* where it runs or ran last */
	u32 memory;       /* as in its hint */
	u8 runs;          /* running now */
	u8 restricted, system;
	u8 unused;
};

/* Orders of the loader to the program. */
enum lop_order_kind {
	LOP_ORDER_DOMAIN, /* `thread` runs in memory domain `place` from now on; LOP_NONE: in any */
	LOP_ORDER_CPU,    /* `thread` changes to CPU `place` */
	LOP_ORDER_SPEEDUP, /* `thread` gains `place` / 1000 from speed (uclamp.h); 0: unknown */
	LOP_ORDER_ON,     /* memory domain `place` is on */
	LOP_ORDER_OFF,
	LOP_ORDER_REST,   /* no plan holds any longer */
	LOP_ORDER_LIST,   /* `thread` waits at CPU `place`; LOP_NONE: on no list */
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
