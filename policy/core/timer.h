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

/* Idle members look again for work at this time, or before. */
lop_rule void lop_look_at(struct lop_sched *s, struct lop_world *world, u64 at_ns)
{
	/* Both sides write with an atomic operation before they read: either the timer sees this, or it is seen to be gone. */
	lop_atomic_or(&s->queues.look, 1);
	lop_timer_by(s, world, at_ns, lop_env_now_ns(world));
}
