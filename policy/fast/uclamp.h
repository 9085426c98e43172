/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "gather.h"
/*
 * The kernel's uclamp hint bounds a task's speedup factor (SF).
 * The hint is sched_util_min and sched_util_max, 0 to 1024 of full speed. It is read as a wish for speed. A maximum that the
 * cheapest speed reaches says that nobody waits, too (background.h).
 * Tested in: uclamp. Studied in: none.
 */
/*
 * SF x 1000 for an adapter that measures none (our choice): half of what there is to gain, so that a task that wishes
 * for little ranks behind tasks without a hint, and one that wishes for much ranks before them.
 */
#define LOP_UNMEASURED_SPEEDUP 1500

/*
 * SF x 1000 of a task of known intensity on that scale: the gain from twice the speed, which shortens only the time that
 * is not spent waiting for misses.
 *     SF = 2 - waits
 * Worked example: a task of 10 MPKI waits half of its time: 1.5, the same as a task of which no SF is known. One of 30
 * MPKI waits three quarters: 1.25. One that only computes: 2.0.
 */
lop_rule u32 lop_measured_speedup(u32 mpmi) { return 2000 - lop_waits_permille(mpmi); }

/* SF of a task that is worth a speed of `util` to its owner: 1 + util / 1024, x 1000. */
lop_rule u32 lop_util_permille(u32 util) { return 1000 + (u32)(lop_min(util, LOP_FULL_SPEED) * 1000 / LOP_FULL_SPEED); }

/*
 * SF = clamp(SF, wish(min), wish(max)). An unknown SF (0) becomes wish(min), or wish(max) if min is 0, and stays
 * unknown if neither is set.
 * Worked examples: min 1024, SF 1.1: 2.0, so it is fast work. max 0: 1.0, so it hardly gains. min 0, max 1024:
 * unchanged.
 */
lop_rule u32 lop_clamp_speedup(u32 speedup_permille, u32 min, u32 max)
{
	u32 least = lop_util_permille(min), most = (u32)lop_max(lop_util_permille(max), least);
	if (!speedup_permille && !min)
		return max < LOP_FULL_SPEED ? most : 0;
	if (max >= LOP_FULL_SPEED)
		return (u32)lop_max(speedup_permille, least);
	return (u32)lop_clamp(speedup_permille, least, most);
}
