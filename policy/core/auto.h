/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "config.h"
/*
 * Auto has every rule that the machine has a use for; where two conflict, the earlier one in this list decides.
 *     1. domains on      bounds everything: no core of a domain that is off is in a set or gets a task
 *                        (gather.h, domain_power.h)
 *     2. set control     alone decides how many cores are high, and every speed (demand.h, sets.h, pace.h)
 *     3. reserved core   a low one, so never the spare; only if asked for (reserved.h)
 *     4. rank            which tasks get the fast cores: awaited, most work left, SF, turn (rank.h)
 *     5. intensity       intensive threads go apart over the domains that are on (gather.h)
 * The rules act on different time scales: sets 10 ms, phases and locks 1 to 20 ms, plans 1 s, heat minutes. Gather also
 * plans every second: a plan that gains too little predicted EDP is not carried out, and a domain that is off is
 * switched on before work needs it. This file decides which rules a machine has a use for.
 * Tested in: auto. Studied in: hybrid-laptop.
 */

/*
 * What a second is worth, in mW (lambda). Each decision by power weighs a second against joules, and this is its price
 * beside the energy that the machine takes in it:
 *     balanced    the machine's power, so that energy and time count alike: a step lowers E * T if it lowers
 *                 E + lambda * T, as d(ET) = 0 where dE/dT = -E/T
 *     energy      0
 *     speed       more than any machine draws: only time counts
 */
enum lop_goal { LOP_GOAL_BALANCED, LOP_GOAL_ENERGY, LOP_GOAL_SPEED };

struct lop_traits {
	enum lop_goal goal;
	u32 nr_memory_domains, nr_tiers;
	u32 threads_per_core; /* of the core with most; 1: no SMT */
	u32 machine_mw;       /* of the machine with one core busy at the highest speed; 0: no power here is known */
	u32 core_mw;          /* what an idle core draws more when it is kept high */
	u32 domain_mw;        /* the same for its voltage domain */
	bool follows_demand;  /* what the machine ships sets the clock by demand, and that saves energy here */
	bool slow_is_cheaper; /* with all cores busy, work costs less on the slowest kind than on the fastest */
	u64 domain_rise_ns;   /* until the first core of a domain runs at the highest speed */
};

/* What a second of waiting costs, in mW: the energy that the machine takes in it, and lambda. Not for LOP_GOAL_SPEED. */
lop_rule u64 lop_second_mw(const struct lop_traits *m) { return (u64)m->machine_mw * (m->goal == LOP_GOAL_ENERGY ? 1 : 2); }

/*
 * How long the last member stays high when nothing runs, instead of a second (our choice): until its power has cost as
 * much as the rise that it saves.
 *     hold = rise * (machine + lambda) / kept
 * Whenever work comes again, this costs at most twice as much as if that moment were known.
 * Worked example, balanced: a rise of 0.1 ms, 27 W of 105 W kept: 0.78 ms. A machine that needs a second to come back,
 * 180 W of 195 W kept: 2.17 s.
 */
lop_rule u64 lop_break_even_ns(const struct lop_traits *m)
{
	return m->domain_rise_ns * lop_second_mw(m) / lop_max(m->core_mw + m->domain_mw, 1);
}

/*
 * What the power of a high core decides, where it is known:
 *     no spare                    a woken task finds a core that has just fallen idle and is still high, or waits for one rise of 0.1 ms or so; nothing
 *                                 was found to be later without (lop reproduce rules)
 *     h_min                       for as long as that costs no more than it saves; a second where it costs nothing
 *     kinds kept (room.h)         where slow cores are the cheaper ones: a task that sleeps for a moment does not change kinds
 *     light work (light.h)        where what the machine ships follows demand, and that saves
 * For speed all stay as they are, whatever they cost.
 */
lop_rule void lop_leave_out_by_power(struct lop_config *c, const struct lop_traits *m)
{
	if (m->goal == LOP_GOAL_SPEED)
		return;
	c->keeps_kind = m->slow_is_cheaper;
	c->light = m->follows_demand;
	c->spare = 0;
	if (m->core_mw + m->domain_mw)
		c->last_hold_ns = lop_break_even_ns(m);
}

/*
 * What auto leaves out of what lop_choose() chose:
 *     plans for memory domains    where there is one domain
 *     switching domains off       where cores differ in kind, which predicted EDP (gather.h) does not model, where a
 *                                 node's power is not known, or for speed
 *     rank                        where all cores are of one kind
 *     whole cores                 where no core has SMT siblings
 *     spare, and h_min            for energy where no power is known: what they save is the waiting of others
 */
lop_rule void lop_leave_out(struct lop_config *c, const struct lop_traits *m)
{
	if (m->nr_memory_domains == 1)
		c->domains = LOP_DOMAINS_AS_COME;
	else if (m->nr_tiers > 1 || !m->machine_mw || m->goal == LOP_GOAL_SPEED)
		c->domains = LOP_DOMAINS_SPREAD;
	if (m->nr_tiers == 1)
		c->rules &= LOP_WHOLE;
	if (m->threads_per_core < 2)
		c->rules &= ~(u32)LOP_WHOLE;
	if (m->machine_mw) {
		lop_leave_out_by_power(c, m);
	} else if (m->goal == LOP_GOAL_ENERGY) {
		c->spare = 0;
		c->last_hold_ns = c->hold_ns;
	}
}
