/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "sets.h"
/* Where a task that has just become runnable goes. */

/* A member that joined less than a transition ago does not run at its speed yet; the spare is there to bridge that. */
lop_rule bool lop_at_speed(const struct lop_sched *s, u32 cpu, u64 now_ns)
{
	return now_ns - s->membership.joined_ns.ns[lop_cpu_index(cpu)] >= s->config.transition_ns;
}

/* Every active task has a core of the fastest kind, whole: where cores differ in kind rank moves nobody then. */
lop_rule bool lop_all_run_fast(const struct lop_sched *s)
{
	const struct lop_cpus *fast = &s->topology.tier_cpus[0];
	u32 first = lop_cpu_index((u32)lop_cpus_next(fast, 0));
	return s->topology.next_sibling[first] == first && lop_active(s, LOP_HIGH) <= lop_cpus_common(&s->open, fast);
}

/*
 * Whether a task that finds its last CPU taken leaves other tasks theirs (ours), where there is room for that (room.h). The longest member is the
 * last CPU of somebody who sleeps for a moment, and finds it taken in turn: so they go on for ever, though other CPUs are idle. Who ran last on the
 * one that has been idle for longest is the least likely to come back.
 *     argmin idle_since        instead of argmin joined
 * Worked example: CPU 0 joined first and 3 last, a task ran on each of 0, 1 and 2 within the last 2 ms, and nobody on 3 for 5. Who comes from 1, which is
 * taken, goes to 3; at 0 it would drive out who comes back there.
 * Not for a new task: it comes back nowhere, and what has been idle for longest sleeps deepest. Nor where rank moves tasks about, so that no CPU is
 * anybody's: where cores differ in kind and there are more active tasks than cores of the fastest.
 *     kinds = 1   or   active <= cores of the fastest kind
 */
lop_rule bool lop_leaves_others_theirs(const struct lop_sched *s, bool ran)
{
	return lop_uses_room(s) && ran && (s->topology.nr_tiers == 1 || lop_all_run_fast(s));
}

/*
 * The best of the idle members that the task may use: not the sibling of the reserved CPU, a core that no sibling is busy on, the
 * fastest kind, its last CPU if that is at speed, the memory domain it last ran in, the longest member, which is surely at its speed, or
 * as lop_leaves_others_theirs() says. `ran`: it has run before.
 * In a set of fixed size (simple sets) the one that has been idle longest: work is confined, fairness among cores is left.
 */
lop_subprog s32 lop_best_idle(const struct lop_sched *s lop_nonnull, struct lop_cpus *candidates lop_nonnull, u32 last_cpu, bool ran, u64 now_ns)
{
	const struct lop_topology *top = &s->topology;
	if (s->config.sizing == LOP_SIZE_FIXED)
		return lop_earliest(candidates, &s->idle_since_ns, LOP_MAX_CPUS);
	if (lop_has_reserved(s))
		lop_cpus_avoid(candidates, &s->reserved.beside);
	lop_cpus_avoid(candidates, &s->beside_busy);
	lop_prefer_fast(s, candidates);
	if (lop_cpus_has(candidates, last_cpu) && lop_at_speed(s, last_cpu, now_ns))
		return (s32)last_cpu;
	if (top->nr_memory_domains > 1)
		lop_cpus_prefer(candidates, &top->memory_cpus[top->memory_domain[lop_cpu_index(last_cpu)] &
							       (LOP_MAX_MEMORY_DOMAINS - 1)]);
	if (lop_leaves_others_theirs(s, ran)) {
		s32 longest_idle = lop_earliest(candidates, &s->idle_since_ns, LOP_MAX_CPUS);
		if (longest_idle >= 0 && lop_at_speed(s, (u32)longest_idle, now_ns))
			return longest_idle;
	}
	return lop_earliest(candidates, &s->membership.joined_ns, LOP_MAX_CPUS);
}

/* Under a power cap no core joins for a plan: a domain without a member is closed while the set is full. */
lop_rule bool lop_is_capped_out(const struct lop_sched *s, s32 domain)
{
	return lop_is_full(s) && !lop_cpus_meet(&s->set[LOP_HIGH].cpus, lop_domain_cpus(s, domain));
}

/* It has a memory domain of its own by a plan. Affinity goes before: a task that may not run everywhere has none. */
lop_rule bool lop_wants_domain(const struct lop_sched *s, const struct lop_task *t)
{
	return lop_has_domains(s) && !t->restricted && t->memory_domain != LOP_NONE && !lop_is_capped_out(s, t->memory_domain);
}

/* Scores first, then claims the winner; another waker may have been faster, so it tries a few times. */
#define LOP_CLAIM_TRIES 4
lop_rule s32 lop_claim_idle(struct lop_sched *s, struct lop_world *world, const struct lop_task *t,
			    enum lop_set set, u32 last_cpu, bool ran, u64 now_ns)
{
	s32 claimed = LOP_NONE;
	int n;
	lop_for_few(n, 0, LOP_CLAIM_TRIES) {
		struct lop_cpus *idle = &world->candidates;
		s32 cpu;
		lop_cpus_and(idle, &s->set[lop_set_index(set)].cpus, &s->idle);
		lop_keep_usable(s, t, idle);
		if (lop_wants_domain(s, t))
			lop_cpus_prefer(idle, lop_domain_cpus(s, t->memory_domain));
		if (lop_cpus_empty(idle))
			break;
		cpu = lop_best_idle(s, idle, last_cpu, ran, now_ns);
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
 * A member to queue at when none is idle: the last CPU if it is one, else a member of its memory domain, else any.
 * `allowed`: only of these.
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

/* One task less counts on the CPU. Another may have anchored there while the wish was taken back: it is made again. */
lop_rule void lop_count_on_less(struct lop_sched *s, u32 cpu)
{
	u32 before = lop_atomic_add(&s->membership.anchored[cpu], -1);
	lop_assert(before > 0);
	if (before != 1)
		return;
	lop_cpus_take(&s->set[LOP_HIGH].pinned, cpu);
	lop_cpus_take(&s->set[LOP_GREEN].pinned, cpu);
	if (s->membership.anchored[cpu])
		lop_cpus_add(&s->set[LOP_HIGH].pinned, cpu);
}

/* Gives up the CPU it counted on. Once, though the task may block while that CPU goes offline (lop_anchor_anew()). */
lop_rule void lop_unanchor(struct lop_sched *s, struct lop_task *t)
{
	s32 cpu = t->anchor;
	if (cpu != LOP_NONE && lop_atomic_cas(&t->anchor, cpu, LOP_NONE) == cpu)
		lop_count_on_less(s, lop_cpu_index((u32)cpu));
}

/*
 * While the task is active, `cpu` is a member of its set (or of the high one): it may be the only one that the task can
 * use. A core that is not becomes one as soon as the sets are settled.
 */
lop_rule void lop_anchor(struct lop_sched *s, struct lop_task *t, u32 cpu)
{
	bool high = t->set != LOP_GREEN || lop_cpus_has(&s->set[LOP_HIGH].cpus, cpu);
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
 * Sees to it that a task of limited affinity has a member to run on, before the sets are settled: an idle member that it
 * may use stays one; if there is none, it asks for an idle core (a task pinned to a low core promotes that core), and
 * for a busy one if it may use no member at all. The same for the memory domain that a task is to run in.
 */
lop_subprog bool lop_pin(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, struct lop_task *t lop_nonnull)
{
	enum lop_set set = t->set == LOP_GREEN ? LOP_GREEN : LOP_HIGH;
	const struct lop_cpus *allowed = lop_wants_domain(s, t) ? lop_domain_cpus(s, t->memory_domain) : &t->allowed;
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

/* The set that the task runs in: green work runs high while no green core that it may use can be had. */
lop_rule enum lop_set lop_usable_set(const struct lop_sched *s, const struct lop_task *t)
{
	bool green = lop_has_green(s) && t->set == LOP_GREEN && s->set[LOP_GREEN].size &&
		     (!t->restricted || lop_cpus_meet(&s->set[LOP_GREEN].cpus, &t->allowed));
	return green ? LOP_GREEN : LOP_HIGH;
}

/*
 * Where a task waits for which no idle member could be claimed: at a busy member, or, while membership changes, where
 * it ran last or at any CPU that it may use. LOP_NONE: none of them is online.
 */
lop_rule s32 lop_waiting_place(const struct lop_sched *s, struct lop_world *world, const struct lop_task *t, u32 last_cpu)
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

/* The CPU that it counts on is there. */
lop_rule bool lop_is_anchored(const struct lop_sched *s, const struct lop_task *t)
{
	return t->anchor != LOP_NONE && lop_cpus_has(&s->online, lop_cpu_index((u32)t->anchor));
}

/* A CPU for a restricted task to count on, idle or busy. False: it may use none that is online. */
lop_rule bool lop_anchor_somewhere(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u32 last_cpu)
{
	s32 cpu;
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
 * A CPU of its own that a restricted task may wait at. It needs one where its affinity changed while it ran, and another one where
 * it would wait although some CPU that it may use is idle: that is no member, since the set had enough for all. If none is online it waits where it may run
 * once one is.
 */
lop_rule u32 lop_allowed_place(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u32 cpu)
{
	if (lop_is_anchored(s, t) && !lop_cpus_meet(&s->idle, &t->allowed))
		return lop_cpus_has(&t->allowed, cpu) && lop_cpus_has(&s->online, cpu) ? cpu : lop_cpu_index((u32)t->anchor);
	if (!lop_anchor_somewhere(s, world, t, cpu))
		return lop_cpu_index((u32)lop_cpus_next(&t->allowed, 0));
	lop_settle(s, world, LOP_NONE, lop_env_now_ns(world));
	return lop_cpu_index((u32)t->anchor);
}
