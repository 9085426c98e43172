/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "topology.h"
/* State of the rules of fast/. */
/* Users whose numbers are equal modulo this share one account (budget.h). A power of two. */
#define LOP_USERS 1024
/* How many of the lengths that an application's threads declared are remembered (longest.h). */
#define LOP_LENGTHS 16

/* What decides whether a task gets a fast core: see lop_ranks_before(). One that yields only spins, or nobody waits for it. */
enum lop_class { LOP_YIELDS, LOP_ORDINARY, LOP_AWAITED, LOP_CLASSES };
#define LOP_CLASS_SLOTS 4 /* a power of two: verifiers before Linux 6.18 follow a mask but no remainder */
struct lop_rank {
	u64 last_turn_ns;                  /* when it last had a fast core; 0: never */
	u8 class;                          /* of enum lop_class; small, as ranks lie on the stack, which is short in BPF */
	u16 user;                          /* lop_user_index() */
	u32 app;                           /* number of its application, 0: none; lengths compare only within one */
	u32 length;                        /* work left, in units of its application */
	u32 speedup_permille;
};

/* Copy of what is known of the task on a CPU: the policy cannot reach a task through its CPU. */
struct lop_on_cpu {
	struct lop_rank rank;
	u64 since_ns;                      /* when it started here; 0: no task of ours runs */
	u64 woke_ns;
	u64 grace_ends_ns;                 /* end of its grace time (phase.h): it keeps its core until then; 0: none */
	u64 done_ns;                       /* work done before it started here, in ns on the fastest kind of core */
	u32 length;                        /* all of its work, in units of its application; 0: unknown */
	u64 unit_ns;                       /* ns of one unit on the fastest kind of core; 0: unknown */
	bool movable;                      /* may run on every CPU */
	bool hinted;                       /* awaited by its own hint, not by observation */
	u32 weight;                        /* lop_task.user_weight */
	u64 paid_until_ns;                 /* paid up to here for keeping a task from this core (budget.h); 0: none kept */
};

/* A running mean and its number of samples. */
struct lop_mean {
	u64 ns;
	u32 count;
};

/* Which task runs where (phase.h), and which migrates where (pull.h, smt_spread.h). */
struct lop_fast {
	struct lop_on_cpu on[LOP_MAX_CPUS];
	struct lop_cpus of_class[LOP_CLASS_SLOTS]; /* CPUs by the class of the task that runs there, or ran there last */
	u32 migrates_to[LOP_MAX_CPUS];     /* 1 + the CPU that the task running here migrates to; 0: it stays */
	struct lop_cpus claimed;           /* CPUs that a running or woken task is on its way to, one task to each */
	u64 look_at_ns;                    /* when the timer checks the fast cores next; 0: no need */
	u32 nr_apps;                       /* applications numbered so far */
	u64 moves;                         /* running tasks that were sent to another CPU */
};

/* budget.h */
struct lop_budget {
	u64 had_ns[LOP_USERS];             /* fast-core time that each user has had, by weight */
	u64 least_ns;                      /* no user counts as having had less */
};
