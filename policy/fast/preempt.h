/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "phase.h"
#include "place.h"
/*
 * Wakeup preemption: with no member idle, a task that goes before a running one takes the CPU of the one lowest in rank.
 * Tested in: rank, phase. Studied in: sequential-phases, critical-sections, longest-job, everything.
 */

/* A plan of list.h says at which CPU the task waits, and that CPU runs such work. */
lop_rule bool lop_waits_on_list(const struct lop_sched *s, const struct lop_task *t)
{
	return lop_has_lists(s) && t->listed && !t->restricted &&
	       lop_set_of(s, lop_cpu_index(t->listed - 1)) == lop_usable_set(s, t);
}

/* The preempted CPU; the woken task moves up from there. LOP_NONE: all running tasks may stay. */
lop_rule s32 lop_claim_busy(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app)
{
	struct lop_rank rank;
	s32 cpu;
	if (!lop_has_rank(s) || t->restricted)
		return LOP_NONE;
	lop_rank_of(s, t, app, &rank);
	rank.by_plan = lop_waits_on_list(s, t);
	cpu = lop_weakest_faster(s, world, &rank, LOP_MAX_TIERS);
	if (cpu < 0 || !lop_cpus_try_add(&s->fast.claimed, lop_cpu_index((u32)cpu)))
		return LOP_NONE;
	lop_note_contended(s, (u32)cpu, !lop_is_slowest(s, (u32)cpu), lop_env_now_ns(world));
	t->given = lop_cpu_index((u32)cpu) + 1;
	return cpu;
}
