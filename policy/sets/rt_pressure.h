/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "fair.h"
/* Members that a higher class runs on: real-time tasks are no demand of ours, but what they take has to be made up for. */

/* `cpu` is taken by a higher class, idle as it may have seemed, or is not any more. */
lop_rule void lop_note_taken(struct lop_sched *s, u32 cpu, bool taken, u64 now_ns)
{
	u32 before = lop_target(s, LOP_HIGH);
	if (taken) {
		lop_cpus_take(&s->idle, cpu);
		lop_cpus_add(&s->taken, cpu);
	} else if (!lop_cpus_take_if(&s->taken, cpu)) {
		return;
	}
	lop_target_fell(&s->set[LOP_HIGH], before, lop_target(s, LOP_HIGH), now_ns);
}

/*
 * A task waits although the set has a member for every active task, and none of them is idle, but isolated ones: then something else runs on some of them, and the
 * adapter has to look on which (those of lop_suspects()).
 */
lop_rule bool lop_is_short(const struct lop_sched *s)
{
	const struct lop_members *high = &s->set[LOP_HIGH];
	return high->size < s->nr_open + lop_nr_bound(s) && lop_active(s, LOP_HIGH) + lop_cpus_common(&high->cpus, &s->taken) <= high->size &&
	       lop_cpus_first(&high->cpus, &s->idle, &s->topology.isolated) < 0;
}

/* Work waits that any member may run, and a higher class has some of them. */
lop_rule bool lop_waits_while_taken(const struct lop_sched *s)
{
	return (!lop_cpus_empty(&s->taken) && !lop_cpus_empty(&s->queues.domain_waiting)) || lop_any_stranded(s);
}

/* Who holds the lock of the sets is about to promote somebody, who may be taken: the adapter looks again after a slice. */
lop_rule bool lop_is_growing(const struct lop_sched *s) { return s->set[LOP_HIGH].size < lop_target(s, LOP_HIGH); }

/*
 * CPUs that something waits for, and which may be taken: the one that it was given to; and all members, if it is for whoever is free while one is, or should be.
 * Nobody makes up for an isolated one.
 */
lop_rule void lop_suspects(const struct lop_sched *s, struct lop_cpus *out)
{
	const struct lop_cpus *high = &s->set[LOP_HIGH].cpus;
	bool waits = !lop_cpus_empty(&s->queues.domain_waiting) || lop_any_stranded(s);
	u64 members = lop_all_if(waits && (lop_is_short(s) || lop_cpus_meet(high, &s->idle)));
	int i;
	lop_for_words(i) {
		u32 n = i & (LOP_CPU_WORDS - 1);
		out->word[n] = ((high->word[n] & s->open.word[n] & members) | s->queues.given.word[n]) & ~s->taken.word[n];
	}
}
