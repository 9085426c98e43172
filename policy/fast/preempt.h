/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "fair.h"
#include "phase.h"
#include "place.h"
/*
 * Wakeup preemption: with no member idle, a task that goes before a running one takes the CPU of the one lowest in rank.
 * But a task that is ahead (lop_is_ahead) waits its turn, whoever waits for it: otherwise one that sleeps for a moment
 * before each slice ends would take it all.
 * Worked example: on one CPU a task computes, and an awaited one sleeps for a moment whenever it has run for 5 ms, just
 * less than a slice of 6 ms. It takes the CPU, and stops 5 ms ahead. It takes it again, and stops 10 ms ahead. Now it waits
 * until the other one has had 10 ms.
 * Tested in: rank, phase, liars. Studied in: sequential-phases, critical-sections, longest-job, everything.
 */

/*
 * Before a wakeup: the others have caught up meanwhile if one of them started no further behind. The mark needs no other
 * end: it is asked anew whenever the task stops.
 */
lop_rule void lop_note_caught_up(const struct lop_sched *s, struct lop_task *t) { t->ahead &= lop_before(s->queues.clock_ns, t->vtime_ns); }

/* The preempted CPU; the woken task moves up from there. LOP_NONE: all running tasks may stay. */
lop_rule s32 lop_claim_busy(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app)
{
	struct lop_rank rank;
	s32 cpu;
	if (!lop_has_rank(s) || t->restricted || t->ahead)
		return LOP_NONE;
	lop_rank_of(s, t, app, &rank);
	cpu = lop_weakest_faster(s, world, &rank, LOP_MAX_TIERS);
	if (cpu < 0 || !lop_cpus_try_add(&s->fast.claimed, lop_cpu_index((u32)cpu)))
		return LOP_NONE;
	lop_note_contended(s, (u32)cpu, !lop_is_slowest(s, (u32)cpu), lop_env_now_ns(world));
	t->given = lop_cpu_index((u32)cpu) + 1;
	return cpu;
}
