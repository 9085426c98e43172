/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "config.h"
#include "demand.h"
#include "member.h"
/*
 * A set grows before the task is placed, and shrinks after the hold time.
 * Tested in: sets, hotplug. Studied in: barriers, compile-governors, compile-parallelism, critical-sections, hybrid-laptop, recorded-build.
 */

/* `cpu` joined or left `set`: updates `beside`, the CPUs with a sibling in the set. */
lop_rule void lop_note_siblings(const struct lop_sched *s, u32 cpu, const struct lop_cpus *set, struct lop_cpus *beside)
{
	u32 sibling = cpu;
	int n;
	lop_for(n, 0, LOP_MAX_SMT) {
		lop_opaque(sibling);
		sibling = lop_cpu_index(s->topology.next_sibling[lop_cpu_index(sibling)]);
		if (sibling == cpu)
			break;
		if (!lop_beside(s, sibling, set))
			lop_cpus_take_if(beside, sibling);
		else if (!lop_cpus_has(beside, sibling))
			lop_cpus_add(beside, sibling);
	}
}

/* A CPU became high or ceased to be: updates warm, beside_high and the counts. */
lop_subprog bool lop_note_high(struct lop_sched *s lop_nonnull, u32 cpu, bool high)
{
	const struct lop_topology *top = &s->topology;
	u32 domain;
	int i;
	cpu = lop_cpu_index(cpu);
	domain = lop_cpu_index(top->voltage_domain[cpu]);
	lop_assert(high || (s->membership.voltage_high[domain] > 0 && s->membership.node_high[top->node[cpu] & (LOP_MAX_NODES - 1)] > 0));
	s->membership.node_high[top->node[cpu] & (LOP_MAX_NODES - 1)] += high ? 1 : -1U;
	s->membership.clock_high[lop_cpu_index(top->clock_domain[cpu])] += high ? 1 : -1U;
	s->membership.voltage_high[domain] += high ? 1 : -1U;
	if (s->membership.voltage_high[domain] == (high ? 1 : 0)) {
		lop_for_words(i) {
			u64 *warm = &s->membership.warm.word[i & (LOP_CPU_WORDS - 1)];
			u64 cpus = top->voltage_cpus[domain].word[i & (LOP_CPU_WORDS - 1)];
			*warm = high ? *warm | cpus : *warm & ~cpus;
		}
	}
	lop_note_siblings(s, cpu, &s->set[LOP_HIGH].cpus, &s->membership.beside_high);
	return high;
}

/* CPUs with work that waits for them alone: a rule gave it to the CPU (pull.h), or it is a home of paced tasks. */
lop_rule u64 lop_counted_on_word(const struct lop_sched *s, u32 n)
{
	return s->queues.given.word[n] | (lop_has_ladder(s) ? s->queues.cpu_waiting.word[n] & s->set[LOP_GREEN].cpus.word[n] : 0);
}

/* CPUs with stranded work, which they will not fetch: a higher class has the CPU, or it went offline. */
lop_rule u64 lop_stranded_word(const struct lop_sched *s, u32 n)
{
	return (lop_counted_on_word(s, n) & s->taken.word[n]) | (s->queues.cpu_waiting.word[n] & ~s->online.word[n]);
}

lop_rule bool lop_any_counted_on(const struct lop_sched *s)
{
	u64 any = 0;
	int i;
	lop_for_words(i) any |= lop_counted_on_word(s, i & (LOP_CPU_WORDS - 1));
	return any != 0;
}

lop_subprog bool lop_any_stranded(const struct lop_sched *s lop_nonnull)
{
	u64 any = 0;
	int i;
	lop_for_words(i) any |= lop_stranded_word(s, i & (LOP_CPU_WORDS - 1));
	return any != 0;
}

/* Whether anything waits that a member or `cpu` might run. If not, a task whose slice is over goes on. */
lop_rule bool lop_anything_waits(const struct lop_sched *s, u32 cpu)
{
	return lop_cpus_has(&s->queues.cpu_waiting, cpu) || lop_served_from(s, lop_set_of(s, cpu), 0) >= 0 || lop_any_stranded(s);
}

/* Tasks have no home on this CPU any more (pace.h). Those that had learn it when they wake. With the lock held. */
lop_rule void lop_close_home(struct lop_sched *s, u32 cpu)
{
	if (lop_cpus_take_if(&s->set[LOP_GREEN].pinned, cpu))
		s->pace.nr_homes--;
	if (!lop_has_light(s)) /* else each task that is active there takes back what it counts for */
		s->pace.tasks[cpu] = s->pace.load_permille[cpu] = 0;
	s->pace.epoch[cpu]++;
}

/* Call with the lock held. */
lop_subprog bool lop_leave(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 cpu, enum lop_set set, u64 now_ns)
{
	cpu = lop_cpu_index(cpu);
	if (!lop_cpus_take(&s->set[lop_set_index(set)].cpus, cpu))
		return false;
	lop_assert(s->membership.lock && s->set[lop_set_index(set)].size > 0);
	s->set[lop_set_index(set)].size--;
	s->membership.left_ns.ns[cpu] = now_ns;
	if (set == LOP_HIGH)
		lop_note_high(s, cpu, false);
	else if (lop_has_ladder(s))
		lop_close_home(s, cpu);
	s->membership.demotions++;
	lop_env_set_changed(world, cpu, lop_cpus_has(&s->online, cpu) ? LOP_LOW : LOP_OFFLINE);
	return true;
}

/* A green core becomes high, and so do the pins of tasks that count on it. It is no home any more. */
lop_rule void lop_leave_green_for_high(struct lop_sched *s, u32 cpu)
{
	if (lop_has_ladder(s))
		lop_close_home(s, cpu);
	if (lop_cpus_take(&s->set[LOP_GREEN].cpus, cpu))
		s->set[LOP_GREEN].size--;
	if (lop_cpus_take(&s->set[LOP_GREEN].pinned, cpu))
		lop_cpus_add(&s->set[LOP_HIGH].pinned, cpu);
}

/* What runs on a CPU that changes its set has to leave at once. */
lop_subprog bool lop_clear(const struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 cpu)
{
	bool busy = !lop_cpus_has(&s->idle, cpu);
	if (busy)
		lop_env_preempt(world, lop_cpu_index(cpu));
	return busy;
}

/* Call with the lock held. A member beyond the target is surplus from now on at the earliest. */
lop_subprog bool lop_join(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 cpu, enum lop_set set, u64 now_ns)
{
	struct lop_members *m = &s->set[lop_set_index(set)];
	cpu = lop_cpu_index(cpu);
	if (lop_cpus_has(&m->cpus, cpu))
		return false;
	lop_assert(s->membership.lock && lop_cpus_has(&s->topology.cpus, cpu));
	if (set == LOP_HIGH && lop_is_green(s, cpu))
		lop_clear(s, world, cpu);
	if (set == LOP_HIGH)
		lop_leave_green_for_high(s, cpu);
	else if (lop_has_ladder(s) && !lop_is_home(s, cpu))
		s->pace.rung[cpu] = lop_cheapest_rung(s, cpu);
	lop_cpus_add(&m->cpus, cpu);
	m->size++;
	m->below_since_ns[lop_min(m->size, LOP_MAX_CPUS)] = now_ns;
	s->membership.joined_ns.ns[cpu] = now_ns;
	if (set == LOP_HIGH)
		lop_note_high(s, cpu, true);
	s->membership.promotions++;
	lop_env_set_changed(world, cpu, set);
	if (lop_anything_waits(s, cpu))
		lop_env_kick(world, cpu);
	return true;
}

/*
 * Callers never wait for the lock. A caller that finds it taken leaves a request, and the holder looks again after it
 * unlocks. The second try is for a holder that checked for requests just before.
 */
lop_rule bool lop_lock(struct lop_sched *s)
{
	if (!lop_atomic_cas(&s->membership.lock, 0, 1))
		return true;
	lop_atomic_add(&s->membership.asked, 1);
	return !lop_atomic_cas(&s->membership.lock, 0, 1);
}

lop_rule void lop_unlock(struct lop_sched *s) { lop_atomic_cas(&s->membership.lock, 1, 0); }

/*
 * T_hold of the k-th member. The first has its own: h_min is 1 while anything ran in the last second, or as long as
 * auto chooses. The spare beside it stays as long, so that a task that wakes now and then changes no set.
 *     1: last_hold    up to 1 + spare: max(T_hold, last_hold)    beyond: T_hold
 * Worked example: a thread wakes 40 times a second, with one spare. Two CPUs are high all the time. With 10 ms for the
 * second one, it would join and leave 40 times a second, with a timer each time.
 */
lop_rule u64 lop_hold_ns(const struct lop_sched *s, enum lop_set set, u32 level)
{
	if (set != LOP_HIGH || level > 1 + s->config.spare)
		return s->config.hold_ns;
	return level == 1 ? s->config.last_hold_ns : lop_max(s->config.last_hold_ns, s->config.hold_ns);
}

/* When a set of k members may shrink: a hold time after its target last fell below k. */
lop_rule u64 lop_due_at_ns(const struct lop_sched *s, enum lop_set set, u32 level)
{
	return s->set[lop_set_index(set)].below_since_ns[lop_min(level, LOP_MAX_CPUS)] + lop_hold_ns(s, set, level);
}

lop_rule u64 lop_due_ns(const struct lop_sched *s, enum lop_set set)
{
	const struct lop_members *m = &s->set[lop_set_index(set)];
	return lop_max(lop_due_at_ns(s, set, m->size), m->look_ns);
}

/*
 * A member to evict: it is offline, or no task is anchored to it (homes of pace.h do not count) and its memory domain is off or it is isolated, or it
 * exceeds the power cap, or it is green for work that nobody waits for and its sibling high. An isolated one leaves at once: its CPU is awake now and requests its own new speed,
 * whereas the end of T_hold would wake it.
 */
lop_rule s32 lop_next_evicted(const struct lop_sched *s, enum lop_set set)
{
	const struct lop_members *m = &s->set[lop_set_index(set)];
	s32 cpu = lop_cpus_first(&m->cpus, &m->cpus, &s->online);
	if (cpu < 0 && lop_has_domains(s))
		cpu = lop_cpus_first(&m->cpus, &s->off, set == LOP_GREEN && lop_has_ladder(s) ? &s->set[LOP_HIGH].cpus : &m->pinned);
	if (cpu < 0 && lop_has_isolated(s))
		cpu = lop_cpus_first(&m->cpus, &s->topology.isolated, &m->pinned);
	if (cpu < 0 && lop_has_ladder(s) && set == LOP_GREEN)
		cpu = lop_cpus_first(&m->cpus, &s->membership.beside_high, &m->pinned);
	return cpu < 0 && set == LOP_HIGH ? lop_next_over_cap(s) : cpu;
}

/* A CPU outside the set that a task needs, whatever the target: the task may run nowhere else. */
lop_rule s32 lop_next_pinned(const struct lop_sched *s, enum lop_set set)
{
	return lop_cpus_first(&s->set[lop_set_index(set)].pinned, &s->online, &s->set[lop_set_index(set)].cpus);
}

/* A home that its last light task left; LOP_NONE. */
lop_subprog s32 lop_left_home(const struct lop_sched *s lop_nonnull, enum lop_set set)
{
	return lop_has_light(s) && set == LOP_GREEN ? lop_cpus_first(&s->light.left, &s->set[LOP_GREEN].pinned, &s->topology.isolated) : LOP_NONE;
}

/*
 * It closes, with the lock held. The task that entered after the first look may have found it open, so there is a second one. If it saw
 * the home of before, it runs high this time.
 */
lop_subprog bool lop_close_left_home(struct lop_sched *s lop_nonnull)
{
	s32 cpu = lop_left_home(s, LOP_GREEN);
	u32 c = lop_cpu_index((u32)cpu);
	if (cpu < 0)
		return false;
	lop_cpus_take(&s->light.left, c);
	if (s->pace.tasks[c])
		return true;
	lop_close_home(s, c);
	if (s->pace.tasks[c] && lop_cpus_try_add(&s->set[LOP_GREEN].pinned, c))
		s->pace.nr_homes++;
	return true;
}

/* Whether the set has to change, as far as can be told without the lock. */
lop_subprog bool lop_unsettled(const struct lop_sched *s lop_nonnull, enum lop_set set, u64 now_ns)
{
	u32 size = s->set[lop_set_index(set)].size, target = lop_target(s, set);
	return size < target || (size > target && now_ns >= lop_due_ns(s, set)) || lop_next_pinned(s, set) >= 0 ||
	       lop_next_evicted(s, set) >= 0 || lop_left_home(s, set) >= 0;
}

lop_rule bool lop_evict_one(struct lop_sched *s, struct lop_world *world, enum lop_set set, u64 now_ns)
{
	s32 cpu = lop_next_evicted(s, set);
	if (cpu < 0)
		return false;
	lop_leave(s, world, lop_cpu_index((u32)cpu), set, now_ns);
	if (lop_has_cap(s) || (set == LOP_GREEN && lop_has_ladder(s)))
		lop_clear(s, world, (u32)cpu);
	return true;
}

/* Which core joins by demand; LOP_NONE. Not one of a memory domain that is off: it would be evicted at once. */
lop_rule s32 lop_joins_by_demand(const struct lop_sched *s, struct lop_world *world, enum lop_set set, s32 home_node)
{
	s32 cpu = set == LOP_GREEN && lop_has_ladder(s) ? lop_background_joiner(s, world) : lop_joiner(s, world, set, &s->online, home_node);
	return cpu >= 0 && lop_has_domains(s) && lop_is_off(s, (u32)cpu) ? LOP_NONE : cpu;
}

/* if |S| < target: promote one. */
lop_rule bool lop_promote_one(struct lop_sched *s, struct lop_world *world, enum lop_set set, s32 home_node, u64 now_ns)
{
	s32 cpu = lop_next_pinned(s, set);
	if (cpu < 0 && s->set[lop_set_index(set)].size < lop_target(s, set))
		cpu = lop_joins_by_demand(s, world, set, home_node);
	if (cpu >= 0)
		lop_join(s, world, lop_cpu_index((u32)cpu), set, now_ns);
	return cpu >= 0;
}

/*
 * if |S| > target for T_hold: demote an idle member. Only the CPU itself knows whether it is idle: a task that a waker
 * sends there at this moment is moved on when it starts (lop_came_too_late()).
 */
lop_rule bool lop_demote_one(struct lop_sched *s, struct lop_world *world, enum lop_set set, u64 now_ns)
{
	s32 cpu = LOP_NONE;
	if (s->set[lop_set_index(set)].size > lop_target(s, set) && now_ns >= lop_due_ns(s, set))
		cpu = lop_leaver(s, world, set, now_ns);
	if (cpu == LOP_NOT_YET)
		s->set[lop_set_index(set)].look_ns = now_ns + lop_rest_ns(&s->config);
	if (cpu >= 0)
		lop_leave(s, world, lop_cpu_index((u32)cpu), set, now_ns);
	return cpu >= 0;
}

/* One step, with the lock held; false if no step is needed. */
lop_rule bool lop_change_one(struct lop_sched *s, struct lop_world *world, enum lop_set set, s32 home_node, u64 now_ns)
{
	return lop_evict_one(s, world, set, now_ns) || lop_promote_one(s, world, set, home_node, now_ns) ||
	       lop_demote_one(s, world, set, now_ns);
}

lop_rule bool lop_all_settled(const struct lop_sched *s, u64 now_ns)
{
	return !lop_unsettled(s, LOP_HIGH, now_ns) && !(lop_has_green(s) && lop_unsettled(s, LOP_GREEN, now_ns));
}

/* Takes steps until each set has its size. The holder of the lock takes those of all callers that asked meanwhile. */
lop_rule void lop_resize(struct lop_sched *s, struct lop_world *world, s32 home_node, u64 now_ns)
{
	int n;
	if (lop_all_settled(s, now_ns))
		return;
	lop_for(n, 0, 2 * LOP_MAX_CPUS) {
		bool changed = false;
		u32 asked;
		if (!lop_lock(s))
			break;
		asked = s->membership.asked;
		if (lop_has_light(s))
			changed |= lop_close_left_home(s);
		changed |= lop_change_one(s, world, LOP_HIGH, home_node, now_ns);
		if (lop_has_green(s))
			changed |= lop_change_one(s, world, LOP_GREEN, home_node, now_ns);
		lop_unlock(s);
		if ((!changed && s->membership.asked == asked) || lop_all_settled(s, now_ns))
			break;
	}
}

/*
 * When to look at a set again. 0: it has no surplus, or its members are busy and the next one to fall idle looks. An
 * idle member that a task counts on or is on its way to cannot leave (lop_leaver()), and no event tells when that is
 * over: look a second later. The same for an idle isolated member.
 */
lop_rule u64 lop_again_ns(const struct lop_sched *s, enum lop_set set, u64 now_ns)
{
	const struct lop_members *m = &s->set[lop_set_index(set)];
	u64 due_ns = lop_due_ns(s, set);
	u64 later_ns = now_ns + lop_last_hold_ns(s->config.hold_ns);
	if (m->size <= lop_target(s, set))
		return lop_has_isolated(s) && lop_cpus_first(&m->cpus, &s->idle, &s->open) >= 0 ? later_ns : 0;
	if (now_ns < due_ns)
		return due_ns;
	return lop_cpus_meet(&m->cpus, &s->idle) ? later_ns : 0;
}

/*
 * The set has its size, without surplus, so no later look is needed. This is so while all CPUs are members, and where a
 * wakeup uses up the surplus.
 */
lop_rule bool lop_is_exact(const struct lop_sched *s, enum lop_set set)
{
	return s->set[lop_set_index(set)].size == lop_target(s, set) && lop_next_pinned(s, set) < 0 && lop_next_evicted(s, set) < 0 &&
	       lop_left_home(s, set) < 0 && !lop_has_isolated(s);
}

/*
 * Brings the sets to their sizes, and arms the timer for the next look if there is a surplus. True: the timer was set.
 * A task that came while a member left may have counted on that one and found the others taken by a higher class: then
 * idle members look for work at once.
 * `home_node`: of the application that asks; LOP_NONE.
 */
lop_subprog bool lop_settle(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, s32 home_node, u64 now_ns)
{
	u64 high_ns, green_ns, at_ns;
	u64 demotions = s->membership.demotions;
	if (lop_is_exact(s, LOP_HIGH) && (!lop_has_green(s) || lop_is_exact(s, LOP_GREEN)))
		return false;
	lop_resize(s, world, home_node, now_ns);
	if (s->membership.demotions != demotions && !lop_cpus_empty(&s->queues.domain_waiting))
		lop_look_at(s, world, now_ns);
	high_ns = lop_again_ns(s, LOP_HIGH, now_ns);
	green_ns = lop_has_green(s) ? lop_again_ns(s, LOP_GREEN, now_ns) : 0;
	at_ns = !high_ns ? green_ns : !green_ns ? high_ns : lop_min(high_ns, green_ns);
	return at_ns && lop_timer_by(s, world, at_ns, now_ns);
}

/*
 * A high core that is surplus and runs work that nobody waits for is no reserve for others: it need not stay high until it
 * is idle, and not for T_hold.
 */
lop_rule bool lop_may_step_down(const struct lop_sched *s, u32 cpu)
{
	return lop_set_of(s, cpu) == LOP_HIGH && s->set[LOP_HIGH].size > lop_target(s, LOP_HIGH) && !lop_cpus_has(&s->set[LOP_HIGH].pinned, cpu) &&
	       !(lop_has_rank(s) && lop_is_claimed(s, cpu));
}

/*
 * It leaves the high set when such a task stops, and a green core takes its place; more than one, if its SMT siblings may
 * be green by now. The timer settles what other CPUs asked for meanwhile, since the stack here has no space for that.
 */
lop_rule void lop_step_down(struct lop_sched *s, struct lop_world *world, u32 cpu)
{
	u64 now_ns = lop_env_now_ns(world);
	u32 asked;
	int n;
	if (!lop_lock(s))
		return;
	asked = s->membership.asked;
	lop_leave(s, world, cpu, LOP_HIGH, now_ns);
	lop_for(n, 0, LOP_MAX_SMT) {
		s32 green = s->set[LOP_GREEN].size < lop_target(s, LOP_GREEN) ? lop_background_joiner(s, world) : LOP_NONE;
		if (green < 0)
			break;
		lop_join(s, world, lop_cpu_index((u32)green), LOP_GREEN, now_ns);
	}
	lop_unlock(s);
	if (s->membership.asked != asked)
		lop_timer_by(s, world, now_ns, now_ns);
	if (!lop_cpus_empty(&s->queues.domain_waiting))
		lop_look_at(s, world, now_ns);
}

/* At the start h_min is 1: something ran until now, as it started this. */
lop_rule void lop_start_high(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	s32 cpu = s->config.sizing == LOP_SIZE_BY_DEMAND ? lop_joiner(s, world, LOP_HIGH, &s->open, LOP_NONE) : LOP_NONE;
	if (cpu < 0 || !lop_lock(s))
		return;
	lop_join(s, world, lop_cpu_index((u32)cpu), LOP_HIGH, now_ns);
	lop_unlock(s);
}

/*
 * The reservation ends. The CPU is in the low set like any other, or joins the high one at once. It still runs the
 * tasks that wait in its queue; after that they are ordinary. Its siblings get the speed of their sets back.
 */
lop_subprog bool lop_give_up_reserved(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u64 now_ns)
{
	u32 cpu = s->reserved.cpu;
	int n;
	s->reserved.exists = false;
	lop_cpus_drop(&s->reserved.cpus, &s->topology.cpus);
	lop_cpus_drop(&s->reserved.beside, &s->topology.cpus);
	lop_settle(s, world, LOP_NONE, now_ns);
	lop_for(n, 0, LOP_MAX_SMT) {
		enum lop_set set;
		cpu = lop_cpu_index(cpu);
		set = lop_set_of(s, cpu);
		if (lop_cpus_has(&s->online, cpu) && (cpu != s->reserved.cpu || set == LOP_LOW))
			lop_env_set_changed(world, cpu, set);
		cpu = s->topology.next_sibling[cpu];
		if (cpu == s->reserved.cpu)
			break;
	}
	return true;
}
