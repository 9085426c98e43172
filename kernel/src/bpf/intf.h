/* SPDX-License-Identifier: GPL-2.0-only */
/* What the BPF program and the loader share beside the program's variables: the records that go through the ring buffer. */
#pragma once
#ifndef __VMLINUX_H__
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
#endif

/* In the flags of a hint, beside those of enum lop_says, which are the policy's. */
#define LOP_HINT_WITH_CHILDREN (1 << 16) /* processes that it creates belong to its application */

enum lop_record_kind {
	LOP_RECORD_SPEED,     /* `cpu` is to run at the speed of the set `value`, which the loader sets */
	LOP_RECORD_GIVEN_UP,  /* `cpu` is no longer reserved */
	LOP_RECORD_LOOK,      /* a thread that is worth a plan runs */
	LOP_RECORD_LIST,      /* threads that declared their lengths are to be listed anew */
	LOP_RECORD_MAKE,      /* process `value` is now a make */
	LOP_RECORD_ISOLATED,  /* the CPUs that are isolated may be others than before */
	LOP_RECORD_EXIT,      /* the program has ended */
	/* The rest only while decisions are logged: what the policy decided, behind the call that made it do so. */
	LOP_RECORD_SET,       /* `cpu` now belongs to the set `value` */
	LOP_RECORD_PLACED,    /* lop_wake() chose `cpu` for `task`, `value`: claimed; lop_enqueue() started it there, claimed */
	LOP_RECORD_QUEUED,    /* lop_enqueue() put `task` in the queue `value` */
	LOP_RECORD_PREEMPT,   /* what runs on `cpu` makes room */
	LOP_RECORD_RESERVED,  /* `cpu` is on the reserved core: its speed, `value` steps up */
	LOP_RECORD_LEAVES,    /* lop_set_domain(), lop_put_on_list(): `task` is elsewhere and has to leave */
	/* And calls of the policy, in the order in which they were made. */
	LOP_RECORD_START,
	LOP_RECORD_TASK,      /* `task` (an address, as nothing else names it for its whole life) may use the CPUs in `words`, `value`: its application, 0: none */
	LOP_RECORD_ALLOWED,   /* its allowed CPUs are now `words` */
	LOP_RECORD_USER,      /* lop_belong() of `task` to the user `cpu`, by the weight `value` */
	LOP_RECORD_GONE,      /* `task` exists no more */
	LOP_RECORD_WAKE,      /* lop_wake(), last on `cpu`, `value`: what it is, of enum lop_woken */
	LOP_RECORD_ENQUEUE,   /* lop_enqueue() at `cpu`, `value`: that is claimed, lop_wait_at_claimed() */
	LOP_RECORD_DEQUEUE,
	LOP_RECORD_STARTED,   /* `task` runs on `cpu` and gains `value` from speed, x 1000: lop_running(), lop_started() */
	LOP_RECORD_STOPPED,   /* lop_stopped() on `cpu`, `value`: runnable */
	LOP_RECORD_BLOCK,
	LOP_RECORD_ENDED,
	LOP_RECORD_FORGET,    /* lop_forget() */
	LOP_RECORD_LENGTH,    /* lop_declare_length() of `value` */
	LOP_RECORD_SAY,       /* lop_set_hints() of the flags `value` */
	LOP_RECORD_SPIN,      /* lop_spin(), `value`: spinning */
	LOP_RECORD_DECLARE,   /* lop_declare() of `value` for the process of `task` */
	LOP_RECORD_IDLE,      /* lop_cpu_idle() of `cpu`, `value`: idle */
	LOP_RECORD_TIMER,
	LOP_RECORD_ONLINE,
	LOP_RECORD_OFFLINE,
	LOP_RECORD_ANCHOR,    /* lop_anchor_anew() of `task` */
	LOP_RECORD_TAKEN,     /* lop_cpu_taken() of `cpu`, `value`: taken */
	/* Of these, the orders of the loader (enum lop_order_kind). */
	LOP_RECORD_DOMAIN,    /* lop_set_domain() of `task`, which is at `cpu`, `value`: the memory domain, (u32)LOP_NONE: any */
	LOP_RECORD_GO_TO,     /* lop_go_to() of `task` and `cpu` */
	LOP_RECORD_DOMAIN_ON, /* lop_set_domain_on() of the memory domain `value` */
	LOP_RECORD_DOMAIN_OFF,
	LOP_RECORD_REST,      /* lop_end_plans() */
	LOP_RECORD_LISTED,    /* lop_put_on_list() of `task` and `cpu`, LOP_NONE: at none */
};

/* What the policy has to know of a task that wakes: bits. */
enum lop_woken {
	LOP_WOKEN_BRIEF = 1,  /* lop_task.brief */
	LOP_WOKEN_SYSTEM = 2, /* lop_task.system */
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

/* The records that name a set of CPUs: LOP_RECORD_TASK and LOP_RECORD_ALLOWED. */
struct lop_record_of_cpus {
	struct lop_record record;
	u64 words[LOP_RECORD_WORDS];
};

/*
 * What is said of a thread from outside, in the map lop_hints. 0: not said. Later versions only use `room`, so a reader that knows version 1
 * understands them.
 */
#define LOP_HINT_VERSION 1
struct lop_hint_record {
	u32 version;      /* 0: nobody said anything */
	u32 flags;        /* of enum lop_says */
	u32 length;       /* of its work, in units that only its application knows */
	u32 next_length;  /* the same of the next thread that it creates */
	u32 parallelism;  /* threads of its process that want to run at once */
	u32 memory;       /* enum lop_memory_class: 1 light, 2 moderate, 3 intensive */
	u32 room[10];
};

/* What user space passes to lop_hint_apply(). */
struct lop_hint_args {
	s32 thread;       /* its number where the caller runs */
};

/* A thread as the loader sees it when it looks. The first times since the thread began. */
struct lop_look {
	u64 ran_ns;
	u64 waited_ns;    /* for a CPU */
	u64 began_ns;     /* when it was created. From here on for lists alone, where there are any */
	u64 done_ns;      /* work done so far, ns on the fastest kind of core */
	u32 app;          /* 1 + the place of its application; 0: it has none */
	u32 length;       /* declared; 0: none, or no list has room for it, as it may not run everywhere or is about to end */
	u32 listed;       /* 1 + the CPU where it waits by a list; 0: by none */
	u32 unused;
	/* For all plans. */
	u32 thread;
	s32 cpu;          /* it ran there last */
	u32 memory;       /* as in its hint */
	u8 runs;          /* at this moment */
	u8 fixed;         /* no plan moves it */
	u16 unused_too;
};

/* What the loader tells the program to do. */
enum lop_order_kind {
	LOP_ORDER_DOMAIN, /* `thread` runs in memory domain `place` from now on; LOP_NONE: in any */
	LOP_ORDER_CPU,    /* `thread` changes to CPU `place` */
	LOP_ORDER_SPEEDUP, /* `thread` gains `place` / 1000 from speed (uclamp.h); 0: nobody knows */
	LOP_ORDER_ON,     /* memory domain `place` is on */
	LOP_ORDER_OFF,
	LOP_ORDER_REST,   /* no plan holds any more */
	LOP_ORDER_LIST,   /* `thread` waits at CPU `place`; LOP_NONE: where any does */
};
struct lop_order {
	u32 kind;
	u32 thread;
	s32 place;
};

/* What the adapter did, by CPU; the loader adds up. */
enum lop_count {
	LOP_COUNT_CLAIMED,    /* placed on an idle member */
	LOP_COUNT_QUEUED,     /* waits in a queue */
	LOP_COUNT_BOUND,      /* may run on one CPU only and went straight there */
	LOP_COUNT_WENT_ON,    /* slice over, nobody further behind */
	LOP_COUNT_GIVEN_BACK, /* a claimed CPU that its task did not come to */
	LOP_COUNT_DISPLACED,  /* a higher class took the CPU */
	LOP_COUNTS,
};
