/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "fair.h"
/* Members that a higher class runs on: real-time tasks are no demand of ours, but what they take has to be made up for. */

/* `cpu` is taken by a higher class, idle as it may have seemed, or is not any more. */
lop_rule void lop_note_taken(struct lop_sched *s, u32 cpu, bool taken, u64 now_ns)
{
	u32 before = lop_target(s, LOP_HIGH);
	if (taken) {
		lop_cpus_take(&s->idle, cpu);
		lop_cpus_add(&s->taken, cpu);
	} else if (!lop_cpus_take(&s->taken, cpu)) {
		return;
	}
	lop_target_fell(&s->set[LOP_HIGH], before, lop_target(s, LOP_HIGH), now_ns);
}

/*
 * A task waits although the set has a member for every active task, and none of them is idle: then something else runs on some of them, and the
 * adapter has to look on which (those of lop_suspects()).
 */
lop_rule bool lop_is_short(const struct lop_sched *s)
{
	const struct lop_members *high = &s->set[LOP_HIGH];
	return high->active + lop_cpus_common(&high->cpus, &s->taken) <= high->size && high->size < s->nr_online &&
	       !lop_cpus_meet(&high->cpus, &s->idle);
}

/* Work waits that any member may run, and a higher class has some of them. */
lop_rule bool lop_waits_while_taken(const struct lop_sched *s)
{
	return !lop_cpus_empty(&s->taken) && !lop_cpus_empty(&s->domain_waiting);
}

/* As long as that is so the adapter looks again after a slice: the CPU that was told of the work may have been taken at that moment. */
lop_rule void lop_look_while_taken(struct lop_sched *s, struct lop_world *world)
{
	if (lop_waits_while_taken(s))
		lop_look_at(s, world, lop_env_now_ns(world) + s->config.slice_max_ns);
}

/* Members of which it is not known that they are taken. */
lop_rule void lop_suspects(const struct lop_sched *s, struct lop_cpus *out)
{
	*out = s->set[LOP_HIGH].cpus;
	lop_cpus_drop(out, &s->taken);
}
