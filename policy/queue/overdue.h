/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "fair.h"
/*
 * A task that has waited for 10 s runs next, whatever its weight.
 * A task of low weight waits long, and beside many others for ever.
 *     now - queued_at >= 10 s; where an adapter knows ages by halves, 5 to 10 s; lop_take_overdue()
 * Worked example: SCHED_IDLE beside a task of nice -20 on one CPU has 3 parts of 88,821, a slice of 6 ms in 178 s; it
 * gets one in 10 s.
 * Tested in: overdue. Studied in: none.
 */
#ifndef LOP_WAIT_MAX_NS
#define LOP_WAIT_MAX_NS 10000000000ULL
#endif
/* An adapter that cannot tell each task's age may take it from here on (lop_env_take_overdue()). */
#define LOP_WAIT_MIN_NS (LOP_WAIT_MAX_NS / 2)
/* A CPU that found no such task looks again after this: 500 ms. */
#define LOP_OVERDUE_PERIOD_NS (LOP_WAIT_MAX_NS / 20)

/* Result of a look for overdue tasks. Not looked: another CPU looks through that queue. */
enum lop_found { LOP_FOUND_NOBODY, LOP_FOUND_SOMEBODY, LOP_NOT_LOOKED };

/*
 * Takes the first overdue task of the queue, if tasks have been waiting there for long. A look through a long queue keeps
 * it locked, so one CPU at a time does it.
 */
lop_rule enum lop_found lop_take_overdue(struct lop_sched *s, struct lop_world *world, u32 queue, u32 cpu)
{
	struct lop_cpus *looked_through = &s->overdue.looked_through[queue >= LOP_MAX_CPUS];
	u64 now_ns = lop_env_now_ns(world);
	bool taken;
	if (lop_waited_ns(s, queue, now_ns) < LOP_WAIT_MIN_NS)
		return LOP_FOUND_NOBODY;
	if (lop_cpus_has(looked_through, lop_cpu_index(queue)) || !lop_cpus_try_add(looked_through, lop_cpu_index(queue)))
		return LOP_NOT_LOOKED;
	taken = lop_env_take_overdue(world, queue, cpu, now_ns - lop_min(now_ns, LOP_WAIT_MAX_NS));
	lop_cpus_take(looked_through, lop_cpu_index(queue));
	return taken ? LOP_FOUND_SOMEBODY : LOP_FOUND_NOBODY;
}

/*
 * Looks in this CPU's queues, and in one other domain, another one each time; from a high CPU also where work waits that
 * nobody waits for, as much of it may have few cores. A low CPU runs only what may run nowhere else.
 */
lop_rule enum lop_found lop_find_overdue(struct lop_sched *s, struct lop_world *world, u32 cpu)
{
	enum lop_set set = lop_serves(s, cpu);
	enum lop_found found = lop_take_overdue(s, world, lop_cpu_queue(cpu), cpu);
	s32 away;
	if (found != LOP_FOUND_NOBODY || set == LOP_LOW)
		return found;
	found = lop_take_overdue(s, world, lop_shared_queue(s, cpu, set), cpu);
	if (found != LOP_FOUND_NOBODY)
		return found;
	away = lop_next_domain_queue(s, &s->overdue.next_queue[lop_cpu_index(cpu)], set == LOP_HIGH && lop_has_ladder(s) ? LOP_LOW : set);
	return away >= 0 ? lop_take_overdue(s, world, (u32)away, cpu) : LOP_FOUND_NOBODY;
}

/*
 * An overdue task goes before all others, even if the running task would go on. Of two picks in a row only one is of an
 * overdue task, so that weights still count beside a crowd of them.
 */
lop_rule bool lop_pick_overdue(struct lop_sched *s, struct lop_world *world, u32 cpu)
{
	u64 now_ns = lop_env_now_ns(world);
	enum lop_found found;
	cpu = lop_cpu_index(cpu);
	if (now_ns < s->overdue.look_ns.ns[cpu])
		return false;
	if (lop_cpus_take(&s->overdue.picked_overdue, cpu))
		return false;
	found = lop_find_overdue(s, world, cpu);
	if (found == LOP_FOUND_SOMEBODY)
		lop_cpus_add(&s->overdue.picked_overdue, cpu);
	else if (found == LOP_FOUND_NOBODY)
		s->overdue.look_ns.ns[cpu] = now_ns + LOP_OVERDUE_PERIOD_NS;
	return found == LOP_FOUND_SOMEBODY;
}

/* A task that ran because it was overdue owes nothing; otherwise the clock would leap to where its weight had put it. */
lop_rule void lop_forgive_overdue(const struct lop_sched *s, struct lop_task *t, u64 now_ns)
{
	if (t->queue != LOP_NONE && now_ns - t->queued_at_ns >= LOP_WAIT_MIN_NS)
		t->vtime_ns = lop_earlier(t->vtime_ns, s->queues.clock_ns);
}
