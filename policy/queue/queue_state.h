/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "topology.h"
/* State of the rules in queue/. */
#define LOP_MAX_GROUP_DEPTH 8
/* Queues: one per CPU for tasks restricted or given to it, then one per memory domain and set that runs ordinary work. */
#define LOP_QUEUES (LOP_MAX_CPUS + 2 * LOP_MAX_MEMORY_DOMAINS)

/*
 * Tasks that share one weight (a cgroup, a session). Groups may be nested. One word holds what may change at any time,
 * so that an atomic operation on it returns both halves.
 */
struct lop_group {
	u64 load;                          /* weights of its active tasks and groups; above bit 32 its own, see weight.h */
	u64 mean_1024, mean_at_ns;         /* that sum x 1024 as a mean over time, when it changed; 0: nothing was active yet */
	s32 parent;                        /* its number, see lop_env_group(); LOP_NONE: it is beside tasks of no group */
};

/* fair.h */
struct lop_queues {
	u64 clock_ns;                      /* virtual time: start tag of the task that last started */
	u64 front_ns[LOP_QUEUES];          /* estimate of the virtual time of the queue's first task */
	struct lop_cpu_times forgiven_ns;  /* virtual time that tasks alone on a CPU that is apart did not pay: lop_bound_lag() */
	struct lop_cpu_times shared_ns;    /* start tag of the last task that the CPU ran from its shared queue */
	struct lop_cpu_times started_ns;   /* start tag of what the CPU runs; 0: not known */
	u64 waits_since_ns[LOP_QUEUES];    /* since when the queue has had tasks without a break, if it has any */
	u32 queued[LOP_QUEUES];            /* tasks put in the queue that neither run yet nor left it */
	u32 asks[LOP_MAX_CPUS];            /* how often the CPU asked for work, modulo LOP_ASK_CYCLE */
	u32 next_queue[LOP_MAX_CPUS];      /* rotates over all domains' queues; by CPU, or CPUs in step would see one each */
	struct lop_cpus cpu_waiting;       /* CPUs whose own queue has tasks */
	struct lop_cpus domain_waiting;    /* bitmap over the queues from LOP_MAX_CPUS on that have tasks */
	struct lop_cpus given;             /* CPUs whose own queue has a task that goes before the running one */
	u32 nr_given[LOP_MAX_CPUS];        /* number of these tasks */
	struct lop_cpus looked;            /* CPUs that have looked twice for work on its way since they fell idle */
	u32 look;                          /* not 0: idle members look again when the timer fires */
};

/* overdue.h */
struct lop_overdue {
	struct lop_cpu_times look_ns;      /* when the CPU looks for overdue tasks next */
	u32 next_queue[LOP_MAX_CPUS];      /* rotates over the queues of all domains, for that look */
	struct lop_cpus looked_through[2]; /* bitmaps of CPU queues and of other queues that a CPU looks through */
	struct lop_cpus picked_overdue;    /* CPUs that last picked an overdue task */
};
