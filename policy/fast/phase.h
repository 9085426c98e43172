/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "turn.h"
/*
 * The only active thread of an application runs on a fast core, since the whole application waits for it.
 * That is a sequential phase; a thread that hints that it spins is not active (demand.h):
 *     active threads of the application = 1, lop_is_sequential()
 * Tested in: phase. Studied in: sequential-phases, one-and-many, critical-sections, parsec-classes, hybrid-laptop, everything.
 */

/* CPU on which the only active thread of an application runs; LOP_NONE: several run, or that thread waits for a CPU. */
lop_rule s32 lop_only_cpu(const struct lop_app *app)
{
	u64 running = app->running;
	return running >> 32 == 1 ? (s32)lop_cpu_index((u32)running) : LOP_NONE;
}

/* An active thread starts or stops running on `cpu`. One atomic operation changes both halves. */
lop_rule void lop_count_running(struct lop_task *t, struct lop_app *app, u32 cpu)
{
	if (!app || t->running || !t->counted)
		return;
	t->running = true;
	lop_atomic_add(&app->running, 1ULL << 32 | cpu);
}

lop_rule void lop_uncount_running(struct lop_task *t, struct lop_app *app, u32 cpu)
{
	if (!app || !t->running)
		return;
	t->running = false;
	lop_assert(app->running >> 32 > 0 && (u32)app->running >= cpu);
	lop_atomic_add(&app->running, -(1ULL << 32 | cpu));
}

/*
 * Phases are worth a fast core if they gain there at least what the change costs: the phase's thread migrates, and so
 * does the task that makes room for it.
 *     mean * (1 - slow / fast) >= 2 migrations       speeds of the slowest and the fastest kind; slow = 0 while unknown
 * The first few count as worth it whatever their length: a program begins with the moment in which its first thread
 * creates the others.
 * Worked example: with migrations of 20 us and slow cores of half the speed, phases of 80 us pay, of 79 us they do not.
 */
#define LOP_FIRST_PHASES 4
lop_rule bool lop_phase_pays(const struct lop_sched *s, const struct lop_mean *phases)
{
	u64 slow_permille = lop_min(s->topology.tier_permille[(s->topology.nr_tiers - 1) & (LOP_MAX_TIERS - 1)], 1000);
	return phases->count < LOP_FIRST_PHASES || phases->ns * (1000 - slow_permille) >= 2000 * s->config.migration_ns;
}

/* A phase is over:  mean = (3 mean + new) / 4, and the length itself for the first one. */
lop_rule void lop_note_phase(struct lop_mean *phases, u64 length_ns)
{
	phases->ns = phases->count ? (3 * phases->ns + length_ns) / 4 : length_ns;
	phases->count++;
}

/*
 * Nobody is in a hurry for an application that its owner made light: its only thread is no more than an ordinary task. What a
 * thread says of itself is another matter: heavier threads may wait for it, and its user pays by weight (budget.h).
 * Worked example: jobs of one thread at nice 19 (a weight of 15), and a foreground application with four threads at nice 0:
 * on four fast cores and four slow ones the jobs take turns, where all of them would have kept the fast ones.
 * `weight`: lop_task.user_weight; 0: not known, as where the cores are of one kind.
 */
lop_rule bool lop_is_light(u32 weight) { return weight && weight < LOP_WEIGHT_DEFAULT; }

lop_rule bool lop_is_sequential(const struct lop_sched *s, const struct lop_app *app, u32 weight)
{
	return lop_rules_by(s, LOP_PHASES) && app && !lop_is_light(weight) && lop_app_active(app->demand) == 1 &&
	       lop_phase_pays(s, &app->phases);
}

/* The task hints that others wait for it: it is alone, or it holds a lock that is held long enough. */
lop_rule bool lop_hinted_awaited(const struct lop_sched *s, const struct lop_task *t, const struct lop_app *app)
{
	if (!lop_rules_by(s, LOP_PHASES))
		return false;
	return (t->hint.flags & LOP_SEQUENTIAL) || ((t->hint.flags & LOP_LOCK_HOLDER) && (!app || lop_phase_pays(s, &app->holds)));
}

/* A hint of the task outranks what is observed of it. */
lop_rule enum lop_class lop_class_of(const struct lop_sched *s, const struct lop_task *t, const struct lop_app *app)
{
	if ((t->hint.flags & LOP_SPINNING) || t->role == LOP_ROLE_BACKGROUND)
		return LOP_YIELDS;
	return lop_hinted_awaited(s, t, app) || lop_is_sequential(s, app, t->user_weight) ? LOP_AWAITED : LOP_ORDINARY;
}

/* What decides whether the task gets a fast core. */
lop_subprog bool lop_rank_of(const struct lop_sched *s lop_nonnull, const struct lop_task *t lop_nonnull, const struct lop_app *app,
			  struct lop_rank *out lop_nonnull)
{
	out->class = lop_class_of(s, t, app);
	out->user = (u16)lop_user_index(t->user);
	out->app = app ? app->number : 0;
	out->length = lop_rules_by(s, LOP_LONGEST) ? lop_length_left(t, app, lop_length_of(t, app)) : 0;
	out->last_turn_ns = t->last_turn_ns;
	out->speedup_permille = t->speedup_permille;
	return true;
}

/* An application gets its number when it is first seen. */
lop_rule void lop_number(struct lop_sched *s, struct lop_app *app)
{
	if (app && !app->number)
		lop_atomic_cas(&app->number, 0, lop_atomic_add(&s->fast.nr_apps, 1) + 1);
}

/* The task on `cpu` is of that class, lop_class_of(): its hint changed, or it has just started. */
lop_rule void lop_classify_as(struct lop_sched *s, const struct lop_task *t, struct lop_app *app, u32 cpu, u32 class)
{
	struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	on->rank.class = class;
	if (!lop_cpus_has(&s->fast.of_class[class & (LOP_CLASS_SLOTS - 1)], cpu))
		lop_set_class(s, cpu, class);
	on->hinted = lop_hinted_awaited(s, t, app);
	on->grace_ends_ns = 0;
	if (app && on->rank.class == LOP_AWAITED && !on->hinted)
		app->boosted = cpu + 1;
}

lop_rule void lop_classify(struct lop_sched *s, const struct lop_task *t, struct lop_app *app, u32 cpu)
{
	lop_classify_as(s, t, app, cpu, lop_class_of(s, t, app));
}

/* Records the task that starts on `cpu`. */
lop_rule void lop_record_running(struct lop_sched *s, const struct lop_task *t, struct lop_app *app, u32 cpu, u64 now_ns)
{
	struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	lop_number(s, app);
	lop_rank_of(s, t, app, &on->rank);
	lop_classify_as(s, t, app, cpu, on->rank.class);
	on->woke_ns = t->woke_ns;
	on->done_ns = t->done_ns;
	on->length = lop_rules_by(s, LOP_LONGEST) ? lop_length_of(t, app) : 0;
	on->unit_ns = app ? app->unit_ns : 0;
	on->weight = t->user_weight;
	on->movable = !t->restricted && !lop_is_green(s, cpu) && !lop_is_isolated(s, cpu); /* what may not stay there leaves when it stops */
	on->since_ns = lop_max(now_ns, 1);
}

/*
 * A sequential phase runs on `cpu`: it ranks before other tasks, and migrates to a fast core at once if this is none.
 */
lop_rule void lop_boost(struct lop_sched *s, struct lop_world *world, struct lop_app *app, u32 cpu, u64 now_ns)
{
	struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	if (!on->since_ns || on->rank.class == LOP_YIELDS)
		return;
	on->grace_ends_ns = 0;
	app->boosted = cpu + 1;
	lop_set_class(s, cpu, LOP_AWAITED);
	lop_upmigrate(s, world, cpu, now_ns);
}

/*
 * r grows past 1: the thread is one of several again. It keeps its core for the grace time, in case it is soon alone
 * again, but not against a task that is awaited now.
 */
lop_rule void lop_end_boost(struct lop_sched *s, struct lop_world *world, struct lop_app *app, u64 now_ns)
{
	u32 cpu = lop_cpu_index(app->boosted - 1);
	struct lop_on_cpu *on = &s->fast.on[cpu];
	if (!app->boosted)
		return;
	app->boosted = 0;
	if (on->hinted)
		return;
	on->grace_ends_ns = now_ns + s->config.grace_ns;
	lop_rank_timer_by(s, world, on->grace_ends_ns, now_ns);
	lop_set_class(s, cpu, LOP_ORDINARY);
}

/* The number of active threads of an application changed. */
lop_subprog bool lop_follow_phase(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, struct lop_app *app lop_nonnull, u64 now_ns)
{
	u32 active = lop_app_active(app->demand);
	s32 cpu;
	if (active == 1) {
		if (!app->alone_since_ns)
			app->alone_since_ns = lop_max(now_ns, 1);
		cpu = lop_only_cpu(app);
		if (cpu >= 0 && lop_is_sequential(s, app, s->fast.on[lop_cpu_index((u32)cpu)].weight))
			lop_boost(s, world, app, (u32)cpu, now_ns);
		return true;
	}
	if (!app->alone_since_ns)
		return false;
	lop_note_phase(&app->phases, now_ns - lop_min(now_ns, app->alone_since_ns));
	app->alone_since_ns = 0;
	if (active)
		lop_end_boost(s, world, app, now_ns);
	return false;
}

lop_rule void lop_phase_changes(struct lop_sched *s, struct lop_world *world, struct lop_app *app, u64 now_ns)
{
	if (lop_rules_by(s, LOP_PHASES) && app)
		lop_follow_phase(s, world, app, now_ns);
}
