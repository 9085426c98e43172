/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "topology.h"
/* What the rules of queue/ keep. */
#define LOP_MAX_GROUP_DEPTH 8
/* Queues: one per CPU for what may run only there, then one per memory domain and set that runs ordinary work. */
#define LOP_QUEUES (LOP_MAX_CPUS + 2 * LOP_MAX_MEMORY_DOMAINS)

/*
 * Tasks that share one weight (a cgroup, a session). Groups may lie in groups. One word holds what may change at any time, so
 * that an atomic operation on it says what both halves were.
 */
struct lop_group {
	u64 load;                          /* sum of the weights of its active tasks and groups; above bit 32 its own weight, 1024 the default (weight.h) */
	u64 mean_1024, mean_at_ns;         /* that sum x 1024 as a mean over time, when it last changed (group.h); 0: nothing was active yet */
	s32 parent;                        /* its number, see lop_env_group(); LOP_NONE: directly beside the tasks of no group */
};

/* fair.h */
struct lop_queues {
	u64 clock_ns;                      /* virtual time: start tag of the task last put to run */
	u64 front_ns[LOP_QUEUES];          /* about the virtual time of the queue's first task */
	struct lop_cpu_times shared_ns;    /* start tag of the last task that the CPU ran of its shared queue */
	u64 waits_since_ns[LOP_QUEUES];    /* since when the queue has had tasks without a break, if it has any */
	u32 queued[LOP_QUEUES];            /* tasks put in the queue that neither run yet nor left it */
	u32 asks[LOP_MAX_CPUS];            /* how often the CPU asked for work, up to LOP_QUEUE_TURNS */
	u32 turn[LOP_MAX_CPUS];            /* rotates over the queues of all domains; by CPU, or CPUs in step would see one each */
	struct lop_cpus cpu_waiting;       /* CPUs whose own queue has tasks */
	struct lop_cpus domain_waiting;    /* bitmap over the queues from LOP_MAX_CPUS on that have tasks */
	struct lop_cpus given;             /* CPUs in whose own queue a task waits that goes before what runs there */
	u32 nr_given[LOP_MAX_CPUS];        /* how many such tasks */
	struct lop_cpus looked;            /* CPUs that have looked twice for work on its way since they fell idle */
	u32 look;                          /* not 0: the timer is to make idle members look again */
};

/* overdue.h */
struct lop_overdue {
	struct lop_cpu_times look_ns;      /* when the CPU looks next whether somebody waits too long */
	u32 turn[LOP_MAX_CPUS];            /* rotates over the queues of all domains, for that */
	u32 list_turn[LOP_MAX_CPUS];       /* the same over the queues of single CPUs */
	struct lop_cpus looked_through[2]; /* bitmaps over the queues of CPUs, and over the others, in which a CPU looks for who waits too long */
	struct lop_cpus had_turn;          /* CPUs whose last turn was by time */
};
