/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "fair.h"
#include "place.h"
/*
 * Kernel threads add no demand: they are short as a rule, so they take an idle member and the sets do not change. With
 * no member idle, or if the adapter sees that the thread is not short, it is a task like any other.
 * Tested in: reserved. Studied in: none.
 */

lop_rule s32 lop_place_kthread(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_group *group, u32 last_cpu,
		       u64 now_ns)
{
	if (!t->brief || t->counted || lop_for_reserved(s, t))
		return LOP_NONE;
	lop_clamp_at_wakeup(s, t, group);
	return lop_claim_idle(s, world, t, LOP_HIGH, last_cpu, false, now_ns);
}
