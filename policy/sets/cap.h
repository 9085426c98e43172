/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "reserved.h"
/*
 * The power cap bounds the number of high cores, whatever the demand.
 *     |H| = min(demand + spare, cap, cores that can be high), lop_target()
 * The adapter knows what a core draws and turns watts into a number of cores; 0 is no cap. A task that finds no idle
 * member waits for one, as on a machine of that size. The set exceeds the cap only where tasks that may run nowhere
 * else have their CPUs promoted; then every other member leaves.
 * Tested in: cap. Studied in: none.
 */

/* An adapter that never caps defines this as false, so the verifier drops the rules. */
#ifndef lop_may_cap
#define lop_may_cap true
#endif

lop_rule bool lop_has_cap(const struct lop_sched *s) { return lop_may_cap && s->config.most_high; }

/*
 * most = min(CPUs that ordinary work may have, cap - 1 if a core is reserved else cap), 1 at least under a cap
 * The reserved core draws at most as much as a high one, and takes its place.
 * Worked example: of 8 CPUs with a cap of 3, at most 3 are high, 2 beside a reserved core; with a cap of 1 it is 1 in
 * both cases. With a cap of 3 and 1 spare, 1 active task makes 2 high, and 5 tasks 3.
 */
lop_rule u32 lop_most_members(const struct lop_sched *s)
{
	u32 ordinary = lop_nr_ordinary(s), cap = s->config.most_high;
	if (!lop_has_cap(s))
		return ordinary;
	if (lop_has_reserved(s) && cap > 1)
		cap--;
	return (u32)lop_min(ordinary, cap);
}

/*
 * No core may join any more, except for a task that may run nowhere else. Green members count, since they draw power,
 * too.
 */
lop_rule bool lop_is_full(const struct lop_sched *s)
{
	return lop_has_cap(s) && s->set[LOP_HIGH].size + s->set[LOP_GREEN].size >= lop_most_members(s);
}

/*
 * A member above the cap: a CPU was promoted for a task that may run nowhere else. A member that no task is anchored
 * to leaves at once, an idle one first; the task that runs there is moved.
 */
lop_rule s32 lop_next_over_cap(const struct lop_sched *s)
{
	const struct lop_members *m = &s->set[LOP_HIGH];
	s32 cpu;
	if (!lop_has_cap(s) || m->size <= lop_most_members(s))
		return LOP_NONE;
	cpu = lop_cpus_first(&m->cpus, &s->idle, &m->pinned);
	return cpu < 0 ? lop_cpus_first(&m->cpus, &s->online, &m->pinned) : cpu;
}
