/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "cpuset.h"
/* What the policy keeps of each task, and what the task says of itself. */

/* What a thread says of itself (flags as in loads/hint.h), or its creator of it. All 0: nothing said. */
enum lop_says { LOP_SPINNING = 1, LOP_SEQUENTIAL = 2, LOP_LOCK_HOLDER = 4 };
struct lop_hint {
	u32 flags;
	u32 length;                        /* work of the thread in all, in units that only its application knows */
	u32 next_length;                   /* the same of the next thread that it creates */
};

struct lop_task {
	u64 vtime_ns;
	u64 queued_at_ns;                  /* since when it waits in `queue` */
	u32 weight;                        /* from nice, 1024 the default (weight.h) */
	u32 nr_allowed;
	u32 speedup_permille;              /* SF x 1000 between the lowest and the highest OPP; 0: unknown */
	s32 anchor;                        /* CPU it keeps in its set; LOP_NONE */
	s32 last_queue;                    /* where it waited last since it woke; LOP_NONE: nowhere yet */
	s32 queue;                         /* it waits there, or is on its way from there to a CPU; LOP_NONE */
	s32 memory_domain;                 /* that it is to run in, by a plan of spread.h or gather.h; LOP_NONE: any */
	s32 changes_to;                    /* CPU that it changes to when it is queued the next time; LOP_NONE */
	u8 set;                            /* LOP_HIGH, LOP_GREEN, or LOP_LOW for the reserved CPU; chosen when it becomes active */
	bool counted;                      /* in `active` */
	bool restricted;                   /* may not run on every CPU of the machine, online or not, that is not isolated */
	bool brief;                        /* the system's own work, short as a rule: see lop_place_kthread() */
	bool system;                       /* the system's own work, short or long: for the reserved CPU, where there is one */
	bool bound;                        /* may run on isolated CPUs only, of those that are online */
	struct lop_cpus allowed;           /* its affinity; isolated CPUs, and then no others, only if none of these was online */
	struct lop_hint hint;
	u32 runs_on;                       /* 1 + the CPU that it runs on; 0: none */
	bool running;                       /* in lop_app.running */
	bool goes_first;                   /* it waits in the queue of one CPU alone by a rule, and before what runs there */
	u32 given;                         /* 1 + the CPU in whose queue it is put next; 0: placed as any other */
	u32 listed;                        /* 1 + the CPU in whose queue it waits by a plan of list.h; 0: in none */
	u64 woke_ns;
	u64 done_ns;                       /* work done so far, ns on the fastest kind of core */
	u64 last_turn_ns;                  /* when it last left a fast core */
	u64 holds_since_ns;                /* when it last said that it holds what others wait for, or got a CPU since; 0: it waits for one */
	u32 user;                          /* who pays for it: lop_belong() */
	u32 user_weight;
};
