/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "budget.h"
#include "reserved.h"
/*
 * User, class, work left, speedup and time since the last turn rank the tasks that compete for fast cores.
 * Cores are fast or slow relative to one another by their kind (lop_topology.tier, 0 the fastest).
 * Tested in: rank, auto. Studied in: sequential-phases, one-and-many, critical-sections, parsec-classes, longest-job, registration, hybrid-laptop, everything.
 */

/* An adapter that never has such rules defines this as false, so the verifier drops them. */
#ifndef lop_has_rank
#define lop_has_rank(s) ((s)->config.rules != 0)
#endif

lop_rule bool lop_rules_by(const struct lop_sched *s, enum lop_rules rule) { return lop_has_rank(s) && (s->config.rules & rule); }

/*
 * SF in tenths, rounded down, by which tasks are ranked: those in one step take turns (our choice). A band of 10 % around
 * each task would be no order: 1.8 and 1.9 take turns, and so do 1.9 and 2.0, but 2.0 goes before 1.8.
 */
lop_rule u32 lop_speedup_step(u32 permille) { return permille / 100; }

/* Where speedup rules, `a` gains more than `b` by a step. */
lop_rule bool lop_gains_step(const struct lop_sched *s, const struct lop_rank *a, const struct lop_rank *b)
{
	return lop_rules_by(s, LOP_SPEEDUP) && lop_speedup_step(a->speedup_permille) > lop_speedup_step(b->speedup_permille);
}

/* Threads of one application of which one has more work left. Units of different applications do not compare. */
lop_rule bool lop_lengths_differ(const struct lop_rank *a, const struct lop_rank *b)
{
	return a->app && a->app == b->app && a->length != b->length;
}

/*
 * `a` goes before `b`, by the first of these in which they differ:
 *     0. the user that has had less of the fast cores (budget.h)
 *     1. class: awaited (lock holder, sequential phase), then ordinary, then tasks that only spin or that nobody waits for
 *     2. within one application the thread with more work left
 *     3. where speedup rules: the higher SF, in steps of a tenth
 *     4. no turn on a fast core yet, then the turn longest ago, so that all get one (turn.h: except new tasks)
 *     5. the higher SF
 * Among tasks without lengths, or of one application, this is a strict weak order: the first of them does not depend on
 * where the search begins. Lengths of several applications can make a circle, with a turn between each two.
 */
lop_rule bool lop_ranks_before(const struct lop_sched *s, const struct lop_rank *a, const struct lop_rank *b)
{
	s64 owed_ns = lop_owed_ns(s, a, b);
	if (owed_ns)
		return owed_ns > 0;
	if (a->class != b->class)
		return a->class > b->class;
	if (lop_lengths_differ(a, b))
		return a->length > b->length;
	if (lop_rules_by(s, LOP_SPEEDUP) && lop_speedup_step(a->speedup_permille) != lop_speedup_step(b->speedup_permille))
		return a->speedup_permille > b->speedup_permille;
	if (a->last_turn_ns != b->last_turn_ns)
		return a->last_turn_ns < b->last_turn_ns;
	return a->speedup_permille > b->speedup_permille;
}

/*
 * `a` takes the core from `b` at once, by class or by length. By any other criterion of lop_ranks_before() it waits for
 * the timer (turn.h).
 */
lop_rule bool lop_displaces(const struct lop_rank *a, const struct lop_rank *b)
{
	if (a->class != b->class)
		return a->class > b->class;
	return lop_lengths_differ(a, b) && a->length > b->length;
}

lop_rule u32 lop_tier_of(const struct lop_sched *s, u32 cpu) { return s->topology.tier[lop_cpu_index(cpu)] & (LOP_MAX_TIERS - 1); }

lop_rule bool lop_is_slowest(const struct lop_sched *s, u32 cpu) { return lop_tier_of(s, cpu) + 1U >= s->topology.nr_tiers; }

/* Work that a core does in that time, in ns on the fastest kind:  ns * speed of the kind / speed of the fastest */
lop_rule u64 lop_work_ns(const struct lop_sched *s, u32 cpu, u64 ran_ns)
{
	u64 permille = s->topology.tier_permille[lop_tier_of(s, cpu)];
	return permille ? ran_ns * permille / 1000 : ran_ns;
}

/* A task that may move runs on `cpu` and is not on its way elsewhere. A task on the reserved CPU stays there. */
lop_rule bool lop_may_leave(const struct lop_sched *s, u32 cpu)
{
	const struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	return on->since_ns && on->movable && !s->fast.migrates_to[lop_cpu_index(cpu)] && !lop_is_reserved(s, cpu);
}

/* A task is on its way to `cpu`, or waits there for the running task to leave. */
lop_rule bool lop_is_claimed(const struct lop_sched *s, u32 cpu)
{
	return lop_cpus_has(&s->fast.claimed, cpu) || lop_cpus_has(&s->queues.given, cpu);
}

/* The memory domain of `cpu` is off: tasks that still run there leave, and none is moved there. */
lop_rule bool lop_is_off(const struct lop_sched *s, u32 cpu) { return lop_has_domains(s) && lop_cpus_has(&s->off, lop_cpu_index(cpu)); }

/* Whether an SMT sibling of `cpu` is in `set`. */
lop_rule bool lop_beside(const struct lop_sched *s, u32 cpu, const struct lop_cpus *set)
{
	u32 sibling = cpu;
	bool beside = false;
	int n;
	lop_for(n, 0, LOP_MAX_SMT) {
		lop_opaque(sibling);
		sibling = lop_cpu_index(s->topology.next_sibling[lop_cpu_index(sibling)]);
		if (sibling == cpu)
			break;
		beside |= lop_cpus_has(set, sibling);
	}
	return beside;
}

/*
 * An SMT sibling of `cpu` is busy, or a task is on its way there: a task that comes here gets half of a core and takes it from the
 * sibling's task. Such a CPU is no fast core to move to, but for a thread that gains from speed (turn.h).
 */
lop_subprog bool lop_is_halved(const struct lop_sched *s lop_nonnull, u32 cpu)
{
	cpu = lop_cpu_index(cpu);
	return lop_cpus_has(&s->beside_busy, cpu) || lop_beside(s, cpu, &s->fast.claimed);
}

/*
 * What a thread does on half of a core, x 1000 of a whole one: (1 + g) / 2 with a gain of SMT of a quarter, as machine files
 * have it for desktops and laptops (our choice; smt_spread.h).
 */
#define LOP_HALF_PERMILLE 625

/*
 * The thread on `from` would be faster on `cpu`, of a faster kind: that is a whole core, or the thread has but a half itself, or
 * a whole core of a kind so slow.
 * Worked example: a core of 0.92 is worth more than half of one of 1, which does 0.625; one of 0.55 is not.
 */
lop_rule bool lop_is_faster_there(const struct lop_sched *s, u32 from, u32 cpu, bool halved)
{
	return !halved || lop_is_halved(s, from) || lop_work_ns(s, from, 1000) < lop_work_ns(s, cpu, LOP_HALF_PERMILLE);
}

/* The lowest class that `rank` does not displace. */
lop_rule u32 lop_displaces_below(const struct lop_rank *rank) { return rank->class + (rank->length != 0); }

/*
 * `rank` takes `cpu` at once from the task that runs there, by class or length. The running task keeps it if its user
 * has had less.
 */
lop_rule bool lop_takes_core(const struct lop_sched *s, const struct lop_rank *rank, u32 cpu)
{
	const struct lop_rank *there = &s->fast.on[lop_cpu_index(cpu)].rank;
	return lop_displaces(rank, there) && lop_owed_ns(s, there, rank) <= 0;
}

/*
 * The task on `cpu` is of that class from now on. If two CPUs set it at once, the sets may keep the other class until
 * the next task starts there: one scan over the CPUs finds nothing, or is left out.
 */
lop_subprog bool lop_set_class(struct lop_sched *s lop_nonnull, u32 cpu, u32 class)
{
	u32 n;
	cpu = lop_cpu_index(cpu);
	s->fast.on[cpu].rank.class = class;
	lop_for_few(n, 0, LOP_CLASSES) {
		if (lop_cpus_has(&s->fast.of_class[n], cpu) == (n == class))
			continue;
		if (n == class)
			lop_cpus_add(&s->fast.of_class[n], cpu);
		else
			lop_cpus_take(&s->fast.of_class[n], cpu);
	}
	return true;
}

/*
 * out = busy CPUs whose task is of a class from `least` to `most`; false: there are none. Usually there are none, and
 * the scan over the CPUs is left out: it costs as much as all else that is done when a task starts.
 */
lop_subprog bool lop_busy_of(const struct lop_sched *s lop_nonnull, struct lop_cpus *out lop_nonnull, u32 least, u32 most)
{
	u32 n;
	int i;
	lop_for_words(i) {
		u32 w = i & (LOP_CPU_WORDS - 1);
		u64 cpus = 0;
		lop_for_few(n, 0, LOP_CLASSES) cpus |= s->fast.of_class[n].word[w] & (lop_less(n, least) - 1) & (lop_less(most, n) - 1);
		out->word[w] = cpus & s->online.word[w] & ~s->idle.word[w];
	}
	return !lop_cpus_empty(out);
}

/*
 * out = CPUs whose task `rank` may displace: one of a lower class, or of its own class if it may for its length.
 * False: there are none.
 */
lop_rule bool lop_may_displace(const struct lop_sched *s, const struct lop_rank *rank, struct lop_cpus *out)
{
	u32 below = lop_displaces_below(rank);
	return below && lop_busy_of(s, out, LOP_YIELDS, below - 1);
}

/*
 * The task on `cpu` loses its CPU before the one on `other` does: a task that shares its core keeps it, then the lower
 * in rank goes.
 */
lop_subprog bool lop_is_weaker(const struct lop_sched *s lop_nonnull, u32 cpu, u32 other)
{
	if (lop_is_halved(s, cpu) != lop_is_halved(s, other))
		return lop_is_halved(s, other);
	return lop_ranks_before(s, &s->fast.on[lop_cpu_index(other)].rank, &s->fast.on[lop_cpu_index(cpu)].rank);
}

/*
 * CPU of a kind faster than `tier` whose task `rank` displaces: if there are several, one that has its core to itself,
 * then the one of lowest rank, then the lowest number. LOP_NONE: there is none.
 */
lop_subprog s32 lop_weakest_faster(const struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, const struct lop_rank *rank lop_nonnull,
				u32 tier)
{
	s32 cpu = LOP_NONE, weakest = LOP_NONE;
	int n;
	if (!lop_may_displace(s, rank, &world->others))
		return LOP_NONE;
	lop_for(n, 0, LOP_MAX_CPUS) {
		cpu = lop_cpus_next(&world->others, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		if (lop_tier_of(s, (u32)cpu) >= tier || !lop_may_leave(s, (u32)cpu) || lop_is_claimed(s, (u32)cpu) ||
		    lop_is_off(s, (u32)cpu))
			continue;
		if (lop_takes_core(s, rank, (u32)cpu) && (weakest < 0 || lop_is_weaker(s, (u32)cpu, (u32)weakest)))
			weakest = cpu;
	}
	return weakest;
}

/* Drops the SMT siblings of CPUs that a task is on its way to. */
lop_subprog bool lop_drop_beside_claimed(const struct lop_sched *s lop_nonnull, struct lop_cpus *cpus lop_nonnull)
{
	s32 claimed = LOP_NONE;
	int n, i;
	lop_for(n, 0, LOP_MAX_CPUS) {
		u32 sibling;
		claimed = lop_cpus_next(&s->fast.claimed, (u32)(claimed + 1));
		if (claimed < 0)
			break;
		sibling = lop_cpu_index((u32)claimed);
		lop_for(i, 0, LOP_MAX_SMT) {
			lop_opaque(sibling);
			sibling = lop_cpu_index(s->topology.next_sibling[lop_cpu_index(sibling)]);
			lop_cpus_take_if(cpus, sibling);
			if (sibling == (u32)claimed)
				break;
		}
	}
	return n > 0;
}

/*
 * Idle CPUs of the kind `tier` that have their core to themselves and no task on its way there; of these only members
 * of the high set, if there are any.
 */
lop_subprog bool lop_idle_whole(const struct lop_sched *s lop_nonnull, struct lop_cpus *idle lop_nonnull, u32 tier)
{
	lop_cpus_and(idle, &s->idle, &s->topology.tier_cpus[tier & (LOP_MAX_TIERS - 1)]);
	lop_cpus_and(idle, idle, &s->open);
	if (!lop_cpus_empty(&s->fast.claimed))
		lop_drop_beside_claimed(s, idle);
	if (lop_has_domains(s))
		lop_cpus_drop(idle, &s->off);
	if (lop_has_reserved(s))
		lop_cpus_drop(idle, &s->reserved.cpus);
	if (lop_has_ladder(s)) /* what light work left is anybody's */
		lop_cpus_drop(idle, lop_has_light(s) ? &s->set[LOP_GREEN].pinned : &s->set[LOP_GREEN].cpus);
	lop_cpus_drop(idle, &s->queues.given);
	lop_cpus_drop(idle, &s->beside_busy);
	lop_cpus_prefer(idle, &s->set[LOP_HIGH].cpus);
	return !lop_cpus_empty(idle);
}

/* Such a CPU of the fastest kind that has one, faster than `tier`. LOP_NONE: there is none. */
lop_subprog s32 lop_idle_faster(const struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 tier)
{
	bool found = false;
	u32 n;
	if (lop_cpus_empty(&s->idle))
		return LOP_NONE;
	lop_for(n, 0, LOP_MAX_TIERS) {
		if (n >= tier)
			break;
		found = lop_idle_whole(s, &world->others, n);
		if (found)
			break;
	}
	return found ? lop_cpus_next(&world->others, 0) : LOP_NONE;
}
