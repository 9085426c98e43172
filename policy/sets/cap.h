/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "reserved.h"
/*
 * The power cap: how many cores are high at most, whatever the demand.
 *     |H| = min(demand + spare, cap, cores that can be high)
 * What a core draws is the adapter's to know, which turns watts into a number of cores; 0 is no cap. Who finds no member waits for one, as on a
 * machine of that size. More are high only where tasks that may run nowhere else have their CPUs promoted, and then every other member leaves.
 */

/* An adapter that never caps says so, and the verifier drops its rules. */
#ifndef lop_may_cap
#define lop_may_cap true
#endif

lop_rule bool lop_has_cap(const struct lop_sched *s) { return lop_may_cap && s->config.most_high; }

/*
 * most = min(CPUs that ordinary work may have, cap - 1 if a core is reserved else cap), 1 at least under a cap
 * The reserved core draws what a high one does at most, and takes its place.
 * Worked example: of 8 CPUs and a cap of 3, 3 are high at most, 2 beside a reserved core; of a cap of 1 it is 1 in both cases. With 1 active task
 * and 1 spare 2 are high, with 5 tasks 3.
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

/* No core joins any more, but for a task that may run nowhere else. Green members draw, too. */
lop_rule bool lop_is_full(const struct lop_sched *s)
{
	return lop_has_cap(s) && s->set[LOP_HIGH].size + s->set[LOP_GREEN].size >= lop_most_members(s);
}

/*
 * A member too many: a CPU was promoted for a task that may run nowhere else. One that nobody counts on leaves at once, an idle one first; what runs
 * there is moved.
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
