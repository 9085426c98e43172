/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "cap.h"
#include "domain_power.h"
#include "group.h"
#include "reserved.h"
/* How many members a set should have: demand counting, spare, declared parallelism. */
#define LOP_DECLARE_TRIES 16

/* Work that hardly gains from speed: SF = T(f_low) / T(f_high) below 1.2. Unknown counts as ordinary. */
lop_rule bool lop_hardly_gains(const struct lop_task *t)
{
	return t->speedup_permille != 0 && t->speedup_permille < 1200;
}

/* An adapter that never has a green set says so, and the verifier drops its rules. */
#ifndef lop_has_green
#define lop_has_green(s) ((s)->config.green)
#endif

/* An adapter that never makes room (room.h) says so, and the verifier drops its rules. */
#ifndef lop_uses_room
#define lop_uses_room(s) ((s)->config.room_permille != 0)
#endif

lop_rule enum lop_set lop_set_for(const struct lop_sched *s, const struct lop_task *t)
{
	if (lop_for_reserved(s, t))
		return LOP_LOW;
	return lop_has_green(s) && lop_hardly_gains(t) ? LOP_GREEN : LOP_HIGH;
}

/*
 * Members that share their core with another busy one. While they do, whole cores are kept for what wakes next: it would be the siblings that are
 * to leave, and who is busy does not.
 */
lop_rule u32 lop_shared_cores(const struct lop_sched *s)
{
	u32 shared = 0;
	int i;
	lop_for_words(i) {
		u32 n = i & (LOP_CPU_WORDS - 1);
		shared += (u32)__builtin_popcountll(s->set[LOP_HIGH].cpus.word[n] & s->beside_busy.word[n] & ~s->idle.word[n]);
	}
	return shared / 2;
}

/*
 * size(high) = declared + taken + left         if every active application declared its parallelism
 *            = active + spare + room + taken + left   else; at most the online CPUs of domains that are on, without the reserved one, and the
 *                                                  power cap (cap.h)
 * size(green) = active                         at most those of them that are not high
 * room: see room.h; where it is made, also one for each core that two members share
 * taken: members that a higher class runs on, and our tasks cannot use
 * left: tasks that became active for the reserved CPU, while there was one
 */
lop_rule u32 lop_target(const struct lop_sched *s, enum lop_set set)
{
	u32 want, most = lop_most_members(s);
	if (set == LOP_GREEN)
		return (u32)lop_min(lop_active(s, LOP_GREEN), most - lop_min(s->set[LOP_HIGH].size, most));
	if (s->config.sizing == LOP_SIZE_ALL)
		return most;
	if (s->config.sizing == LOP_SIZE_FIXED)
		want = s->config.fixed_size;
	else if (s->membership.declared_sum && !lop_undeclared(s))
		want = s->membership.declared_sum;
	else
		want = lop_active(s, LOP_HIGH) + s->config.spare + (lop_uses_room(s) ? s->room.members + lop_shared_cores(s) : 0);
	if (s->config.sizing == LOP_SIZE_BY_DEMAND && !lop_cpus_empty(&s->taken))
		want += lop_cpus_common(&s->set[LOP_HIGH].cpus, &s->taken);
	if (s->config.sizing == LOP_SIZE_BY_DEMAND && !lop_has_reserved(s))
		want += lop_active(s, LOP_LOW);
	return (u32)lop_min(want, most);
}

/* Notes since when each size that is no longer wanted is not wanted (see lop_due_ns()). */
lop_rule void lop_target_fell(struct lop_members *m, u32 before, u32 after, u64 now_ns)
{
	u32 level;
	if (after < before)
		lop_for(level, after + 1, before + 1) m->below_since_ns[lop_min(level, LOP_MAX_CPUS)] = now_ns;
}

/* What lies in lop_app.demand. Green tasks are not in it: what an application declares is for the high set. */
lop_rule u32 lop_app_active(u64 demand) { return (u32)demand; }
lop_rule u32 lop_app_declared(u64 demand) { return (u32)(demand >> 32); }

/*
 * An application comes (`by` 1) or goes (-1) among the active ones. What it adds to the demand of the high set, beside what it declared: 1 above bit 32 if
 * that is nothing.
 */
lop_rule u64 lop_count_app(struct lop_sched *s, u32 declared, s32 by)
{
	if (!declared)
		return LOP_ONE_UNDECLARED * (u64)(s64)by;
	lop_atomic_add(&s->membership.declared_sum, declared * (u32)by);
	return 0;
}

/*
 * One more active task of the application; its first brings what the application declared (never less than one). A task
 * of no application is one that declared nothing. The one atomic operation on `demand` says both what was active and
 * what was declared at that moment, so that concurrent declarations and wakeups cannot count differently.
 */
lop_rule u64 lop_app_enter(struct lop_sched *s, struct lop_app *app)
{
	u64 before = app ? lop_atomic_add(&app->demand, 1) : 0;
	return lop_app_active(before) ? 0 : lop_count_app(s, lop_app_declared(before), 1);
}

lop_rule u64 lop_app_leave(struct lop_sched *s, struct lop_app *app)
{
	u64 before = app ? lop_atomic_add(&app->demand, -1ULL) : 1;
	lop_assert(lop_app_active(before) > 0);
	return lop_app_active(before) != 1 ? 0 : lop_count_app(s, lop_app_declared(before), -1);
}

/* Task becomes active (fork, clone, wakeup, end of spinning): active += 1. Once per wakeup, however often it is told. */
lop_rule void lop_count_active(struct lop_sched *s, struct lop_task *t, struct lop_app *app, struct lop_group *group, u64 now_ns)
{
	if (t->counted || (t->hint.flags & LOP_SPINNING))
		return;
	t->counted = true;
	t->set = (u8)lop_set_for(s, t);
	lop_atomic_add(&s->set[lop_set_index(t->set)].demand, 1 + (t->set == LOP_HIGH ? lop_app_enter(s, app) : 0));
	if (group)
		lop_group_add(s, group, (s32)t->weight, now_ns);
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
	lop_assert((u32)s->set[lop_set_index(t->set)].demand > 0);
	lop_atomic_add(&s->set[lop_set_index(t->set)].demand, -1ULL + (t->set == LOP_HIGH ? lop_app_leave(s, app) : 0));
	if (group)
		lop_group_add(s, group, -(s32)t->weight, now_ns);
	lop_target_fell(&s->set[lop_set_index(set)], before, lop_target(s, set), now_ns);
}

/*
 * A memory domain that is off is back on before work needs it: there are more active tasks than CPUs for them in domains that are on, and the power
 * cap leaves more than these.
 */
lop_rule void lop_open_for_demand(struct lop_sched *s)
{
	s32 domain = LOP_NONE;
	if (lop_has_domains(s) && lop_active(s, LOP_HIGH) > lop_nr_ordinary(s) && !(lop_has_cap(s) && lop_nr_ordinary(s) >= s->config.most_high))
		domain = lop_domain_off(s);
	if (domain != LOP_NONE)
		lop_switch_domain(s, domain, true);
}

/*
 * An application declares how many of its tasks want to run at once (0 takes it back). False: others declare or wake
 * tasks of the same application at this very moment; ask again.
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
	if (lop_app_active(before)) {
		u64 by = lop_count_app(s, (u32)declared, 1) + lop_count_app(s, lop_app_declared(before), -1);
		if (by)
			lop_atomic_add(&s->set[LOP_HIGH].demand, by);
	}
	lop_target_fell(&s->set[LOP_HIGH], target, lop_target(s, LOP_HIGH), now_ns);
	return true;
}
