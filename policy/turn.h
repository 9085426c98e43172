/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "whole.h"
/* Equals share the fast cores in turn: who had none for longest goes next. */

/* When a turn on a fast core ends: after turn_ns, or with the grace time of a sequential phase that is over. */
lop_rule u64 lop_turn_ends_ns(const struct lop_sched *s, u32 cpu)
{
	const struct lop_on_cpu *on = &s->on[lop_cpu_index(cpu)];
	return on->grace_ends_ns ? on->grace_ends_ns : on->since_ns + s->config.turn_ns;
}

/* The turn on a fast CPU is over: it goes to the first in rank on a slower kind, unless what runs there still goes before that. */
lop_part bool lop_pass_on(struct lop_sched *s lop_given, struct lop_world *world lop_given, u32 cpu, u64 now_ns)
{
	s32 next = lop_first_slower(s, lop_tier_of(s, cpu), now_ns);
	struct lop_rank holder = s->on[lop_cpu_index(cpu)].rank;
	if (next < 0)
		return false;
	holder.turn_ns = now_ns;
	return lop_ranks_before(s, &s->on[lop_cpu_index(next)].rank, &holder) && lop_send(s, world, (u32)next, cpu, now_ns);
}

/*
 * Passes on what is due, and sets the timer for what comes next. Nothing on slow cores: no timer; who comes there sets it.
 */
lop_rule void lop_take_turns(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	u64 next_ns = now_ns + s->config.turn_ns;
	s32 cpu = LOP_NONE;
	u32 moves = 0;
	bool shared = false;
	int n;
	lop_for(n, 0, LOP_MAX_CPUS) {
		u64 ends_ns;
		cpu = lop_cpus_next(&s->online, (u32)(cpu + 1));
		if (cpu < 0 || moves >= LOP_MOVES_AT_ONCE)
			break;
		if (lop_is_slowest(s, (u32)cpu) || lop_is_halved(s, (u32)cpu) || !lop_may_leave(s, (u32)cpu) ||
		    lop_is_promised(s, (u32)cpu))
			continue;
		shared = true;
		ends_ns = lop_turn_ends_ns(s, (u32)cpu);
		if (ends_ns > now_ns)
			next_ns = lop_min(next_ns, ends_ns);
		else
			moves += lop_pass_on(s, world, lop_cpu_index((u32)cpu), now_ns);
	}
	if (shared && lop_any_slower(s, 0))
		lop_rank_at(s, world, next_ns, now_ns);
}

/* The timer: whoever may have a fast core by now gets it. */
lop_part bool lop_rank_now(struct lop_sched *s lop_given, struct lop_world *world lop_given, u64 now_ns)
{
	u64 at_ns = s->rank_at_ns;
	s->rank_at_ns = 0;
	if (now_ns < at_ns) {
		lop_rank_at(s, world, at_ns, now_ns);
		return false;
	}
	lop_pull_all(s, world, now_ns);
	if (lop_rules_by(s, LOP_WHOLE))
		lop_fill_cores(s, world, now_ns);
	if (lop_rules_by(s, LOP_TURNS))
		lop_take_turns(s, world, now_ns);
	return true;
}
