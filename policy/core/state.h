/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "config.h"
#include "fast_state.h"
#include "queue_state.h"
#include "reserved_state.h"
#include "sets_state.h"
#include "task.h"
/*
 * The whole state of the policy, put together from the folders' parts. It is passed by pointer, never global: a
 * thousand simulations run side by side, the kernel has one.
 * Per-CPU entries are written by their CPU, except for some fields of lop_on_cpu, whose rules allow for a lost update.
 * Counters are atomic, and membership changes under its lock.
 */

struct lop_app {
	u64 demand;                        /* its active tasks for the high set; above bit 32 the declared parallelism, 0: none */
	bool shares_memory;                /* its tasks should share a node */
	s32 home_node;                     /* that node: lop_share_memory(); LOP_NONE: none yet */
	u32 number;                        /* identifies it where there is no pointer; 0: none yet */
	u32 boosted;                       /* 1 + the CPU that runs its sequential phase; 0: none does */
	u64 running;                       /* sum of the CPU numbers that its active tasks run on; above bit 32 how many do */
	u64 alone_since_ns;                /* start of its sequential phase; 0: in none */
	struct lop_mean phases;            /* lengths of its sequential phases */
	struct lop_mean holds;             /* times for which its threads held what others waited for */
	u64 unit_ns;                       /* work per unit of length, ns on the fastest kind of core; 0: no thread has ended */
	u32 lengths[LOP_LENGTHS];          /* declared by its latest threads */
	u32 nr_lengths;                    /* number of lengths declared so far */
};

struct lop_sched {
	struct lop_config config;
	struct lop_topology topology;
	/* CPUs, by their current state. */
	struct lop_cpus online, idle;
	struct lop_cpus open;              /* online and not isolated: CPUs for any task */
	struct lop_cpus taken;             /* run a task of a higher class (real-time) */
	struct lop_cpus off;               /* CPUs of memory domains that are off */
	struct lop_cpus beside_busy;       /* CPUs whose SMT sibling is busy */
	struct lop_cpu_times idle_since_ns;
	u32 nr_open;
	bool isolates;                     /* the machine has isolated CPUs */
	bool planned;                      /* a plan has given a memory domain to some task */
	u64 timer_at_ns;                   /* 0: not armed */
	u64 active[LOP_ROLES];             /* runnable tasks that do not spin, by role (demand.h); of ordinary ones, above bit 32: lop_undeclared() */
	struct lop_members set[LOP_SET_SLOTS]; /* high and green, since low is the rest */
	struct lop_membership membership;
	struct lop_heat heat;
	struct lop_pace pace;
	struct lop_light light;
	struct lop_queues queues;
	struct lop_overdue overdue;
	struct lop_reserved reserved;
	struct lop_fast fast;
	struct lop_budget budget;
};

/* An adapter that paces no task (pace.h) defines this as false, so the verifier drops the rules. */
#ifndef lop_has_ladder
#define lop_has_ladder(s) ((s)->config.green == LOP_GREEN_WORK_PACED)
#endif

/* The same for work that hardly gains from speed. */
#ifndef lop_sees_gain
#define lop_sees_gain(s) ((s)->config.green == LOP_GREEN_WORK_LOW_GAIN)
#endif

/* The same for the whole green set. */
#ifndef lop_has_green
#define lop_has_green(s) ((s)->config.green != LOP_GREEN_WORK_NONE)
#endif

/* The same for light work, which then has the homes, in place of work that a clock paces. */
#ifndef lop_has_light
#define lop_has_light(s) (lop_has_ladder(s) && (s)->config.light)
#endif

/* Work that a clock paces or that nobody waits for runs there, and no other. */
lop_rule bool lop_is_green(const struct lop_sched *s, u32 cpu) { return lop_has_ladder(s) && lop_cpus_has(&s->set[LOP_GREEN].cpus, cpu); }

/* Paced tasks alone run there. */
lop_rule bool lop_is_home(const struct lop_sched *s, u32 cpu) { return lop_has_ladder(s) && lop_cpus_has(&s->set[LOP_GREEN].pinned, cpu); }

/* Runnable tasks of this role that do not spin. */
lop_rule u32 lop_active(const struct lop_sched *s, enum lop_role role) { return (u32)s->active[role & (LOP_ROLES - 1)]; }

/*
 * Applications with an active ordinary task and without declared parallelism. A task of no application counts
 * as one.
 */
lop_rule u32 lop_undeclared(const struct lop_sched *s) { return (u32)(s->active[LOP_ROLE_ORDINARY] >> 32); }
#define LOP_ONE_UNDECLARED (1ULL << 32)

lop_rule enum lop_set lop_set_of(const struct lop_sched *s, u32 cpu)
{
	if (lop_cpus_has(&s->set[LOP_HIGH].cpus, cpu))
		return LOP_HIGH;
	return lop_cpus_has(&s->set[LOP_GREEN].cpus, cpu) ? LOP_GREEN : LOP_LOW;
}
