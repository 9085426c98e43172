/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "fair.h"
/*
 * While a real-time task runs on a member, the set has one more member in its place.
 * Real-time tasks (a higher scheduling class) are not counted as demand.
 * Tested in: rt_pressure. Studied in: none.
 */

/* A higher class takes `cpu`, even if it seemed idle, or releases it. */
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
 * For a task that waits: the set has a member for every active task and could grow, yet no member is idle except
 * isolated ones. So something else runs on some members, and the adapter checks which (those of lop_suspects()).
 */
lop_rule bool lop_is_short(const struct lop_sched *s)
{
	const struct lop_members *high = &s->set[LOP_HIGH];
	return high->size < s->nr_open + lop_nr_bound(s) && lop_active(s, LOP_ROLE_ORDINARY) + lop_cpus_common(&high->cpus, &s->taken) <= high->size &&
	       lop_cpus_first(&high->cpus, &s->idle, &s->topology.isolated) < 0;
}

/* Work that any member may run waits while a higher class has some members, or work is stranded. */
lop_rule bool lop_waits_while_taken(const struct lop_sched *s)
{
	return (!lop_cpus_empty(&s->taken) && lop_served_from(s, LOP_HIGH, 0) >= 0) || lop_any_stranded(s);
}

/* Work that nobody waits for waits for a green core, which this one is. */
lop_rule bool lop_is_waited_for_in_background(const struct lop_sched *s, u32 cpu)
{
	return lop_is_green(s, cpu) && lop_served_from(s, LOP_GREEN, 0) >= 0;
}

/* The holder of the lock is about to promote a CPU that may be taken, too: the adapter looks again after a slice. */
lop_rule bool lop_is_growing(const struct lop_sched *s) { return s->set[LOP_HIGH].size < lop_target(s, LOP_HIGH); }

/*
 * CPUs that work waits for and that may be taken: each one that a task waits for alone, all open members if work
 * that any member may run waits while a member is idle or should be, and green ones if work waits for these. No CPU makes up
 * for an isolated one.
 */
lop_rule void lop_suspects(const struct lop_sched *s, struct lop_cpus *out)
{
	const struct lop_cpus *high = &s->set[LOP_HIGH].cpus;
	bool waits = lop_served_from(s, LOP_HIGH, 0) >= 0 || lop_any_stranded(s);
	u64 members = lop_all_if(waits && (lop_is_short(s) || lop_cpus_meet(high, &s->idle)));
	u64 green = lop_all_if(lop_has_ladder(s) && lop_served_from(s, LOP_GREEN, 0) >= 0);
	int i;
	lop_for_words(i) {
		u32 n = i & (LOP_CPU_WORDS - 1);
		u64 shared = (high->word[n] & s->open.word[n] & members) | (s->set[LOP_GREEN].cpus.word[n] & green);
		out->word[n] = (shared | lop_counted_on_word(s, n)) & ~s->taken.word[n];
	}
}
