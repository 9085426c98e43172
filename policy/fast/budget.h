/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "group.h"
/*
 * Whose turn on the fast cores it is among users. Anybody can claim to be awaited (phase.h), so a claim counts among threads of one user only: between
 * users goes first who has had less of the fast cores by weight. What runs on a fast core (of any kind but the slowest) pays while somebody is kept
 * from that core:
 *     had(user) += ran * 1024 / weight
 * Sleep earns nothing, and there is no credit for who is new:
 *     had(user) >= had of the user who has had least of those that want a fast core
 * Users go by number, as sessions and cgroups cost nothing to make. However many threads a user has, it is one; its threads' weights say what a ns costs.
 * Worked example: one fast core, where a thread of user 1 computes, and one of user 2 that says to be awaited, both of nice 0. The latter takes the core
 * and has had 20 ms when its turn ends; then the other has it until it has had 20 ms, too. At nice 19 (a weight of 15) the 20 ms count as 1365.
 */

lop_rule u32 lop_user_index(u32 user) { return user & (LOP_USERS - 1); }

lop_rule u64 lop_had_ns(const struct lop_sched *s, u32 user) { return lop_later(s->budget.had_ns[lop_user_index(user)], s->budget.least_ns); }

/* What the user of `b` has had more than that of `a`; below 0: less. Who only spins is owed nothing, and owes nothing. */
lop_subprog s64 lop_had_less_ns(const struct lop_sched *s lop_nonnull, const struct lop_rank *a lop_nonnull, const struct lop_rank *b lop_nonnull)
{
	if (a->class == LOP_ONLY_SPINS || b->class == LOP_ONLY_SPINS)
		return 0;
	return (s64)(lop_had_ns(s, b->user) - lop_had_ns(s, a->user));
}

/* The same; most are of one user. */
lop_rule s64 lop_owed_ns(const struct lop_sched *s, const struct lop_rank *a, const struct lop_rank *b)
{
	return a->user == b->user ? 0 : lop_had_less_ns(s, a, b);
}

/* Nobody looked at the core for longer: nobody was there to want it. */
#define LOP_PAYS_TURNS 2

/* What runs on `cpu` pays for what it has not paid yet. */
lop_rule void lop_pay_for_core(struct lop_sched *s, u32 cpu, u64 now_ns)
{
	struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	u64 *had_ns = &s->budget.had_ns[lop_user_index(on->rank.user)];
	u64 from_ns = lop_max(on->wanted_ns, on->since_ns);
	u64 ran_ns = lop_min(now_ns - lop_min(from_ns, now_ns), LOP_PAYS_TURNS * s->config.turn_ns);
	if (!on->wanted_ns || !on->since_ns)
		return;
	on->wanted_ns = now_ns;
	*had_ns = lop_later(*had_ns, s->budget.least_ns);
	lop_atomic_add(had_ns, ran_ns * LOP_WEIGHT_DEFAULT / lop_max(on->weight, 1));
}

/* Somebody is kept from the fast core `cpu` from now on, or nobody is. It stays so whoever comes there: a moment of sleep changes nothing. */
lop_subprog bool lop_want(struct lop_sched *s lop_nonnull, u32 cpu, bool wanted, u64 now_ns)
{
	lop_pay_for_core(s, cpu, now_ns);
	s->fast.on[lop_cpu_index(cpu)].wanted_ns = wanted ? lop_max(now_ns, 1) : 0;
	return wanted;
}

/*
 * What a ns of the task counts for: its weight, and those of the groups that it is in, as if each of them had one of nice 0 beside it.
 *     w = weight(task) * prod over its groups of weight(g) / 1024
 * Worked example: nice 0 in a cgroup with a cpu.weight of 10 that lies in one of 50: 1024 * 0.1 * 0.5 = 51.
 */
lop_subprog u32 lop_weight_of_user(const struct lop_sched *s lop_nonnull, const struct lop_task *t lop_nonnull, const struct lop_group *group)
{
	u64 weight = t->weight;
	int n;
	lop_for(n, 0, LOP_MAX_GROUP_DEPTH) {
		if (!group)
			break;
		weight = lop_clamp(weight * lop_group_weight(group->load) / LOP_WEIGHT_DEFAULT, 1, LOP_WEIGHT_MOST);
		group = group->parent == LOP_NONE ? 0 : lop_env_group(s, group->parent);
	}
	return (u32)lop_clamp(weight, 1, LOP_WEIGHT_MOST);
}

/* Who pays for the task, and by what weight: before it is woken, and where one of them changed. */
lop_rule void lop_belong(struct lop_task *t, u32 user, u32 weight)
{
	t->user = user;
	t->user_weight = weight;
}
