/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "state.h"
/*
 * A thread's memory class follows from the cache misses that were measured; until then it is what the thread declared.
 * Intensity is misses of the last-level cache per thousand instructions (MPKI). It is kept in whole numbers, as misses
 * per million: 1 MPKI is 1000 mpmi.
 * Tested in: intensity. Studied in: memory-domains, power-domains, everything.
 */
#define LOP_INTENSIVE_MPMI 1000ULL /* memory-intensive: above 1 MPKI */
#define LOP_VERY_LOW_MPMI 100ULL   /* very low: below 0.1 MPKI */
#define LOP_KNOWN_AFTER_NS 1000000000ULL

/* In the order of how much other threads feel of it. */
enum lop_memory_class { LOP_MEMORY_UNKNOWN, LOP_MEMORY_VERY_LOW, LOP_MEMORY_MODERATE, LOP_MEMORY_INTENSIVE };

struct lop_intensity {
	u64 measured_ns;  /* for how long counters have been read */
	u32 mpmi;         /* smoothed; 0: nothing measured yet */
	u8 declared;      /* enum lop_memory_class that the application declared; LOP_MEMORY_UNKNOWN: none */
};

/* Misses per million instructions: misses * 10^6 / instructions, rounded. */
lop_rule u32 lop_measured_mpmi(u64 misses, u64 instructions)
{
	if (misses >= instructions)
		return instructions ? 1000000 : 0;
	if (misses >> 40) { /* without their last 20 bits the ratio is as exact and does not overflow */
		misses >>= 20;
		instructions >>= 20;
	}
	return (u32)((misses * 1000000 + instructions / 2) / instructions);
}

/* The thread declares a class. One that this version does not know, of a later version of hints, is no declaration. */
lop_rule void lop_declare_memory(struct lop_intensity *i, u32 class)
{
	i->declared = (u8)(class <= LOP_MEMORY_INTENSIVE ? class : LOP_MEMORY_UNKNOWN);
}

/*
 * smoothed = 0.65 * new + 0.35 * old
 * Worked example: 20 MPKI after 10 MPKI is 16.5 MPKI.
 */
lop_rule u32 lop_smoothed_mpmi(u32 old_mpmi, u32 new_mpmi) { return (u32)((65ULL * new_mpmi + 35ULL * old_mpmi + 50) / 100); }

/*
 * Adds what counters showed in the last `passed_ns`, once a second. The first measurement stands for itself; a thread
 * that did not run adds nothing.
 */
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

/* What was measured for a second goes before what was declared, so that nobody keeps a fast core by what it says. */
lop_rule bool lop_is_measured(const struct lop_intensity *i) { return i->measured_ns >= LOP_KNOWN_AFTER_NS; }

lop_rule enum lop_memory_class lop_memory_class(const struct lop_intensity *i)
{
	return lop_is_measured(i) ? lop_class_of_mpmi(i->mpmi) : (enum lop_memory_class)i->declared;
}

/*
 * Stands for a class without a measured figure (our choice). Unknown counts as intensive, so that without counters and
 * declarations all threads are alike.
 */
lop_rule u32 lop_class_mpmi(enum lop_memory_class class)
{
	switch (class) {
	case LOP_MEMORY_VERY_LOW: return 50;
	case LOP_MEMORY_MODERATE: return 500;
	default: return 10000;
	}
}

/*
 * Intensity to plan with: the measured one, or in the first second that of the declared class if none was measured or the
 * two classes differ.
 */
lop_rule u32 lop_planned_mpmi(const struct lop_intensity *i)
{
	enum lop_memory_class declared = (enum lop_memory_class)i->declared;
	if (lop_is_measured(i) || (i->measured_ns && (declared == LOP_MEMORY_UNKNOWN || declared == lop_class_of_mpmi(i->mpmi))))
		return i->mpmi;
	return lop_class_mpmi(declared);
}
