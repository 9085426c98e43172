/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "specialise.h"
/* The kernel's own hint (uclamp: sched_util_min and sched_util_max, 0 to 1024 of full speed) as a wish for speed. */
#define LOP_FULL_SPEED 1024
/*
 * SF x 1000 for an adapter that measures none (ours): half of what there is to gain, so that who wishes for little ranks behind those who say
 * nothing, and who wishes for much before them.
 */
#define LOP_UNMEASURED_SPEEDUP 1500

/*
 * SF x 1000 of a task of known intensity on that scale, on which twice the speed is all that there is to gain.
 * Worked example: of 10 MPKI it waits half of the time: 1.5, as of which nothing is known. One that only computes: 2.0.
 */
lop_rule u32 lop_measured_speedup(u32 mpmi) { return lop_speedup_of_mpmi(mpmi, 2000); }

/* SF of a task that is worth a speed of `util` to its owner: 1 + util / 1024, x 1000. */
lop_rule u32 lop_wish_permille(u32 util) { return 1000 + (u32)(lop_min(util, LOP_FULL_SPEED) * 1000 / LOP_FULL_SPEED); }

/*
 * SF = clamp(SF, wish(min), wish(max)); one that is not known (0) is what was wished, and stays unknown if nothing was
 * Worked examples: min 1024, SF 1.1: 2.0, so it is fast work. max 0: 1.0, so it hardly gains. min 0, max 1024: as it is.
 */
lop_rule u32 lop_wished_speedup(u32 speedup_permille, u32 min, u32 max)
{
	u32 least = lop_wish_permille(min), most = (u32)lop_max(lop_wish_permille(max), least);
	if (!speedup_permille && !min)
		return max < LOP_FULL_SPEED ? most : 0;
	if (max >= LOP_FULL_SPEED)
		return (u32)lop_max(speedup_permille, least);
	return (u32)lop_clamp(speedup_permille, least, most);
}
