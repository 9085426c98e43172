/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "weight.h"
/*
 * Groups share CPU time by weight, and the tasks of a group share what the group has.
 * Tested in: fair, group. Studied in: none.
 */

lop_rule u32 lop_group_active(u64 load) { return (u32)load; }
lop_rule u32 lop_group_weight(u64 load) { return (u32)(load >> 32); }

/* 17 ms, and the same in units of 1024 ns, which make products fit. */
#define LOP_GROUP_MEAN_NS (1ULL << 24)
#define LOP_GROUP_MEAN_UNITS_BITS 14

/*
 * Weight that is active in the group, in 1024ths, as the mean of about the last 17 ms in which any was: a slice is paid
 * by what was active during it, not by what happens to be awake at its end.
 *     mean += (active - mean) * min(now - then, 17 ms) / 17 ms
 * Worked example: in a group with two tasks of nice 18 and 19 (18 and 15) one of nice 0 (1024) wakes 0.2 ms before a
 * slice of 8 ms is over, and soon sleeps again. With 1057 active the slice would cost 32 slices; with the mean, 33 +
 * 1024 * 0.2 / 17 = 45, it costs 1.4.
 */
lop_rule u64 lop_group_mean_1024(const struct lop_group *group, u64 now_ns)
{
	u64 active_1024 = (u64)lop_group_active(group->load) << 10, mean_1024 = group->mean_1024, then_ns = group->mean_at_ns;
	u64 units = now_ns > then_ns ? lop_min(now_ns - then_ns, LOP_GROUP_MEAN_NS) >> 10 : 0;
	if (!active_1024)
		return mean_1024;
	if (active_1024 < mean_1024)
		return mean_1024 - ((mean_1024 - active_1024) * units >> LOP_GROUP_MEAN_UNITS_BITS);
	return mean_1024 + ((active_1024 - mean_1024) * units >> LOP_GROUP_MEAN_UNITS_BITS);
}

/*
 * Updates the mean before the active weight changes. Two CPUs that do so at once count a moment twice; the mean is soon
 * right again.
 */
lop_rule void lop_group_mean_follows(struct lop_group *group, s32 weight, u64 now_ns)
{
	if (!group->mean_1024)
		group->mean_1024 = weight > 0 ? (u64)weight << 10 : 0;
	else if (lop_group_active(group->load) && now_ns < group->mean_at_ns + 1024)
		return;
	else
		group->mean_1024 = lop_group_mean_1024(group, now_ns);
	group->mean_at_ns = now_ns;
}

/*
 * `weight` becomes active in the group, or inactive (negative). If that makes the group active, its own weight becomes
 * active in its parent; if it makes the group inactive, that weight goes.
 */
lop_subprog bool lop_group_add(struct lop_sched *s lop_nonnull, struct lop_group *group lop_nonnull, s32 weight, u64 now_ns)
{
	int n;
	lop_for_few(n, 0, LOP_MAX_GROUP_DEPTH) {
		u64 before;
		u32 was, is;
		lop_group_mean_follows(group, weight, now_ns);
		before = lop_atomic_add(&group->load, (u64)(s64)weight);
		was = lop_group_active(before);
		lop_assert(weight >= 0 || was >= (u32)-weight);
		is = was + (u32)weight;
		if (group->parent == LOP_NONE || (was != 0) == (is != 0))
			break;
		weight = (s32)lop_group_weight(before);
		if (!is)
			weight = -weight;
		group = lop_env_group(s, group->parent);
	}
	return true;
}

/*
 * The task wakes or blocks. In between its weight stays in its group, whatever else it is counted for: a task that spins
 * takes CPU time, too, and the others of its group pay for less than they take if it is left out.
 * Worked example: 8 tasks of a group of weight 1024 spin. Each has 1024 * 1024 / 8192 = 128, so 1 ms costs it 8 ms. Left
 * out, each would be charged as if it were alone, and the group would get 8 times its share.
 */
lop_rule void lop_weigh(struct lop_sched *s, struct lop_task *t, struct lop_group *group, bool weighs, u64 now_ns)
{
	if (t->weighs == weighs)
		return;
	t->weighs = weighs;
	if (group)
		lop_group_add(s, group, weighs ? (s32)t->weight : -(s32)t->weight, now_ns);
}

/*
 * The active weight of the group changes by `more`. A loss applies to the mean as well, as if the task had been light
 * all along; otherwise it would pay for its own former weight.
 *     mean = max(mean - less, active)
 * Worked example: a task of nice 0 beside one of nice 19 (1024 and 15) becomes SCHED_IDLE (3), and computes for 8 ms.
 * With its own 1024 in the mean that could cost 30 slices and more; it costs one.
 */
lop_rule void lop_group_reweigh(struct lop_sched *s, struct lop_group *group, s32 more, u64 now_ns)
{
	u64 less_1024 = more < 0 ? (u64)-(s64)more << 10 : 0, active_1024;
	lop_group_add(s, group, more, now_ns);
	active_1024 = (u64)lop_group_active(group->load) << 10;
	if (less_1024)
		group->mean_1024 = lop_max(group->mean_1024 - lop_min(group->mean_1024, less_1024), active_1024);
}

/* The group gets another weight. If it is active, its parent's active weight changes, too. */
lop_rule void lop_group_set_weight(struct lop_sched *s, struct lop_group *group, u32 weight, u64 now_ns)
{
	s64 more = (s64)weight - lop_group_weight(group->load);
	u64 before = lop_atomic_add(&group->load, (u64)more << 32);
	if (group->parent != LOP_NONE && lop_group_active(before))
		lop_group_reweigh(s, lop_env_group(s, group->parent), (s32)more, now_ns);
}

/*
 * The active weight, in 1024ths, among which a slice of `ran_ns` that ends at `until_ns` shared the group: that of now
 * if nothing changed meanwhile, else the mean. LOP_NO_TIME: that of now.
 * Worked example: 16 tasks wait at a barrier until the last one comes. The one that goes on alone pays for its first
 * slice as one of several, for the next as the only one.
 */
lop_rule u64 lop_group_shared_1024(const struct lop_group *group, u64 until_ns, u64 ran_ns)
{
	if (until_ns == LOP_NO_TIME || until_ns >= group->mean_at_ns + ran_ns)
		return (u64)lop_group_active(group->load) << 10;
	return lop_group_mean_1024(group, until_ns);
}

/*
 * Effective weight of a task, in 1024ths. At each level it is a part of the group's weight, by weight among what is
 * active there, now (LOP_NO_TIME) or in the `ran_ns` until `until_ns`.
 *     w = weight(task) * prod over its groups g, inside out, of weight(g) / active(g)
 * Worked example: a group of weight 1024 with two default tasks active: 1024 * 1024 / 2048 = 512 each. If that group
 * lies in a group of weight 2048, beside another active one of weight 3072: 512 * 2048 / 4096 = 256 each. Whole numbers
 * would not do: 40 default tasks in a group of weight 102 (cpu.weight 10) have 2.55 each.
 */
lop_subprog u32 lop_weight_until_1024(const struct lop_sched *s lop_nonnull, const struct lop_task *t lop_nonnull, const struct lop_group *group, u64 until_ns, u64 ran_ns)
{
	u64 weight_1024 = (u64)t->weight << 10, inside = t->weight;
	int n;
	lop_for(n, 0, LOP_MAX_GROUP_DEPTH) {
		u64 weight;
		if (!group)
			break;
		weight = lop_group_weight(group->load);
		/* A task that has not woken yet, or a kernel thread that adds no demand, is not in it. */
		weight_1024 = (weight_1024 * weight << 10) / lop_max(lop_max(lop_group_shared_1024(group, until_ns, ran_ns), inside << 10), 1);
		inside = weight;
		group = group->parent == LOP_NONE ? 0 : lop_env_group(s, group->parent);
	}
	return (u32)lop_clamp(weight_1024, 1, LOP_WEIGHT_MOST << 10);
}

lop_rule u32 lop_weight_1024(const struct lop_sched *s, const struct lop_task *t, const struct lop_group *group)
{
	return lop_weight_until_1024(s, t, group, LOP_NO_TIME, 0);
}
