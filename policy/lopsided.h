/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "fair.h"
#include "green.h"
#include "heat.h"
#include "place.h"
/* What an adapter calls, in the order of a wakeup. The rules are in the files above. */

/* Where a wakeup ends: on a CPU that was idle and is now claimed for it, or in a queue. */
struct lop_placement {
	s32 cpu;      /* LOP_NONE: nothing that the task may use is online */
	bool claimed;
};

/* A group of tasks lives on the node where its first one was placed. */
lop_rule s32 lop_home_node(const struct lop_app *app)
{
	return app && app->shares_memory ? app->home_node : LOP_NONE;
}

/* Green work runs high while no green core can be had. */
lop_rule enum lop_set lop_usable_set(const struct lop_sched *s, const struct lop_task *t)
{
	return t->set == LOP_GREEN && s->set[LOP_GREEN].size ? LOP_GREEN : LOP_HIGH;
}

/*
 * Task becomes runnable: count it, grow the set, then place it. `last_cpu`: where it ran last, or its parent runs.
 * Counted once per wakeup, however often the adapter asks.
 */
lop_rule struct lop_placement lop_wake(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app,
				       struct lop_group *group, u32 last_cpu, u64 now_ns)
{
	struct lop_placement place = { LOP_NONE, false };
	enum lop_set set;
	lop_count_active(s, t, app, group);
	lop_bound_lag(s, t, group);
	if (t->set == LOP_GREEN)
		lop_grow(s, world, LOP_GREEN, &s->online, lop_home_node(app), now_ns);
	if (t->restricted)
		place.cpu = lop_place_restricted(s, world, t, lop_usable_set(s, t), last_cpu, now_ns, &place.claimed);
	lop_grow(s, world, LOP_HIGH, &s->online, lop_home_node(app), now_ns);
	if (t->restricted)
		return place;
	set = lop_usable_set(s, t);
	place.cpu = lop_claim_idle(s, world, t, set, last_cpu, now_ns);
	place.claimed = place.cpu >= 0;
	if (place.cpu < 0)
		place.cpu = lop_busy_member(s, world, set, &s->online, last_cpu);
	if (app && app->home_node == LOP_NONE && place.cpu >= 0)
		app->home_node = s->topology.node[lop_cpu_index(place.cpu)];
	return place;
}

/* Queues a runnable task: at its CPU if it may run nowhere else, else in the queue of `cpu`'s memory domain. */
lop_rule void lop_enqueue(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u32 cpu)
{
	u32 domain = s->topology.memory_domain[lop_cpu_index(cpu)];
	u32 queue = t->nr_allowed == 1 ? lop_cpu_queue(cpu) : lop_domain_queue(domain, lop_usable_set(s, t));
	lop_queue_insert(s, world, t, queue);
}

/* Starts the task on the claimed CPU, or queues it. */
lop_rule void lop_put(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_placement place)
{
	if (place.claimed)
		lop_env_insert_local(world, t, (u32)place.cpu, lop_slice_ns(s));
	else if (place.cpu >= 0)
		lop_enqueue(s, world, t, (u32)place.cpu);
}

/* A CPU has nothing to run, or its task's slice is over. False: keep what runs, or idle. */
lop_rule bool lop_dispatch(struct lop_sched *s, struct lop_world *world, u32 cpu) { return lop_pick_next(s, world, cpu); }

/* The task starts to run: virtual time follows. */
lop_rule void lop_running(struct lop_sched *s, const struct lop_task *t)
{
	if (t->vtime_ns > s->clock_ns)
		s->clock_ns = t->vtime_ns;
}

/* The task stops running after `ran_ns`: it pays by weight. */
lop_rule void lop_stopping(struct lop_task *t, const struct lop_group *group, u64 ran_ns)
{
	t->vtime_ns += lop_charge_ns(ran_ns, lop_weight(t, group));
}

/* Task becomes inactive. */
lop_rule void lop_block(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app,
			struct lop_group *group, u64 now_ns)
{
	lop_count_inactive(s, t, app, group, now_ns);
	lop_weigh_anchor(s, t);
	lop_settle(s, world, now_ns);
}

/* A running task announces that it spins (not active meanwhile), or that it goes on. */
lop_rule void lop_spin(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app,
		       struct lop_group *group, bool spinning, u64 now_ns)
{
	if (spinning) {
		lop_count_inactive(s, t, app, group, now_ns);
		lop_settle(s, world, now_ns);
		return;
	}
	lop_count_active(s, t, app, group);
	lop_grow(s, world, LOP_HIGH, &s->online, lop_home_node(app), now_ns);
}

/* A CPU falls idle or is put to work. */
lop_rule void lop_cpu_idle(struct lop_sched *s, struct lop_world *world, u32 cpu, bool idle, u64 now_ns)
{
	cpu = lop_cpu_index(cpu);
	if (idle) {
		lop_cpus_add(&s->idle, cpu);
		s->idle_since_ns[cpu] = now_ns;
	} else {
		lop_cpus_take(&s->idle, cpu);
	}
	if (s->topology.next_sibling[cpu] != cpu) {
		struct lop_cpus *busy = &world->candidates;
		*busy = s->online;
		lop_cpus_drop(busy, &s->idle);
		lop_note_siblings(s, cpu, busy, &s->beside_busy);
	}
	if (idle)
		lop_settle(s, world, now_ns);
}

/* The timer of lop_env_arm_timer(). */
lop_rule void lop_timer(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	s->timer_at_ns = 0;
	lop_settle(s, world, now_ns);
}

/* Affinity changed: anchors follow at the next wakeup, or at once for a task that waits (the adapter queues it anew). */
lop_rule void lop_set_allowed(struct lop_sched *s, struct lop_task *t, const struct lop_cpus *allowed)
{
	u32 nr = 0;
	int i;
	lop_weigh_anchor(s, t);
	t->allowed = *allowed;
	t->restricted = false;
	lop_for(i, 0, LOP_CPU_WORDS) {
		u64 online = s->online.word[i & (LOP_CPU_WORDS - 1)];
		u64 both = online & allowed->word[i & (LOP_CPU_WORDS - 1)];
		t->restricted |= both != online;
		nr += (u32)__builtin_popcountll(both);
	}
	t->nr_allowed = nr;
}

/* Its nice value changed; `weight` on the scale of cpu.weight. */
lop_rule void lop_set_weight(struct lop_task *t, struct lop_group *group, u32 weight)
{
	u32 new_weight = (u32)lop_clamp(weight, 1, 10000);
	if (t->counted && group)
		lop_atomic_add(&group->active_weight, new_weight - t->weight);
	t->weight = new_weight;
}

/* A core goes offline: it leaves its set, and another takes its place. */
lop_rule void lop_cpu_offline(struct lop_sched *s, struct lop_world *world, u32 cpu, u64 now_ns)
{
	cpu = lop_cpu_index(cpu);
	if (!lop_cpus_take(&s->online, cpu))
		return;
	s->nr_online--;
	lop_cpus_take(&s->idle, cpu);
	lop_cpus_take(&s->hot, cpu);
	lop_leave(s, world, cpu, LOP_HIGH, now_ns);
	lop_leave(s, world, cpu, LOP_GREEN, now_ns);
	lop_env_set_changed(world, cpu, LOP_OFFLINE);
	lop_grow(s, world, LOP_HIGH, &s->online, LOP_NONE, now_ns);
	lop_grow(s, world, LOP_GREEN, &s->online, LOP_NONE, now_ns);
}

/* A core comes online, in the low set and busy until lop_cpu_idle() says otherwise. */
lop_rule void lop_cpu_online(struct lop_sched *s, struct lop_world *world, u32 cpu, u64 now_ns)
{
	cpu = lop_cpu_index(cpu);
	if (lop_cpus_has(&s->online, cpu))
		return;
	lop_cpus_add(&s->online, cpu);
	s->nr_online++;
	s->left_ns[cpu] = now_ns;
	lop_env_set_changed(world, cpu, LOP_LOW);
	lop_grow(s, world, LOP_HIGH, &s->online, LOP_NONE, now_ns);
}

/* Once config, topology, online and idle are filled: the first members join. */
lop_rule void lop_start(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	lop_grow(s, world, LOP_HIGH, &s->online, LOP_NONE, now_ns);
}
