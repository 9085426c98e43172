/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "demand.h"
#include "rank.h"
#include "room.h"
/*
 * Whole cores of the fastest kind whose voltage is already up join a set first; members leave in reverse order.
 * Tested in: members, largest. Studied in: barriers, compile-parallelism, critical-sections, hybrid-laptop.
 */

/* An adapter that reads no temperatures, or none on this machine, defines this as false, so the verifier drops the rules for hot cores. */
#ifndef lop_has_sensors
#define lop_has_sensors(s) true
#endif

/* Keeps the candidates of the fastest kind (0 is the fastest). */
lop_rule void lop_prefer_fast(const struct lop_sched *s, struct lop_cpus *candidates)
{
	u32 tier;
	if (s->topology.nr_tiers < 2)
		return;
	lop_for(tier, 0, s->topology.nr_tiers) {
		const struct lop_cpus *same = &s->topology.tier_cpus[tier & (LOP_MAX_TIERS - 1)];
		if (!lop_cpus_meet(candidates, same))
			continue;
		lop_cpus_and(candidates, candidates, same);
		break;
	}
}

/*
 * The tasks of an application share its memory, so its cores are to be on one node, its home:
 *     1. the only node that its memory may be on (`only_node`, LOP_NONE: there are several), since all of it will be there
 *     2. else the node where its first task was placed, since that task has touched most of it
 */
lop_rule void lop_share_memory(struct lop_app *app, s32 only_node)
{
	app->shares_memory = true;
	if (only_node != LOP_NONE)
		app->home_node = only_node;
}

/* LOP_NONE: any. */
lop_rule s32 lop_home_node(const struct lop_app *app)
{
	return app && app->shares_memory ? app->home_node : LOP_NONE;
}

/* Prefers the node of the asking application; for tasks that share no memory, the node with fewest high members. */
lop_subprog bool lop_prefer_node(const struct lop_sched *s lop_nonnull, struct lop_cpus *candidates lop_nonnull, s32 home_node)
{
	s32 best = home_node;
	u32 node, best_high = ~0U;
	if (s->topology.nr_nodes < 2)
		return false;
	if (best < 0) {
		lop_for(node, 0, s->topology.nr_nodes) {
			u32 high = s->membership.node_high[node & (LOP_MAX_NODES - 1)];
			if (high >= best_high ||
			    !lop_cpus_meet(candidates, &s->topology.node_cpus[node & (LOP_MAX_NODES - 1)]))
				continue;
			best = (s32)node;
			best_high = high;
		}
	}
	if (best >= 0)
		lop_cpus_prefer(candidates, &s->topology.node_cpus[best & (LOP_MAX_NODES - 1)]);
	return best >= 0;
}

/* argmin of at_ns[cpu] over the first `most` candidates; of equals the lowest number. */
lop_subprog s32 lop_earliest(const struct lop_cpus *candidates lop_nonnull, const struct lop_cpu_times *at_ns lop_nonnull, u32 most)
{
	s32 cpu, best = LOP_NONE;
	u64 best_ns = 0, left = 0; /* bits of the word below `from` */
	u32 from = 0, n;
	lop_for(n, 0, most) {
		u64 ns;
		cpu = left ? (s32)(from - 64 + lop_lowest_bit(left)) : lop_cpus_seek(candidates, from);
		if (cpu < 0)
			break;
		if (!left) {
			from = ((u32)cpu | 63) + 1;
			left = candidates->word[((u32)cpu / 64) & (LOP_CPU_WORDS - 1)];
		}
		left &= left - 1;
		ns = at_ns->ns[lop_cpu_index((u32)cpu)];
		if (best >= 0 && ns >= best_ns)
			continue;
		best = cpu;
		best_ns = ns;
	}
	return best;
}

/*
 * How many candidates are compared by how long they have been out of a set. With hundreds of CPUs, a wakeup that
 * promotes one would do little else than compare them.
 */
#define LOP_MOST_COMPARED 32

/*
 * Which core joins. Reserved cores do not, and isolated ones only if `within` has no others. Each of these preferences
 * counts only if some candidate meets it:
 *     1. not in a memory domain that is off
 *     2. not a green core, for the high set; where tasks are paced (pace.h), not a home
 *     3. not the sibling of the reserved CPU, whose slow clock it shares
 *     4. not too hot
 *     5. no SMT sibling in the high set: a sibling adds a quarter of a core and slows the other, so it costs time that no
 *        voltage saved pays for
 *     6. of the fastest kind; for the green set, where tasks are paced, of the cheapest, and for the high one not green
 *     7. in a voltage domain with a high member: the first pays for the domain's voltage, the next hardly anything
 *     8. on the asking application's node, or else on the node with fewest members
 *     9. longest out of the set, of the first 32 in number
 * `within`: only of these CPUs (a task's affinity).
 */
lop_subprog s32 lop_joiner(const struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, enum lop_set set,
			const struct lop_cpus *within lop_nonnull, s32 home_node)
{
	struct lop_cpus *candidates = &world->candidates;
	lop_cpus_and(candidates, &s->online, within);
	if (lop_has_isolated(s))
		lop_cpus_prefer(candidates, &s->open);
	lop_cpus_drop(candidates, &s->set[LOP_HIGH].cpus);
	if (lop_has_reserved(s))
		lop_cpus_drop(candidates, &s->reserved.cpus);
	if (lop_has_domains(s))
		lop_cpus_avoid(candidates, &s->off);
	if (set == LOP_GREEN)
		lop_cpus_drop(candidates, &s->set[LOP_GREEN].cpus);
	else if (lop_has_green(s))
		lop_cpus_avoid(candidates, lop_has_ladder(s) ? &s->set[LOP_GREEN].pinned : &s->set[LOP_GREEN].cpus);
	if (lop_cpus_empty(candidates))
		return LOP_NONE;
	if (lop_has_reserved(s))
		lop_cpus_avoid(candidates, &s->reserved.beside);
	if (lop_has_sensors(s))
		lop_cpus_avoid(candidates, &s->heat.hot);
	lop_cpus_avoid(candidates, &s->membership.beside_high);
	if (lop_has_ladder(s) && set == LOP_GREEN)
		lop_keep_cheapest(s, candidates);
	else
		lop_prefer_fast(s, candidates);
	if (lop_has_ladder(s))
		lop_cpus_avoid(candidates, &s->set[LOP_GREEN].cpus);
	lop_cpus_prefer(candidates, &s->membership.warm);
	lop_prefer_node(s, candidates, home_node);
	return lop_earliest(candidates, &s->membership.left_ns, LOP_MOST_COMPARED); /* longest out */
}

/* Which core joins for work that nobody waits for; LOP_NONE. */
lop_subprog s32 lop_background_joiner(const struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull)
{
	int i;
	lop_for_words(i) world->usable.word[i & (LOP_CPU_WORDS - 1)] = lop_background_word(s, i & (LOP_CPU_WORDS - 1));
	return lop_joiner(s, world, LOP_GREEN, &world->usable, LOP_NONE);
}

/*
 * Rank of a member in the order of leaving, the reverse of joining. The largest leaves first. The bits:
 *     SMT sibling reserved | hot | SMT sibling high | slower kind | last high one of its voltage domain | members on its node
 *              1              1           1                4                       1                               10
 * Of equals the last to join leaves first; lop_leaver() compares that.
 */
lop_subprog u32 lop_leaving_rank(const struct lop_sched *s lop_nonnull, enum lop_set set, u32 cpu)
{
	const struct lop_topology *top = &s->topology;
	u32 c = lop_cpu_index(cpu);
	u32 alone = s->membership.voltage_high[lop_cpu_index(top->voltage_domain[c])] == (set == LOP_HIGH ? 1 : 0);
	u32 on_node = (u32)lop_min(s->membership.node_high[top->node[c] & (LOP_MAX_NODES - 1)], 1023);
	u32 tier = top->tier[c] & (LOP_MAX_TIERS - 1);
	u32 beside_reserved = lop_has_reserved(s) && lop_cpus_has(&s->reserved.beside, c);
	return beside_reserved << 17 | (u32)(lop_has_sensors(s) && lop_cpus_has(&s->heat.hot, c)) << 16 | (u32)lop_cpus_has(&s->membership.beside_high, c) << 15 | tier << 11 |
	       alone << 10 | on_node;
}

#define LOP_NOT_YET -2

/* Which core leaves: an idle one that has rested (room.h), is no home, and that no task is anchored to or on its way to. LOP_NOT_YET: it has to rest first. */
lop_subprog s32 lop_leaver(const struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, enum lop_set set, u64 now_ns)
{
	struct lop_cpus *candidates = &world->candidates;
	s32 cpu = LOP_NONE, best = LOP_NONE;
	bool rests = false;
	u32 best_rank = 0;
	int n;
	lop_cpus_and(candidates, &s->set[lop_set_index(set)].cpus, &s->idle);
	if (lop_has_ladder(s))
		lop_cpus_drop(candidates, &s->set[LOP_GREEN].pinned); /* homes */
	lop_for(n, 0, LOP_MAX_CPUS) {
		u32 rank, c;
		cpu = lop_cpus_next(candidates, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		c = lop_cpu_index((u32)cpu);
		if (s->membership.anchored[c] || (lop_has_rank(s) && lop_is_claimed(s, c)))
			continue;
		if (set == LOP_HIGH && !lop_has_rested(s, c, now_ns)) {
			rests = true;
			continue;
		}
		rank = lop_leaving_rank(s, set, c);
		if (best >= 0 && (rank < best_rank ||
				  (rank == best_rank && s->membership.joined_ns.ns[c] <= s->membership.joined_ns.ns[lop_cpu_index(best)])))
			continue;
		best = cpu;
		best_rank = rank;
	}
	return best < 0 && rests ? LOP_NOT_YET : best;
}
