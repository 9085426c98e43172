/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "rank.h"
/*
 * Of an application's threads, those with most declared work left get the fast cores.
 * A thread's length is declared before the thread is created, in units of its application. The time of a unit is
 * learned from the threads that end.
 * Tested in: longest. Studied in: longest-job, registration, everything.
 */

/* A thread of the application declared its length. Called before the thread is woken for the first time. */
lop_rule void lop_declare_length(struct lop_task *t, struct lop_app *app, u32 length)
{
	t->hint.length = length;
	if (!app || !length)
		return;
	app->lengths[lop_atomic_add(&app->nr_lengths, 1) % LOP_LENGTHS] = length;
}

/* A thread is created with the length that its creator declared for the next child; it counts for this child only. */
lop_rule void lop_born(struct lop_task *t, struct lop_task *creator, struct lop_app *app)
{
	lop_declare_length(t, app, creator->hint.next_length);
	creator->hint.next_length = 0;
}

/* How many of the first `nr` lengths come before position `at` in order of size, ties in order of declaration. */
lop_subprog u64 lop_lengths_below(const struct lop_app *app lop_nonnull, u32 nr, u32 at)
{
	u64 length = app->lengths[at % LOP_LENGTHS], below = 0;
	u32 n;
	lop_for(n, 0, LOP_LENGTHS) {
		u64 other = app->lengths[n % LOP_LENGTHS];
		u64 ties = 1 - lop_less(other, length) - lop_less(length, other);
		below += lop_less(n, nr) & (lop_less(other, length) | (ties & lop_less(n, at)));
	}
	return below;
}

/*
 * Lower median of the lengths that the application's latest threads declared; 0: none declared any.
 * Worked example: 360, 360, 240, 300 declared: the second in order of size, 300.
 */
lop_subprog u32 lop_median_length(const struct lop_app *app lop_nonnull)
{
	u32 nr = (u32)lop_min(app->nr_lengths, LOP_LENGTHS), n;
	u64 median = 0, middle = (nr - 1) / 2;
	if (!nr)
		return 0;
	lop_for(n, 0, LOP_LENGTHS) {
		u64 below = lop_lengths_below(app, nr, n);
		u64 is_middle = lop_less(n, nr) & (1 - lop_less(below, middle) - lop_less(middle, below));
		median |= (0 - is_middle) & app->lengths[n % LOP_LENGTHS];
	}
	return (u32)median;
}

/* A thread that declared nothing counts as the median of its application. */
lop_rule u32 lop_length_of(const struct lop_task *t, const struct lop_app *app)
{
	return t->hint.length ? t->hint.length : app && app->nr_lengths ? lop_median_length(app) : 0;
}

/* left = length - done / unit, in units; all of it while the time of a unit is unknown. `length`: lop_length_of(). */
lop_rule u32 lop_length_left(const struct lop_task *t, const struct lop_app *app, u64 length)
{
	u64 done = 0;
	if (length && app && app->unit_ns)
		done = t->done_ns / app->unit_ns;
	return (u32)(length - lop_min(length, done));
}

/*
 * A thread that declared its length has ended, after `done_ns` of work:  unit = done / length
 * Threads of its application that run now get the new unit at once.
 */
lop_subprog bool lop_learn_unit(struct lop_sched *s lop_nonnull, struct lop_app *app lop_nonnull, u64 done_ns, u32 length)
{
	u32 cpu;
	if (!length || done_ns < length)
		return false;
	app->unit_ns = done_ns / length;
	lop_for(cpu, 0, LOP_MAX_CPUS) {
		if (app->number && s->fast.on[lop_cpu_index(cpu)].rank.app == app->number)
			s->fast.on[lop_cpu_index(cpu)].unit_ns = app->unit_ns;
	}
	return true;
}

/*
 * A thread that has done all the work of its length and still runs was declared too short, or its core is slower for it
 * than for others. It is expected to go on for as long as it has run beyond its length. With nothing left it would stay
 * on a slow core beside an idle fast one, however long it runs.
 *     left = all - done        or        done - all
 * In rank, such a thread comes last in its application: lop_length_left() is 0.
 * Worked example: 480 rows of 1.7 ms are 816 ms. After 1680 ms on a core of half the speed 840 ms are done by the
 * clock, so 24 ms are left.
 */
lop_rule u64 lop_left_of(u64 all_ns, u64 done_ns) { return done_ns < all_ns ? all_ns - done_ns : done_ns - all_ns; }

/* Work that the task on `cpu` has done since it began, in ns on the fastest kind of core. */
lop_rule u64 lop_done_ns(const struct lop_sched *s, u32 cpu, u64 now_ns)
{
	const struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	return on->done_ns + lop_work_ns(s, cpu, now_ns - lop_min(on->since_ns, now_ns));
}

/*
 * Work that the task on `cpu` has left, in ns on the fastest kind of core. Where its length does not tell, it is
 * expected to go on for as long as it has run since it woke, which is right on average for lengths spread over many
 * orders of magnitude.
 *     left = length * unit - done           or        now - woke
 */
lop_rule u64 lop_left_ns(const struct lop_sched *s, u32 cpu, u64 now_ns)
{
	const struct lop_on_cpu *on = &s->fast.on[lop_cpu_index(cpu)];
	u64 all_ns = on->length * on->unit_ns;
	if (!all_ns)
		return now_ns - lop_min(on->woke_ns, now_ns);
	return lop_left_of(all_ns, lop_done_ns(s, cpu, now_ns));
}
