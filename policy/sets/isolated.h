/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "cpuset.h"
#include "state.h"
/*
 * Isolated CPUs run only tasks that are bound to them; no other work is placed or balanced there.
 *     open = online without isolated, lop_open()
 * Sizes of sets, rank rules and the reserved core count open CPUs only. An isolated CPU is high while an active task is
 * bound to it, in addition to the demand of other tasks, and serves its own queue only.
 * Worked example: of 8 CPUs 4 to 7 are isolated. Four tasks bound to these and one other task are active, with one
 * spare: 4 to 7 are high and two of 0 to 3.
 * Tested in: isolated. Studied in: none.
 */

/* An adapter that isolates no CPU defines this as false, so the verifier drops the rules. */
#ifndef lop_has_isolated
#define lop_has_isolated(s) ((s)->isolates)
#endif

lop_rule bool lop_is_isolated(const struct lop_sched *s, u32 cpu)
{
	return lop_has_isolated(s) && lop_cpus_has(&s->topology.isolated, lop_cpu_index(cpu));
}

/* Isolated members. An active task is anchored to each, so they count in the size of the set and in its demand. */
lop_subprog u32 lop_isolated_members(const struct lop_sched *s lop_nonnull)
{
	return lop_cpus_common(&s->set[LOP_HIGH].cpus, &s->topology.isolated);
}

lop_rule u32 lop_nr_bound(const struct lop_sched *s) { return lop_has_isolated(s) ? lop_isolated_members(s) : 0; }

lop_subprog bool lop_keep_allowed(const struct lop_sched *s lop_nonnull, const struct lop_task *t lop_nonnull, struct lop_cpus *cpus lop_nonnull)
{
	if (t->restricted)
		lop_cpus_and(cpus, cpus, &t->allowed);
	else
		lop_cpus_and(cpus, cpus, &s->open);
	return true;
}

/* Drops from `cpus`, which are members, those that the task may not be placed on. */
lop_rule void lop_keep_usable(const struct lop_sched *s, const struct lop_task *t, struct lop_cpus *cpus)
{
	if (t->restricted || lop_has_isolated(s))
		lop_keep_allowed(s, t, cpus);
}

/* Any open CPU; if none is online, one that the task may use once it is online. */
lop_rule u32 lop_open_cpu(const struct lop_sched *s, const struct lop_task *t)
{
	s32 open = lop_cpus_next(&s->open, 0);
	return lop_cpu_index((u32)(open < 0 ? lop_cpus_next(&t->allowed, 0) : open));
}

/* Called once, when the policy starts. */
lop_rule void lop_open(struct lop_sched *s)
{
	s->open = s->online;
	lop_cpus_drop(&s->open, &s->topology.isolated);
	s->nr_open = lop_cpus_common(&s->open, &s->open);
	s->isolates = !lop_cpus_empty(&s->topology.isolated);
}
