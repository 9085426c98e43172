/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "state.h"

/* The one timer comes at this time, or before. One that should have come and did not is none. True: it was set. */
lop_rule bool lop_timer_by(struct lop_sched *s, struct lop_world *world, u64 at_ns, u64 now_ns)
{
	u64 armed_ns = s->timer_at_ns;
	if (armed_ns && armed_ns <= at_ns && armed_ns >= now_ns)
		return false;
	s->timer_at_ns = at_ns;
	lop_env_arm_timer(world, at_ns);
	return true;
}
