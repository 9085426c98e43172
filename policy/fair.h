/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "sets.h"
/*
 * Fairness among tasks inside the set: start-time fair queueing. Each task has a virtual time that grows with what it
 * ran, divided by its weight; the task furthest behind runs next.
 */
#define LOP_WEIGHT_DEFAULT 100

/*
 * Effective weight of a task beside others of its cgroup, which share the group's weight:
 *     w = group.weight * task.weight / sum of the weights of the group's active tasks
 * Worked example: group of weight 100 with two default tasks active: 100 * 100 / 200 = 50 each.
 */
lop_rule u32 lop_weight(const struct lop_task *t, const struct lop_group *group)
{
	u64 weight = t->weight;
	if (group && group->active_weight)
		weight = (u64)group->weight * t->weight / lop_max(group->active_weight, t->weight);
	return (u32)lop_clamp(weight, 1, 10000);
}

/* Virtual time that `ran_ns` costs: ran * 100 / w. */
lop_rule u64 lop_charge_ns(u64 ran_ns, u32 weight) { return ran_ns * LOP_WEIGHT_DEFAULT / weight; }

/*
 * Slice: so long that every active task gets one within the period, between the minimum and the maximum.
 *     slice = period * |H| / active
 */
lop_rule u64 lop_slice_ns(const struct lop_sched *s)
{
	u64 active = lop_max(s->set[LOP_HIGH].active, 1);
	return lop_clamp(s->config.period_ns * lop_max(s->set[LOP_HIGH].size, 1) / active, s->config.slice_min_ns,
			 s->config.slice_max_ns);
}

/*
 * Bounded lag: a task that slept is not paid for it beyond one slice, and one that ran alone and far is not punished
 * for it beyond what a slice costs it.
 *     clock - slice_max <= vtime <= clock + slice_max + slice_max * 100 / w
 */
lop_rule void lop_bound_lag(const struct lop_sched *s, struct lop_task *t, const struct lop_group *group)
{
	u64 lag_ns = s->config.slice_max_ns;
	u64 low_ns = s->clock_ns > lag_ns ? s->clock_ns - lag_ns : 0;
	u64 high_ns = s->clock_ns + lag_ns + lop_charge_ns(lag_ns, lop_weight(t, group));
	t->vtime_ns = lop_clamp(t->vtime_ns, low_ns, high_ns);
}

lop_rule u32 lop_cpu_queue(u32 cpu) { return lop_cpu_index(cpu); }

lop_rule u32 lop_domain_queue(u32 memory_domain, enum lop_set set)
{
	return LOP_MAX_CPUS + (memory_domain & (LOP_MAX_MEMORY_DOMAINS - 1)) +
	       (set == LOP_GREEN ? LOP_MAX_MEMORY_DOMAINS : 0);
}

lop_rule u32 lop_queue_index(u32 queue) { return queue & (LOP_QUEUES - 1); }

/* The bitmap that tells whether a queue has tasks, and the bit in it: 512 CPUs, then 512 domain queues. */
lop_rule struct lop_cpus *lop_waiting(struct lop_sched *s, u32 queue)
{
	return queue < LOP_MAX_CPUS ? &s->cpu_waiting : &s->domain_waiting;
}

lop_rule bool lop_queue_waits(struct lop_sched *s, u32 queue)
{
	return lop_cpus_has(lop_waiting(s, queue), lop_cpu_index(queue));
}

/* Puts a runnable task in a queue; front_ns stays at or behind the first task's virtual time. */
lop_rule void lop_queue_insert(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u32 queue)
{
	u64 *front_ns = &s->front_ns[lop_queue_index(queue)];
	if (!lop_queue_waits(s, queue) || t->vtime_ns < *front_ns)
		*front_ns = t->vtime_ns;
	lop_env_insert(world, t, queue, lop_slice_ns(s), t->vtime_ns);
	lop_cpus_add(lop_waiting(s, queue), lop_cpu_index(queue));
}

/* Takes the first task of a queue that may run on `cpu`. The bit is cleared before the last look, so no task is lost. */
lop_rule bool lop_queue_take(struct lop_sched *s, struct lop_world *world, u32 queue, u32 cpu)
{
	bool taken = lop_queue_waits(s, queue) && lop_env_take(world, queue, cpu);
	if (taken && !lop_env_queued(world, queue)) {
		lop_cpus_take(lop_waiting(s, queue), lop_cpu_index(queue));
		if (lop_env_queued(world, queue))
			lop_cpus_add(lop_waiting(s, queue), lop_cpu_index(queue));
	}
	return taken;
}

/* `a` goes before `b`: it has tasks, and they are further behind by more than `margin_ns` (or b has none). */
lop_rule bool lop_goes_first(struct lop_sched *s, u32 a, u32 b, u64 margin_ns)
{
	if (!lop_queue_waits(s, a))
		return false;
	return !lop_queue_waits(s, b) ||
	       s->front_ns[lop_queue_index(a)] + margin_ns < s->front_ns[lop_queue_index(b)];
}

/* A domain queue with tasks, another one each time; LOP_NONE if none has any. */
lop_rule s32 lop_queue_in_turn(struct lop_sched *s)
{
	s32 found = lop_cpus_next(&s->domain_waiting, s->turn % LOP_MAX_CPUS);
	if (found < 0)
		found = lop_cpus_next(&s->domain_waiting, 0);
	if (found < 0)
		return LOP_NONE;
	s->turn = (u32)found + 1; /* a lost update between CPUs only repeats a turn */
	return LOP_MAX_CPUS + found;
}

/*
 * Work for a CPU that asks. Of the queue of this CPU alone and that of its domain and set, whoever is further behind;
 * one other domain, in turn, goes first when it is more than a slice further behind; with nothing at home, any domain.
 * Low CPUs only run what may run nowhere else. False: nothing to do.
 */
lop_rule bool lop_pick_next(struct lop_sched *s, struct lop_world *world, u32 cpu)
{
	enum lop_set set = lop_set_of(s, cpu);
	u32 own = lop_cpu_queue(cpu);
	u32 shared = lop_domain_queue(s->topology.memory_domain[cpu], set);
	u32 home = set != LOP_LOW && lop_goes_first(s, shared, own, 0) ? shared : own;
	s32 away;
	int n;
	if (set == LOP_LOW)
		return lop_queue_take(s, world, own, cpu);
	away = lop_queue_in_turn(s);
	if (away >= 0 && lop_goes_first(s, (u32)away, home, s->config.slice_max_ns) &&
	    lop_queue_take(s, world, (u32)away, cpu))
		return true;
	if (lop_queue_take(s, world, home, cpu) || lop_queue_take(s, world, home == own ? shared : own, cpu))
		return true;
	lop_for(n, 0, 2 * LOP_MAX_MEMORY_DOMAINS) {
		away = lop_queue_in_turn(s);
		if (away < 0)
			break;
		if (lop_queue_take(s, world, (u32)away, cpu))
			return true;
		if (n >= s->topology.nr_memory_domains * 2)
			break;
	}
	return false;
}
