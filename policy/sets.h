/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "demand.h"
#include "member.h"
/* High, low and green sets: joining, leaving, growing before placing, shrinking after the hold time. */

lop_rule enum lop_set lop_set_of(const struct lop_sched *s, u32 cpu)
{
	if (lop_cpus_has(&s->set[LOP_HIGH].cpus, cpu))
		return LOP_HIGH;
	return lop_cpus_has(&s->set[LOP_GREEN].cpus, cpu) ? LOP_GREEN : LOP_LOW;
}

/* Whether an SMT sibling of `cpu` is in `set`. */
lop_rule bool lop_beside(const struct lop_sched *s, u32 cpu, const struct lop_cpus *set)
{
	u32 sibling = cpu;
	bool beside = false;
	int n;
	lop_for(n, 0, LOP_MAX_SMT) {
		sibling = lop_cpu_index(s->topology.next_sibling[lop_cpu_index(sibling)]);
		if (sibling == cpu)
			break;
		beside |= lop_cpus_has(set, sibling);
	}
	return beside;
}

/* `cpu` came into `set` or went: `beside` stays the CPUs that have a sibling in it. */
lop_rule void lop_note_siblings(const struct lop_sched *s, u32 cpu, const struct lop_cpus *set, struct lop_cpus *beside)
{
	u32 sibling = cpu;
	int n;
	lop_for(n, 0, LOP_MAX_SMT) {
		sibling = lop_cpu_index(s->topology.next_sibling[lop_cpu_index(sibling)]);
		if (sibling == cpu)
			break;
		if (lop_beside(s, sibling, set))
			lop_cpus_add(beside, sibling);
		else
			lop_cpus_take(beside, sibling);
	}
}

/* A CPU became high (or ceased to be): keeps warm, beside_high and the counts true. */
lop_rule void lop_note_high(struct lop_sched *s, u32 cpu, bool high)
{
	const struct lop_topology *top = &s->topology;
	u32 domain = lop_cpu_index(top->voltage_domain[cpu]);
	int i;
	s->node_high[top->node[cpu] & (LOP_MAX_NODES - 1)] += high ? 1 : -1U;
	s->voltage_high[domain] += high ? 1 : -1U;
	if (s->voltage_high[domain] == (high ? 1 : 0)) {
		lop_for(i, 0, LOP_CPU_WORDS) {
			u64 *warm = &s->warm.word[i & (LOP_CPU_WORDS - 1)];
			u64 cpus = top->voltage_cpus[domain].word[i & (LOP_CPU_WORDS - 1)];
			*warm = high ? *warm | cpus : *warm & ~cpus;
		}
	}
	lop_note_siblings(s, cpu, &s->set[LOP_HIGH].cpus, &s->beside_high);
}

/* Whether anything waits that a member or `cpu` might run: a task whose slice is over goes on if not. */
lop_rule bool lop_anything_waits(const struct lop_sched *s, u32 cpu)
{
	return lop_cpus_has(&s->cpu_waiting, cpu) || !lop_cpus_empty(&s->domain_waiting);
}

lop_rule void lop_leave(struct lop_sched *s, struct lop_world *world, u32 cpu, enum lop_set set, u64 now_ns)
{
	if (!lop_cpus_take(&s->set[set].cpus, cpu))
		return;
	s->set[set].size--;
	s->left_ns[cpu] = now_ns;
	if (set == LOP_HIGH)
		lop_note_high(s, cpu, false);
	s->demotions++;
	lop_env_set_changed(world, cpu, LOP_LOW);
}

lop_rule void lop_join(struct lop_sched *s, struct lop_world *world, u32 cpu, enum lop_set set, u64 now_ns)
{
	if (lop_cpus_has(&s->set[set].cpus, cpu))
		return;
	if (lop_cpus_take(&s->set[LOP_GREEN].cpus, cpu)) /* a green core may be made high */
		s->set[LOP_GREEN].size--;
	lop_cpus_add(&s->set[set].cpus, cpu);
	s->set[set].size++;
	s->joined_ns[cpu] = now_ns;
	if (set == LOP_HIGH)
		lop_note_high(s, cpu, true);
	s->promotions++;
	lop_env_set_changed(world, cpu, set);
	if (lop_anything_waits(s, cpu))
		lop_env_kick(world, cpu);
}

/*
 * if |S| < target: promote. Called before placing, so that no task waits on a low core for one to be promoted.
 * Who finds the lock taken leaves it to the holder, who looks again after letting go.
 */
lop_rule void lop_grow(struct lop_sched *s, struct lop_world *world, enum lop_set set, const struct lop_cpus *within, s32 home_node,
		       u64 now_ns)
{
	int n;
	lop_for(n, 0, LOP_MAX_CPUS) {
		s32 cpu = LOP_NONE;
		if (s->set[set].size >= lop_target(s, set) || lop_atomic_cas(&s->resizing, 0, 1))
			break;
		if (s->set[set].size < lop_target(s, set))
			cpu = lop_joiner(s, world, set, within, home_node);
		if (cpu >= 0)
			lop_join(s, world, lop_cpu_index((u32)cpu), set, now_ns);
		lop_atomic_cas(&s->resizing, 1, 0);
		if (cpu < 0)
			break;
	}
}

/* A CPU that a task needs whatever the target is: its own, if it is pinned there. */
lop_rule s32 lop_promote_within(struct lop_sched *s, struct lop_world *world, enum lop_set set, const struct lop_cpus *within,
				u64 now_ns)
{
	s32 cpu;
	if (lop_atomic_cas(&s->resizing, 0, 1))
		return LOP_NONE;
	cpu = lop_joiner(s, world, set, within, LOP_NONE);
	if (cpu >= 0)
		lop_join(s, world, lop_cpu_index((u32)cpu), set, now_ns);
	lop_atomic_cas(&s->resizing, 1, 0);
	return cpu;
}

/* T_hold of the k-th member. The first stays longer: h_min is 1 while anything ran in the last second. */
lop_rule u64 lop_hold_ns(const struct lop_sched *s, enum lop_set set, u32 level)
{
	return set == LOP_HIGH && level == 1 ? s->config.last_hold_ns : s->config.hold_ns;
}

/*
 * if |S| > target for T_hold: demote an idle member. The k-th member is surplus since the target last fell below k.
 * Returns when to look again, 0 if there is nothing to wait for (no surplus, or its members are busy: the next of them
 * to fall idle asks again).
 */
lop_rule u64 lop_shrink(struct lop_sched *s, struct lop_world *world, enum lop_set set, u64 now_ns)
{
	struct lop_members *m = &s->set[set];
	u64 again_ns = 0;
	int n;
	lop_for(n, 0, LOP_MAX_CPUS) {
		s32 cpu = LOP_NONE;
		u32 level = (u32)lop_min(m->size, LOP_MAX_CPUS);
		u64 due_ns = m->below_since_ns[level] + lop_hold_ns(s, set, level);
		if (level <= lop_target(s, set))
			break;
		if (now_ns < due_ns) {
			again_ns = due_ns;
			break;
		}
		if (lop_atomic_cas(&s->resizing, 0, 1))
			break;
		if (m->size > lop_target(s, set))
			cpu = lop_leaver(s, world, set);
		/* Claimed first: a waker that took it meanwhile keeps it. */
		if (cpu >= 0 && lop_cpus_take(&s->idle, lop_cpu_index((u32)cpu))) {
			lop_leave(s, world, lop_cpu_index((u32)cpu), set, now_ns);
			lop_cpus_add(&s->idle, lop_cpu_index((u32)cpu));
		}
		lop_atomic_cas(&s->resizing, 1, 0);
		if (cpu < 0)
			break;
	}
	return again_ns;
}

/* Shrinks every set that sizes itself, and sees to it that somebody looks again. No surplus, no timer. */
lop_rule void lop_settle(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	u64 high_ns = lop_shrink(s, world, LOP_HIGH, now_ns);
	u64 green_ns = s->config.green ? lop_shrink(s, world, LOP_GREEN, now_ns) : 0;
	u64 at_ns = !high_ns ? green_ns : !green_ns ? high_ns : lop_min(high_ns, green_ns);
	if (!at_ns || (s->timer_at_ns && s->timer_at_ns <= at_ns))
		return;
	s->timer_at_ns = at_ns;
	lop_env_arm_timer(world, at_ns);
}
