/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "config.h"
/*
 * A kind of core and its speed are chosen by what work costs there, and what a second of it costs.
 * Tested in: green. Studied in: everything.
 */

/* What a kind of core draws at one of its speeds. */
struct lop_point {
	struct lop_rung at;
	u32 busy_mw;
	u32 sleep_mw;         /* the same core while it has nothing to do */
	u32 shared_mw;        /* what its voltage domain draws more for this speed than for the lowest */
};

/*
 * What work costs there, in uJ for a ms of the fastest kind of core at its highest speed:
 *     (P_busy - P_sleep + P_shared + second) / rate
 * A second costs nothing beside if nobody waits and the machine stays on anyway. If it is on for the work, the rest of the
 * machine counts; if somebody waits, lambda too (auto.h).
 * Worked example (laptop-hybrid): an efficiency core at 800 MHz draws 0.354 W more than asleep, at 0.137 of the rate: 2.58
 * mJ. A performance core at 4700 MHz draws 16.99 W, and 2.06 W for its voltage: 19.1 mJ. With 26.7 W for a second it is 197
 * and 45.8 mJ: if somebody waits, the fast core is cheaper.
 */
lop_rule u64 lop_cost_uj(const struct lop_point *p, u32 second_mw)
{
	return ((u64)p->busy_mw - lop_min(p->busy_mw, p->sleep_mw) + p->shared_mw + second_mw) * 1000 / lop_max(p->at.rate_permille, 1);
}

/* The cheapest of the points; of equals the last: the lowest speed comes first. */
lop_rule u32 lop_cheapest(const struct lop_point *points, u32 nr, u32 second_mw)
{
	u64 best_uj = ~0ULL;
	u32 best = 0, n;
	lop_for(n, 0, nr) {
		u64 cost_uj = lop_cost_uj(&points[n], second_mw);
		if (cost_uj > best_uj)
			continue;
		best_uj = cost_uj;
		best = n;
	}
	return best;
}
