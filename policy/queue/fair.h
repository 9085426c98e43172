/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "group.h"
#include "rank.h"
#include "sets.h"
/*
 * Start-time fair queueing: of the tasks that wait, the one furthest behind in virtual time runs next.
 * A task's virtual time grows with the time that it ran, divided by its weight.
 * Tested in: fair, crowded, overdue. Studied in: compile-parallelism, hybrid-laptop, one-and-many.
 */
/*
 * Once in so many looks each queue with tasks is served, however far behind the others are: `front_ns` is an estimate,
 * and no queue may starve because of it. A prime, so that it does not keep step with the number of queues.
 */
#define LOP_ASK_CYCLE 61

/* Virtual time that `ran_ns` costs: ran * 1024 / w. */
lop_rule u64 lop_charge_ns(u64 ran_ns, u32 weight_1024) { return ran_ns * (LOP_WEIGHT_DEFAULT << 10) / weight_1024; }

/*
 * Slice: short enough that every active task gets one within the period, between the minimum and the maximum.
 *     slice = period * |H| / active
 */
lop_rule u64 lop_slice_ns(const struct lop_sched *s)
{
	u64 active = lop_max(lop_active(s, LOP_ROLE_ORDINARY), 1);
	return lop_clamp(s->config.period_ns * lop_max(s->set[LOP_HIGH].size, 1) / active, s->config.slice_min_ns,
			 s->config.slice_max_ns);
}

/*
 * Keeps a task's virtual time near `from_ns`: its credit is at most `lag_ns`, its debt at most that and what running
 * for `lag_ns` costs it.
 *     from - lag <= vtime <= from + lag + lag * 1024 / w
 */
lop_rule void lop_clamp_lag(const struct lop_sched *s, struct lop_task *t, const struct lop_group *group, u64 from_ns, u64 lag_ns)
{
	u64 latest_ns = from_ns + lag_ns;
	if (lop_before(t->vtime_ns + lag_ns, from_ns))
		t->vtime_ns = from_ns - lag_ns;
	if (!lop_before(latest_ns, t->vtime_ns))
		return;
	latest_ns += lop_charge_ns(lag_ns, lop_weight_1024(s, t, group));
	t->vtime_ns = lop_earlier(t->vtime_ns, latest_ns);
}

/*
 * While a task sleeps the clock works off its debt. The clock need not move while another task is alone on a CPU that is
 * apart. So what that one did not pay counts instead, if the sleeper stopped there.
 *     vtime = max(clock, vtime - forgiven while it slept), if that was beyond the clock
 */
lop_rule void lop_work_off(const struct lop_sched *s, struct lop_task *t)
{
	u64 clock_ns = s->queues.clock_ns;
	u32 at = t->owes_at;
	t->owes_at = 0;
	if (at && lop_before(clock_ns, t->vtime_ns))
		t->vtime_ns -= lop_min(s->queues.forgiven_ns.ns[lop_cpu_index(at - 1)] - t->forgiven_ns, t->vtime_ns - clock_ns);
}

/*
 * Bounded lag: sleep earns a task one slice at most, and it owes at most a slice and what a slice costs it.
 *     clock - slice_max <= vtime <= clock + slice_max + slice_max * 1024 / w
 * A new task (vtime 0) starts behind the waiting tasks, by what the shortest slice costs. With the credit of sleepers,
 * a stream of short-lived tasks would never let the clock advance, and the waiting tasks would starve.
 *     vtime = clock + slice_min * 1024 / w
 */
lop_rule void lop_clamp_at_wakeup(const struct lop_sched *s, struct lop_task *t, const struct lop_group *group)
{
	if (!t->vtime_ns) {
		t->owes_at = 0;
		t->vtime_ns = s->queues.clock_ns + lop_charge_ns(s->config.slice_min_ns, lop_weight_1024(s, t, group));
	}
	lop_work_off(s, t);
	lop_clamp_lag(s, t, group, s->queues.clock_ns, s->config.slice_max_ns);
}

lop_rule u32 lop_cpu_queue(u32 cpu) { return lop_cpu_index(cpu); }

/* The CPU serves its own queue and no other, whatever its set. */
lop_rule bool lop_is_apart(const struct lop_sched *s, u32 cpu) { return lop_is_reserved(s, cpu) || lop_is_isolated(s, cpu) || lop_is_home(s, cpu); }

lop_rule u32 lop_domain_queue(const struct lop_sched *s, u32 memory_domain, enum lop_set set)
{
	return LOP_MAX_CPUS + (memory_domain & (LOP_MAX_MEMORY_DOMAINS - 1)) + lop_first_served(s, set);
}

/* The set whose queues `cpu` serves. An isolated CPU and a home serve only their own queue, as a low one does. */
lop_rule enum lop_set lop_serves(const struct lop_sched *s, u32 cpu)
{
	return lop_is_isolated(s, cpu) || lop_is_home(s, cpu) ? LOP_LOW : lop_set_of(s, cpu);
}

/* The queue of a set that `cpu` shares with its memory domain. */
lop_rule u32 lop_shared_queue(const struct lop_sched *s, u32 cpu, enum lop_set set)
{
	return lop_domain_queue(s, s->topology.memory_domain[lop_cpu_index(cpu)], set);
}

lop_rule u32 lop_queue_index(u32 queue) { return queue & (LOP_QUEUES - 1); }

/*
 * The queue of a single CPU may be longer than the others if tasks are restricted to it. So that each of its n tasks
 * gets a slice within the period, while slices stay above the minimum:
 *     slice = min(slice of all, max(period / n, slice_min))
 * Worked example: 40 tasks on 8 CPUs have 20 * 8 / 40 = 4 ms; ten of them restricted to one CPU have 2 ms there.
 */
lop_rule u64 lop_slice_in_ns(const struct lop_sched *s, u32 queue)
{
	u64 waiting = (u64)s->queues.queued[lop_queue_index(queue)] + 1;
	if (queue >= LOP_MAX_CPUS)
		return lop_slice_ns(s);
	return lop_min(lop_slice_ns(s), lop_max(s->config.period_ns / waiting, s->config.slice_min_ns));
}

/* The bitmap that tells whether a queue has tasks: one for the 512 CPU queues, one for the 512 domain queues. */
lop_rule struct lop_cpus *lop_waiting(struct lop_sched *s, u32 queue)
{
	return queue < LOP_MAX_CPUS ? &s->queues.cpu_waiting : &s->queues.domain_waiting;
}

lop_rule bool lop_queue_waits(struct lop_sched *s, u32 queue)
{
	return lop_cpus_has(lop_waiting(s, queue), lop_cpu_index(queue));
}

/*
 * Tasks that are restricted to a few crowded CPUs get less than others, and fall behind the clock of all queues without a bound.
 * So each CPU notes the start tag of what it runs. Out of turn (once in LOP_ASK_CYCLE looks, or overdue) a task may start
 * that is far ahead of those that wait, and background work has a time of its own: the tag of neither tells how far the others are.
 */
lop_rule void lop_note_started(struct lop_sched *s, const struct lop_task *t, u32 cpu)
{
	cpu = lop_cpu_index(cpu);
	if (s->queues.asks[cpu] && !lop_cpus_has(&s->overdue.picked_overdue, cpu))
		s->queues.started_ns.ns[cpu] = t->role == LOP_ROLE_BACKGROUND ? 0 : t->vtime_ns;
}

/* The CPU falls idle, goes offline, or a higher class takes it. */
lop_rule void lop_forget_started(struct lop_sched *s, u32 cpu) { s->queues.started_ns.ns[lop_cpu_index(cpu)] = 0; }

/* The most advanced of these tags where the task may run, of CPUs that serve high domain queues. LOP_NO_TIME: none has one. */
lop_subprog u64 lop_started_where_ns(const struct lop_sched *s lop_nonnull, const struct lop_task *t lop_nonnull)
{
	u64 at_ns = LOP_NO_TIME;
	s32 cpu = LOP_NONE;
	u32 n;
	lop_for(n, 0, LOP_MAX_CPUS) {
		u64 started_ns;
		cpu = lop_cpus_next(&t->allowed, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		started_ns = s->queues.started_ns.ns[lop_cpu_index((u32)cpu)];
		if (!started_ns || lop_is_isolated(s, (u32)cpu) || !lop_cpus_has(&s->set[LOP_HIGH].cpus, lop_cpu_index((u32)cpu)))
			continue;
		at_ns = at_ns == LOP_NO_TIME ? started_ns : lop_later(at_ns, started_ns);
	}
	return at_ns;
}

/*
 * Virtual time of the tasks that `t` competes with in the queue:
 *     1. in the queue of one CPU: what runs there, or the front of the queue (an estimate of its first task's), if that is behind
 *     2. in a domain's queue, for a restricted task: what runs on its most advanced CPU
 *     3. where that is not known: the front of the queue, and where no task waits, the clock of all queues
 * Worked example: 8 tasks share CPUs 0 and 1 for 3 s, 2 others CPUs 2 and 3, and are 2.2 s ahead of the 8 then. A task comes
 * that may run on CPU 0 or 1 only: from the clock, or from the front that the 2 moved on, it would wait for 2.2 s.
 */
lop_subprog u64 lop_front_for_ns(struct lop_sched *s lop_nonnull, const struct lop_task *t lop_nonnull, u32 queue)
{
	u64 front_ns = lop_queue_waits(s, queue) ? s->queues.front_ns[lop_queue_index(queue)] : s->queues.clock_ns;
	u64 at_ns = LOP_NO_TIME;
	if (queue < LOP_MAX_CPUS) {
		u64 started_ns = s->queues.started_ns.ns[lop_cpu_index(queue)];
		return started_ns ? lop_earlier(started_ns, front_ns) : front_ns;
	}
	if (t->restricted && queue - LOP_MAX_CPUS < s->topology.nr_memory_domains)
		at_ns = lop_started_where_ns(s, t);
	return at_ns == LOP_NO_TIME ? front_ns : at_ns;
}

/*
 * A task that enters a queue, because it woke or may run elsewhere now, competes with the tasks that run and wait there.
 * Its credit or debt from elsewhere counts up to a slice, as long as slices are there now, and what a slice costs. The
 * virtual time of a queue whose tasks get less advances more slowly. Without the bound, the new task or the others
 * would wait for as long as the queues have drifted apart.
 *     front - slice <= vtime <= front + slice + slice * 1024 / w
 */
lop_rule void lop_clamp_vtime(struct lop_sched *s, struct lop_task *t, const struct lop_group *group, u32 queue)
{
	if (t->last_queue != (s32)queue)
		lop_clamp_lag(s, t, group, lop_front_for_ns(s, t, queue), lop_slice_in_ns(s, queue));
}

/* How long a queue has had waiting tasks without a break; 0: none waits. */
lop_rule u64 lop_waited_ns(struct lop_sched *s, u32 queue, u64 now_ns)
{
	u64 since_ns = s->queues.waits_since_ns[lop_queue_index(queue)];
	return lop_queue_waits(s, queue) && now_ns > since_ns ? now_ns - since_ns : 0;
}

/*
 * What a task pays that ran `ran_ns` on `cpu` until now: up to a slice, and beyond that only the time in which another
 * task waited for this CPU. Time alone is free, since no task lost it.
 *     charged = min(ran, slice_max + waited)
 * Worked example: a task runs alone for 10 s, and another comes 2 ms before its slice of 6 ms is over: it pays 8 ms.
 */
lop_rule u64 lop_charged_ns(struct lop_sched *s, u32 cpu, u64 ran_ns, u64 now_ns)
{
	u32 shared;
	u64 waited_ns;
	if (ran_ns <= s->config.slice_max_ns)
		return ran_ns;
	shared = lop_is_apart(s, cpu) ? lop_cpu_queue(cpu) : lop_shared_queue(s, cpu, lop_set_of(s, cpu));
	waited_ns = lop_max(lop_waited_ns(s, lop_cpu_queue(cpu), now_ns), lop_waited_ns(s, shared, now_ns));
	return lop_min(ran_ns, s->config.slice_max_ns + waited_ns);
}

/*
 * Puts a runnable task in a queue at this virtual time; front_ns is at or behind that of the first task. The queue
 * counts as waiting until the task runs or leaves, even though the adapter may insert the task after this call.
 */
lop_subprog bool lop_queue_insert_at(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, struct lop_task *t lop_nonnull, u32 queue, u64 vtime_ns)
{
	u64 *front_ns = &s->queues.front_ns[lop_queue_index(queue)];
	bool first = !lop_queue_waits(s, queue);
	lop_assert(t->queue == LOP_NONE && queue < LOP_QUEUES);
	t->queued_at_ns = lop_env_now_ns(world);
	if (first)
		s->queues.waits_since_ns[lop_queue_index(queue)] = t->queued_at_ns;
	if (first || lop_before(vtime_ns, *front_ns))
		*front_ns = vtime_ns;
	t->queue = t->last_queue = (s32)queue;
	lop_env_insert(world, t, queue, lop_min(lop_slice_in_ns(s, queue), lop_until_late_ns(s, t, lop_env_now_ns(world))), vtime_ns);
	lop_atomic_add(&s->queues.queued[lop_queue_index(queue)], 1);
	lop_cpus_add(lop_waiting(s, queue), lop_cpu_index(queue));
	return true;
}

/* At its own virtual time. */
lop_rule void lop_queue_insert(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u32 queue)
{
	lop_queue_insert_at(s, world, t, queue, t->vtime_ns);
}

/*
 * No task is counted in the queue any more. The bit is cleared before the last look, so no task is lost. False: a task
 * came. A CPU that fell idle while the bit was clear saw no work, and the task may have come too early to see that CPU:
 * then idle members look again at once.
 */
lop_subprog bool lop_queue_empty(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 queue)
{
	queue = lop_queue_index(queue);
	lop_cpus_take(lop_waiting(s, queue), lop_cpu_index(queue));
	if (!s->queues.queued[queue])
		return true;
	lop_cpus_add(lop_waiting(s, queue), lop_cpu_index(queue));
	lop_look_at(s, world, lop_env_now_ns(world));
	return false;
}

/* The task waits in the queue of `cpu` alone because of a rule. */
lop_rule void lop_note_given(struct lop_sched *s, struct lop_task *t, u32 cpu)
{
	t->goes_first = true;
	lop_atomic_add(&s->queues.nr_given[cpu], 1);
	lop_cpus_add(&s->queues.given, cpu);
}

/* Ends the state that lop_note_given() began. The bit is cleared before the last look, as in lop_queue_empty(). */
lop_rule void lop_end_given(struct lop_sched *s, struct lop_task *t, u32 cpu)
{
	u32 before;
	cpu = lop_cpu_index(cpu);
	if (!t->goes_first)
		return;
	t->goes_first = false;
	before = lop_atomic_add(&s->queues.nr_given[cpu], -1);
	lop_assert(before > 0);
	if (before != 1)
		return;
	lop_cpus_take(&s->queues.given, cpu);
	if (s->queues.nr_given[cpu])
		lop_cpus_add(&s->queues.given, cpu);
}

/* A rule gave this CPU a task, which has arrived in its queue. */
lop_rule bool lop_is_given(const struct lop_sched *s, struct lop_world *world, u32 cpu)
{
	return lop_cpus_has(&s->queues.given, cpu) && lop_env_queued(world, lop_cpu_queue(cpu));
}

/* The task runs, blocks, or is taken out to be queued again. */
lop_rule void lop_queue_leave(struct lop_sched *s, struct lop_world *world, struct lop_task *t)
{
	u32 queue = (u32)t->queue, before;
	if (t->queue == LOP_NONE)
		return;
	t->queue = LOP_NONE;
	lop_end_given(s, t, queue);
	before = lop_atomic_add(&s->queues.queued[lop_queue_index(queue)], -1);
	lop_assert(before > 0);
	if (before == 1)
		lop_queue_empty(s, world, queue);
}

/*
 * The first task of the queue now runs: the tasks behind it are not behind its virtual time. (Unless they may not run
 * where it does; LOP_ASK_CYCLE is for these.)
 */
lop_rule void lop_queue_advance(struct lop_sched *s, u32 queue, u64 vtime_ns)
{
	u64 *front_ns = &s->queues.front_ns[lop_queue_index(queue)];
	*front_ns = lop_later(*front_ns, vtime_ns);
}

/* Takes the first task of a queue that may run on `cpu`, if its virtual time is not after `until_ns`. */
lop_rule bool lop_queue_take_until(struct lop_sched *s, struct lop_world *world, u32 queue, u32 cpu, u64 until_ns)
{
	bool taken = lop_queue_waits(s, queue) && lop_env_take(world, queue, cpu, until_ns);
	if (!taken && lop_queue_waits(s, queue) && !s->queues.queued[lop_queue_index(queue)])
		lop_queue_empty(s, world, queue);
	return taken;
}

lop_rule bool lop_queue_take(struct lop_sched *s, struct lop_world *world, u32 queue, u32 cpu)
{
	return lop_queue_take_until(s, world, queue, cpu, LOP_NO_TIME);
}

/* Queue `a` goes before `b`: it has tasks, and `b` has none or is less far behind by more than `margin_ns`. */
lop_rule bool lop_queue_goes_before(struct lop_sched *s, u32 a, u32 b, u64 margin_ns)
{
	if (!lop_queue_waits(s, a))
		return false;
	return !lop_queue_waits(s, b) ||
	       lop_before(s->queues.front_ns[lop_queue_index(a)] + margin_ns, s->queues.front_ns[lop_queue_index(b)]);
}

/* With one memory domain, and no work of the other set to help with, no CPU looks for another queue. */
lop_rule bool lop_one_shared_queue(const struct lop_sched *s, enum lop_set set)
{
	return s->topology.nr_memory_domains == 1 && !lop_sees_gain(s) && !lop_other_set_waits(s, set);
}

/*
 * Where plans give tasks memory domains, a CPU of another domain takes one of them only after tasks have waited in its
 * queue for a period, in which each should have had a slice. A task that changes its domain waits for the CPU of one
 * that changes the other way, and brief system work moves no task out of its domain. Where plans move only known threads,
 * and none has a domain yet, there is no such task to wait for.
 */
lop_rule bool lop_may_take_away(struct lop_sched *s, struct lop_world *world, u32 queue)
{
	return !lop_has_domains(s) || (s->config.only_known && !s->planned) || lop_waited_ns(s, queue, lop_env_now_ns(world)) >= s->config.period_ns;
}

/*
 * A domain queue with tasks that a CPU of this set may serve, the next one from `next` on. LOP_NONE if no queue has
 * any, or if there is one shared queue only.
 */
lop_rule s32 lop_queue_from(const struct lop_sched *s, u32 next, enum lop_set set)
{
	s32 found;
	if (lop_one_shared_queue(s, set))
		return LOP_NONE;
	found = lop_served_from(s, set, next % LOP_MAX_CPUS);
	if (found < 0)
		found = lop_served_from(s, set, 0);
	return found < 0 ? LOP_NONE : LOP_MAX_CPUS + found;
}

/* The same, another queue each time. */
lop_rule s32 lop_next_domain_queue(struct lop_sched *s, u32 *next, enum lop_set set)
{
	s32 queue = lop_queue_from(s, *next, set);
	if (queue >= 0)
		*next = (u32)queue - LOP_MAX_CPUS + 1;
	return queue;
}

/* Whether a queue that this CPU serves has tasks, even if they may not run here. */
lop_rule bool lop_any_work(const struct lop_sched *s, u32 cpu)
{
	enum lop_set set = lop_serves(s, cpu);
	return lop_cpus_has(&s->queues.cpu_waiting, cpu) ||
	       (set != LOP_LOW && (lop_served_from(s, set, 0) >= 0 || lop_any_stranded(s)));
}

/*
 * Whether the shared queue goes before the CPU's own. The first tasks of the shared queue may be restricted to other
 * CPUs, and be as far behind as those are crowded. The tasks that may run here are not behind the last one that did.
 *     max(front of the shared queue, start tag of its last task here) < front of the own
 * Worked example: a task that may run on CPUs 1 and 2 only is 100 ms behind; those that CPU 0 takes are not. No task
 * restricted to CPU 0 waits for these.
 */
lop_rule bool lop_shared_first(struct lop_sched *s, u32 cpu, u32 own, u32 shared)
{
	u64 front_ns = lop_later(s->queues.front_ns[lop_queue_index(shared)], s->queues.shared_ns.ns[lop_cpu_index(cpu)]);
	if (!lop_queue_waits(s, shared))
		return false;
	return !lop_queue_waits(s, own) || lop_before(front_ns, s->queues.front_ns[lop_queue_index(own)]);
}

/* Notes the start tag of a task that starts, or goes on. */
lop_rule void lop_note_shared(struct lop_sched *s, const struct lop_task *t, u32 cpu)
{
	if (t->last_queue == (s32)lop_shared_queue(s, cpu, LOP_HIGH))
		s->queues.shared_ns.ns[lop_cpu_index(cpu)] = t->vtime_ns;
}

/* Of the CPU's own queue and that of its domain, the one further behind; once in a cycle the other. */
lop_rule u32 lop_home_queue(struct lop_sched *s, u32 cpu, u32 own, u32 shared, u32 ask)
{
	u32 first = lop_shared_first(s, cpu, own, shared) ? shared : own;
	u32 other = first == own ? shared : own;
	return ask == 0 && lop_queue_waits(s, other) ? other : first;
}

/* Another domain's queue goes first if it is more than a slice further behind, and once in a cycle. */
lop_rule bool lop_away_first(struct lop_sched *s, struct lop_world *world, s32 away, u32 home, u32 ask)
{
	return away >= 0 && lop_may_take_away(s, world, (u32)away) &&
	       (ask == LOP_ASK_CYCLE / 2 || lop_queue_goes_before(s, (u32)away, home, s->config.slice_max_ns));
}

/* Takes stranded work, which waits at a CPU that does not fetch it, if `cpu` may run it by now. */
lop_subprog bool lop_take_stranded(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 cpu)
{
	struct lop_cpus *stranded = &world->others;
	s32 from = LOP_NONE;
	bool taken = false;
	int i, n;
	lop_for_words(i) stranded->word[i & (LOP_CPU_WORDS - 1)] = lop_stranded_word(s, i & (LOP_CPU_WORDS - 1));
	lop_for(n, 0, LOP_MAX_CPUS) {
		from = lop_cpus_next(stranded, (u32)(from + 1));
		if (from < 0)
			break;
		taken = lop_queue_take(s, world, lop_cpu_queue((u32)from), cpu);
		if (taken)
			break;
	}
	return taken;
}

/* Takes the task that a rule gave to this CPU: it waits in the CPU's own queue, or is on its way there. */
lop_rule bool lop_take_given(struct lop_sched *s, struct lop_world *world, u32 cpu)
{
	return lop_cpus_has(&s->queues.given, cpu) && lop_queue_take(s, world, lop_cpu_queue(cpu), cpu);
}

/* Takes work from any domain, another one first each time. */
lop_rule bool lop_take_away(struct lop_sched *s, struct lop_world *world, u32 cpu, enum lop_set set, u64 until_ns)
{
	bool taken = false;
	int n;
	lop_for(n, 0, 2 * LOP_MAX_MEMORY_DOMAINS) {
		s32 away = lop_next_domain_queue(s, &s->queues.next_queue[lop_cpu_index(cpu)], set);
		if (away < 0 || n >= s->topology.nr_memory_domains * 2)
			break;
		taken = lop_may_take_away(s, world, (u32)away) && lop_queue_take_until(s, world, (u32)away, cpu, until_ns);
		if (taken)
			break;
	}
	return taken;
}

/*
 * Work for a CPU that asks, in this order:
 *     1. what a rule gave to this CPU (pull.h), then stranded work
 *     2. one other domain's queue, another each time, if it is more than a slice further behind
 *     3. of the CPU's own queue and that of its domain and set, the one further behind, then the other
 *     4. any domain's queue
 * Low CPUs only run what may run nowhere else, isolated ones what is bound there. False: nothing to do.
 * `until_ns`: virtual time of the task that could go on here, else LOP_NO_TIME. A task that is ahead of it takes its
 * place only once in a cycle, and so does one of another domain that is less than a slice behind. The task that was
 * seen to wait may be gone to a CPU that looked at the same moment, or may be restricted to other CPUs, and the next
 * one may be far ahead.
 * Worked example: two CPUs whose ticks coincide, three tasks of nice 0 and one of nice 5, each CPU's slice over. Both
 * see the same task of nice 0 wait. One takes it, and the other goes on with its own. Otherwise it would take the task
 * of nice 5 each time, and that task would get 25 % instead of 10 %.
 */
lop_subprog bool lop_pick_next(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 cpu, u64 until_ns)
{
	enum lop_set set = lop_serves(s, cpu);
	u32 own = lop_cpu_queue(cpu);
	u32 shared = lop_shared_queue(s, cpu, set);
	u64 away_until_ns = until_ns == LOP_NO_TIME ? LOP_NO_TIME : until_ns - s->config.slice_max_ns;
	u32 *asks = &s->queues.asks[lop_cpu_index(cpu)];
	u32 home;
	s32 away;
	if (lop_take_given(s, world, cpu))
		return true;
	if (set == LOP_LOW)
		return lop_queue_take_until(s, world, own, cpu, until_ns);
	if (lop_any_stranded(s) && lop_take_stranded(s, world, cpu))
		return true;
	*asks = (*asks + 1) % LOP_ASK_CYCLE;
	home = lop_home_queue(s, cpu, own, shared, *asks);
	away = lop_next_domain_queue(s, &s->queues.next_queue[lop_cpu_index(cpu)], set);
	if (lop_away_first(s, world, away, home, *asks) &&
	    lop_queue_take_until(s, world, (u32)away, cpu, *asks == LOP_ASK_CYCLE / 2 ? LOP_NO_TIME : away_until_ns))
		return true;
	if (lop_queue_take_until(s, world, home, cpu, *asks == 0 ? LOP_NO_TIME : until_ns) ||
	    lop_queue_take_until(s, world, home == own ? shared : own, cpu, until_ns))
		return true;
	return lop_take_away(s, world, cpu, set, away_until_ns);
}

/*
 * Whether the first task of a queue is `margin_ns` or more behind `t`. Only when a slice ends, so it asks the queue
 * itself.
 */
lop_rule bool lop_first_is_behind(struct lop_sched *s, struct lop_world *world, u32 queue, const struct lop_task *t, u64 margin_ns)
{
	u64 first_ns;
	if (!lop_queue_waits(s, queue))
		return false;
	first_ns = lop_env_first_ns(world, queue);
	return first_ns != LOP_NO_TIME && !lop_before(t->vtime_ns, first_ns + margin_ns);
}

/* The look at a light task every 2 ms (light.h) does not end its slice: it may hold a lock that others wait for. */
lop_rule bool lop_is_in_slice(const struct lop_sched *s, const struct lop_task *t, u32 cpu)
{
	return lop_has_light(s) && t->light.slice_ns < lop_slice_in_ns(s, lop_cpu_queue(cpu));
}

/*
 * A task whose slice is over goes on if no task that waits where `cpu` looks is further behind; of equals the waiting
 * one goes first. Other domains' queues count if they are more than a slice further behind, as in lop_away_first();
 * the cycle of looks is left to lop_pick_next(). The reserved CPU and isolated ones look into their own queue only.
 */
lop_subprog bool lop_goes_on(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, const struct lop_task *t lop_nonnull, u32 cpu)
{
	u32 own = lop_cpu_queue(cpu);
	u32 shared = lop_shared_queue(s, cpu, lop_set_of(s, cpu));
	s32 away;
	if (lop_is_apart(s, cpu))
		return lop_is_in_slice(s, t, cpu) || !lop_first_is_behind(s, world, own, t, 0);
	away = lop_queue_from(s, s->queues.next_queue[lop_cpu_index(cpu)], lop_set_of(s, cpu));
	if (lop_first_is_behind(s, world, own, t, 0) || lop_first_is_behind(s, world, shared, t, 0))
		return false;
	return away < 0 || (u32)away == shared || !lop_may_take_away(s, world, (u32)away) ||
	       !lop_first_is_behind(s, world, (u32)away, t, s->config.slice_max_ns);
}

/*
 * As lop_first_is_behind() by a slice. The queue itself, whose lock all its CPUs share, is asked only if the front is that
 * far behind: but for tasks of limited affinity, nobody who waits is behind the front.
 */
lop_rule bool lop_is_ahead_in(struct lop_sched *s, struct lop_world *world, const struct lop_task *t, u32 queue)
{
	u64 slice_ns = lop_slice_in_ns(s, queue);
	return !lop_before(t->vtime_ns, s->queues.front_ns[lop_queue_index(queue)] + slice_ns) &&
	       lop_first_is_behind(s, world, queue, t, slice_ns);
}

/*
 * Whether a task that stops on `cpu` has had more than its share: one that waits there is a slice or more behind it.
 *     vtime - first of the queue >= slice
 */
lop_rule bool lop_is_ahead(struct lop_sched *s, struct lop_world *world, const struct lop_task *t, u32 cpu)
{
	return lop_is_ahead_in(s, world, t, lop_cpu_queue(cpu)) ||
	       (!lop_is_apart(s, cpu) && lop_is_ahead_in(s, world, t, lop_shared_queue(s, cpu, lop_set_of(s, cpu))));
}

/* Some tasks are counted in the queue but not in it: they are on their way there, or from there to a CPU. */
lop_rule bool lop_in_motion(const struct lop_sched *s, struct lop_world *world, u32 queue)
{
	u32 counted = s->queues.queued[lop_queue_index(queue)];
	return counted && counted > lop_env_queued(world, queue);
}

/* Whether work that this CPU serves is on its way: it was counted when the CPU looked, but had not arrived. */
lop_subprog bool lop_work_arrives(const struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 cpu)
{
	enum lop_set set = lop_serves(s, cpu);
	s32 queue = -1;
	bool arrives = lop_in_motion(s, world, lop_cpu_queue(cpu));
	u32 n;
	if (set == LOP_LOW)
		return arrives;
	lop_for(n, 0, 2 * LOP_MAX_MEMORY_DOMAINS) {
		if (arrives)
			break;
		queue = lop_served_from(s, set, (u32)(queue + 1));
		if (queue < 0)
			break;
		arrives = lop_in_motion(s, world, LOP_MAX_CPUS + (u32)queue);
	}
	return arrives;
}

/*
 * A CPU looked for work that was counted but had not arrived. It looks again at once. If the work is still on its way,
 * which is rare, idle members look again when the timer fires.
 */
lop_rule void lop_look_again(struct lop_sched *s, struct lop_world *world, u32 cpu)
{
	if (!lop_cpus_has(&s->queues.looked, cpu)) {
		lop_cpus_add(&s->queues.looked, cpu);
		lop_env_kick(world, cpu);
		return;
	}
	lop_look_at(s, world, lop_env_now_ns(world) + s->config.slice_min_ns);
}

/*
 * Kicks idle members that work waits for, and idle CPUs with work in their own queue, which may have left their set
 * while it was on its way.
 */
lop_subprog bool lop_look_now(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull)
{
	s32 cpu = LOP_NONE;
	int i, n;
	lop_atomic_and(&s->queues.look, 0);
	lop_for_words(i) {
		u32 w = i & (LOP_CPU_WORDS - 1);
		world->candidates.word[w] = (s->set[LOP_HIGH].cpus.word[w] | s->set[LOP_GREEN].cpus.word[w] | s->queues.cpu_waiting.word[w]) &
					    s->idle.word[w];
	}
	lop_for(n, 0, LOP_MAX_CPUS) {
		cpu = lop_cpus_next(&world->candidates, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		if (lop_any_work(s, (u32)cpu))
			lop_env_kick(world, (u32)cpu);
	}
	return true;
}
