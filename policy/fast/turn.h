/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "smt_spread.h"
/*
 * Tasks of equal rank share the fast cores in turn: the one whose last turn is longest ago goes next.
 * Tested in: turn, phase, specialise. Studied in: sequential-phases, one-and-many, critical-sections, parsec-classes, hybrid-laptop, everything.
 */

/* When a turn on a fast core ends: after turn_ns, or with the grace time if the task's sequential phase is over. */
lop_rule u64 lop_turn_ends_ns(const struct lop_sched *s, u32 cpu)
{
	const struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	return on->grace_ends_ns ? on->grace_ends_ns : on->since_ns + s->config.turn_ns;
}

/* A task expected to end within this time ends soon on any core; all others take turns. */
#define LOP_SOON_NS 1000000000ULL

/*
 * The task on `next` is both young and new beside the task on `holder` (our choice). Processes of a build last from a
 * millisecond to minutes: one that has done much usually has much left, and one that has just started ends soon on any
 * core. A new task stays where it is for up to a second; then it takes turns. Threads of one program are neither young
 * nor new: they start together or wake together. An awaited task takes turns however new it is, and a task in its grace
 * time gives the core back.
 *     3 * done(next) < done(holder)   and   2 * left(next) < left(holder)   and   left(next) < 1 s
 *     done: lop_done_ns(), left: lop_left_ns()
 * Worked example: a compiler that has computed for 300 ms since it woke keeps its core from one of 90 ms that woke 140
 * ms ago, but not from one of 100 ms nor from one that woke 150 ms ago.
 */
lop_rule bool lop_is_new_beside(const struct lop_sched *s, u32 next, u32 holder, u64 now_ns)
{
	u64 left_ns = lop_left_ns(s, next, now_ns);
	return s->fast.on[lop_cpu_index(next)].rank.class == LOP_ORDINARY && !s->fast.on[lop_cpu_index(holder)].grace_ends_ns &&
	       3 * lop_done_ns(s, next, now_ns) < lop_done_ns(s, holder, now_ns) && left_ns < LOP_SOON_NS &&
	       2 * left_ns < lop_left_ns(s, holder, now_ns);
}

/*
 * A fast CPU goes to the first task in rank on a slower kind:
 *     1. at once, if its user is owed more than a turn
 *     2. not yet, if that task is new beside the holder
 *     3. at the next look, if it gains more from speed by a step: where tasks share a CPU each slice begins a new turn, and
 *        none ends
 *     4. at the end of the turn, if the holder does not rank before it
 * Half of a core goes by 1 to 3, and to a task that is faster there.
 */
lop_subprog bool lop_pass_on(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 cpu, bool halved, u64 now_ns)
{
	s32 next = lop_first_slower(s, world, cpu, LOP_ORDINARY, now_ns);
	struct lop_rank holder = s->fast.on[lop_cpu_index(cpu)].rank;
	const struct lop_rank *comes;
	bool waits;
	lop_note_contended(s, cpu, next >= 0, now_ns);
	if (next < 0)
		return false;
	comes = &s->fast.on[lop_cpu_index((u32)next)].rank;
	waits = (halved || now_ns < lop_turn_ends_ns(s, cpu)) && !lop_gains_step(s, comes, &holder);
	if (lop_owed_ns(s, comes, &holder) <= (s64)s->config.turn_ns &&
	    (waits || lop_is_new_beside(s, lop_cpu_index((u32)next), cpu, now_ns)))
		return false;
	holder.last_turn_ns = now_ns;
	return lop_ranks_before(s, comes, &holder) && lop_send(s, world, (u32)next, cpu, now_ns);
}

/*
 * The lesser of `least_ns` (LOP_NO_TIME: none so far) and what the user of the task on `cpu` has had: taken over all
 * CPUs, the least that any user that wants or has a fast core has had. A task that may not move, or is about to sleep
 * again, does not count.
 */
lop_subprog u64 lop_least_had_ns(const struct lop_sched *s lop_nonnull, u32 cpu, u64 least_ns, u64 now_ns)
{
	const struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	u64 had_ns = lop_had_ns(s, on->rank.user);
	if (!on->since_ns || !on->movable || on->rank.class == LOP_YIELDS || !lop_is_worth_moving(s, cpu, now_ns))
		return least_ns;
	return least_ns == LOP_NO_TIME ? had_ns : lop_earlier(least_ns, had_ns);
}

/*
 * Ends the turns that are due, and sets the timer for the next, which is at once if more may be due than tasks move in one
 * pass. While slow cores run nothing that could move there is no timer; a task that starts there sets it.
 */
lop_rule void lop_take_turns(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	u64 next_ns = now_ns + s->config.turn_ns, least_ns = LOP_NO_TIME;
	s32 cpu = LOP_NONE;
	u32 moves = 0;
	bool shared = false;
	int n;
	lop_for(n, 0, LOP_MAX_CPUS) {
		bool halved;
		u64 ends_ns;
		cpu = lop_cpus_next(&s->online, (u32)(cpu + 1));
		if (cpu < 0 || moves >= LOP_MOVES_AT_ONCE)
			break;
		least_ns = lop_least_had_ns(s, (u32)cpu, least_ns, now_ns);
		if (lop_is_slowest(s, (u32)cpu) || !lop_may_leave(s, (u32)cpu) || lop_is_claimed(s, (u32)cpu))
			continue;
		halved = lop_is_halved(s, (u32)cpu);
		if (halved && !lop_rules_by(s, LOP_SPEEDUP))
			continue;
		shared = true;
		ends_ns = lop_turn_ends_ns(s, (u32)cpu);
		if (ends_ns > now_ns)
			next_ns = lop_min(next_ns, ends_ns);
		moves += lop_pass_on(s, world, lop_cpu_index((u32)cpu), halved, now_ns);
	}
	if (least_ns != LOP_NO_TIME && moves < LOP_MOVES_AT_ONCE)
		s->budget.least_ns = lop_later(s->budget.least_ns, least_ns);
	if (moves >= LOP_MOVES_AT_ONCE)
		next_ns = now_ns;
	if (shared && lop_any_slower(s, world, 0))
		lop_rank_timer_by(s, world, next_ns, now_ns);
}

/* The timer: tasks that may have a fast core by now get it. */
lop_subprog bool lop_rank_timer(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u64 now_ns)
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
