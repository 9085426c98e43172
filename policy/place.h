/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "sets.h"
/* Where a task that has just become runnable goes. */

/* Longest idle of the candidates: what confines work to a set but leaves fairness among cores (simple sets). */
lop_rule s32 lop_longest_idle(const struct lop_sched *s, const struct lop_cpus *candidates)
{
	s32 cpu = LOP_NONE, best = LOP_NONE;
	int n;
	lop_for(n, 0, LOP_MAX_CPUS) {
		cpu = lop_cpus_next(candidates, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		if (best < 0 || s->idle_since_ns[lop_cpu_index(cpu)] < s->idle_since_ns[lop_cpu_index(best)])
			best = cpu;
	}
	return best;
}

/*
 * The best of the idle members that the task may use: the fastest kind, a core that no sibling is busy on, the memory
 * domain it last ran in, its last CPU, else the first.
 */
lop_rule s32 lop_best_idle(const struct lop_sched *s, const struct lop_cpus *idle, u32 last_cpu)
{
	const struct lop_topology *top = &s->topology;
	struct lop_cpus candidates = *idle;
	if (s->config.sizing == LOP_SIZE_FIXED)
		return lop_longest_idle(s, &candidates);
	if (top->nr_tiers > 1)
		lop_prefer_fast(s, &candidates);
	lop_cpus_avoid(&candidates, &s->beside_busy);
	if (lop_cpus_has(&candidates, last_cpu))
		return (s32)last_cpu;
	if (top->nr_memory_domains > 1)
		lop_cpus_prefer(&candidates, &top->memory_cpus[top->memory_domain[lop_cpu_index(last_cpu)] &
							       (LOP_MAX_MEMORY_DOMAINS - 1)]);
	return lop_cpus_next(&candidates, 0);
}

/* Scores first, then claims the winner; another waker may have been faster, so it tries a few times. */
lop_rule s32 lop_claim_idle(struct lop_sched *s, const struct lop_task *t, enum lop_set set, u32 last_cpu)
{
	s32 claimed = LOP_NONE;
	int n;
	lop_for(n, 0, 4) {
		struct lop_cpus idle;
		s32 cpu;
		lop_cpus_and(&idle, &s->set[set].cpus, &s->idle);
		if (t->restricted)
			lop_cpus_and(&idle, &idle, &t->allowed);
		cpu = lop_best_idle(s, &idle, last_cpu);
		if (cpu < 0)
			break;
		if (!lop_cpus_take(&s->idle, lop_cpu_index((u32)cpu)))
			continue;
		claimed = cpu;
		break;
	}
	return claimed;
}

/* Keeps `cpu` in its set while the task is active: it may be the only member that the task can use. */
lop_rule void lop_anchor(struct lop_sched *s, struct lop_task *t, u32 cpu)
{
	if (!t->restricted || t->anchor != LOP_NONE)
		return;
	t->anchor = (s32)cpu;
	lop_atomic_add(&s->anchored[lop_cpu_index(cpu)], 1);
}

lop_rule void lop_weigh_anchor(struct lop_sched *s, struct lop_task *t)
{
	if (t->anchor == LOP_NONE)
		return;
	lop_atomic_add(&s->anchored[lop_cpu_index(t->anchor)], -1);
	t->anchor = LOP_NONE;
}

/*
 * A member that a task of limited affinity may use: an idle one, else a core promoted for it (a task pinned to a low
 * core promotes that core), else a busy member. Claims what is idle. LOP_NONE: nothing it may use is online.
 */
lop_rule s32 lop_place_restricted(struct lop_sched *s, void *world, struct lop_task *t, enum lop_set set, u32 last_cpu,
				  u64 now_ns, bool *claimed)
{
	struct lop_cpus usable;
	s32 cpu = lop_claim_idle(s, t, set, last_cpu);
	*claimed = cpu >= 0;
	if (cpu < 0) {
		struct lop_cpus idle_allowed;
		bool member;
		lop_cpus_and(&usable, &s->set[set].cpus, &t->allowed);
		member = !lop_cpus_empty(&usable);
		lop_cpus_and(&idle_allowed, &s->idle, &t->allowed);
		if (s->config.sizing == LOP_SIZE_BY_DEMAND || !member)
			cpu = lop_promote_within(s, world, set, member ? &idle_allowed : &t->allowed, now_ns);
		if (cpu >= 0)
			*claimed = lop_cpus_take(&s->idle, lop_cpu_index((u32)cpu));
		else if (member)
			cpu = lop_cpus_has(&usable, last_cpu) ? (s32)last_cpu : lop_cpus_next(&usable, 0);
	}
	if (cpu >= 0)
		lop_anchor(s, t, (u32)cpu);
	return cpu;
}
