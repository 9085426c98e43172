/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "config.h"
#include "fair.h"
#include "goal.h"
#include "green.h"
#include "heat.h"
#include "kthread.h"
#include "light.h"
#include "longest.h"
#include "overdue.h"
#include "pace.h"
#include "phase.h"
#include "place.h"
#include "preempt.h"
#include "room.h"
#include "rt_pressure.h"
#include "domain_start.h"
#include "uclamp.h"
/* What an adapter calls, in the order of a wakeup. The rules are in the headers that it includes. */

/* The end of a wakeup: a CPU that was idle and is now claimed for the task, or a queue. */
struct lop_placement {
	s32 cpu;      /* LOP_NONE: no CPU that the task may use is online */
	bool claimed;
};

/* The task runs on that CPU, or waits for it. */
lop_rule struct lop_placement lop_place_at(struct lop_sched *s, struct lop_task *t, u32 cpu)
{
	struct lop_placement place = { (s32)cpu, lop_cpus_take(&s->idle, cpu) };
	if (place.claimed)
		t->last_queue = (s32)lop_cpu_queue(cpu);
	return place;
}

/* Claims the best idle member of its set; LOP_NONE. */
lop_subprog s32 lop_claim_member(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, struct lop_task *t lop_nonnull, u32 last_cpu)
{
	u64 now_ns = lop_env_now_ns(world);
	s32 cpu = lop_claim_idle(s, world, t, lop_usable_set(s, t), lop_cpu_index(last_cpu), lop_returns_soon(s, t, now_ns), now_ns);
	if (cpu >= 0)
		t->last_queue = (s32)lop_queue_at(s, t, lop_cpu_index((u32)cpu));
	return cpu;
}

/* A restricted task counts on the CPU. If another waker took the member that it had asked for, the timer has this one join. */
lop_subprog bool lop_count_on(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, struct lop_task *t lop_nonnull, u32 cpu)
{
	u64 now_ns = lop_env_now_ns(world);
	cpu = lop_cpu_index(cpu);
	lop_anchor(s, t, cpu);
	return lop_set_of(s, cpu) == LOP_LOW && lop_timer_by(s, world, now_ns, now_ns);
}

/* An idle member, else a busy CPU that it takes by rank, else a place where it waits. */
lop_rule struct lop_placement lop_place(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app, u32 last_cpu)
{
	struct lop_placement place = { lop_claim_member(s, world, t, last_cpu), false };
	place.claimed = place.cpu >= 0;
	if (place.cpu < 0)
		place.cpu = lop_claim_busy(s, world, t, app);
	if (place.cpu < 0)
		place.cpu = lop_waiting_place(s, world, t, last_cpu);
	if (place.cpu >= 0 && t->restricted)
		lop_count_on(s, world, t, (u32)place.cpu);
	return place;
}

/*
 * A task becomes runnable. `last_cpu`: where it ran last, or where its parent runs. Not for a task that runs or is queued. It is counted
 * once a wakeup, however often the adapter asks.
 *     1. A short kernel thread takes an idle member, and counts for nothing (kthread.h).
 *     2. What is the task? It gets a home or loses it (pace.h, light.h), and has a role from then on (role.h).
 *     3. It is counted as active by that role (demand.h), and so does the phase of its application end or begin (phase.h).
 *     4. The sets grow to their sizes (sets.h).
 *     5. It has a CPU of its own by its role, or the best member, or waits (place.h).
 */
lop_rule struct lop_placement lop_wake(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app,
				       struct lop_group *group, u32 last_cpu, u64 now_ns)
{
	struct lop_placement place = { lop_place_kthread(s, world, t, group, last_cpu, now_ns), true };
	bool homes_change;
	s32 own;
	t->last_queue = LOP_NONE;
	t->woke_ns = now_ns;
	lop_drop_given(s, t);
	if (place.cpu >= 0)
		return place;
	homes_change = lop_has_ladder(s) && lop_find_pace(s, world, t, now_ns);
	if (lop_wakes_anew(s, t))
		lop_count_inactive(s, t, app, now_ns); /* for its new role */
	lop_count_active(s, t, app, group, now_ns);
	lop_phase_changes(s, world, app, now_ns);
	lop_clamp_at_wakeup(s, t, group);
	own = lop_own_cpu(s, t);
	if (own < 0) {
		lop_open_for_demand(s);
		if (t->restricted)
			lop_anchor_somewhere(s, world, t, last_cpu);
		else if (lop_wants_domain(s, t))
			lop_pin(s, world, t);
	}
	if (own < 0 || homes_change)
		lop_settle(s, world, lop_home_node(app), now_ns);
	if (own >= 0)
		return lop_place_at(s, t, lop_cpu_index((u32)own));
	place = lop_place(s, world, t, app, last_cpu);
	if (app && app->home_node == LOP_NONE && place.cpu >= 0)
		app->home_node = s->topology.node[lop_cpu_index((u32)place.cpu)];
	return place;
}

/* The task waits at its own CPU, which is kicked if it is idle. */
lop_rule void lop_enqueue_at(struct lop_sched *s, struct lop_world *world, struct lop_task *t, const struct lop_group *group, u32 cpu)
{
	u32 queue = lop_cpu_queue(cpu);
	lop_clamp_vtime(s, t, group, queue);
	lop_queue_insert(s, world, t, queue);
	if (lop_cpus_has(&s->idle, cpu))
		lop_env_kick(world, cpu);
}

/*
 * Queues a runnable task where it belongs. Kicks a member that fell idle after the search for one, too late to see the
 * task in the queue.
 */
lop_rule void lop_enqueue(struct lop_sched *s, struct lop_world *world, struct lop_task *t, const struct lop_group *group, u32 cpu)
{
	u32 queue;
	s32 own;
	if (lop_has_rank(s) && t->given && lop_deliver(s, world, t, group))
		return;
	own = lop_own_cpu(s, t);
	if (own >= 0) {
		lop_enqueue_at(s, world, t, group, lop_cpu_index((u32)own));
		return;
	}
	if (lop_is_isolated(s, cpu) && !t->bound)
		cpu = lop_open_cpu(s, t); /* it ran there until now, or its affinity changed */
	if (t->restricted)
		cpu = lop_allowed_place(s, world, t, cpu);
	if (lop_changes_domain(s, t, cpu)) {
		if (lop_start_in_domain(s, world, t, group))
			return;
		cpu = lop_first_of_domain(s, t->wanted_domain);
	}
	queue = lop_queue_at(s, t, cpu);
	lop_clamp_vtime(s, t, group, queue);
	lop_queue_insert(s, world, t, queue);
	if ((!t->restricted || t->bound) && queue < LOP_MAX_CPUS && lop_cpus_has(&s->idle, queue))
		lop_env_kick(world, queue);
	if (lop_find_idle(s, world, t, lop_usable_set(s, t)))
		lop_env_kick(world, lop_cpu_index((u32)lop_cpus_next(&world->candidates, 0)));
}

/* Starts the task on the claimed CPU, or queues it. */
lop_rule void lop_put(struct lop_sched *s, struct lop_world *world, struct lop_task *t, const struct lop_group *group,
		      struct lop_placement place)
{
	if (place.claimed) {
		lop_env_insert_local(world, t, (u32)place.cpu, lop_min(lop_slice_ns(s), lop_until_late_ns(s, t, lop_env_now_ns(world))));
	} else if (place.cpu >= 0) {
		lop_enqueue(s, world, t, group, (u32)place.cpu);
	}
}

enum lop_next { LOP_NEXT_NONE, LOP_NEXT_TAKEN, LOP_NEXT_SAME };

/*
 * Virtual time is the start tag of the task that last started or goes on. Work that nobody waits for has cores of its own,
 * however light it is, and does not move it: others would start behind all that has run for long.
 */
lop_rule void lop_clock_follows(struct lop_sched *s, const struct lop_task *t)
{
	if (t->role != LOP_ROLE_BACKGROUND && lop_before(s->queues.clock_ns, t->vtime_ns))
		s->queues.clock_ns = t->vtime_ns;
}

/*
 * On a green core only work for that one goes on: at a home paced tasks, elsewhere work that nobody waits for. That work
 * leaves a high core once it has a green one, the core is surplus, or another task waits. On a low core a task goes on only if it may run
 * nowhere else, or if the core is the reserved CPU and the task is for it; on an isolated CPU only if it is bound there.
 */
lop_rule bool lop_may_go_on(const struct lop_sched *s, const struct lop_task *t, u32 cpu)
{
	bool background = t->role == LOP_ROLE_BACKGROUND;
	if (lop_is_isolated(s, cpu))
		return t->bound;
	if (lop_wakes_anew(s, t))
		return false;
	if (lop_is_green(s, cpu) && !(lop_is_home(s, cpu) ? t->role == LOP_ROLE_AT_HOME : background))
		return t->nr_allowed == 1;
	if (background && lop_set_of(s, cpu) == LOP_HIGH)
		return !lop_has_background_core(s) && !lop_may_step_down(s, cpu) && lop_served_from(s, LOP_HIGH, 0) < 0;
	return t->nr_allowed == 1 || lop_set_of(s, cpu) != LOP_LOW || (lop_is_reserved(s, cpu) && t->role == LOP_ROLE_RESERVED);
}

/*
 * A kicked CPU takes work a moment before it counts as busy, and may leave its set in between. True: the task that
 * starts there has to leave at once. A task of limited affinity stays until the end of its slice, and so does one whose
 * CPU goes offline: what cannot leave must get on.
 */
lop_rule bool lop_came_too_late(const struct lop_sched *s, const struct lop_task *t, u32 cpu)
{
	return t->counted && !t->restricted && lop_cpus_has(&s->online, cpu) && !lop_may_go_on(s, t, cpu);
}

/*
 * What a CPU runs next: a task that was taken for it, the same as before, or nothing, and then it falls idle.
 * `running`: the task whose slice is over, charged by lop_stopping() for what it ran, or NULL. If it is not counted, it
 * does not go on but is woken again.
 */
lop_rule enum lop_next lop_dispatch(struct lop_sched *s, struct lop_world *world, u32 cpu, const struct lop_task *running)
{
	bool gives_way = lop_is_sent(s, cpu) || lop_is_given(s, world, cpu);
	bool stays = running && running->counted && !gives_way && lop_may_go_on(s, running, cpu);
	if (lop_pick_overdue(s, world, cpu))
		return LOP_NEXT_TAKEN;
	if (!(stays && lop_goes_on(s, world, running, cpu)) && lop_pick_next(s, world, cpu, stays ? running->vtime_ns : LOP_NO_TIME))
		return LOP_NEXT_TAKEN;
	if (stays) {
		lop_clock_follows(s, running);
		lop_note_started(s, running, cpu);
		lop_note_shared(s, running, cpu);
		return LOP_NEXT_SAME;
	}
	if (!running && lop_has_domains(s) && lop_any_work(s, cpu))
		lop_look_at(s, world, lop_env_now_ns(world) + s->config.period_ns);
	if (!running && lop_work_arrives(s, world, cpu))
		lop_look_again(s, world, lop_cpu_index(cpu));
	return LOP_NEXT_NONE;
}

/*
 * If no task waits for the CPU, the credit of the one that runs there is a slice at most: later tasks need not make up for
 * what others got before. This holds when it starts, as one may come before it stops, and when it stops. Where several CPUs
 * serve a queue, only the task that starts or stops meanwhile is bounded. A restricted task is not alone while one waits at
 * another CPU where it may run: both may be far behind the clock, and only one of them would be lifted.
 * On a CPU that is apart it owes nothing either. No task lost that time, and by its start tag the clock would
 * run as if all had had as much: they would have caught up with whoever is ahead of them (preempt.h), and sleep would earn
 * them nothing. What it does not pay works off the debt of those that sleep meanwhile: lop_work_off().
 *     clock - slice_max <= vtime, and where the CPU is apart vtime <= clock
 */
lop_subprog bool lop_bound_lag(struct lop_sched *s lop_nonnull, struct lop_task *t lop_nonnull, u32 cpu)
{
	u64 clock_ns = s->queues.clock_ns;
	u64 bound_ns = lop_later(t->vtime_ns, clock_ns - s->config.slice_max_ns);
	if (lop_is_apart(s, cpu))
		bound_ns = lop_earlier(bound_ns, clock_ns);
	if (bound_ns == t->vtime_ns || lop_any_work(s, cpu) || (t->restricted && lop_cpus_meet(&t->allowed, &s->queues.cpu_waiting)))
		return false;
	if (lop_before(bound_ns, t->vtime_ns))
		s->queues.forgiven_ns.ns[lop_cpu_index(cpu)] += t->vtime_ns - bound_ns;
	t->vtime_ns = bound_ns;
	return true;
}

/* The task starts to run on `cpu`: the clock and the front of its queue follow its virtual time. */
lop_rule void lop_running(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u32 cpu, u64 now_ns)
{
	lop_forgive_overdue(s, t, now_ns);
	t->light.slice_ns = 0;
	lop_clock_follows(s, t);
	if (lop_wants_domain(s, t))
		lop_unanchor(s, t);
	if (t->queue != LOP_NONE)
		lop_queue_advance(s, (u32)t->queue, t->vtime_ns);
	lop_queue_leave(s, world, t);
	lop_bound_lag(s, t, lop_cpu_index(cpu));
	lop_note_started(s, t, cpu);
	lop_note_shared(s, t, cpu);
}

/* Takes a waiting task from its queue, to be queued again (its affinity or weight changes) or to block. */
lop_rule void lop_dequeue(struct lop_sched *s, struct lop_world *world, struct lop_task *t) { lop_queue_leave(s, world, t); }

/* The task stops running on `cpu` after `ran_ns`, or goes on: it pays by weight. */
lop_rule void lop_stopping(struct lop_sched *s, struct lop_world *world, struct lop_task *t, const struct lop_group *group, u32 cpu,
			   u64 ran_ns)
{
	u64 now_ns = lop_env_now_ns(world);
	u64 charged_ns = lop_charged_ns(s, cpu, ran_ns, now_ns);
	if (lop_has_ladder(s))
		lop_note_ran(s, world, t, cpu, ran_ns, now_ns);
	if (t->role == LOP_ROLE_BACKGROUND && lop_may_step_down(s, cpu))
		lop_step_down(s, world, cpu);
	t->vtime_ns += lop_charge_ns(charged_ns, lop_weight_until_1024(s, t, group, now_ns, ran_ns));
	lop_bound_lag(s, t, cpu);
	t->owes_at = lop_is_apart(s, cpu) ? lop_cpu_index(cpu) + 1 : 0;
	t->forgiven_ns = s->queues.forgiven_ns.ns[lop_cpu_index(cpu)];
	if (lop_has_rank(s))
		t->ahead = lop_is_ahead(s, world, t, cpu);
}

/*
 * The task leaves the policy. Surplus in the sets shows at the next event. A task that sleeps does not spin: it
 * announces it again when it does.
 */
lop_rule void lop_forget(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app, struct lop_group *group,
			 u64 now_ns)
{
	lop_queue_leave(s, world, t);
	lop_count_inactive(s, t, app, now_ns);
	lop_weigh(s, t, group, false, now_ns);
	lop_unanchor(s, t);
	t->hint.flags &= ~(u32)LOP_SPINNING;
	lop_drop_given(s, t);
}

/* The task becomes inactive. */
lop_rule void lop_block(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app,
			struct lop_group *group, u64 now_ns)
{
	t->slept_ns = now_ns;
	lop_forget(s, world, t, app, group, now_ns);
	if (lop_has_light(s))
		lop_light_blocks(s, world, t, now_ns);
	lop_phase_changes(s, world, app, now_ns);
	lop_settle(s, world, LOP_NONE, now_ns);
}

/*
 * The task starts on `cpu`, after lop_running(), for an adapter whose configuration has rank rules. From now on it is
 * compared with running tasks. It moves to a faster core, or leaves this one to another task, where rank says so.
 */
lop_rule void lop_started(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app, u32 cpu, u64 now_ns)
{
	cpu = lop_cpu_index(cpu);
	if (!lop_has_rank(s))
		return;
	t->runs_on = cpu + 1;
	t->holds_since_ns = now_ns;
	lop_drop_given(s, t);
	lop_count_running(t, app, cpu);
	lop_record_running(s, t, app, cpu, now_ns);
	/* Another task was given this CPU. If this one was, too, they would take it from each other. */
	if (t->last_queue != (s32)lop_cpu_queue(cpu) && lop_cpus_has(&s->queues.given, cpu))
		lop_env_preempt(world, cpu);
	else if (!lop_upmigrate(s, world, cpu, now_ns) && !lop_give_way(s, world, cpu, now_ns) && lop_rules_by(s, LOP_WHOLE))
		lop_fill_core(s, world, lop_tier_of(s, cpu), now_ns);
	if (lop_rules_by(s, LOP_TURNS) && s->topology.nr_tiers > 1)
		lop_rank_timer_by(s, world, now_ns + s->config.turn_ns, now_ns);
}

/*
 * The task stops running on `cpu`, before it is queued or blocks; `runnable`: it does not block. If it was sent
 * elsewhere it is queued there next; if it blocks instead, the task that was to make room for it stays.
 */
lop_rule void lop_stopped(struct lop_sched *s, struct lop_task *t, struct lop_app *app, u32 cpu, bool runnable, u64 now_ns)
{
	struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	u32 to;
	cpu = lop_cpu_index(cpu);
	if (!lop_has_rank(s))
		return;
	t->runs_on = 0;
	lop_uncount_running(t, app, cpu);
	if (on->since_ns)
		t->done_ns += lop_work_ns(s, cpu, now_ns - lop_min(on->since_ns, now_ns));
	if (!lop_is_slowest(s, cpu))
		t->last_turn_ns = now_ns;
	if (app && app->boosted == cpu + 1)
		app->boosted = 0;
	lop_pay_for_core(s, cpu, now_ns);
	on->since_ns = 0;
	to = lop_end_migration_claim(s, cpu);
	if (to && runnable)
		t->given = to;
	else if (to)
		lop_call_off(s, cpu, lop_cpu_index(to - 1));
}

/*
 * A running task announces that it spins (not active meanwhile, its core may be taken), or that it goes on. Also for a
 * task that waits for a CPU, as it may have lost its core while it spun.
 */
lop_rule void lop_spin(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app,
		       struct lop_group *group, bool spinning, u64 now_ns)
{
	u32 cpu = lop_cpu_index(t->runs_on - 1);
	t->hint.flags = spinning ? t->hint.flags | LOP_SPINNING : t->hint.flags & ~(u32)LOP_SPINNING;
	if (spinning) {
		lop_uncount_running(t, app, cpu);
		lop_count_inactive(s, t, app, now_ns);
	} else {
		lop_count_active(s, t, app, group, now_ns);
		if (t->runs_on)
			lop_count_running(t, app, cpu);
	}
	if (lop_has_rank(s) && t->runs_on) {
		lop_classify(s, t, app, cpu);
		lop_upmigrate(s, world, cpu, now_ns);
	}
	lop_phase_changes(s, world, app, now_ns);
	if (lop_has_rank(s) && t->runs_on && spinning)
		lop_pull(s, world, cpu, now_ns);
	lop_settle(s, world, spinning ? LOP_NONE : lop_home_node(app), now_ns);
}

/* A task hints that others wait for it, or no longer do: enum lop_hint_flags without LOP_SPINNING (lop_spin()). */
lop_rule void lop_set_hints(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app, u32 flags, u64 now_ns)
{
	u32 holds = flags & LOP_LOCK_HOLDER, held = t->hint.flags & LOP_LOCK_HOLDER;
	if (holds && !held)
		t->holds_since_ns = t->runs_on ? now_ns : 0;
	if (held && !holds && app && t->holds_since_ns)
		lop_note_phase(&app->holds, now_ns - lop_min(now_ns, t->holds_since_ns));
	t->hint.flags = (t->hint.flags & LOP_SPINNING) | (flags & (LOP_SEQUENTIAL | LOP_LOCK_HOLDER | LOP_BACKGROUND));
	if (!lop_has_rank(s) || !t->runs_on)
		return;
	lop_classify(s, t, app, lop_cpu_index(t->runs_on - 1));
	lop_upmigrate(s, world, lop_cpu_index(t->runs_on - 1), now_ns);
}

/*
 * A hint says that others wait for a task that itself waits for a CPU: a lock was handed to it, or it lost its CPU
 * while it held one. It takes the CPU of the task lowest in rank, as if it woke now. True: the adapter takes it from
 * its queue (lop_dequeue) and queues it again.
 */
lop_rule bool lop_claim_late(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app)
{
	bool is_next = t->queue >= 0 && (u32)t->queue < LOP_MAX_CPUS && lop_cpus_has(&s->queues.given, lop_cpu_index((u32)t->queue));
	return t->queue != LOP_NONE && !is_next && lop_hinted_awaited(s, t, app) && lop_claim_busy(s, world, t, app) >= 0;
}

/* A thread has ended: before lop_block() or lop_forget(). Its declared length tells how long the others will take. */
lop_rule void lop_ended(struct lop_sched *s, struct lop_task *t, struct lop_app *app)
{
	if (lop_rules_by(s, LOP_LONGEST) && app)
		lop_learn_unit(s, app, t->done_ns, t->hint.length);
}

/* An application declares its parallelism, see lop_count_declared(). */
lop_rule bool lop_declare(struct lop_sched *s, struct lop_world *world, struct lop_app *app, u32 parallelism, u64 now_ns)
{
	bool done = lop_count_declared(s, app, parallelism, now_ns);
	lop_settle(s, world, lop_home_node(app), now_ns);
	return done;
}

/* Notes which CPUs of a core have a busy sibling, after `cpu` fell idle, was put to work or went offline. */
lop_rule void lop_note_busy(struct lop_sched *s, struct lop_world *world, u32 cpu)
{
	struct lop_cpus *busy = &world->candidates;
	if (s->topology.next_sibling[cpu] == cpu)
		return;
	*busy = s->online;
	lop_cpus_drop(busy, &s->idle);
	lop_note_siblings(s, cpu, busy, &s->beside_busy);
}

/* A CPU falls idle or is put to work. */
lop_rule void lop_cpu_idle(struct lop_sched *s, struct lop_world *world, u32 cpu, bool idle, u64 now_ns)
{
	cpu = lop_cpu_index(cpu);
	if (lop_has_light(s))
		lop_light_idle(s, cpu, idle, now_ns);
	if (idle) {
		lop_forget_started(s, cpu);
		lop_note_taken(s, cpu, false, now_ns);
		lop_cpus_add(&s->idle, cpu);
		s->idle_since_ns.ns[cpu] = now_ns;
	} else {
		lop_cpus_take_if(&s->idle, cpu); /* a waker usually has */
		lop_cpus_take_if(&s->queues.looked, cpu);
	}
	lop_note_busy(s, world, cpu);
	if (lop_is_reserved(s, cpu))
		lop_reserve_rests(s, world, idle, now_ns);
	if (!idle)
		return;
	/* Something ran until now, counted or not: h_min stays 1 for another while. */
	if (!lop_active(s, LOP_ROLE_ORDINARY) && !lop_is_reserved(s, cpu) && !lop_is_green(s, cpu))
		s->set[LOP_HIGH].below_since_ns[1] = now_ns;
	lop_settle(s, world, LOP_NONE, now_ns);
	/* No other CPU saw work that was queued after this CPU looked and before it counted as idle. */
	if (lop_any_work(s, cpu))
		lop_env_kick(world, cpu);
	else if (lop_has_light(s) && lop_light_pulls(s, world, cpu))
		return;
	else if (lop_has_rank(s) && !lop_pull(s, world, cpu, now_ns) && lop_rules_by(s, LOP_WHOLE))
		lop_separate_pair(s, world, cpu, now_ns);
}

/* A higher class takes a CPU, or our tasks run there again. Not reported each time that happens: see lop_is_short(). */
lop_rule void lop_cpu_taken(struct lop_sched *s, struct lop_world *world, u32 cpu, bool taken, u64 now_ns)
{
	lop_forget_started(s, cpu);
	lop_note_taken(s, lop_cpu_index(cpu), taken, now_ns);
	lop_settle(s, world, LOP_NONE, now_ns);
}

/*
 * A plan of spread.h or gather.h says where the task is to run from now on. True: it is elsewhere, and has no home to which
 * it goes in any case. If it runs, the adapter takes its CPU (as at the end of a slice) and queues it again; if it waits, it
 * moves after it has run.
 */
lop_rule bool lop_set_domain(struct lop_sched *s, struct lop_task *t, s32 domain, u32 cpu)
{
	lop_assert(domain == LOP_NONE || (u32)domain < LOP_MAX_MEMORY_DOMAINS);
	s->planned |= domain != LOP_NONE;
	t->wanted_domain = domain;
	return lop_wants_domain(s, t) && t->counted && lop_home_of(s, t) == LOP_NONE && s->topology.memory_domain[lop_cpu_index(cpu)] != domain;
}

/*
 * All members are in domains that go off, which they leave at once: a CPU of a domain that is on becomes a member before,
 * and stays for the hold of the last one. Otherwise a whole machine would go off with them, though its tasks only sleep
 * for a moment.
 */
lop_rule void lop_replace_last_member(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	struct lop_members *high = &s->set[LOP_HIGH];
	s32 cpu;
	if (!high->size || lop_cpus_common(&high->cpus, &s->off) < high->size || !lop_lock(s))
		return;
	cpu = lop_joins_by_demand(s, world, LOP_HIGH, LOP_NONE);
	if (cpu >= 0)
		lop_join(s, world, lop_cpu_index((u32)cpu), LOP_HIGH, now_ns);
	lop_unlock(s);
}

/* A domain without planned tasks is switched off, or a domain is switched on again. Its tasks were moved before. */
lop_rule void lop_set_domain_on(struct lop_sched *s, struct lop_world *world, s32 domain, bool on, u64 now_ns)
{
	lop_switch_domain(s, domain, on);
	lop_replace_last_member(s, world, now_ns);
	lop_settle(s, world, LOP_NONE, now_ns);
}

/* No plan for memory domains holds any more; all tasks have been told. */
lop_rule void lop_end_plans(struct lop_sched *s) { s->planned = false; }

/* The timer of lop_env_arm_timer() fires. */
lop_rule void lop_timer(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	lop_atomic_and(&s->timer_at_ns, 0); /* see lop_look_at() */
	if (s->queues.look)
		lop_look_now(s, world);
	if (lop_has_rank(s) && s->fast.look_at_ns)
		lop_rank_timer(s, world, now_ns);
	if (lop_has_reserved(s) && lop_watch_reserved(s, world, now_ns)) {
		s->reserved.failed = true;
		lop_give_up_reserved(s, world, now_ns);
	}
	if (lop_has_ladder(s) && !lop_has_light(s) && s->pace.nr_homes)
		lop_end_quiet_homes(s, world, now_ns);
	lop_settle(s, world, LOP_NONE, now_ns);
}

/*
 * Affinity changed. A waiting task has to be taken from its queue before (lop_dequeue) and queued again after; a
 * running one finds its place when it is queued next. Isolated CPUs count only for a task that may run on no other
 * online CPU: the adapter calls again for one whose last open CPU went offline, and for a bound one when it wakes.
 * Worked example: CPUs 4 to 7 of 0 to 7 are isolated. A task that may run on 0 to 3, or on all, is not restricted. One
 * that may run on 3 and 4 has CPU 3 alone; while 3 is offline it is bound to 4. One for 4 and 5 is bound there.
 */
lop_rule void lop_set_allowed(struct lop_sched *s, struct lop_task *t, const struct lop_cpus *allowed)
{
	u32 nr = 0;
	int i;
	t->allowed = *allowed;
	t->last_queue = LOP_NONE; /* with others it may compete from elsewhere, though in the same queue */
	if (lop_cpus_meet(&t->allowed, &s->open))
		lop_cpus_drop(&t->allowed, &s->topology.isolated);
	else
		lop_cpus_prefer(&t->allowed, &s->topology.isolated);
	if (t->anchor != LOP_NONE && !lop_cpus_has(&t->allowed, lop_cpu_index((u32)t->anchor)))
		lop_unanchor(s, t);
	t->restricted = false;
	lop_for_words(i) {
		u64 all = s->topology.cpus.word[i & (LOP_CPU_WORDS - 1)];
		u64 both = all & t->allowed.word[i & (LOP_CPU_WORDS - 1)];
		t->restricted |= both != (all & ~s->topology.isolated.word[i & (LOP_CPU_WORDS - 1)]);
		nr += lop_nr_bits(both);
	}
	t->nr_allowed = nr;
	t->bound = lop_has_isolated(s) && lop_cpus_meet(&t->allowed, &s->topology.isolated);
	if (!t->restricted)
		lop_unanchor(s, t);
}

/* The task's nice value changed; `weight` as in weight.h. */
lop_rule void lop_set_weight(struct lop_sched *s, struct lop_task *t, struct lop_group *group, u32 weight, u64 now_ns)
{
	u32 new_weight = (u32)lop_clamp(weight, 1, LOP_WEIGHT_MOST);
	if (t->weighs && group)
		lop_group_reweigh(s, group, (s32)new_weight - (s32)t->weight, now_ns);
	t->weight = new_weight;
}

/*
 * A core goes offline: it leaves its set, and another takes its place. Others find what waits in its own queue once the
 * affinity of those tasks is widened. A task that waits elsewhere and was anchored there is anchored again by the
 * adapter (lop_anchor_anew), or taken out and placed again (lop_dequeue, lop_wake).
 */
lop_rule void lop_cpu_offline(struct lop_sched *s, struct lop_world *world, u32 cpu, u64 now_ns)
{
	cpu = lop_cpu_index(cpu);
	if (!lop_cpus_take(&s->online, cpu))
		return;
	if (lop_cpus_take(&s->open, cpu))
		lop_atomic_add(&s->nr_open, -1);
	lop_cpus_take(&s->idle, cpu);
	lop_forget_started(s, cpu);
	lop_cpus_take(&s->heat.hot, cpu);
	lop_note_taken(s, cpu, false, now_ns);
	lop_note_busy(s, world, cpu);
	if (lop_has_rank(s))
		lop_forget_cpu(s, cpu);
	if (lop_set_of(s, cpu) == LOP_LOW)
		lop_env_set_changed(world, cpu, LOP_OFFLINE);
	if (lop_is_reserved(s, cpu) || (lop_has_reserved(s) && s->nr_open == 1))
		lop_give_up_reserved(s, world, now_ns);
	lop_settle(s, world, LOP_NONE, now_ns);
}

/* One of the members that the task may use stays, even if all are busy. */
lop_rule void lop_anchor_at_busy(struct lop_sched *s, struct lop_task *t)
{
	s32 cpu = lop_cpus_first(&t->allowed, &s->set[LOP_HIGH].cpus, &s->taken);
	if (cpu >= 0 && lop_cpus_has(&s->online, lop_cpu_index((u32)cpu)))
		lop_anchor(s, t, lop_cpu_index((u32)cpu));
}

/*
 * A task of limited affinity waits in a queue that several CPUs serve, and the CPU that it counted on is gone. It may
 * have left the queue by now, and have blocked.
 */
lop_rule void lop_anchor_anew(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u64 now_ns)
{
	lop_unanchor(s, t);
	if (lop_for_reserved(s, t))
		lop_give_up_reserved(s, world, now_ns); /* the reserved CPU does not look where it waits */
	lop_pin(s, world, t);
	if (t->restricted && t->anchor == LOP_NONE)
		lop_anchor_at_busy(s, t);
	if (!t->counted)
		lop_unanchor(s, t);
	lop_settle(s, world, LOP_NONE, now_ns);
}

/* A core comes online, in the low set and busy until lop_cpu_idle() reports that it is idle. */
lop_rule void lop_cpu_online(struct lop_sched *s, struct lop_world *world, u32 cpu, u64 now_ns)
{
	cpu = lop_cpu_index(cpu);
	if (lop_cpus_has(&s->online, cpu))
		return;
	lop_cpus_add(&s->online, cpu);
	if (!lop_is_isolated(s, cpu)) {
		lop_cpus_add(&s->open, cpu);
		lop_atomic_add(&s->nr_open, 1);
	}
	s->membership.left_ns.ns[cpu] = now_ns;
	lop_note_busy(s, world, cpu);
	lop_env_set_changed(world, cpu, LOP_LOW);
	if (lop_on_reserved_core(s, cpu))
		lop_env_reserved_speed(world, cpu, s->reserved.raised);
	lop_settle(s, world, LOP_NONE, now_ns);
}

/*
 * Call when config, topology, online and idle are filled. Reserves a core if wanted, lets the first members join, and
 * tells the adapter that the others are low.
 */
lop_rule void lop_start(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	s32 cpu = LOP_NONE;
	int n;
	lop_open(s);
	lop_reserve(s, world, now_ns);
	lop_start_high(s, world, now_ns);
	lop_resize(s, world, LOP_NONE, now_ns);
	lop_for(n, 0, LOP_MAX_CPUS) {
		cpu = lop_cpus_next(&s->online, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		if (lop_set_of(s, (u32)cpu) == LOP_LOW)
			lop_env_set_changed(world, lop_cpu_index((u32)cpu), LOP_LOW);
	}
	lop_settle(s, world, LOP_NONE, now_ns); /* the timer comes when all is told */
}
