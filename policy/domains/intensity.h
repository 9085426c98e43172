/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "state.h"
/*
 * How a thread uses the memory that its domain shares. Intensity is misses of the last-level cache per thousand instructions (MPKI); in
 * whole numbers it is kept as misses per million, so 1 MPKI is 1000 mpmi.
 */
#define LOP_INTENSIVE_MPMI 1000ULL /* memory-intensive: above 1 MPKI */
#define LOP_VERY_LOW_MPMI 100ULL   /* very low: below 0.1 MPKI */
#define LOP_KNOWN_AFTER_NS 1000000000ULL

/* The order of the names is that of how much others feel of it. */
enum lop_memory_class { LOP_MEMORY_UNKNOWN, LOP_MEMORY_VERY_LOW, LOP_MEMORY_MODERATE, LOP_MEMORY_INTENSIVE };

struct lop_intensity {
	u64 measured_ns;  /* for how long counters have been read */
	u32 mpmi;         /* smoothed; 0 while nothing has been measured */
	u8 declared;      /* enum lop_memory_class that the application declared; LOP_MEMORY_UNKNOWN: nothing */
};

/* Misses per million instructions: misses * 10^6 / instructions, rounded. */
lop_rule u32 lop_measured_mpmi(u64 misses, u64 instructions)
{
	if (misses >= instructions)
		return instructions ? 1000000 : 0;
	if (misses >> 40) { /* their ratio is as exact without the last 20 bits, and does not overflow */
		misses >>= 20;
		instructions >>= 20;
	}
	return (u32)((misses * 1000000 + instructions / 2) / instructions);
}

/*
 * smoothed = 0.65 * new + 0.35 * old
 * Worked example: 20 MPKI after 10 MPKI is 16.5 MPKI.
 */
lop_rule u32 lop_smoothed_mpmi(u32 old_mpmi, u32 new_mpmi) { return (u32)((65ULL * new_mpmi + 35ULL * old_mpmi + 50) / 100); }

/* What counters showed in the last `passed_ns`, once a second. The first measurement stands for itself; a thread that did not run shows nothing. */
lop_rule void lop_note_counters(struct lop_intensity *i, u64 misses, u64 instructions, u64 passed_ns)
{
	u32 mpmi = lop_measured_mpmi(misses, instructions);
	if (!instructions)
		return;
	i->mpmi = i->measured_ns ? lop_smoothed_mpmi(i->mpmi, mpmi) : mpmi;
	i->measured_ns += passed_ns;
}

lop_rule enum lop_memory_class lop_class_of_mpmi(u32 mpmi)
{
	if (mpmi > LOP_INTENSIVE_MPMI)
		return LOP_MEMORY_INTENSIVE;
	return mpmi < LOP_VERY_LOW_MPMI ? LOP_MEMORY_VERY_LOW : LOP_MEMORY_MODERATE;
}

/* What was declared goes before what was measured, and that counts once it has been measured for a second. */
lop_rule enum lop_memory_class lop_memory_class(const struct lop_intensity *i)
{
	if (i->declared != LOP_MEMORY_UNKNOWN)
		return (enum lop_memory_class)i->declared;
	return i->measured_ns < LOP_KNOWN_AFTER_NS ? LOP_MEMORY_UNKNOWN : lop_class_of_mpmi(i->mpmi);
}

/* Stands for a class of which no figure is known (ours): unknown as intensive, so that without counters and declarations all are alike. */
lop_rule u32 lop_class_mpmi(enum lop_memory_class class)
{
	switch (class) {
	case LOP_MEMORY_VERY_LOW: return 50;
	case LOP_MEMORY_MODERATE: return 500;
	default: return 10000;
	}
}

/* Intensity to plan with: as measured, unless it was not or what was declared says otherwise. */
lop_rule u32 lop_planned_mpmi(const struct lop_intensity *i)
{
	enum lop_memory_class declared = (enum lop_memory_class)i->declared;
	if (i->measured_ns && (declared == LOP_MEMORY_UNKNOWN || declared == lop_class_of_mpmi(i->mpmi)))
		return i->mpmi;
	return lop_class_mpmi(declared);
}
