/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "fair.h"
#include "sets.h"
/*
 * A woken task claims the best idle member of its set; if no member is idle, it waits at a busy one.
 * Tested in: placement, hotplug, room, largest. Studied in: barriers, compile-governors, compile-parallelism, critical-sections, hybrid-laptop, recorded-build.
 */

/* A member that joined less than a transition ago does not run at its speed yet; the spare bridges that time. */
lop_rule bool lop_at_speed(const struct lop_sched *s, u32 cpu, u64 now_ns)
{
	return now_ns - s->membership.joined_ns.ns[lop_cpu_index(cpu)] >= s->config.transition_ns;
}

/* Every active task has a whole core of the fastest kind. Where cores differ in kind, rank then moves no task. */
lop_rule bool lop_all_run_fast(const struct lop_sched *s)
{
	const struct lop_cpus *fast = &s->topology.tier_cpus[0];
	u32 first = lop_cpu_index((u32)lop_cpus_next(fast, 0));
	return s->topology.next_sibling[first] == first && lop_active(s, LOP_ROLE_ORDINARY) <= lop_cpus_common(&s->open, fast);
}

/*
 * Whether a task that finds its last CPU taken leaves other tasks their last CPUs (our choice), where the set has
 * room (room.h). The longest member is the last CPU of some task that sleeps for a moment. If it is claimed, that task
 * finds its CPU taken in turn, and so on for ever, though other CPUs are idle. The task that last ran on the CPU idle
 * for longest is the least likely to come back.
 *     argmin idle_since        instead of argmin joined
 * Worked example: CPU 0 joined first and 3 last. A task ran on each of 0, 1 and 2 within the last 2 ms, and none on 3
 * for 5 ms. A task that returns to 1, which is taken, goes to 3; on 0 it would displace the task that returns there.
 * Not for a task that is new or slept for long: it has no CPU to return to, and the CPU idle for longest sleeps deepest. Nor where rank moves tasks
 * about, so that no task has a CPU of its own: where cores differ in kind and active tasks outnumber the cores of the
 * fastest kind.
 *     kinds = 1   or   active <= cores of the fastest kind
 */
lop_rule bool lop_leaves_others_theirs(const struct lop_sched *s, bool returns)
{
	return lop_uses_room(s) && returns && (s->topology.nr_tiers == 1 || lop_all_run_fast(s));
}

/*
 * The best of the idle members that the task may use, by these preferences: not the sibling of the reserved CPU, a core
 * without a busy sibling, the fastest kind, its last CPU if that is at speed, the memory domain it last ran in, and then the longest
 * member, which is surely at its speed, or as lop_leaves_others_theirs() decides. `returns`: lop_returns_soon(). Where kinds are kept (room.h) a task that
 * returns soon goes to its last CPU of whatever kind, unless a faster one has rested, so that nobody comes back to it.
 * In a set of fixed size (simple sets) the CPU that has been idle for longest: the set confines work, but keeps the
 * fairness among cores.
 */
lop_subprog s32 lop_best_idle(const struct lop_sched *s lop_nonnull, struct lop_cpus *candidates lop_nonnull, u32 last_cpu, bool returns, u64 now_ns)
{
	const struct lop_topology *top = &s->topology;
	bool at_speed = lop_at_speed(s, last_cpu, now_ns), keeps;
	if (s->config.sizing == LOP_SIZE_FIXED)
		return lop_earliest(candidates, &s->idle_since_ns, LOP_MAX_CPUS);
	if (lop_has_reserved(s))
		lop_cpus_avoid(candidates, &s->reserved.beside);
	lop_cpus_avoid(candidates, &s->beside_busy);
	keeps = lop_uses_room(s) && s->config.keeps_kind && returns && at_speed && lop_cpus_has(candidates, last_cpu);
	lop_prefer_fast(s, candidates);
	if (at_speed && lop_cpus_has(candidates, last_cpu))
		return (s32)last_cpu;
	if (keeps) {
		s32 faster = lop_earliest(candidates, &s->idle_since_ns, LOP_MOST_COMPARED);
		bool is_free = faster >= 0 && lop_at_speed(s, (u32)faster, now_ns) && lop_has_rested(s, (u32)faster, now_ns);
		return is_free ? faster : (s32)last_cpu;
	}
	if (top->nr_memory_domains > 1)
		lop_cpus_prefer(candidates, &top->memory_cpus[top->memory_domain[lop_cpu_index(last_cpu)] &
							       (LOP_MAX_MEMORY_DOMAINS - 1)]);
	if (lop_leaves_others_theirs(s, returns)) {
		s32 longest_idle = lop_earliest(candidates, &s->idle_since_ns, LOP_MAX_CPUS);
		if (longest_idle >= 0 && lop_at_speed(s, (u32)longest_idle, now_ns))
			return longest_idle;
	}
	return lop_earliest(candidates, &s->membership.joined_ns, LOP_MAX_CPUS);
}

/* Under a power cap no core joins for a plan: while the set is full, a domain without a member is closed. */
lop_rule bool lop_is_capped_out(const struct lop_sched *s, s32 domain)
{
	return lop_is_full(s) && !lop_cpus_meet(&s->set[LOP_HIGH].cpus, lop_domain_cpus(s, domain));
}

/* A plan gives the task a memory domain. Affinity takes precedence: a task that may not run everywhere has none. */
lop_rule bool lop_wants_domain(const struct lop_sched *s, const struct lop_task *t)
{
	return lop_has_domains(s) && !t->restricted && t->role != LOP_ROLE_BACKGROUND && t->wanted_domain != LOP_NONE && !lop_is_capped_out(s, t->wanted_domain);
}

/* Finds the idle members of the set that the task may use (`candidates`): background work the cheapest, planned work those of its domain. */
lop_subprog bool lop_find_idle(const struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, const struct lop_task *t lop_nonnull,
			       enum lop_set set)
{
	struct lop_cpus *idle = &world->candidates;
	lop_cpus_and(idle, &s->set[lop_set_index(set)].cpus, &s->idle);
	lop_keep_usable(s, t, idle);
	if (t->role == LOP_ROLE_BACKGROUND && set == LOP_GREEN)
		lop_keep_cheapest(s, idle);
	if (lop_wants_domain(s, t))
		lop_cpus_prefer(idle, lop_domain_cpus(s, t->wanted_domain));
	return !lop_cpus_empty(idle);
}

/* Scores the idle members, then claims the best. Another waker may have been faster, so it tries a few times. */
#define LOP_CLAIM_TRIES 4
lop_rule s32 lop_claim_idle(struct lop_sched *s, struct lop_world *world, const struct lop_task *t,
			    enum lop_set set, u32 last_cpu, bool returns, u64 now_ns)
{
	s32 claimed = LOP_NONE;
	int n;
	lop_for_few(n, 0, LOP_CLAIM_TRIES) {
		s32 cpu = lop_find_idle(s, world, t, set) ? lop_best_idle(s, &world->candidates, last_cpu, returns, now_ns) : LOP_NONE;
		if (cpu < 0)
			break;
		if (!lop_cpus_take(&s->idle, lop_cpu_index((u32)cpu)))
			continue;
		claimed = cpu;
		break;
	}
	return claimed;
}

/*
 * A member to queue at when none is idle: the last CPU if it is one, else a member of its memory domain, else any. Only
 * CPUs of `allowed` count.
 */
lop_subprog s32 lop_busy_member(const struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, enum lop_set set,
			     const struct lop_cpus *allowed lop_nonnull, u32 last_cpu)
{
	const struct lop_topology *top = &s->topology;
	struct lop_cpus *members = &world->candidates;
	lop_cpus_and(members, &s->set[lop_set_index(set)].cpus, allowed);
	if (lop_cpus_has(members, last_cpu))
		return (s32)last_cpu;
	if (top->nr_memory_domains > 1)
		lop_cpus_prefer(members, &top->memory_cpus[top->memory_domain[lop_cpu_index(last_cpu)] &
							   (LOP_MAX_MEMORY_DOMAINS - 1)]);
	return lop_cpus_next(members, 0);
}

/*
 * One task less counts on the CPU. Another task may have anchored there while the pin was removed: then it is set
 * again.
 */
lop_rule void lop_count_on_less(struct lop_sched *s, u32 cpu)
{
	u32 before = lop_atomic_add(&s->membership.anchored[cpu], -1);
	lop_assert(before > 0);
	if (before != 1)
		return;
	lop_cpus_take(&s->set[LOP_HIGH].pinned, cpu);
	if (!lop_has_ladder(s)) /* else those are homes */
		lop_cpus_take(&s->set[LOP_GREEN].pinned, cpu);
	if (s->membership.anchored[cpu])
		lop_cpus_add(&s->set[LOP_HIGH].pinned, cpu);
}

/* Removes the task's anchor. Only once, even if the task blocks while that CPU goes offline (lop_anchor_anew()). */
lop_rule void lop_unanchor(struct lop_sched *s, struct lop_task *t)
{
	s32 cpu = t->anchor;
	if (cpu != LOP_NONE && lop_atomic_cas(&t->anchor, cpu, LOP_NONE) == cpu)
		lop_count_on_less(s, lop_cpu_index((u32)cpu));
}

/*
 * While the task is active, `cpu` is a member of its set (of the high one if tasks are paced), as it may be the only CPU that the task
 * can use. A core that is no member becomes one when the sets are settled.
 */
lop_rule void lop_anchor(struct lop_sched *s, struct lop_task *t, u32 cpu)
{
	bool high = t->role != LOP_ROLE_LOW_GAIN || lop_cpus_has(&s->set[LOP_HIGH].cpus, cpu);
	bool counts = t->anchor != (s32)cpu;
	if (counts) {
		lop_unanchor(s, t);
		lop_atomic_add(&s->membership.anchored[lop_cpu_index(cpu)], 1);
	}
	lop_cpus_add(&s->set[high ? LOP_HIGH : LOP_GREEN].pinned, cpu);
	if (counts && lop_atomic_cas(&t->anchor, LOP_NONE, (s32)cpu) != LOP_NONE)
		lop_count_on_less(s, lop_cpu_index(cpu));
}

/*
 * Sees to it, before the sets are settled, that a task of limited affinity has a member to run on. An idle member that
 * it may use stays one. If there is none, it asks for an idle core (a low one is promoted for it), and for a busy one
 * if it may use no member at all. The same for the memory domain that a plan gives a task.
 */
lop_subprog bool lop_pin(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, struct lop_task *t lop_nonnull)
{
	enum lop_set set = t->role == LOP_ROLE_LOW_GAIN ? LOP_GREEN : LOP_HIGH;
	const struct lop_cpus *allowed = lop_wants_domain(s, t) ? lop_domain_cpus(s, t->wanted_domain) : &t->allowed;
	struct lop_cpus *usable = &world->usable;
	bool member;
	s32 cpu;
	lop_cpus_and(usable, &s->set[lop_set_index(set)].cpus, allowed);
	member = !lop_cpus_empty(usable);
	lop_cpus_and(&world->others, usable, &s->idle);
	cpu = lop_cpus_next(&world->others, 0);
	if (cpu < 0 && !(member && (s->config.sizing == LOP_SIZE_FIXED || lop_is_full(s)))) {
		if (member)
			lop_cpus_and(usable, &s->idle, allowed);
		else
			*usable = *allowed;
		cpu = lop_joiner(s, world, set, usable, LOP_NONE);
	}
	if (cpu >= 0)
		lop_anchor(s, t, lop_cpu_index((u32)cpu));
	return cpu >= 0;
}

/* The set that the task runs in. Green work runs high while there is no green core that it may use. */
lop_rule enum lop_set lop_usable_set(const struct lop_sched *s, const struct lop_task *t)
{
	if (t->role == LOP_ROLE_BACKGROUND)
		return lop_has_background_core(s) ? LOP_GREEN : LOP_HIGH;
	return lop_sees_gain(s) && t->role == LOP_ROLE_LOW_GAIN && s->set[LOP_GREEN].size &&
			       (!t->restricted || lop_cpus_meet(&s->set[LOP_GREEN].cpus, &t->allowed)) ?
		       LOP_GREEN :
		       LOP_HIGH;
}

/* A waiting task's queue: the CPU's own if it may run nowhere else or is bound to isolated CPUs, else the domain's. */
lop_rule u32 lop_queue_at(const struct lop_sched *s, const struct lop_task *t, u32 cpu)
{
	return t->nr_allowed == 1 || t->bound ? lop_cpu_queue(cpu) : lop_shared_queue(s, cpu, lop_usable_set(s, t));
}

/*
 * Where a task waits if it could claim no idle member: at a busy member or, while membership changes, where it ran last
 * or at any CPU that it may use. LOP_NONE: none of them is online.
 */
lop_subprog s32 lop_waiting_place(const struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, const struct lop_task *t lop_nonnull,
			      u32 last_cpu)
{
	const struct lop_cpus *allowed = t->restricted ? &t->allowed : &s->open;
	s32 cpu = lop_busy_member(s, world, lop_usable_set(s, t), allowed, last_cpu);
	if (cpu >= 0)
		return cpu;
	lop_cpus_and(&world->candidates, &s->online, allowed);
	if (lop_has_reserved(s))
		lop_cpus_drop(&world->candidates, &s->reserved.cpus);
	return lop_cpus_has(&world->candidates, last_cpu) ? (s32)last_cpu : lop_cpus_next(&world->candidates, 0);
}

/* The CPU that the task is anchored to is online. */
lop_rule bool lop_is_anchored(const struct lop_sched *s, const struct lop_task *t)
{
	return t->anchor != LOP_NONE && lop_cpus_has(&s->online, lop_cpu_index((u32)t->anchor));
}

/* Anchors a restricted task to a CPU, idle or busy. False: no CPU that it may use is online. */
lop_subprog bool lop_anchor_somewhere(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, struct lop_task *t lop_nonnull, u32 last_cpu)
{
	s32 cpu;
	last_cpu = lop_cpu_index(last_cpu);
	if (!lop_is_anchored(s, t))
		lop_unanchor(s, t);
	lop_pin(s, world, t);
	if (t->anchor != LOP_NONE)
		return true;
	cpu = lop_waiting_place(s, world, t, last_cpu);
	if (cpu >= 0)
		lop_anchor(s, t, lop_cpu_index((u32)cpu));
	return cpu >= 0;
}

/*
 * A CPU where a restricted task may wait. The task needs an anchor if its affinity changed while it ran, and another
 * one if it would wait although a CPU that it may use is idle: that CPU is no member, since the set had enough members.
 * If no CPU is online for it, it waits where it may run once one is.
 */
lop_subprog u32 lop_allowed_place(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, struct lop_task *t lop_nonnull, u32 cpu)
{
	cpu = lop_cpu_index(cpu);
	if (lop_is_anchored(s, t) && !lop_cpus_meet(&s->idle, &t->allowed))
		return lop_cpus_has(&t->allowed, cpu) && lop_cpus_has(&s->online, cpu) ? cpu : lop_cpu_index((u32)t->anchor);
	if (!lop_anchor_somewhere(s, world, t, cpu))
		return lop_cpu_index((u32)lop_cpus_next(&t->allowed, 0));
	lop_settle(s, world, LOP_NONE, lop_env_now_ns(world));
	return lop_cpu_index((u32)t->anchor);
}
