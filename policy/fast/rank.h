/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "budget.h"
#include "reserved.h"
/* Who gets the fast cores. Cores are fast or slow beside each other by their kind (lop_topology.tier, 0 the fastest). */

/* An adapter that never has such rules says so, and the verifier drops them. */
#ifndef lop_has_rank
#define lop_has_rank(s) ((s)->config.rules != 0)
#endif

lop_rule bool lop_rules_by(const struct lop_sched *s, enum lop_rules rule) { return lop_has_rank(s) && (s->config.rules & rule); }

/* An adapter that never makes plans of list.h says so, and the verifier drops what carries them out. */
#ifndef lop_has_lists
#define lop_has_lists(s) lop_rules_by(s, LOP_LONGEST)
#endif

/* SF of one task above that of another by more than 10 %, so that a measurement's noise moves nobody. */
lop_rule bool lop_gains_more(u32 a_permille, u32 b_permille) { return (u64)a_permille * 10 > (u64)b_permille * 11; }

/* Threads of one application of which one has more work left. Units of different applications do not compare. */
lop_rule bool lop_lengths_differ(const struct lop_rank *a, const struct lop_rank *b)
{
	return a->app && a->app == b->app && a->length != b->length;
}

/*
 * `a` goes before `b`:
 *     0. of two users who has had less of the fast cores (budget.h), and of one
 *     1. awaited (lock holder, sequential phase) before ordinary, that before what only spins
 *     2. of one application who has more work left
 *     3. where speed-up rules: the higher SF, by more than 10 %
 *     4. whose last turn on a fast core is longer ago, so that all get one (turn.h: but for who is new); of those who had none the higher SF
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
	if (lop_rules_by(s, LOP_SPEEDUP) && (lop_gains_more(a->speedup_permille, b->speedup_permille) ||
					     lop_gains_more(b->speedup_permille, a->speedup_permille)))
		return lop_gains_more(a->speedup_permille, b->speedup_permille);
	if (a->last_turn_ns != b->last_turn_ns)
		return a->last_turn_ns < b->last_turn_ns;
	return a->speedup_permille > b->speedup_permille;
}

/* `a` takes the core from `b` at once, by class or by length; what lop_ranks_before() has beside these waits for a turn. */
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

/* Something that may move runs there, and stays for now. What runs on the reserved CPU belongs there. */
lop_rule bool lop_may_leave(const struct lop_sched *s, u32 cpu)
{
	const struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	return on->since_ns && on->movable && !s->fast.migrates_to[lop_cpu_index(cpu)] && !lop_is_reserved(s, cpu);
}

/* A task is on its way to `cpu`, or waits there for what runs to leave. */
lop_rule bool lop_is_claimed(const struct lop_sched *s, u32 cpu)
{
	return lop_cpus_has(&s->fast.claimed, cpu) || lop_cpus_has(&s->queues.given, cpu);
}

/* Its memory domain is off: what still runs there leaves, and nobody is moved there. */
lop_rule bool lop_is_off(const struct lop_sched *s, u32 cpu) { return lop_has_domains(s) && lop_cpus_has(&s->off, lop_cpu_index(cpu)); }

/* Who runs on `cpu` has its core by length, which goes before SF: no plan by SF moves it (specialise.h). */
lop_rule bool lop_has_core_by_length(const struct lop_sched *s, u32 cpu)
{
	const struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	return lop_has_rank(s) && on->since_ns && on->rank.length;
}

/* The class of what runs on `cpu`, which goes before SF as well: plans by SF are made for each class. */
lop_rule u32 lop_class_on(const struct lop_sched *s, u32 cpu)
{
	const struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	return lop_has_rank(s) && on->since_ns ? on->rank.class : LOP_ORDINARY;
}

/* An SMT sibling of `cpu` is busy: what comes here gets half of a core, and takes it from the other. That is no fast core to move to. */
lop_rule bool lop_is_halved(const struct lop_sched *s, u32 cpu) { return lop_cpus_has(&s->beside_busy, cpu); }

/* It is where a plan of list.h says: it takes no core for its length, and loses none to a longer one. */
lop_rule bool lop_is_by_plan(const struct lop_sched *s, const struct lop_rank *rank) { return lop_has_lists(s) && rank->by_plan; }

/* The lowest class that `claim` does not displace. */
lop_rule u32 lop_displaces_below(const struct lop_sched *s, const struct lop_rank *claim)
{
	return claim->class + (claim->length && !lop_is_by_plan(s, claim));
}

/* `claim`, which may displace what is of that class, takes `cpu` from who runs there at once, unless that one's user has had less. */
lop_rule bool lop_takes_core(const struct lop_sched *s, const struct lop_rank *claim, u32 cpu)
{
	const struct lop_rank *there = &s->fast.on[lop_cpu_index(cpu)].rank;
	return lop_displaces(claim, there) && lop_owed_ns(s, there, claim) <= 0 && !(lop_is_by_plan(s, there) && claim->class == there->class);
}

/*
 * What runs on `cpu` is of that class from now on. Of two that say so at once the sets may keep the other's word until something starts there:
 * a look at each CPU is made in vain, or left out once.
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
 * out = busy CPUs that run what is of a class from `least` to `most`; false: there are none. As a rule there are not, and then nobody looks at each
 * CPU: a look costs as much as all the rest that is done when a task starts.
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

/* out = CPUs that run what `claim` may displace: what is of a lower class, and of its own if it may for its length. False: there are none. */
lop_rule bool lop_may_displace(const struct lop_sched *s, const struct lop_rank *claim, struct lop_cpus *out)
{
	u32 below = lop_displaces_below(s, claim);
	return below && lop_busy_of(s, out, LOP_ONLY_SPINS, below - 1);
}

/* What runs on `cpu` loses it before what runs on `other` does: who shares its core keeps it, then the lowest in rank goes. */
lop_subprog bool lop_is_weaker(const struct lop_sched *s lop_nonnull, u32 cpu, u32 other)
{
	if (lop_is_halved(s, cpu) != lop_is_halved(s, other))
		return lop_is_halved(s, other);
	return lop_ranks_before(s, &s->fast.on[lop_cpu_index(other)].rank, &s->fast.on[lop_cpu_index(cpu)].rank);
}

/*
 * Of the CPUs of faster kinds than `tier` the one whose task `claim` displaces; of several one that has its core to itself, then the one of
 * lowest rank, of equals the fastest. LOP_NONE: there is none.
 */
lop_subprog s32 lop_weakest_faster(const struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, const struct lop_rank *claim lop_nonnull,
				u32 tier)
{
	s32 cpu = LOP_NONE, weakest = LOP_NONE;
	int n;
	if (!lop_may_displace(s, claim, &world->others))
		return LOP_NONE;
	lop_for(n, 0, LOP_MAX_CPUS) {
		cpu = lop_cpus_next(&world->others, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		if (lop_tier_of(s, (u32)cpu) >= tier || !lop_may_leave(s, (u32)cpu) || lop_is_claimed(s, (u32)cpu) ||
		    lop_is_off(s, (u32)cpu))
			continue;
		if (lop_takes_core(s, claim, (u32)cpu) && (weakest < 0 || lop_is_weaker(s, (u32)cpu, (u32)weakest)))
			weakest = cpu;
	}
	return weakest;
}

/* Idle CPUs of the kind `tier` with their core to themselves that nobody is on the way to; of those members of the high set, if there are any. */
lop_subprog bool lop_idle_whole(const struct lop_sched *s lop_nonnull, struct lop_cpus *idle lop_nonnull, u32 tier)
{
	lop_cpus_and(idle, &s->idle, &s->topology.tier_cpus[tier & (LOP_MAX_TIERS - 1)]);
	lop_cpus_and(idle, idle, &s->open);
	lop_cpus_drop(idle, &s->fast.claimed);
	if (lop_has_domains(s))
		lop_cpus_drop(idle, &s->off);
	if (lop_has_reserved(s))
		lop_cpus_drop(idle, &s->reserved.cpus);
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
