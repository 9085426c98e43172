/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "state.h"

/* Sees to it that the one timer fires at this time or before. An overdue timer counts as not armed. True: it was set. */
lop_rule bool lop_timer_by(struct lop_sched *s, struct lop_world *world, u64 at_ns, u64 now_ns)
{
	u64 armed_ns = s->timer_at_ns;
	if (armed_ns && armed_ns <= at_ns && armed_ns >= now_ns)
		return false;
	s->timer_at_ns = at_ns;
	lop_env_arm_timer(world, at_ns);
	return true;
}

/* Idle members look for work again at this time or before. */
lop_rule void lop_look_at(struct lop_sched *s, struct lop_world *world, u64 at_ns)
{
	/*
	 * Both sides write atomically before they read: the timer sees this request, or this call sees that the timer
	 * has fired.
	 */
	lop_atomic_or(&s->queues.look, 1);
	lop_timer_by(s, world, at_ns, lop_env_now_ns(world));
}
