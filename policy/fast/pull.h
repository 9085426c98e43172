/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "fair.h"
#include "longest.h"
/*
 * A fast core is never idle while a slow one runs a task that is worth moving.
 * Waiting tasks are found by the core that falls idle (fair.h); running ones are moved here, in two steps. The task's
 * CPU preempts it (lop_send). When it is queued again, it goes to the queue that only the other CPU serves, ahead of
 * the task running there (lop_deliver).
 * Tested in: pull, phase. Studied in: sequential-phases, one-and-many, critical-sections, parsec-classes, longest-job, registration, hybrid-laptop, everything.
 */
#define LOP_WORTH_MIGRATIONS 10
/* At most this many moves in one pass; the rest follow in the next. */
#define LOP_MOVES_AT_ONCE 8

/* The timer checks the fast cores at this time, or before. */
lop_rule void lop_rank_timer_by(struct lop_sched *s, struct lop_world *world, u64 at_ns, u64 now_ns)
{
	if (!s->fast.look_at_ns || at_ns < s->fast.look_at_ns)
		s->fast.look_at_ns = at_ns;
	lop_timer_by(s, world, s->fast.look_at_ns, now_ns);
}

/* What a task of which nothing more is known has to have left, which is what it has run since it woke. */
lop_rule u64 lop_lasts_ns(const struct lop_sched *s)
{
	return lop_max(LOP_WORTH_MIGRATIONS * s->config.migration_ns, lop_uses_room(s) && s->config.keeps_kind ? LOP_LASTS_NS : 1);
}

/* When it pays to move such a task that has just woken. */
lop_rule u64 lop_worth_ns(const struct lop_sched *s, u64 now_ns) { return now_ns + lop_lasts_ns(s); }

/* The timer checks by then anyway. A timer that is overdue does not count. */
lop_rule bool lop_rank_timer_is_set(const struct lop_sched *s, u64 at_ns, u64 now_ns) { return s->fast.look_at_ns >= now_ns && s->fast.look_at_ns <= at_ns; }

/* Ordinary work does not move to a green core. One that light work left (light.h) is anybody's while it is idle, and joins like a low one. */
lop_rule bool lop_is_left_green(const struct lop_sched *s, u32 cpu)
{
	return lop_has_light(s) && lop_is_green(s, cpu) && !lop_cpus_has(&s->set[LOP_GREEN].pinned, cpu) && lop_cpus_has(&s->idle, cpu);
}

lop_rule bool lop_is_kept_green(const struct lop_sched *s, u32 cpu) { return lop_is_green(s, cpu) && !lop_is_left_green(s, cpu); }

/*
 * A core that is to run ordinary work is high: it joins beyond the target, if the power cap allows, and the member left
 * idle leaves after its hold time. The timer checks then. It checks at once if other CPUs found the lock taken, since
 * the stack here has no space to serve their requests.
 */
lop_rule bool lop_join_for_move(struct lop_sched *s, struct lop_world *world, u32 cpu, u64 now_ns)
{
	u32 asked;
	if (lop_is_kept_green(s, cpu))
		return false;
	if (lop_set_of(s, cpu) != LOP_LOW && !lop_is_left_green(s, cpu))
		return true;
	if (lop_is_full(s) || !lop_lock(s))
		return false;
	asked = s->membership.asked;
	lop_join(s, world, cpu, LOP_HIGH, now_ns);
	lop_unlock(s);
	lop_timer_by(s, world, s->membership.asked == asked ? now_ns + s->config.hold_ns : now_ns, now_ns);
	return true;
}

/* The task does not go to the CPU that it was given: it blocks, or is placed again. */
lop_rule void lop_drop_given(struct lop_sched *s, struct lop_task *t)
{
	if (!lop_has_rank(s) || !t->given)
		return;
	lop_cpus_take(&s->fast.claimed, lop_cpu_index(t->given - 1));
	t->given = 0;
}

/* Ends the migration of the task that runs or ran on `cpu`. Returns 1 + the CPU that it was on its way to, 0: none. */
lop_rule u32 lop_end_migration_claim(struct lop_sched *s, u32 cpu) { return lop_atomic_and(&s->fast.migrates_to[lop_cpu_index(cpu)], 0); }

/*
 * The task on `from` is on its way to `to`. False: another task is, or it goes elsewhere, or it stopped meanwhile. CPUs
 * decide concurrently, and each of two that decide about the same task has to see one of the other's steps:
 *     CPU that claims:       claims `to`, sets migrates_to of `from`, checks whether the task still runs
 *     CPU where it stops:    notes that the task does not run, reads migrates_to
 * If the task has stopped, only this claim is taken back, not one that another CPU made after this one had been read.
 */
lop_subprog bool lop_claim_migration(struct lop_sched *s lop_nonnull, u32 from, u32 to)
{
	from = lop_cpu_index(from);
	to = lop_cpu_index(to);
	if (!lop_cpus_try_add(&s->fast.claimed, to))
		return false;
	if (!lop_atomic_cas(&s->fast.migrates_to[from], 0, to + 1) &&
	    (s->fast.on[from].since_ns || lop_atomic_cas(&s->fast.migrates_to[from], to + 1, 0) != to + 1))
		return true;
	lop_cpus_take(&s->fast.claimed, to);
	return false;
}

/*
 * Sends the task on `from` to `to`. The task on `to` takes the CPU that becomes free, so that no core is empty
 * meanwhile.
 */
lop_subprog bool lop_send(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 from, u32 to, u64 now_ns)
{
	from = lop_cpu_index(from);
	to = lop_cpu_index(to);
	if (!lop_join_for_move(s, world, to, now_ns) || !lop_claim_migration(s, from, to))
		return false;
	if (lop_may_leave(s, to)) {
		lop_note_contended(s, to, !lop_is_slowest(s, to), now_ns);
		lop_claim_migration(s, to, from);
	}
	s->fast.moves++;
	lop_env_preempt(world, from);
	return true;
}

/*
 * The task waits in the queue of `cpu` alone, ahead of the tasks that wait there and of the one that runs. If a higher
 * scheduling class takes that CPU, other CPUs take the task (lop_take_stranded).
 *     place = min(vtime, front of the queue - 1)      where others wait
 */
lop_rule void lop_wait_at(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u32 cpu)
{
	u64 place_ns = t->vtime_ns;
	cpu = lop_cpu_index(cpu);
	if (lop_queue_waits(s, lop_cpu_queue(cpu)))
		place_ns = lop_earlier(place_ns, s->queues.front_ns[lop_cpu_queue(cpu)] - 1);
	lop_note_given(s, t, cpu);
	lop_queue_insert_at(s, world, t, lop_cpu_queue(cpu), place_ns);
}

/*
 * A task has claimed `cpu`, and its kernel would leave it there for as long as a higher scheduling class runs: it waits
 * in the queue of that CPU instead. Its lag is counted in the queue where it would wait if no CPU were idle.
 */
lop_rule void lop_wait_at_claimed(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u32 cpu)
{
	s32 last_queue = t->last_queue;
	lop_wait_at(s, world, t, cpu);
	t->last_queue = last_queue;
}

/*
 * A task was given a CPU: it waits in the queue of that CPU alone, which is kicked if idle and preempted if busy.
 * False: that CPU can no longer be used, or was given to another task before. The claim ends once the task waits there:
 * otherwise another one could find the CPU neither claimed nor given, and come, too.
 */
lop_rule bool lop_deliver(struct lop_sched *s, struct lop_world *world, struct lop_task *t, const struct lop_group *group)
{
	u32 cpu = lop_cpu_index(t->given - 1);
	bool goes = lop_cpus_has(&s->online, cpu) && (!t->restricted || lop_cpus_has(&t->allowed, cpu)) && !lop_cpus_has(&s->queues.given, cpu);
	t->given = 0;
	if (goes) {
		lop_clamp_vtime(s, t, group, lop_cpu_queue(cpu));
		lop_wait_at(s, world, t, cpu);
	}
	lop_cpus_take(&s->fast.claimed, cpu);
	if (!goes)
		return false;
	if (lop_cpus_has(&s->idle, cpu))
		lop_env_kick(world, cpu);
	else
		lop_env_preempt(world, cpu);
	return true;
}

/*
 * The task sent from `cpu` to `to` blocked on the way. The task that was to make room for it stays, unless that one
 * goes to a faster core.
 */
lop_rule void lop_call_off(struct lop_sched *s, u32 cpu, u32 to)
{
	lop_cpus_take(&s->fast.claimed, to);
	if (lop_tier_of(s, cpu) >= lop_tier_of(s, to) && lop_atomic_cas(&s->fast.migrates_to[lop_cpu_index(to)], cpu + 1, 0) == cpu + 1)
		lop_cpus_take(&s->fast.claimed, cpu);
}

/* The CPU goes offline: no task is compared with the one that ran there, and a task on its way there stays. */
lop_rule void lop_forget_cpu(struct lop_sched *s, u32 cpu)
{
	u32 to;
	s->fast.on[lop_cpu_index(cpu)].since_ns = 0;
	to = lop_end_migration_claim(s, cpu);
	if (to)
		lop_call_off(s, cpu, lop_cpu_index(to - 1));
	lop_cpus_take(&s->fast.claimed, cpu);
	lop_cpus_take(&s->queues.given, cpu);
}

/* The task on `cpu` was sent elsewhere. */
lop_rule bool lop_is_sent(const struct lop_sched *s, u32 cpu) { return lop_has_rank(s) && s->fast.migrates_to[lop_cpu_index(cpu)]; }

/* The task on `cpu` has to make room: it was sent elsewhere, or another task was given this CPU. */
lop_rule bool lop_must_go(const struct lop_sched *s, u32 cpu)
{
	return lop_is_sent(s, cpu) || lop_cpus_has(&s->queues.given, cpu) || (lop_has_light(s) && lop_cpus_has(&s->light.asked, cpu));
}

/*
 * Moving pays:
 *     left >= 10 * migration,     and where kinds are kept (room.h) 2 ms if no length tells what is left
 * An awaited task moves at once, and so does a thread of known length that has not begun.
 */
lop_subprog bool lop_is_worth_moving(const struct lop_sched *s lop_nonnull, u32 cpu, u64 now_ns)
{
	const struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	if (on->rank.class == LOP_AWAITED || (on->rank.length && !on->done_ns && on->since_ns >= now_ns))
		return true;
	return lop_left_ns(s, cpu, now_ns) >= (on->length && on->unit_ns ? LOP_WORTH_MIGRATIONS * s->config.migration_ns : lop_lasts_ns(s));
}

/*
 * First in rank of the tasks on kinds slower than that of `to` that may move, are worth moving, would be faster there and are
 * of class `least` or above. LOP_NONE: there is none.
 */
lop_subprog s32 lop_first_slower(const struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 to, u32 least, u64 now_ns)
{
	bool halved = lop_is_halved(s, to);
	const struct lop_rank *rank;
	s32 cpu = LOP_NONE, first = LOP_NONE;
	int n;
	if (least > LOP_AWAITED || !lop_busy_of(s, &world->others, least, LOP_AWAITED))
		return LOP_NONE;
	lop_for(n, 0, LOP_MAX_CPUS) {
		cpu = lop_cpus_next(&world->others, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		if (lop_tier_of(s, (u32)cpu) <= lop_tier_of(s, to) || !lop_may_leave(s, (u32)cpu) || !lop_is_worth_moving(s, (u32)cpu, now_ns) ||
		    !lop_is_faster_there(s, (u32)cpu, to, halved))
			continue;
		rank = &s->fast.on[lop_cpu_index(cpu)].rank;
		if (first >= 0 && !lop_ranks_before(s, rank, &s->fast.on[lop_cpu_index((u32)first)].rank))
			continue;
		first = cpu;
	}
	return first;
}

/* A task that may move runs on a slower kind than `tier`, whether or not it is worth moving yet. */
lop_rule bool lop_any_slower(const struct lop_sched *s, struct lop_world *world, u32 tier)
{
	s32 cpu = LOP_NONE;
	bool any = false;
	int n;
	if (!lop_busy_of(s, &world->others, LOP_ORDINARY, LOP_AWAITED))
		return false;
	lop_for(n, 0, LOP_MAX_CPUS) {
		cpu = lop_cpus_next(&world->others, (u32)(cpu + 1));
		if (cpu < 0 || any)
			break;
		any = lop_tier_of(s, (u32)cpu) > tier && lop_may_leave(s, (u32)cpu);
	}
	return any;
}

/* `cpu` is idle or its task yields to all others, and a task that came there would have the whole core. */
lop_rule bool lop_is_vacant(const struct lop_sched *s, u32 cpu)
{
	const struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	if (lop_is_claimed(s, cpu) || lop_is_halved(s, cpu) || lop_is_reserved(s, cpu) || lop_is_kept_green(s, cpu) || lop_is_off(s, cpu))
		return false;
	return on->since_ns ? on->rank.class == LOP_YIELDS && lop_may_leave(s, cpu) : lop_cpus_has(&s->idle, cpu);
}

/*
 * A vacant CPU takes the first task in rank from a slower kind. If none is worth moving yet, the timer checks again. If
 * there is none, no task wants the CPU.
 */
lop_subprog bool lop_pull(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 cpu, u64 now_ns)
{
	u64 worth_ns = lop_worth_ns(s, now_ns);
	u32 tier = lop_tier_of(s, cpu);
	s32 from;
	if (lop_is_slowest(s, cpu) || !lop_cpus_has(&s->open, cpu) || !lop_is_vacant(s, cpu))
		return false;
	from = lop_first_slower(s, world, cpu, LOP_ORDINARY, now_ns);
	if (from >= 0)
		return lop_send(s, world, (u32)from, cpu, now_ns);
	if (lop_rank_timer_is_set(s, worth_ns, now_ns))
		return false;
	if (lop_any_slower(s, world, tier))
		lop_rank_timer_by(s, world, worth_ns, now_ns);
	else
		s->fast.on[lop_cpu_index(cpu)].paid_until_ns = 0;
	return false;
}

/* All vacant CPUs, in order of their numbers. */
lop_rule void lop_pull_all(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	s32 cpu = LOP_NONE;
	u32 moves = 0;
	int n;
	lop_for(n, 0, LOP_MAX_CPUS) {
		cpu = lop_cpus_next(&s->online, (u32)(cpu + 1));
		if (cpu < 0 || moves >= LOP_MOVES_AT_ONCE)
			break;
		moves += lop_pull(s, world, lop_cpu_index((u32)cpu), now_ns);
	}
}

/*
 * The task on `cpu`, if moving pays, goes to an idle faster core, or takes one from a task that it displaces. True: it
 * was sent.
 */
lop_subprog bool lop_upmigrate(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 cpu, u64 now_ns)
{
	const struct lop_rank *rank = &s->fast.on[lop_cpu_index(cpu)].rank;
	u32 tier = lop_tier_of(s, cpu);
	s32 to;
	if (!tier || !lop_may_leave(s, cpu) || rank->class == LOP_YIELDS)
		return false;
	if (!lop_is_worth_moving(s, cpu, now_ns)) {
		if (!lop_rank_timer_is_set(s, lop_worth_ns(s, now_ns), now_ns) && lop_idle_faster(s, world, tier) >= 0)
			lop_rank_timer_by(s, world, lop_worth_ns(s, now_ns), now_ns);
		return false;
	}
	to = lop_idle_faster(s, world, tier);
	if (to < 0)
		to = lop_weakest_faster(s, world, rank, tier);
	return to >= 0 && lop_send(s, world, cpu, (u32)to, now_ns);
}

/*
 * The task that starts on `cpu` makes room for a task on a slower kind that displaces it. That task started there while
 * this CPU changed hands, when it had no task to displace. True: it was sent.
 */
lop_subprog bool lop_give_way(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 cpu, u64 now_ns)
{
	const struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	u32 least = on->length ? on->rank.class : on->rank.class + 1;
	const struct lop_rank *rank;
	s32 from;
	if (least > LOP_AWAITED || lop_is_slowest(s, cpu) || lop_is_claimed(s, cpu) || !lop_may_leave(s, cpu))
		return false;
	from = lop_first_slower(s, world, cpu, (u32)lop_max(least, LOP_ORDINARY), now_ns);
	if (from < 0)
		return false;
	rank = &s->fast.on[lop_cpu_index((u32)from)].rank;
	return lop_displaces_below(rank) > on->rank.class && lop_takes_core(s, rank, cpu) && lop_send(s, world, (u32)from, cpu, now_ns);
}
