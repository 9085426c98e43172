/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "weight.h"
/* Groups of tasks that share one weight: which of them are active, and what share a task has in the end. */

lop_rule u32 lop_group_active(u64 load) { return (u32)load; }
lop_rule u32 lop_group_weight(u64 load) { return (u32)(load >> 32); }

lop_rule struct lop_group *lop_group_at(struct lop_sched *s, s32 index) { return &s->groups[(u32)index & (LOP_MAX_GROUPS - 1)]; }

/*
 * `weight` comes to what is active in the group, or goes (negative). A group that becomes active so comes to its parent with
 * its own weight, and one that ceases to be goes from it.
 */
lop_part bool lop_group_add(struct lop_sched *s lop_given, struct lop_group *group lop_given, s32 weight)
{
	int n;
	lop_for(n, 0, LOP_MAX_GROUP_DEPTH) {
		u64 before = lop_atomic_add(&group->load, (u64)(s64)weight);
		u32 was = lop_group_active(before), is = was + (u32)weight;
		if (group->parent == LOP_NONE || (was != 0) == (is != 0))
			break;
		weight = (s32)lop_group_weight(before);
		if (!is)
			weight = -weight;
		group = lop_group_at(s, group->parent);
	}
	return true;
}

/* The group has another weight from now on; its parent hears of it if the group is active. */
lop_rule void lop_group_set_weight(struct lop_sched *s, struct lop_group *group, u32 weight)
{
	s64 more = (s64)weight - lop_group_weight(group->load);
	u64 before = lop_atomic_add(&group->load, (u64)more << 32);
	if (group->parent != LOP_NONE && lop_group_active(before))
		lop_group_add(s, lop_group_at(s, group->parent), (s32)more);
}

/*
 * Effective weight of a task, in 1024ths: at each level its part of the group's weight, by weight among what is active there.
 *     w = weight(task) * prod over its groups g, inside out, of weight(g) / active(g)
 * Worked example: a group of weight 1024 with two default tasks active: 1024 * 1024 / 2048 = 512 each. If that group lies, beside another
 * active one of weight 3072, in a group of weight 2048: 512 * 2048 / 4096 = 256 each. Whole numbers would not do: 40 default tasks in
 * a group of weight 102 (cpu.weight 10) are 2.55 each.
 */
lop_part u32 lop_weight_1024(const struct lop_sched *s lop_given, const struct lop_task *t lop_given, const struct lop_group *group)
{
	u64 weight_1024 = (u64)t->weight << 10, inside = t->weight;
	int n;
	lop_for(n, 0, LOP_MAX_GROUP_DEPTH) {
		u64 load;
		if (!group)
			break;
		load = group->load;
		/* One that is being charged has just gone, or is alone and not counted. */
		weight_1024 = weight_1024 * lop_group_weight(load) / lop_max(lop_max(lop_group_active(load), inside), 1);
		inside = lop_group_weight(load);
		group = group->parent == LOP_NONE ? 0 : &s->groups[(u32)group->parent & (LOP_MAX_GROUPS - 1)];
	}
	return (u32)lop_clamp(weight_1024, 1, LOP_WEIGHT_MOST << 10);
}
