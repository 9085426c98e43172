/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "pull.h"
/*
 * Of two tasks that share a core, one moves to a whole core that falls idle (our choice).
 * Two tasks on SMT siblings do little more than one alone. A task that came to a sibling while all cores were busy
 * would stay there when a core falls idle. With the gain of SMT g each has a rate of (1 + g) / 2 before, and of 1 after.
 * Worked example: with a gain of 15 %, each of the two has 0.575 of a core. Two tasks of 100 ms take 174 ms on one
 * core, and 100 ms on two.
 * Tested in: smt_spread. Studied in: hybrid-laptop.
 */

/* A task that stays runs, or waits to run, on a sibling of `cpu`. */
lop_subprog bool lop_shares_core(const struct lop_sched *s lop_nonnull, u32 cpu)
{
	u32 sibling = cpu;
	bool shares = false;
	int n;
	lop_for(n, 0, LOP_MAX_SMT) {
		lop_opaque(sibling);
		sibling = lop_cpu_index(s->topology.next_sibling[lop_cpu_index(sibling)]);
		if (sibling == cpu)
			break;
		shares |= lop_cpus_has(&s->online, sibling) && !lop_cpus_has(&s->idle, sibling) && !s->fast.migrates_to[sibling];
	}
	return shares;
}

/*
 * The task on `cpu` has only a share of its core and could have the whole core of `to`. That core is of the same kind
 * (lop_upmigrate() is for faster ones) and, while plans place tasks (spread.h, gather.h), in the same memory domain.
 */
lop_subprog bool lop_may_separate(const struct lop_sched *s lop_nonnull, u32 cpu, u32 to)
{
	const struct lop_topology *top = &s->topology;
	cpu = lop_cpu_index(cpu);
	to = lop_cpu_index(to);
	if (lop_tier_of(s, cpu) != lop_tier_of(s, to) || (s->planned && top->memory_domain[cpu] != top->memory_domain[to]))
		return false;
	return lop_may_leave(s, cpu) && s->fast.on[cpu].rank.class != LOP_YIELDS && lop_shares_core(s, cpu);
}

/*
 * The CPU whose task ranks first of those that could have the whole core of `to` and are worth moving at `at_ns`.
 * LOP_NONE: there is none.
 */
lop_subprog s32 lop_first_sharing(const struct lop_sched *s lop_nonnull, u32 to, u64 at_ns)
{
	s32 cpu = LOP_NONE, first = LOP_NONE;
	int n;
	lop_for(n, 0, LOP_MAX_CPUS) {
		cpu = lop_cpus_next(&s->beside_busy, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		if (!lop_may_separate(s, (u32)cpu, to) || !lop_is_worth_moving(s, (u32)cpu, at_ns))
			continue;
		if (first >= 0 && !lop_ranks_before(s, &s->fast.on[lop_cpu_index((u32)cpu)].rank, &s->fast.on[lop_cpu_index((u32)first)].rank))
			continue;
		first = cpu;
	}
	return first;
}

/*
 * `to`, whose core is idle, takes one of two tasks that share another core. If no move pays yet, or the sets are
 * changing, the timer looks again. True: a task was sent.
 */
lop_subprog bool lop_separate_pair(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 to, u64 now_ns)
{
	u64 later_ns = lop_worth_ns(s, now_ns);
	s32 from;
	if (!lop_cpus_has(&s->open, to) || !lop_is_vacant(s, to))
		return false;
	from = lop_first_sharing(s, to, now_ns);
	if (from >= 0 && lop_send(s, world, (u32)from, to, now_ns))
		return true;
	if (from >= 0 || lop_first_sharing(s, to, later_ns) >= 0)
		lop_rank_timer_by(s, world, later_ns, now_ns);
	return false;
}

/*
 * If two tasks share a core of kind `tier`, the whole core of that kind that has been idle for longest takes one. One
 * at a time, as both siblings of a core count as idle until the task arrives; its arrival starts the next look.
 */
lop_subprog bool lop_fill_core(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 tier, u64 now_ns)
{
	s32 to = LOP_NONE;
	if (lop_idle_whole(s, &world->others, tier))
		to = lop_earliest(&world->others, &s->idle_since_ns, LOP_MAX_CPUS);
	return to >= 0 && lop_separate_pair(s, world, lop_cpu_index((u32)to), now_ns);
}

/* The same for each kind. */
lop_rule void lop_fill_cores(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	u32 tier;
	lop_for(tier, 0, LOP_MAX_TIERS) {
		if (tier >= s->topology.nr_tiers)
			break;
		lop_fill_core(s, world, tier, now_ns);
	}
}
