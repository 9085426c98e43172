/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "place.h"
/*
 * A task that changes its memory domain starts on an idle CPU there, which becomes a member if it is none.
 * Tested in: domains. Studied in: memory-domains, power-domains, everything.
 */

/* The task is queued outside of the memory domain that a plan gave it. */
lop_rule bool lop_changes_domain(const struct lop_sched *s, const struct lop_task *t, u32 cpu)
{
	return lop_wants_domain(s, t) && s->topology.memory_domain[lop_cpu_index(cpu)] != t->wanted_domain;
}

lop_rule u32 lop_first_of_domain(const struct lop_sched *s, s32 domain)
{
	s32 first = lop_cpus_next(lop_domain_cpus(s, domain), 0);
	return first < 0 ? 0 : lop_cpu_index((u32)first);
}

/* False: all CPUs of its domain are busy, and it waits in their queue. */
lop_subprog bool lop_start_in_domain(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, struct lop_task *t lop_nonnull,
				  const struct lop_group *group)
{
	const struct lop_cpus *there = lop_domain_cpus(s, t->wanted_domain);
	u64 now_ns = lop_env_now_ns(world);
	enum lop_set set;
	s32 cpu;
	if (!lop_cpus_meet(there, &s->idle))
		return false;
	lop_pin(s, world, t);
	lop_settle(s, world, LOP_NONE, now_ns);
	set = lop_usable_set(s, t);
	lop_cpus_and(&world->usable, &s->set[lop_set_index(set)].cpus, &s->idle);
	if (!lop_cpus_meet(there, &world->usable))
		return false;
	cpu = lop_claim_idle(s, world, t, set, lop_first_of_domain(s, t->wanted_domain), true, now_ns);
	if (cpu < 0)
		return false;
	lop_clamp_vtime(s, t, group, lop_queue_at(s, t, lop_cpu_index((u32)cpu)));
	t->last_queue = (s32)lop_queue_at(s, t, lop_cpu_index((u32)cpu));
	lop_env_insert_local(world, t, lop_cpu_index((u32)cpu), lop_slice_ns(s));
	return true;
}
