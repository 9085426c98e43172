/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "config.h"
#include "green.h"
/*
 * All together. Where two rules meet, who comes first decides; each rule is in the file that is named:
 *     1. domains on      bound everything: no core of a domain that is off is in a set, and nobody is moved there (gather.h, domain_power.h)
 *     2. set control     alone decides how many cores are high, and every speed (demand.h, sets.h, green.h)
 *     3. reserved core   a low one, so never the spare; only where it is asked for (reserved.h) or the load is barrier-bound (barrier.h)
 *     4. rank            who gets the fast cores: awaited, most work left, SF, turn (rank.h)
 *     5. low SF          goes to slow kinds or green cores, intensive threads apart over the domains that are on (specialise.h, gather.h)
 * Their times are apart: sets 10 ms, phases and locks 1 to 20 ms, plans 1 s (also those of gather: what is not worth it is not done,
 * by predicted EDP, and a domain that is off is on again before work needs it), heat minutes. Here is which of them a machine has use for.
 */
struct lop_traits {
	u32 nr_memory_domains, nr_tiers;
	u32 threads;          /* of a core, where it has most; 1: no SMT */
	u32 machine_mw;       /* of the machine with one core busy at the highest speed; 0: nobody knows what anything here draws */
	u32 core_mw;          /* of an idle core that is kept high, beyond that of a low one */
	u32 domain_mw;        /* the same of its voltage domain */
	u64 rise_ns;          /* until a low core is at the highest speed */
	u64 domain_rise_ns;   /* until the first core of a domain is */
	struct lop_opp green; /* the most energy-efficient speed for the work that gains least from speed, and the highest, for the same work */
	struct lop_opp top;
};

/*
 * Whether it pays to keep an idle core high (ours). It saves a rise each time that the set would grow, which for each core is once in T_hold at
 * most; EDP goes with the square of the time. It costs power all the time. The rise of a domain that is off is not counted: kept on for it a domain would
 * never be off, however long nothing runs.
 *     2 * rise / T_hold > kept / machine
 * Worked example: 0.1 ms of 10 ms save 2 % at most. 3 W of 450 W pay, 6.2 W of 117 W do not.
 */
lop_rule bool lop_keeping_pays(const struct lop_traits *m, u64 hold_ns)
{
	return 2 * m->rise_ns * m->machine_mw > (u64)(m->core_mw + m->domain_mw) * hold_ns;
}

/*
 * How long the last member stays when nothing runs, instead of a second (ours): until what it draws has cost as much as the rise that it saves.
 *     hold = 2 * rise / (kept / machine)
 * Whenever work comes again, that costs twice at most what it would if the moment were known.
 * Worked example: 0.1 ms of 105 W beside 27 W that are kept: 0.78 ms. A machine that is back after a second, 180 W of 195: 2.17 s.
 */
lop_rule u64 lop_break_even_ns(const struct lop_traits *m)
{
	return 2 * m->domain_rise_ns * m->machine_mw / lop_max(m->core_mw + m->domain_mw, 1);
}

/*
 * By the same reasoning the share of T_hold that migrations may cost before one more member is cheaper, whose voltage domain is on; 1 % at least (ours):
 *     2 * share > core / machine
 * Worked example: 5.5 W of 133 W are worth 2 % of the time.
 */
lop_rule u32 lop_room_permille(const struct lop_traits *m) { return (u32)lop_max(500ULL * m->core_mw / lop_max(m->machine_mw, 1), 10); }

/*
 * Whether green cores lower the EDP of the whole machine (ours), of which the rest goes on drawing power for as long as the work takes.
 *     EDP(f) = (rest + P(f)) / rate(f)^2
 * Worked example: 0.5 W beside, 1.0 W at the top and 0.18 W at 0.83 of the rate: 0.99 against 1.5. With 60 W beside it is 87 against 61.
 */
lop_rule bool lop_green_pays(const struct lop_traits *m)
{
	u64 rest_mw = m->machine_mw - lop_min(m->top.busy_mw, m->machine_mw);
	u64 green = (rest_mw + m->green.busy_mw) * m->top.rate_permille * m->top.rate_permille;
	return green < (rest_mw + m->top.busy_mw) * m->green.rate_permille * m->green.rate_permille;
}

/*
 * What it costs to keep a core high decides, where that is known:
 *     the spare                   left out where keeping an idle core high costs more than it saves
 *     h_min                       for as long as that costs no more than it saves; a second where it costs nothing
 *     green cores                 where the whole machine's EDP does not fall, or slow kinds do their work without slowing others
 */
lop_rule void lop_leave_out_by_power(struct lop_config *c, const struct lop_traits *m)
{
	if (!lop_keeping_pays(m, c->hold_ns))
		c->spare = 0;
	if (m->core_mw + m->domain_mw)
		c->last_hold_ns = lop_break_even_ns(m);
	c->room_permille = lop_room_permille(m);
	c->green = m->nr_tiers == 1 && lop_green_pays(m);
}

/*
 * What auto leaves out, of all that lop_choose() chose:
 *     plans for memory domains    where there is one
 *     switching domains off       where cores differ in kind, which predicted EDP (gather.h) knows nothing of, or where nobody knows what
 *                                 a node draws
 *     rank, specialise            where no core is fast beside others
 *     whole cores                 where none has SMT siblings
 *     a reserved core             where cores differ in kind, so that threads of one application are not alike, or where nobody knows what
 *                                 anything draws
 */
lop_rule void lop_leave_out(struct lop_config *c, const struct lop_traits *m)
{
	if (m->nr_memory_domains == 1)
		c->domains = LOP_DOMAINS_AS_COME;
	else if (m->nr_tiers > 1 || !m->machine_mw)
		c->domains = LOP_DOMAINS_SPREAD;
	if (m->nr_tiers == 1) {
		c->rules &= LOP_WHOLE;
		c->specialise = false;
	}
	if (m->threads < 2)
		c->rules &= ~(u32)LOP_WHOLE;
	if (m->nr_tiers > 1 || !m->machine_mw)
		c->reserve = LOP_RESERVE_NEVER;
	if (m->machine_mw)
		lop_leave_out_by_power(c, m);
}
