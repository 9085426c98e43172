/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "pull.h"
/*
 * With more threads of declared length than cores, the next longest goes to the core that finishes it first.
 * This is list scheduling. It is pure, like spread.h: an adapter calls it when such a thread is created or has ended,
 * and applies the result with lop_put_on_list().
 * Tested in: list, largest. Studied in: longest-job, everything.
 */
#define LOP_MAX_LISTED 512

struct lop_listed {
	u64 left;       /* work left, in one unit for all threads */
	s32 core;       /* index of the core that it is on; LOP_NONE: on none yet */
	s32 wanted_core; /* result: index of the core that it is to be on */
};

struct lop_list_core {
	u64 planned;    /* work of the threads planned here so far */
	u32 permille;   /* its speed relative to the fastest kind, x 1000 */
};

struct lop_list {
	u32 nr_threads, nr_cores;
	u64 least_gain; /* what the last core must gain, in time of the fastest kind, for threads to change cores */
	struct lop_listed thread[LOP_MAX_LISTED]; /* in order of creation */
	struct lop_list_core core[LOP_MAX_CPUS];
};

lop_rule struct lop_listed *lop_listed_at(struct lop_list *l, u32 n) { return &l->thread[n & (LOP_MAX_LISTED - 1)]; }
lop_rule struct lop_list_core *lop_list_core_at(struct lop_list *l, u32 n) { return &l->core[lop_cpu_index(n)]; }

/* When a core finishes what it has and `left` more:  finish = (planned + left) / speed */
lop_rule u64 lop_finish(const struct lop_list_core *c, u64 left) { return (c->planned + left) * 1000 / lop_max(c->permille, 1); }

/*
 * The thread with most work left that the plan gives no core yet, of equals the one created first. LOP_NONE: all have
 * one.
 */
lop_subprog s32 lop_next_longest(struct lop_list *l lop_nonnull)
{
	s32 longest = LOP_NONE;
	u64 most = 0;
	u32 n;
	lop_for(n, 0, LOP_MAX_LISTED) {
		struct lop_listed *t = lop_listed_at(l, n);
		if (n >= l->nr_threads)
			break;
		if (t->wanted_core != LOP_NONE || (longest >= 0 && t->left <= most))
			continue;
		longest = (s32)n;
		most = t->left;
	}
	return longest;
}

/* The core that would finish the thread first; of equals the one that it is on, else the lowest number. */
lop_subprog s32 lop_first_to_finish(struct lop_list *l lop_nonnull, u32 thread)
{
	const struct lop_listed *t = lop_listed_at(l, thread);
	s32 first = LOP_NONE;
	u64 earliest = 0;
	u32 n;
	lop_for(n, 0, LOP_MAX_CPUS) {
		u64 finish = lop_finish(lop_list_core_at(l, n), t->left);
		if (n >= l->nr_cores)
			break;
		if (first >= 0 && (finish > earliest || (finish == earliest && t->core != (s32)n)))
			continue;
		first = (s32)n;
		earliest = finish;
	}
	return first;
}

/* When the last core finishes what the plan gives it. */
lop_subprog u64 lop_last_finish(struct lop_list *l lop_nonnull)
{
	u64 last = 0;
	u32 n;
	lop_for(n, 0, LOP_MAX_CPUS) {
		if (n >= l->nr_cores)
			break;
		last = lop_max(last, lop_finish(lop_list_core_at(l, n), 0));
	}
	return last;
}

lop_rule void lop_list_to(struct lop_list *l, u32 thread, s32 core)
{
	lop_listed_at(l, thread)->wanted_core = core;
	lop_list_core_at(l, (u32)core)->planned += lop_listed_at(l, thread)->left;
}

/* Plans each thread where it is. False: one of them is on no core yet. */
lop_subprog bool lop_list_stays(struct lop_list *l lop_nonnull)
{
	bool all = true;
	u32 n;
	lop_for(n, 0, LOP_MAX_CPUS) lop_list_core_at(l, n)->planned = 0;
	lop_for(n, 0, LOP_MAX_LISTED) {
		struct lop_listed *t = lop_listed_at(l, n);
		if (n >= l->nr_threads)
			break;
		if (t->core == LOP_NONE)
			all = false;
		else
			lop_list_to(l, n, t->core);
	}
	return all;
}

/* Plans the next longest thread for the core that would finish it first, until all have one. */
lop_subprog bool lop_list_anew(struct lop_list *l lop_nonnull)
{
	u32 n;
	lop_for(n, 0, LOP_MAX_CPUS) lop_list_core_at(l, n)->planned = 0;
	lop_for(n, 0, LOP_MAX_LISTED) lop_listed_at(l, n)->wanted_core = LOP_NONE;
	lop_for(n, 0, LOP_MAX_LISTED) {
		s32 longest = lop_next_longest(l);
		if (longest < 0)
			break;
		lop_list_to(l, (u32)longest, lop_first_to_finish(l, (u32)longest));
	}
	return n > 0;
}

/*
 * Fills in where each thread is to be; there is at least one core. Threads change cores only if the last core finishes
 * earlier by at least `least_gain`, or if one of them has no core yet.
 * Worked example: threads of 6, 5, 4 and 3 units, cores of speed 1 and 1/2. The 6 goes to the fast core (which finishes
 * at 6, the slow one at 12), the 5 to the slow one (10, the fast one at 11), the 4 to the fast one (10, the slow one at
 * 18), and so does the 3 (13, the slow one at 16). All work ends at 13; the optimum is 12, with the 6 alone on the slow
 * core.
 */
lop_rule void lop_list_threads(struct lop_list *l)
{
	bool all = lop_list_stays(l);
	u64 before = lop_last_finish(l);
	lop_list_anew(l);
	if (all && lop_last_finish(l) + l->least_gain > before)
		lop_list_stays(l);
}

/*
 * Work that a thread has done so far, in ns on the fastest kind of core. A thread that is just starting may not be
 * recorded on its CPU yet.
 */
lop_rule u64 lop_done_by_now(const struct lop_sched *s, const struct lop_task *t, u64 now_ns)
{
	u32 cpu = lop_cpu_index(t->runs_on - 1);
	u64 since_ns = s->fast.on[cpu].since_ns;
	return t->runs_on && since_ns ? t->done_ns + lop_work_ns(s, cpu, now_ns - lop_min(since_ns, now_ns)) : t->done_ns;
}

/*
 * Work that a thread has left, in ns on the fastest kind of core, or in units of its length while the time of a unit is
 * unknown.
 *     left = length * unit - done, lop_left_of()
 */
lop_rule u64 lop_listed_left(const struct lop_sched *s, const struct lop_task *t, const struct lop_app *app, u64 now_ns)
{
	if (!app->unit_ns)
		return lop_length_of(t, app);
	return lop_left_of(lop_length_of(t, app) * app->unit_ns, lop_done_by_now(s, t, now_ns));
}

/* What a plan must gain: the time of ten migrations, or anything while the time of a unit is unknown. */
lop_rule u64 lop_least_gain(const struct lop_sched *s, const struct lop_app *app)
{
	return app->unit_ns ? LOP_WORTH_MIGRATIONS * s->config.migration_ns : 0;
}

/*
 * From now on the thread waits at this CPU (LOP_NONE: where any task does). True: it runs elsewhere, and the adapter
 * has to preempt it so that it is queued again. A thread that waits elsewhere changes queues after it has run next.
 */
lop_rule bool lop_put_on_list(struct lop_sched *s, struct lop_task *t, s32 cpu)
{
	t->listed = (u32)(cpu + 1);
	if (t->runs_on)
		s->fast.on[lop_cpu_index(t->runs_on - 1)].rank.by_plan = t->listed == t->runs_on;
	return cpu != LOP_NONE && t->runs_on && t->runs_on != t->listed;
}
