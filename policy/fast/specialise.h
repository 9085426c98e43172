/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "gather.h"
#include "rank.h"
/*
 * On cores that differ, threads that gain most from speed exchange cores with those that gain least.
 * A plan is made once a second. It is pure, like spread.h. A fast core that falls idle between two plans takes a thread
 * from a slow one by rank (pull.h), since exchanges alone would leave it empty.
 * Tested in: specialise. Studied in: everything.
 */

/* An adapter that never makes such exchanges defines this as false, so the verifier drops the code for them. */
#ifndef lop_has_specialists
#define lop_has_specialists(s) ((s)->config.specialise)
#endif

struct lop_specialist {
	u64 moved_ns;          /* when a plan moved it last; 0: never */
	u32 speedup_permille;  /* SF between slow and fast cores x 1000; 0: unknown, it stays */
	s32 cpu;               /* CPU that it runs on; LOP_NONE: it waits, and is placed when it is to run */
	s32 wanted_cpu;        /* result: CPU that it changes to; LOP_NONE: it stays */
	u16 tier;              /* kind of that CPU, 0 the fastest */
	bool fixed;            /* may not run on every CPU, or has its core by length */
	u8 class;              /* enum lop_class: it changes only with threads of its class */
};

struct lop_cast {
	u64 now_ns;
	u32 nr_threads;
	struct lop_specialist thread[LOP_MAX_PLANNED];
};

lop_rule struct lop_specialist *lop_specialist_at(struct lop_cast *c, u32 n) { return &c->thread[n & (LOP_MAX_PLANNED - 1)]; }

/*
 * SF from intensity: a faster core shortens only the time that is not spent waiting for misses. `ratio`: how much
 * faster, x 1000.
 *     SF = ratio - waits * (ratio - 1)
 * Worked example: a thread of 30 MPKI waits 0.75 of its time; on a core of twice the speed SF = 2 - 0.75 = 1.25.
 */
lop_rule u32 lop_speedup_of_mpmi(u32 mpmi, u32 ratio_permille)
{
	u32 above = ratio_permille - (u32)lop_min(ratio_permille, 1000);
	return ratio_permille - (u32)((u64)lop_waits_permille(mpmi) * above / 1000);
}

/*
 * The thread can change cores: it runs, is not fixed, its SF is known, and it is in no exchange yet and was in none for
 * two seconds.
 */
lop_rule bool lop_can_change(const struct lop_cast *c, const struct lop_specialist *t)
{
	return t->cpu != LOP_NONE && !t->fixed && t->speedup_permille && t->wanted_cpu == LOP_NONE &&
	       !(t->moved_ns && c->now_ns - t->moved_ns < LOP_MOVE_REST_NS);
}

/*
 * Of a class the thread that gains least on kinds up to `tier` (`fast`), or most on slower ones. LOP_NONE: there is none.
 */
lop_subprog s32 lop_extreme_gain(struct lop_cast *c lop_nonnull, u32 class, u32 tier, bool fast)
{
	s32 best = LOP_NONE;
	u32 best_permille = 0, n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_specialist *t = lop_specialist_at(c, n);
		if (n >= c->nr_threads)
			break;
		if (!lop_can_change(c, t) || t->class != class || (t->tier <= tier) != fast)
			continue;
		if (best >= 0 && (fast ? t->speedup_permille >= best_permille : t->speedup_permille <= best_permille))
			continue;
		best = (s32)n;
		best_permille = t->speedup_permille;
	}
	return best;
}

/*
 * Exchanges the thread that gains most on kinds slower than `tier` with the one that gains least on the others. False: no
 * exchange is worth it.
 */
lop_subprog bool lop_exchange_one(struct lop_cast *c lop_nonnull, u32 class, u32 tier)
{
	s32 up = lop_extreme_gain(c, class, tier, false), down = lop_extreme_gain(c, class, tier, true);
	struct lop_specialist *rises = lop_specialist_at(c, (u32)up), *sinks = lop_specialist_at(c, (u32)down);
	if (up < 0 || down < 0 || !lop_gains_more(rises->speedup_permille, sinks->speedup_permille))
		return false;
	rises->wanted_cpu = sinks->cpu;
	sinks->wanted_cpu = rises->cpu;
	rises->moved_ns = sinks->moved_ns = c->now_ns;
	return true;
}

/* Exchanges within a class until no gap of more than 10 % is left across `tier`. Returns how many threads change cores. */
lop_subprog u32 lop_specialise_class(struct lop_cast *c lop_nonnull, u32 class, u32 tier)
{
	u32 n, moves = 0;
	lop_for(n, 0, LOP_MAX_PLANNED / 2) {
		if (!lop_exchange_one(c, class, tier))
			break;
		moves += 2;
	}
	return moves;
}

/*
 * Exchanges threads across kinds, within each class only, since class goes before SF (rank.h). Returns how many threads
 * change cores.
 * Worked example: SF 1.2 and 1.9 on fast cores, 1.25 and 2.0 on slow ones: 2.0 changes with 1.2, and 1.25 does not
 * change with 1.9. If 1.2 is awaited it stays, and 2.0 does not change with 1.9 either. If those on slow cores are
 * awaited too, 2.0 changes with 1.2. Of three kinds the fastest is served first, then the second: 2.0 on the second and 1.2
 * on the third stay, 1.2 on the second and 2.0 on the third change.
 */
lop_rule u32 lop_specialise(struct lop_cast *c)
{
	u32 n, tier, moves = 0;
	lop_for(n, 0, LOP_MAX_PLANNED) lop_specialist_at(c, n)->wanted_cpu = LOP_NONE;
	lop_for(tier, 0, LOP_MAX_TIERS - 1) {
		lop_for_few(n, 0, LOP_CLASSES) moves += lop_specialise_class(c, n, tier);
	}
	return moves;
}
