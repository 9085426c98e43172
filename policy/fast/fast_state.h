/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "topology.h"
/* What the rules of fast/ keep. */
/* Users whose numbers are the same modulo this are one (budget.h). A power of two. */
#define LOP_USERS 1024
/* Threads of an application whose declared lengths are remembered (longest.h). */
#define LOP_LENGTHS 16

/* What a task brings when fast cores are given: see lop_ranks_before(). */
enum lop_class { LOP_ONLY_SPINS, LOP_ORDINARY, LOP_AWAITED, LOP_CLASSES };
#define LOP_CLASS_ROOM 4 /* a power of two: verifiers before Linux 6.18 follow a mask, and no remainder */
struct lop_rank {
	u64 last_turn_ns;                  /* when it last had a fast core; 0: never */
	u8 class;                          /* of enum lop_class; small, as ranks lie on the stack, which is short in BPF */
	bool by_plan;                      /* it runs where a plan of list.h says, or is about to wait there */
	u16 user;                          /* lop_user_index() */
	u32 app;                           /* number of its application, 0: none. Lengths are compared inside one only */
	u32 length;                        /* work left, in units of its application */
	u32 speedup_permille;
};

/* What runs on a CPU, as a copy: the policy cannot reach a task by its CPU. */
struct lop_on_cpu {
	struct lop_rank rank;
	u64 since_ns;                      /* when it came here; 0: nothing of ours runs */
	u64 woke_ns;
	u64 grace_ends_ns;                 /* its sequential phase is over, and it keeps its core until then; 0: in no grace time */
	u64 done_ns;                       /* work done before it came here, in ns on the fastest kind of core */
	u32 length;                        /* all of its work, in units of its application; 0: not known */
	u64 unit_ns;                       /* the same for a unit of its length; 0: not known */
	bool movable;                      /* may run on every CPU */
	bool said;                         /* LOP_AWAITED because it says so, for as long as it does */
	u32 weight;                        /* lop_task.user_weight */
	u64 wanted_ns;                     /* somebody is kept from this fast core, and it is paid for up to here (budget.h); 0: nobody is */
};

/* A mean that follows, and of how many. */
struct lop_mean {
	u64 ns;
	u32 count;
};

/* Who runs where (phase.h), and who is on the way to a faster core (pull.h). */
struct lop_fast {
	struct lop_on_cpu on[LOP_MAX_CPUS];
	struct lop_cpus of_class[LOP_CLASS_ROOM]; /* CPUs by the class of what runs there or ran there last */
	u32 migrates_to[LOP_MAX_CPUS];     /* 1 + the CPU that the task running here is to go on at; 0: it stays */
	struct lop_cpus claimed;           /* CPUs that a task is on its way to, from another CPU: one to each */
	u64 look_at_ns;                    /* the timer is to look then who should have the fast cores; 0: no need */
	u32 nr_apps;                       /* applications numbered so far */
	u64 moves;                         /* running tasks that were sent to another CPU */
};

/* budget.h */
struct lop_budget {
	u64 had_ns[LOP_USERS];             /* what each user has had of the fast cores, by weight */
	u64 least_ns;                      /* nobody counts as having had less */
};
