/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "smt_spread.h"
/* Equals share the fast cores in turn: who had none for longest goes next. */

/* When a turn on a fast core ends: after turn_ns, or with the grace time of a sequential phase that is over. */
lop_rule u64 lop_turn_ends_ns(const struct lop_sched *s, u32 cpu)
{
	const struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	return on->grace_ends_ns ? on->grace_ends_ns : on->since_ns + s->config.turn_ns;
}

/* Who is expected to be done within that is soon done wherever he is; who is not shares in turn. */
#define LOP_SOON_NS 1000000000ULL

/*
 * What runs on `next` is both young and new at it beside what runs on `holder` (ours). Processes of a build last from a millisecond to minutes: who has
 * done much has as a rule much left, and who has just come is soon done wherever he is: for a second, then he takes turns. Threads of one program are
 * neither: they began together, or wake together. What is awaited shares in turn, however new, and after a grace time the core is given back.
 *     3 * done(next) < done(holder)   and   2 * left(next) < left(holder)   and   left(next) < 1 s        lop_done_ns(), lop_left_ns()
 * Worked example: a compiler that has computed for 300 ms since it woke keeps its core from one of 90 ms that woke 140 ms ago, and neither from one of
 * 100 ms nor from one that woke 150 ms ago.
 */
lop_rule bool lop_is_new_beside(const struct lop_sched *s, u32 next, u32 holder, u64 now_ns)
{
	u64 left_ns = lop_left_ns(s, next, now_ns);
	return s->fast.on[lop_cpu_index(next)].rank.class == LOP_ORDINARY && !s->fast.on[lop_cpu_index(holder)].grace_ends_ns &&
	       3 * lop_done_ns(s, next, now_ns) < lop_done_ns(s, holder, now_ns) && left_ns < LOP_SOON_NS &&
	       2 * left_ns < lop_left_ns(s, holder, now_ns);
}

/*
 * The turn on a fast CPU is over: it goes to the first in rank on a slower kind, unless what runs there still goes before that, or who comes next is new
 * beside it. Who is where a plan of list.h says has no turns. Whose user is owed a turn by the other's waits for neither: who yields begins a new turn,
 * and could go on with that for ever.
 */
lop_subprog bool lop_pass_on(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 cpu, u64 now_ns)
{
	s32 next = lop_first_slower(s, world, lop_tier_of(s, cpu), LOP_ORDINARY, now_ns);
	struct lop_rank holder = s->fast.on[lop_cpu_index(cpu)].rank;
	const struct lop_rank *comes;
	lop_want(s, cpu, next >= 0, now_ns);
	if (next < 0)
		return false;
	comes = &s->fast.on[lop_cpu_index((u32)next)].rank;
	if (lop_owed_ns(s, comes, &holder) <= (s64)s->config.turn_ns &&
	    (now_ns < lop_turn_ends_ns(s, cpu) || lop_is_new_beside(s, lop_cpu_index((u32)next), cpu, now_ns)))
		return false;
	if (comes->class == holder.class && (lop_is_by_plan(s, comes) || lop_is_by_plan(s, &holder)))
		return false;
	holder.last_turn_ns = now_ns;
	return lop_ranks_before(s, comes, &holder) && lop_send(s, world, (u32)next, cpu, now_ns);
}

/*
 * What the user has had who has had least of those that want a fast core or have one: of two the lesser, LOP_NO_TIME: nobody so far. Who may not
 * move, or is about to sleep again, does not count.
 */
lop_subprog u64 lop_least_had_ns(const struct lop_sched *s lop_nonnull, u32 cpu, u64 least_ns, u64 now_ns)
{
	const struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	u64 had_ns = lop_had_ns(s, on->rank.user);
	if (!on->since_ns || !on->movable || on->rank.class == LOP_ONLY_SPINS || !lop_is_worth_moving(s, cpu, now_ns))
		return least_ns;
	return least_ns == LOP_NO_TIME ? had_ns : lop_earlier(least_ns, had_ns);
}

/*
 * Passes on what is due, and sets the timer for what comes next. Nothing on slow cores: no timer; who comes there sets it.
 */
lop_rule void lop_take_turns(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	u64 next_ns = now_ns + s->config.turn_ns, least_ns = LOP_NO_TIME;
	s32 cpu = LOP_NONE;
	u32 moves = 0;
	bool shared = false;
	int n;
	lop_for(n, 0, LOP_MAX_CPUS) {
		u64 ends_ns;
		cpu = lop_cpus_next(&s->online, (u32)(cpu + 1));
		if (cpu < 0 || moves >= LOP_MOVES_AT_ONCE)
			break;
		least_ns = lop_least_had_ns(s, (u32)cpu, least_ns, now_ns);
		if (lop_is_slowest(s, (u32)cpu) || lop_is_halved(s, (u32)cpu) || !lop_may_leave(s, (u32)cpu) ||
		    lop_is_claimed(s, (u32)cpu))
			continue;
		shared = true;
		ends_ns = lop_turn_ends_ns(s, (u32)cpu);
		if (ends_ns > now_ns)
			next_ns = lop_min(next_ns, ends_ns);
		moves += lop_pass_on(s, world, lop_cpu_index((u32)cpu), now_ns);
	}
	if (least_ns != LOP_NO_TIME && moves < LOP_MOVES_AT_ONCE)
		s->budget.least_ns = lop_later(s->budget.least_ns, least_ns);
	if (shared && lop_any_slower(s, world, 0))
		lop_rank_timer_by(s, world, next_ns, now_ns);
}

/* The timer: whoever may have a fast core by now gets it. */
lop_subprog bool lop_rank_now(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u64 now_ns)
{
	u64 at_ns = s->fast.look_at_ns;
	s->fast.look_at_ns = 0;
	if (now_ns < at_ns) {
		lop_rank_timer_by(s, world, at_ns, now_ns);
		return false;
	}
	lop_pull_all(s, world, now_ns);
	if (lop_rules_by(s, LOP_WHOLE))
		lop_fill_cores(s, world, now_ns);
	if (lop_rules_by(s, LOP_TURNS))
		lop_take_turns(s, world, now_ns);
	return true;
}
