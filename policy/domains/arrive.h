/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "gather.h"
/*
 * An application that arrives goes to the memory domain where it fits best; those already there stay.
 * This is gather for applications that arrive one at a time, on any number of machines. Domains are looked at one by
 * one and the best so far is kept, so the caller need not hold all of them at once. An application is one lop_thread:
 * its demand is all that it asks for, 1000 for each core, and it fits into one domain.
 *
 * It goes to a domain where it fits, and of these (our choice):
 *     1. where intensive applications stay apart from all but those of very low intensity, and no predicted time
 *        exceeds that alone by more than 5 %
 *     2. of these, where the most intensive one is most intensive, since few others can go there; so an empty domain
 *        comes last
 *     3. of empty ones, on a machine that has applications, then on one that is on, then on one that is off
 *     4. where least capacity is left
 * If 1 holds nowhere: where others press least. The cost of opening a machine does not count: the application stays
 * where it was put for all of its time.
 * Worked example: domains with 30 MPKI, with 0.5, and with 0.05. One of 0.05 goes to the first, one of 0.5 to the
 * second, one of 30 to the third.
 * Tested in: arrive, fleet/gather, simulator/src/fleet. Studied in: fleet.
 */

#define LOP_ARRIVAL_LATE_PERMILLE 50 /* see 1 */

/* State of the machine of a domain: see 3. */
enum lop_node_state { LOP_NODE_USED, LOP_NODE_EMPTY, LOP_NODE_OFF };

/* A memory domain, and the sums over the applications in it. */
struct lop_domain_load {
	u64 presses_permille;  /* lop_presses_permille() */
	u32 capacity_permille; /* what applications may ask for in all: 1000 for each core */
	u32 demand_permille;
	u32 applications;
	u8 memory;             /* enum lop_memory_class of the most intensive one, unknown as intensive; LOP_MEMORY_UNKNOWN: none */
	u8 node;               /* enum lop_node_state of its machine */
};

/* How well an application fits into a domain. All 0: not at all. */
struct lop_fit {
	u64 presses_permille;  /* what the others press there */
	u32 left_permille;     /* capacity left with the application in it */
	bool fits, apart;      /* it has the capacity; 1 holds */
	u8 memory, node;       /* of the domain, without the application */
};

lop_rule void lop_count_arrived(struct lop_domain_load *d, const struct lop_thread *t)
{
	u8 memory = lop_counts_as_intensive(t) ? LOP_MEMORY_INTENSIVE : t->memory;
	d->presses_permille += lop_presses_permille(t);
	d->demand_permille += t->demand_permille;
	d->applications++;
	d->memory = (u8)lop_max(d->memory, memory);
}

/* Intensive ones go beside very low ones only, moderate ones beside all but intensive ones, very low ones anywhere. */
lop_rule bool lop_may_be_beside(const struct lop_thread *t, u8 memory)
{
	if (lop_counts_as_intensive(t))
		return memory <= LOP_MEMORY_VERY_LOW;
	return t->memory == LOP_MEMORY_VERY_LOW || memory <= LOP_MEMORY_MODERATE;
}

/* With `t` beside the `nr` that are there, no predicted time exceeds that alone by more than 5 %. */
lop_subprog bool lop_all_in_time(const struct lop_thread *there lop_nonnull, u32 nr, const struct lop_thread *t lop_nonnull, u64 presses_permille)
{
	bool in_time = lop_stretch_permille(t, presses_permille) <= 1000 + LOP_ARRIVAL_LATE_PERMILLE;
	u32 n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		if (n >= nr || !in_time)
			break;
		in_time = lop_stretch_permille(&there[n & (LOP_MAX_PLANNED - 1)], presses_permille) <= 1000 + LOP_ARRIVAL_LATE_PERMILLE;
	}
	return in_time;
}

/* By classes alone; predicted times are not checked yet. */
lop_rule void lop_fit_by_class(struct lop_fit *f, const struct lop_domain_load *d, const struct lop_thread *t)
{
	u64 demand = (u64)d->demand_permille + t->demand_permille;
	f->fits = demand <= d->capacity_permille && d->applications < LOP_MAX_PLANNED;
	f->apart = lop_may_be_beside(t, d->memory);
	f->presses_permille = d->presses_permille;
	f->left_permille = f->fits ? (u32)(d->capacity_permille - demand) : 0;
	f->memory = d->memory;
	f->node = d->node;
}

/* In the order above; false for equals. */
lop_rule bool lop_fits_better(const struct lop_fit *a, const struct lop_fit *b)
{
	if (a->fits != b->fits)
		return a->fits;
	if (a->apart != b->apart)
		return a->apart;
	if (!a->apart && a->presses_permille != b->presses_permille)
		return a->presses_permille < b->presses_permille;
	if (a->memory != b->memory)
		return a->memory > b->memory;
	if (a->node != b->node)
		return a->node < b->node;
	return a->left_permille < b->left_permille;
}

/*
 * Whether a domain is a better place for `t` than the best so far, which it then becomes. `there`: the applications
 * that `d` counts. Before the first domain the best is all 0.
 */
lop_rule bool lop_is_better_place(struct lop_fit *best, const struct lop_domain_load *d, const struct lop_thread *there, const struct lop_thread *t)
{
	struct lop_fit fit;
	lop_fit_by_class(&fit, d, t);
	if (!fit.fits || !lop_fits_better(&fit, best))
		return false;
	fit.apart = fit.apart && lop_all_in_time(there, d->applications, t, d->presses_permille + lop_presses_permille(t));
	if (!lop_fits_better(&fit, best))
		return false;
	*best = fit;
	return true;
}
