/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "cap.h"
#include "domain_power.h"
#include "group.h"
#include "role.h"
/*
 * The high set has a core for each active task and for the spare, or as many as the applications declared.
 * Tested in: demand, domains. Studied in: barriers, compile-governors, compile-parallelism, critical-sections, hybrid-laptop, recorded-build.
 */
#define LOP_DECLARE_TRIES 16

/* Active tasks that were counted for homes, while there is none: they run on high cores. */
lop_rule u32 lop_strays(const struct lop_sched *s)
{
	return lop_has_ladder(s) && !s->pace.nr_homes ? lop_active(s, LOP_ROLE_AT_HOME) : 0;
}

/* Active tasks of the high set, and what is there in case more come: that takes no home (pace.h) from a task that has one. */
lop_rule u32 lop_in_case(const struct lop_sched *s, u32 most)
{
	u32 active = lop_active(s, LOP_ROLE_ORDINARY) + lop_strays(s), taken = active + (lop_has_ladder(s) ? s->pace.nr_homes : 0);
	return active + (u32)lop_min(s->config.spare, most - lop_min(taken, most));
}

/*
 * The size that a set should have:
 *     size(high)  = declared + over + taken + left                   if every active application declared its parallelism
 *                 = active + strays + in case + taken + left         otherwise
 *     in case     = min(spare, cores - active - strays - homes), lop_in_case()
 *     size(green) = active, or where tasks are paced the number of homes (pace.h), and of cores for background tasks
 *                 where light work has the homes (light.h), not less than now: what it left sleeps by itself until the high set has it
 * The high set is limited to the online CPUs of domains that are on, without the reserved one, and to the power cap
 * (cap.h); the green set to those of them that are not high.
 * over: active tasks beyond what their application declared, where several applications are active: one that runs alone may
 * confine itself, but not others
 * Worked example: one application declared 1 and computes with 15 threads, another one declared and runs 4. The first alone
 * has 1 core; with the second they have 1 + 4 + 14 = 19, not 5.
 * taken: members that run a higher class, so our tasks cannot use them
 * left: tasks that became active for the reserved CPU, while there was one
 * strays: active tasks that were counted for homes, while there is none
 */
lop_subprog u32 lop_target(const struct lop_sched *s lop_nonnull, enum lop_set set)
{
	u32 want, most = lop_most_members(s);
	if (set == LOP_GREEN) {
		want = (u32)lop_min(lop_has_ladder(s) ? s->pace.nr_homes + lop_background_wanted(s) : lop_active(s, LOP_ROLE_LOW_GAIN), most - lop_min(s->set[LOP_HIGH].size, most));
		return (u32)lop_max(want, lop_has_light(s) ? s->set[LOP_GREEN].size : 0);
	}
	if (s->config.sizing == LOP_SIZE_ALL)
		return most;
	if (s->config.sizing == LOP_SIZE_FIXED)
		want = s->config.fixed_size;
	else if (s->membership.declared_sum && !lop_undeclared(s))
		want = s->membership.declared_sum + (s->membership.nr_declared > 1 ? s->membership.over_declared : 0);
	else
		want = lop_in_case(s, most);
	if (s->config.sizing == LOP_SIZE_BY_DEMAND && !lop_cpus_empty(&s->taken))
		want += lop_cpus_common(&s->set[LOP_HIGH].cpus, &s->taken);
	if (s->config.sizing == LOP_SIZE_BY_DEMAND && !lop_has_reserved(s))
		want += lop_active(s, LOP_ROLE_RESERVED);
	return (u32)lop_min(want, most);
}

/* The target fell: each size above `after` is surplus from now on (see lop_due_ns()). */
lop_rule void lop_target_fell(struct lop_members *m, u32 before, u32 after, u64 now_ns)
{
	u32 level;
	if (after < before)
		lop_for(level, after + 1, before + 1) m->below_since_ns[lop_min(level, LOP_MAX_CPUS)] = now_ns;
}

/* The halves of lop_app.demand. Green tasks are not in it: an application declares parallelism for the high set. */
lop_rule u32 lop_app_active(u64 demand) { return (u32)demand; }
lop_rule u32 lop_app_declared(u64 demand) { return (u32)(demand >> 32); }

/*
 * An application becomes active (`by` 1) or inactive (-1). Returns what that adds to the demand of the high set beside
 * the declared parallelism: `by` above bit 32 if it declared none.
 */
lop_rule u64 lop_count_app(struct lop_sched *s, u32 declared, s32 by)
{
	if (!declared)
		return LOP_ONE_UNDECLARED * (u64)(s64)by;
	lop_atomic_add(&s->membership.declared_sum, declared * (u32)by);
	lop_atomic_add(&s->membership.nr_declared, by);
	return 0;
}

/* Active tasks of an application beyond what it declared, if it declared anything. */
lop_rule u32 lop_over_declared(u64 demand)
{
	u32 active = lop_app_active(demand), declared = lop_app_declared(demand);
	return declared && active > declared ? active - declared : 0;
}

/* The demand of an application changes. */
lop_rule void lop_count_over(struct lop_sched *s, u64 before, u64 after)
{
	u32 more = lop_over_declared(after) - lop_over_declared(before);
	if (more)
		lop_atomic_add(&s->membership.over_declared, more);
}

/*
 * One more active task of the application. The first one brings the declared parallelism (never less than one). A task
 * of no application counts as an application that declared nothing. The one atomic operation on `demand` returns both
 * what was active and what was declared at that moment, so concurrent declarations and wakeups cannot count
 * differently.
 */
lop_rule u64 lop_app_enter(struct lop_sched *s, struct lop_app *app)
{
	u64 before = app ? lop_atomic_add(&app->demand, 1) : 0;
	lop_count_over(s, before, before + 1);
	return lop_app_active(before) ? 0 : lop_count_app(s, lop_app_declared(before), 1);
}

lop_rule u64 lop_app_leave(struct lop_sched *s, struct lop_app *app)
{
	u64 before = app ? lop_atomic_add(&app->demand, -1ULL) : 1;
	lop_assert(lop_app_active(before) > 0);
	lop_count_over(s, before, before - 1);
	return lop_app_active(before) != 1 ? 0 : lop_count_app(s, lop_app_declared(before), -1);
}

/*
 * The task becomes active (fork, clone, wakeup, end of spinning): active += 1. Once per wakeup, however often the
 * adapter reports it.
 */
lop_rule void lop_count_active(struct lop_sched *s, struct lop_task *t, struct lop_app *app, struct lop_group *group, u64 now_ns)
{
	lop_weigh(s, t, group, true, now_ns);
	if (t->counted || (t->hint.flags & LOP_SPINNING))
		return;
	t->counted = true;
	t->role = (u8)lop_role_of(s, t);
	lop_atomic_add(&s->active[t->role & (LOP_ROLES - 1)], 1 + (t->role == LOP_ROLE_ORDINARY ? lop_app_enter(s, app) : 0));
}

/* The task becomes inactive (block, exit, spinning announced): active -= 1. Its weight leaves its group only when it blocks: lop_weigh(). */
lop_rule void lop_count_inactive(struct lop_sched *s, struct lop_task *t, struct lop_app *app, u64 now_ns)
{
	enum lop_set set = t->role <= LOP_ROLE_RESERVED ? LOP_HIGH : LOP_GREEN; /* whose target may fall */
	u32 before;
	if (!t->counted)
		return;
	t->counted = false;
	before = lop_target(s, set);
	lop_assert(lop_active(s, t->role) > 0);
	lop_atomic_add(&s->active[t->role & (LOP_ROLES - 1)], -1ULL + (t->role == LOP_ROLE_ORDINARY ? lop_app_leave(s, app) : 0));
	lop_target_fell(&s->set[lop_set_index(set)], before, lop_target(s, set), now_ns);
}

/*
 * Switches a memory domain back on before work needs it: active tasks exceed the CPUs for them in domains that are on,
 * and the power cap allows more CPUs.
 */
lop_rule void lop_open_for_demand(struct lop_sched *s)
{
	s32 domain = LOP_NONE;
	if (lop_has_domains(s) && lop_active(s, LOP_ROLE_ORDINARY) > lop_nr_ordinary(s) && !(lop_has_cap(s) && lop_nr_ordinary(s) >= s->config.most_high))
		domain = lop_domain_off(s);
	if (domain != LOP_NONE)
		lop_switch_domain(s, domain, true);
}

/*
 * An application declares how many of its tasks want to run at once; 0 withdraws the declaration. False: its other
 * threads declared or woke during each try, so call again.
 */
lop_rule bool lop_count_declared(struct lop_sched *s, struct lop_app *app, u32 parallelism, u64 now_ns)
{
	u32 target = lop_target(s, LOP_HIGH);
	u64 declared = lop_min(parallelism, LOP_MAX_CPUS), before = 0;
	bool done = false;
	int n;
	lop_for(n, 0, LOP_DECLARE_TRIES) {
		before = app->demand;
		done = lop_atomic_cas(&app->demand, before, declared << 32 | lop_app_active(before)) == before;
		if (done)
			break;
	}
	if (!done)
		return false;
	lop_count_over(s, before, declared << 32 | lop_app_active(before));
	if (lop_app_active(before)) {
		u64 by = lop_count_app(s, (u32)declared, 1) + lop_count_app(s, lop_app_declared(before), -1);
		if (by)
			lop_atomic_add(&s->active[LOP_ROLE_ORDINARY], by);
	}
	lop_target_fell(&s->set[LOP_HIGH], target, lop_target(s, LOP_HIGH), now_ns);
	return true;
}
