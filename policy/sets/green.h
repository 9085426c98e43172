/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "env.h"
/*
 * Green cores run at the speed that takes least energy per work, for tasks that hardly gain from more speed.
 * Tested in: green. Studied in: none.
 */
struct lop_opp {
	u32 busy_mw, idle_mw;
	u32 rate_permille; /* work per time, 1000 at the highest OPP */
};

/*
 * Energy per work at an OPP, in uJ per ms of work at the highest OPP:
 *     machine stays on:      (P(f) - P_idle) / rate(f)
 *     switched off after:     P_total(f)     / rate(f)
 */
lop_rule u64 lop_energy_per_work(const struct lop_opp *opp, bool stays_on)
{
	u64 mw = stays_on ? opp->busy_mw - lop_min(opp->busy_mw, opp->idle_mw) : opp->busy_mw;
	return opp->rate_permille ? mw * 1000 / opp->rate_permille : ~0ULL;
}

/* argmin of energy per work over the OPPs; of equals the faster one (the lowest frequency comes first). */
lop_rule u32 lop_green_opp(const struct lop_opp *opps, u32 nr_opps, bool stays_on)
{
	u64 best = ~0ULL;
	u32 best_opp = 0, n;
	lop_for(n, 0, nr_opps) {
		u64 energy = lop_energy_per_work(&opps[n], stays_on);
		if (energy > best)
			continue;
		best = energy;
		best_opp = n;
	}
	return best_opp;
}
