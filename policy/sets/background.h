/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "config.h"
#include "group.h"
#include "state.h"
/*
 * Work that nobody waits for has the cheapest kind of core at its cheapest speed, where no other work needs one.
 * A second is worth nothing there, so energy per work alone decides (green.h). Its owner says so: by nice 19 or less, by
 * such a weight or cpu.idle of a cgroup that it lies in, by a uclamp.max that the cheapest speed reaches, or by a hint.
 * Each active task of this kind counts for one green core, and for no high one. The SMT sibling of a high core is none: it
 * would slow what runs there, at the speed of that one. While no core is left, the task shares the high cores by its weight,
 * and ranks behind all others for them.
 * Only where the watts are known: elsewhere no kind and no speed is known to be cheaper.
 * Tested in: background. Studied in: everything.
 */

/* Weight of nice 19 (weight.h). Of groups, a cpu.weight of 1 is less. */
#define LOP_WEIGHT_BACKGROUND 15

/* Whether so much of full speed (uclamp.max, of 1024) is no more than the cheapest speed: rate / 1000 >= max / 1024. */
lop_rule bool lop_is_least_speed(const struct lop_sched *s, u32 max)
{
	return s->config.nr_rungs && s->config.rung[0].rate_permille * LOP_FULL_SPEED >= max * 1000;
}

/*
 * What an adapter puts into lop_task.nobody_waits. `max`: the task's uclamp.max; 1024: none.
 * Worked example (laptop-hybrid): an efficiency core at 800 MHz has 137 permille of the rate, so a uclamp.max of up to 140
 * says so, 141 does not.
 */
lop_subprog bool lop_owner_says_nobody_waits(const struct lop_sched *s lop_nonnull, const struct lop_task *t lop_nonnull, const struct lop_group *group, u32 max)
{
	bool says = t->weight <= LOP_WEIGHT_BACKGROUND || lop_is_least_speed(s, max);
	int n;
	lop_for(n, 0, LOP_MAX_GROUP_DEPTH) {
		if (!group)
			break;
		says |= lop_group_weight(group->load) <= LOP_WEIGHT_BACKGROUND;
		group = group->parent == LOP_NONE ? 0 : lop_env_group(s, group->parent);
	}
	return says;
}

/*
 * Nobody waits for the task. One that holds a lock, or that the rest of its program waits for, is awaited whatever its owner
 * says; and one of limited affinity counts on the CPUs that it may use.
 */
lop_rule bool lop_nobody_waits(const struct lop_sched *s, const struct lop_task *t)
{
	return lop_has_ladder(s) && (t->nobody_waits || (t->hint.flags & LOP_BACKGROUND)) && !t->restricted &&
	       !(t->hint.flags & (LOP_SEQUENTIAL | LOP_LOCK_HOLDER));
}

/* A green core that is no home has such tasks alone. One that a higher class has does not count. */
lop_rule bool lop_has_background_core(const struct lop_sched *s)
{
	const struct lop_members *green = &s->set[LOP_GREEN];
	u64 any = 0;
	int i;
	if (!lop_has_ladder(s))
		return false;
	lop_for_words(i) {
		u32 n = i & (LOP_CPU_WORDS - 1);
		any |= green->cpus.word[n] & ~green->pinned.word[n] & ~s->taken.word[n];
	}
	return any != 0;
}

/* CPUs that may be green for such tasks: those of this word that are neither high, nor beside a high one, nor a home. */
lop_rule u64 lop_background_word(const struct lop_sched *s, u32 n)
{
	u64 high = s->set[LOP_HIGH].cpus.word[n] | s->membership.beside_high.word[n];
	return s->open.word[n] & ~(high | s->set[LOP_GREEN].pinned.word[n] | s->reserved.cpus.word[n] | s->off.word[n]);
}

/* How many of them should be: one for each such task, and one more for each that a higher class has. */
lop_subprog u32 lop_background_wanted(const struct lop_sched *s lop_nonnull)
{
	u32 wanted = lop_active(s, LOP_ROLE_BACKGROUND), most = 0;
	int i;
	if (!wanted)
		return 0;
	lop_for_words(i) {
		u32 n = i & (LOP_CPU_WORDS - 1);
		most += lop_nr_bits(lop_background_word(s, n));
		wanted += lop_nr_bits(s->set[LOP_GREEN].cpus.word[n] & s->taken.word[n]);
	}
	return (u32)lop_min(wanted, most);
}

/* Keeps the candidates that are no homes; of these, those of the kind that is the cheapest at some speed. */
lop_subprog bool lop_keep_cheapest(const struct lop_sched *s lop_nonnull, struct lop_cpus *candidates lop_nonnull)
{
	u32 n;
	lop_cpus_drop(candidates, &s->set[LOP_GREEN].pinned);
	lop_for(n, 0, LOP_MAX_RUNGS) {
		const struct lop_cpus *kind = &s->topology.tier_cpus[s->config.rung[n & (LOP_MAX_RUNGS - 1)].tier & (LOP_MAX_TIERS - 1)];
		if (n >= s->config.nr_rungs)
			break;
		if (!lop_cpus_meet(candidates, kind))
			continue;
		lop_cpus_and(candidates, candidates, kind);
		break;
	}
	return true;
}

/* The cheapest rung of the CPU's kind; of a kind that has none, the one after the last: its highest speed (pace.h). */
lop_subprog u32 lop_cheapest_rung(const struct lop_sched *s lop_nonnull, u32 cpu)
{
	u32 n, rung = s->config.nr_rungs;
	lop_for(n, 0, LOP_MAX_RUNGS) {
		if (n >= s->config.nr_rungs)
			break;
		if (s->config.rung[n & (LOP_MAX_RUNGS - 1)].tier != s->topology.tier[lop_cpu_index(cpu)])
			continue;
		rung = n;
		break;
	}
	return rung;
}

/* The first shared queue of a set, of those by memory domain: first for the high set, then for the green one. */
lop_rule u32 lop_first_served(const struct lop_sched *s, enum lop_set set) { return set == LOP_GREEN ? s->topology.nr_memory_domains : 0; }

/* A high core serves shared queues: isolated ones do not. */
lop_subprog bool lop_high_serves(const struct lop_sched *s lop_nonnull)
{
	return lop_cpus_meet(&s->set[LOP_HIGH].cpus, &s->open);
}

/*
 * Whether CPUs of this set serve the queues of the other one, too. Work that nobody waits for goes to a queue of the set that has
 * cores for it, and waits there when these change their set. So
 *     1. high cores serve green queues while no green core does,
 *     2. green cores serve high queues while no high core does.
 * LOP_LOW stands for all CPUs, which serve both.
 */
lop_rule bool lop_helps(const struct lop_sched *s, enum lop_set set)
{
	if (set == LOP_GREEN)
		return lop_has_ladder(s) && !lop_high_serves(s);
	return set == LOP_LOW || (set == LOP_HIGH && !lop_has_background_core(s));
}

/* The first queue of the set (LOP_LOW: of both sets), at or after `from`, in which tasks wait; LOP_NONE. */
lop_rule s32 lop_waits_from(const struct lop_sched *s, enum lop_set set, u32 from)
{
	s32 found = lop_cpus_next(&s->queues.domain_waiting, (u32)lop_max(from, lop_first_served(s, set)));
	return set == LOP_HIGH && found >= (s32)lop_first_served(s, LOP_GREEN) ? LOP_NONE : found;
}

/* The same of the queues that the set serves. */
lop_rule s32 lop_served_from(const struct lop_sched *s, enum lop_set set, u32 from)
{
	return lop_waits_from(s, lop_helps(s, set) ? LOP_LOW : set, from);
}

/* Tasks wait in a shared queue of the other set that CPUs of this one serve, too. */
lop_rule bool lop_other_set_waits(const struct lop_sched *s, enum lop_set set)
{
	return lop_waits_from(s, set == LOP_GREEN ? LOP_HIGH : LOP_GREEN, 0) >= 0 && lop_helps(s, set);
}
