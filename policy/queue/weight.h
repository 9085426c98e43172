/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "state.h"
/*
 * Weights are those of the kernel's fair class: 1024 for nice 0 and for a cpu.weight of 100.
 * On a scale of 100, nice 18 and 19 would be 1.8 and 1.4, too coarse for whole numbers.
 * Tested in: fair. Studied in: none.
 */
#define LOP_WEIGHT_DEFAULT 1024
/* SCHED_IDLE, and cpu.idle of a cgroup. */
#define LOP_WEIGHT_IDLE 3
/* cpu.weight 10000, the largest; nice -20 is 88818. */
#define LOP_WEIGHT_MOST (100 * LOP_WEIGHT_DEFAULT)

/*
 * Each nice level is a factor of 5/4.
 *     w = 1024 * 1.25^-nice, rounded
 * Worked example: nice 0 1024, nice 10 1024 / 9.313 = 110, nice 18 18, nice 19 15.
 */
static const u32 lop_nice_weights[40] = { /* from nice -20 on */
	88818, 71054, 56843, 45475, 36380, 29104, 23283, 18626, 14901, 11921,
	9537, 7629, 6104, 4883, 3906, 3125, 2500, 2000, 1600, 1280,
	1024, 819, 655, 524, 419, 336, 268, 215, 172, 137,
	110, 88, 70, 56, 45, 36, 29, 23, 18, 15,
};
lop_rule u32 lop_weight_of_nice(s32 nice) { return lop_nice_weights[lop_clamp((u64)(nice + 20), 0, 39)]; }

/* cpu.weight, 1 to 10000: w = 1024 * cpu.weight / 100, rounded, as the kernel does. */
lop_rule u32 lop_weight_of_share(u32 cpu_weight) { return (u32)((lop_clamp(cpu_weight, 1, 10000) * LOP_WEIGHT_DEFAULT + 50) / 100); }
