/* SPDX-License-Identifier: Apache-2.0 */
/* The types that policy/ takes from the file that includes it, its rule for arrivals, and that rule for one machine and among many. */
#pragma once
#include <stdbool.h>
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
#include "arrive.h"

/*
 * The domain of a machine that is a better place for `t` than the best so far, which it then becomes; LOP_NONE: none is.
 * `there`: the applications of the first domain, then of the second, and so on.
 */
static inline s32 better_domain(struct lop_fit *best, const struct lop_domain_load *domains, u32 nr, const struct lop_thread *there,
				const struct lop_thread *t)
{
	s32 better = LOP_NONE;
	for (u32 n = 0; n < nr; there += domains[n++].applications)
		if (lop_is_better_place(best, &domains[n], there, t))
			better = (s32)n;
	return better;
}

/* Writes the indexes of the fits that no other is better than, rising, to `best`, which has room for `nr`. Returns how many; 0: nothing fits. */
static inline u32 best_fits(u32 *best, const struct lop_fit *fits, u32 nr)
{
	u32 found = 0;
	for (u32 n = 0; n < nr; n++) {
		if (!fits[n].fits || (found && lop_fits_better(&fits[best[0]], &fits[n])))
			continue;
		if (found && lop_fits_better(&fits[n], &fits[best[0]]))
			found = 0;
		best[found++] = n;
	}
	return found;
}
