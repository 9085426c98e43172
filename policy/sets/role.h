/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "background.h"
#include "reserved.h"
/*
 * What a task is decides which cores it has. Its role is decided when it becomes active, and kept: it is counted by that role, queued,
 * placed and ranked. Of these the first that holds:
 *     1. reserved      the system's own work, and what may run nowhere else, on the reserved CPU     reserved.h
 *     2. at home       it has a home, for a clock paces it or it is light                            pace.h, light.h
 *     3. background    nobody waits for it                                                           background.h
 *     4. low gain      it hardly gains from speed, in a policy with a green set for such work
 *     5. ordinary      all else: on high cores
 * Where another role holds by now, the task leaves its CPU at the next look and is woken again: lop_wakes_anew().
 * Tested in: background, pace, clock, reserved. Studied in: everything.
 */
#ifndef LOP_LIGHT_SLICE_NS /* a test that lasts for milliseconds has its own */
#define LOP_LIGHT_SLICE_NS (2 * LOP_MS_NS) /* how often a light task is looked at while it runs */
#endif
#define LOP_BUSY_MOST_PERMILLE 800 /* of a home, and of the interval of paced work: a fifth is kept in reserve */

/* Work that hardly gains from speed: SF = T(f_low) / T(f_high) below 1.2. Work of unknown SF is ordinary. */
lop_rule bool lop_hardly_gains(const struct lop_task *t)
{
	return t->speedup_permille != 0 && t->speedup_permille < 1200;
}

/* The task's home is still one: a home that closes begins another epoch of its CPU. */
lop_rule bool lop_keeps_home(const struct lop_sched *s, const struct lop_task *t)
{
	return t->pace.home && s->pace.epoch[lop_cpu_index(t->pace.home - 1)] == t->pace.epoch;
}

/*
 * The task has a home, where it runs at its pace (pace.h), and others do not wait for it as it says. While a higher class
 * has that CPU, it has none.
 */
lop_subprog bool lop_has_home(const struct lop_sched *s lop_nonnull, const struct lop_task *t lop_nonnull)
{
	u32 cpu = lop_cpu_index(t->pace.home - 1);
	bool awaited = !lop_has_light(s) && t->hint.flags & (LOP_SEQUENTIAL | LOP_LOCK_HOLDER);
	return lop_keeps_home(s, t) && !t->pace.ends && !t->pace.raised && !t->restricted && !awaited &&
	       lop_cpus_has(&s->set[LOP_GREEN].pinned, cpu) && !lop_cpus_has(&s->taken, cpu);
}

lop_rule enum lop_role lop_role_of(const struct lop_sched *s, const struct lop_task *t)
{
	if (lop_for_reserved(s, t))
		return LOP_ROLE_RESERVED;
	if (lop_has_ladder(s) && lop_has_home(s, t))
		return LOP_ROLE_AT_HOME;
	if (lop_nobody_waits(s, t))
		return LOP_ROLE_BACKGROUND;
	return lop_sees_gain(s) && lop_hardly_gains(t) ? LOP_ROLE_LOW_GAIN : LOP_ROLE_ORDINARY;
}

/*
 * An adapter that is about to queue this task wakes it instead: it has another role by now, or fell behind its clock and is not
 * counted.
 */
lop_subprog bool lop_wakes_anew(const struct lop_sched *s lop_nonnull, const struct lop_task *t lop_nonnull)
{
	if (t->hint.flags & LOP_SPINNING)
		return false;
	return t->counted ? lop_role_of(s, t) != t->role : lop_has_ladder(s) && (t->pace.ends || t->pace.raised);
}

/* The CPU that the task has to itself or shares with its like: the reserved one, or its home. LOP_NONE: neither, or that has ended since. */
lop_rule s32 lop_own_cpu(const struct lop_sched *s, const struct lop_task *t)
{
	if (t->role == LOP_ROLE_RESERVED)
		return lop_has_reserved(s) ? (s32)s->reserved.cpu : LOP_NONE;
	return t->role == LOP_ROLE_AT_HOME && lop_has_home(s, t) ? (s32)lop_cpu_index(t->pace.home - 1) : LOP_NONE;
}

/* The CPU of the task's home, even while it runs elsewhere because it is late; LOP_NONE. */
lop_rule s32 lop_home_of(const struct lop_sched *s, const struct lop_task *t)
{
	return lop_has_ladder(s) && lop_keeps_home(s, t) ? (s32)lop_cpu_index(t->pace.home - 1) : LOP_NONE;
}

/* Whom a task with a home wakes shares its clock, so that a chain has one. 0: it has none. */
lop_rule u64 lop_clock_of(const struct lop_sched *s, const struct lop_task *waker)
{
	return lop_has_ladder(s) && lop_keeps_home(s, waker) && !waker->pace.ends ? waker->pace.clock_ns : 0;
}

/* When a paced task should be done at the latest. */
lop_rule u64 lop_should_be_done_ns(const struct lop_task *t) { return t->pace.clock_ns + t->pace.interval_ns * LOP_BUSY_MOST_PERMILLE / 1000; }

/* Until then, since it is looked at once it should be done. For other tasks the slice is bounded by others alone. */
lop_rule u64 lop_until_late_ns(const struct lop_sched *s, const struct lop_task *t, u64 now_ns)
{
	u64 done_ns = lop_should_be_done_ns(t);
	if (!lop_has_ladder(s) || t->role != LOP_ROLE_AT_HOME)
		return LOP_NO_TIME;
	if (lop_has_light(s))
		return LOP_LIGHT_SLICE_NS;
	return now_ns < done_ns ? done_ns - now_ns : LOP_NO_TIME;
}
