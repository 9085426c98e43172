/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "state.h"
/* How many members a set should have: demand counting, spare, declared parallelism. */

/* Work that hardly gains from speed: SF = T(f_low) / T(f_high) below 1.2. Unknown counts as ordinary. */
lop_rule bool lop_hardly_gains(const struct lop_task *t)
{
	return t->speedup_permille != 0 && t->speedup_permille < 1200;
}

lop_rule enum lop_set lop_set_for(const struct lop_sched *s, const struct lop_task *t)
{
	return s->config.green && lop_hardly_gains(t) ? LOP_GREEN : LOP_HIGH;
}

/*
 * size(high) = declared                    if every active application declared its parallelism
 *            = active + spare              else
 * size(green) = active                     both at most the number of online CPUs
 */
lop_rule u32 lop_target(const struct lop_sched *s, enum lop_set set)
{
	u32 want;
	if (set == LOP_GREEN)
		want = s->set[LOP_GREEN].active;
	else if (s->config.sizing == LOP_SIZE_FIXED)
		want = s->config.fixed_size;
	else if (s->active_apps && !s->undeclared_apps)
		want = s->declared_sum;
	else
		want = s->set[LOP_HIGH].active + s->config.spare;
	return (u32)lop_min(want, s->nr_online);
}

/* Notes since when each size that is no longer wanted is not wanted (see hold.h). */
lop_rule void lop_target_fell(struct lop_members *m, u32 before, u32 after, u64 now_ns)
{
	u32 level;
	lop_for(level, after + 1, before + 1) m->below_since_ns[lop_min(level, LOP_MAX_CPUS)] = now_ns;
}

/* One more active task of the application; its first brings what the application declared (never less than one). */
lop_rule void lop_app_enter(struct lop_sched *s, struct lop_app *app)
{
	if (lop_atomic_add(&app->active, 1) != 0)
		return;
	lop_atomic_add(&s->active_apps, 1);
	if (app->declared)
		lop_atomic_add(&s->declared_sum, app->declared);
	else
		lop_atomic_add(&s->undeclared_apps, 1);
}

lop_rule void lop_app_leave(struct lop_sched *s, struct lop_app *app)
{
	if (lop_atomic_add(&app->active, -1) != 1)
		return;
	lop_atomic_add(&s->active_apps, -1);
	if (app->declared)
		lop_atomic_add(&s->declared_sum, -app->declared);
	else
		lop_atomic_add(&s->undeclared_apps, -1);
}

/* Task becomes active (fork, clone, wakeup, end of spinning): active += 1. Once per wakeup, however often it is told. */
lop_rule void lop_count_active(struct lop_sched *s, struct lop_task *t, struct lop_app *app, struct lop_group *group)
{
	if (t->counted)
		return;
	t->counted = true;
	t->set = (u8)lop_set_for(s, t);
	lop_atomic_add(&s->set[t->set == LOP_GREEN ? LOP_GREEN : LOP_HIGH].active, 1);
	if (app)
		lop_app_enter(s, app);
	if (group)
		lop_atomic_add(&group->active_weight, t->weight);
}

/* Task becomes inactive (block, exit, spinning announced): active -= 1. */
lop_rule void lop_count_inactive(struct lop_sched *s, struct lop_task *t, struct lop_app *app, struct lop_group *group,
				 u64 now_ns)
{
	enum lop_set set = t->set == LOP_GREEN ? LOP_GREEN : LOP_HIGH;
	u32 before;
	if (!t->counted)
		return;
	t->counted = false;
	before = lop_target(s, set);
	lop_atomic_add(&s->set[set].active, -1);
	if (app)
		lop_app_leave(s, app);
	if (group)
		lop_atomic_add(&group->active_weight, -t->weight);
	lop_target_fell(&s->set[set], before, lop_target(s, set), now_ns);
}

/* An application declares how many of its tasks want to run at once (0 takes it back). */
lop_rule void lop_declare(struct lop_sched *s, struct lop_app *app, u32 parallelism, u64 now_ns)
{
	u32 before = lop_target(s, LOP_HIGH);
	u32 declared = (u32)lop_min(parallelism, LOP_MAX_CPUS);
	if (app->active) {
		lop_atomic_add(&s->declared_sum, declared - app->declared);
		lop_atomic_add(&s->undeclared_apps, (u32)(declared == 0) - (u32)(app->declared == 0));
	}
	app->declared = declared;
	lop_target_fell(&s->set[LOP_HIGH], before, lop_target(s, LOP_HIGH), now_ns);
}
