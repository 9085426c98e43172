/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "group.h"
/*
 * Of two users, the one that has had less of the fast cores by weight goes first.
 * Any thread can hint that it is awaited (phase.h), so the hint counts only among threads of one user. A task on a fast
 * core (any kind but the slowest) pays for the time in which another task is kept from that core:
 *     had(user) += ran * 1024 / weight, lop_pay_for_core()
 * A user earns nothing by sleeping, and a new user gets no credit:
 *     had(user) >= the least that any user that wants a fast core has had, lop_least_had_ns()
 * A user is known by its number, since sessions and cgroups cost nothing to make. All threads of a user share one
 * account; the weight of each sets the price of its time.
 * Worked example: one fast core; a thread of user 1 computes, and a thread of user 2 hints that it is awaited, both at
 * nice 0. The second thread takes the core and has had 20 ms when its turn ends. Then the first thread has it until it
 * has had 20 ms too. At nice 19 (a weight of 15) 20 ms count as 1365 ms.
 * Tested in: budget. Studied in: none.
 */

lop_rule u32 lop_user_index(u32 user) { return user & (LOP_USERS - 1); }

lop_rule u64 lop_had_ns(const struct lop_sched *s, u32 user) { return lop_later(s->budget.had_ns[lop_user_index(user)], s->budget.least_ns); }

/*
 * How much more the user of `b` has had than the user of `a`; negative: less. A task that yields to all others is owed
 * nothing and owes nothing.
 */
lop_subprog s64 lop_had_less_ns(const struct lop_sched *s lop_nonnull, const struct lop_rank *a lop_nonnull, const struct lop_rank *b lop_nonnull)
{
	if (a->class == LOP_YIELDS || b->class == LOP_YIELDS)
		return 0;
	return (s64)(lop_had_ns(s, b->user) - lop_had_ns(s, a->user));
}

/* The same without a call for two tasks of one user, as most are. */
lop_rule s64 lop_owed_ns(const struct lop_sched *s, const struct lop_rank *a, const struct lop_rank *b)
{
	return a->user == b->user ? 0 : lop_had_less_ns(s, a, b);
}

/*
 * A task pays for at most this many turns at once: had it kept another task from the core, it would have been looked at
 * sooner.
 */
#define LOP_PAYS_TURNS 2

/* The task on `cpu` pays for the time that it has not paid for yet. */
lop_rule void lop_pay_for_core(struct lop_sched *s, u32 cpu, u64 now_ns)
{
	struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	u64 *had_ns = &s->budget.had_ns[lop_user_index(on->rank.user)];
	u64 from_ns = lop_max(on->paid_until_ns, on->since_ns);
	u64 ran_ns = lop_min(now_ns - lop_min(from_ns, now_ns), LOP_PAYS_TURNS * s->config.turn_ns);
	if (!on->paid_until_ns || !on->since_ns)
		return;
	on->paid_until_ns = now_ns;
	*had_ns = lop_later(*had_ns, s->budget.least_ns);
	lop_atomic_add(had_ns, ran_ns * LOP_WEIGHT_DEFAULT / lop_max(on->weight, 1));
}

/*
 * Notes whether a task is kept from the fast core `cpu` from now on. The note outlasts the task on `cpu`: a moment of
 * sleep changes nothing.
 */
lop_subprog bool lop_note_contended(struct lop_sched *s lop_nonnull, u32 cpu, bool contended, u64 now_ns)
{
	lop_pay_for_core(s, cpu, now_ns);
	s->fast.on[lop_cpu_index(cpu)].paid_until_ns = contended ? lop_max(now_ns, 1) : 0;
	return contended;
}

/*
 * Weight by which a task pays: its own, scaled by the weight of each group that it is in relative to the default of
 * 1024.
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

/* Sets the user that pays for the task, and its weight: before the task is woken, and when one of them changes. */
lop_rule void lop_belong(struct lop_task *t, u32 user, u32 weight)
{
	t->user = user;
	t->user_weight = weight;
}
