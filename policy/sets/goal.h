/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "record.h"
#include "sets.h"
/*
 * A change of the goal changes the sets and plans of the running scheduler, and moves no task by itself (our choice).
 *     1. spare: the set grows at once; a member beyond the target is surplus from the change on
 *     2. h_min: counts from the moment at which the last member became surplus
 *     3. kinds kept: from the next wakeup on
 *     4. domains: the next plan goes by them; without gather all are on at once, since no plan of spread switches one on
 * auto.h chooses these by the goal. It chooses light work (light.h) by the goal too: tasks that have such homes lose them
 * only with the whole state, so an adapter starts again where a change of the goal changes that.
 * Worked example: nothing is active, a spare is high, and 40 ms ago a second member became surplus with a hold of 1 s. The new goal
 * has no spare and an h_min of 30 ms. The second member has the T_hold of any other, 10 ms, which is over: it leaves at once. The
 * spare became surplus with the change: it leaves 30 ms later.
 * Tested in: goal. Studied in: none.
 */

lop_rule void lop_switch_all_on(struct lop_sched *s)
{
	int i;
	lop_for_words(i) lop_atomic_and(&s->off.word[i & (LOP_CPU_WORDS - 1)], 0);
}

/* Takes what follows from the new goal, and settles the sets. Whether plans for memory domains are made stays as it is. */
lop_rule void lop_set_goal(struct lop_sched *s, struct lop_world *world, const struct lop_goal_config *goal, u64 now_ns)
{
	u32 before = lop_target(s, LOP_HIGH);
	lop_assert((goal->domains != LOP_DOMAINS_AS_COME) == lop_has_domains(s));
	s->config.spare = (u32)goal->spare;
	s->config.last_hold_ns = goal->last_hold_ns;
	s->config.keeps_kind = goal->keeps_kind;
	s->config.domains = (enum lop_domains)goal->domains;
	if (lop_has_domains(s) && goal->domains != LOP_DOMAINS_GATHER)
		lop_switch_all_on(s);
	lop_target_fell(&s->set[LOP_HIGH], before, lop_target(s, LOP_HIGH), now_ns);
	lop_settle(s, world, LOP_NONE, now_ns);
}
