/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "spread.h"
/*
 * Threads run in as few memory domains as it pays to use, intensive ones apart from all but very low ones.
 * This is power distributed intensity. Domains of one node are switched off together: the first open domain of a node
 * pays for it, the next ones cost nothing.
 * Tested in: gather. Studied in: power-domains, everything.
 */

/*
 * MPKI at which a thread waits for misses half of its time (our choice: 0.4 ns of computing for an instruction, 40 ns
 * that a miss holds it up).
 */
#define LOP_HALF_WAIT_MPMI 10000ULL
/*
 * A plan is carried out if predicted EDP falls by more than 5 % (our choice): new measurements of threads beside others
 * move none of them.
 */
#define LOP_GATHER_GAIN_PERMILLE 50
/*
 * One more domain is opened if predicted EDP falls by more than 1 % (our choice): below that fewer domains are as good.
 */
#define LOP_OPEN_GAIN_PERMILLE 10

/* Share of its time that a thread alone waits for misses: mpki / (mpki + 10). Times demand: what others feel of it. */
lop_rule u32 lop_waits_permille(u32 mpmi) { return (u32)(mpmi * 1000ULL / (mpmi + LOP_HALF_WAIT_MPMI)); }

lop_rule u32 lop_presses_permille(const struct lop_thread *t)
{
	return (u32)((u64)lop_waits_permille(t->mpmi) * t->demand_permille / 1000);
}

/*
 * Predicted time of a thread beside others over its time alone (our choice): while it waits it also waits for those
 * whose misses are served first.
 *     T = 1 + waits * sum of what the others press
 * Worked example: two threads of 30 MPKI wait 0.75 of their time each, and take 1.56 times as long side by side.
 */
lop_rule u32 lop_stretch_permille(const struct lop_thread *t, u64 domain_presses_permille)
{
	u64 others = domain_presses_permille - lop_min(domain_presses_permille, lop_presses_permille(t));
	return (u32)lop_min(1000 + lop_waits_permille(t->mpmi) * others / 1000, 100000);
}

/* Sums for each domain what a prediction needs: what its threads press, and how many there are. */
lop_subprog u32 lop_sum_presses(struct lop_plan *p lop_nonnull, bool present)
{
	u32 n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		lop_domain_at(p, (s32)n)->presses_permille = 0;
		lop_domain_at(p, (s32)n)->threads = 0;
	}
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		struct lop_domain *d = lop_domain_at(p, lop_place_of(t, present));
		if (n >= p->nr_threads)
			break;
		d->presses_permille += lop_presses_permille(t);
		d->threads++;
	}
	return n;
}

/*
 * Nodes with a thread, counted at the first of their domains that has one. The domains of a node have adjacent numbers.
 */
lop_subprog u32 lop_nodes_on(struct lop_plan *p lop_nonnull)
{
	u32 nodes = 0, n;
	s32 counted = LOP_NONE;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n);
		if (n >= p->nr_domains)
			break;
		if (!d->threads || (s32)d->node == counted)
			continue;
		counted = (s32)d->node;
		nodes++;
	}
	return nodes;
}

/*
 * Predicted energy-delay product of work that ends with its slowest thread, in mW per unit of work squared:
 *     T   = max of the threads' times
 *     E   = (base + nodes on * node) * T + core * sum of demand * time
 *     EDP = E * T
 */
lop_subprog u64 lop_predicted_edp(struct lop_plan *p lop_nonnull, bool present)
{
	u64 slowest = 1000, busy = 0, energy;
	u32 n;
	lop_sum_presses(p, present);
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		u32 stretch = lop_stretch_permille(t, lop_domain_at(p, lop_place_of(t, present))->presses_permille);
		if (n >= p->nr_threads)
			break;
		slowest = lop_max(slowest, stretch);
		busy += (u64)stretch * t->demand_permille / 1000;
	}
	energy = (p->base_mw + (u64)lop_nodes_on(p) * p->node_mw) * slowest / 1000 + busy * p->core_mw / 1000;
	return energy * slowest / 1000;
}

/* The open domain with capacity that has most threads; if none has capacity, the calmest. */
lop_subprog s32 lop_fullest(struct lop_plan *p lop_nonnull)
{
	s32 best = LOP_NONE;
	u32 n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n);
		if (n >= p->nr_domains)
			break;
		if (!lop_domain_has_capacity(p, d) || (best >= 0 && d->threads <= lop_domain_at(p, best)->threads))
			continue;
		best = (s32)n;
	}
	return best >= 0 ? best : lop_calmest(p, false);
}

/*
 * Where gathering puts a thread: beside those that it shares data with; an intensive one in the calmest domain, away
 * from other intensive ones while there are domains for them; a moderate one in a domain without an intensive one, if
 * one has capacity; one of very low intensity where most threads are.
 */
lop_rule s32 lop_gathering_place(struct lop_plan *p, const struct lop_thread *t)
{
	s32 own = lop_beside_its_own(p, t), quiet;
	if (own >= 0)
		return own;
	if (lop_counts_as_intensive(t))
		return lop_calmest(p, false);
	if (t->memory == LOP_MEMORY_VERY_LOW)
		return lop_fullest(p);
	quiet = lop_calmest(p, true);
	return quiet >= 0 ? quiet : lop_calmest(p, false);
}

/*
 * Called for intensive threads first, then moderate ones, then those of very low intensity, which is the order by
 * intensity where no class was declared.
 */
lop_subprog u32 lop_give_gathered(struct lop_plan *p lop_nonnull, u8 memory)
{
	u32 n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_by_rank(p, n);
		u8 class = lop_counts_as_intensive(t) ? LOP_MEMORY_INTENSIVE : t->memory;
		if (n >= p->nr_threads)
			break;
		if (t->wanted_domain == LOP_NONE && class == memory)
			lop_give(p, t, lop_gathering_place(p, t));
	}
	return n;
}

/*
 * The domains of threads that stay are open, and as many more as all the demand needs: one core for each 1000 permille.
 */
lop_rule bool lop_needs_more_cores(const struct lop_plan *p) { return (u64)p->open_cores * 1000 < p->demand_permille; }

lop_subprog u32 lop_open_where_threads_stay(struct lop_plan *p lop_nonnull)
{
	u32 n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) lop_domain_at(p, (s32)n)->open = false;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		if (n >= p->nr_threads)
			break;
		if (lop_stays_put(p, t))
			lop_domain_at(p, t->domain)->open = true;
	}
	return n;
}

lop_subprog u32 lop_threads_there(struct lop_plan *p lop_nonnull, u32 node)
{
	u32 there = 0, n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		if (n >= p->nr_threads)
			break;
		there += t->domain != LOP_NONE && lop_domain_at(p, t->domain)->node == node;
	}
	return there;
}

lop_subprog bool lop_node_is_open(struct lop_plan *p lop_nonnull, u32 node)
{
	bool open = false;
	u32 n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n);
		if (n >= p->nr_domains)
			break;
		open |= d->open && d->node == node;
	}
	return open;
}

/*
 * The domain to open next: one of an open node, otherwise one of the node where most threads are; of equals the first.
 * LOP_NONE: all are open.
 */
lop_subprog s32 lop_next_to_open(struct lop_plan *p lop_nonnull)
{
	s32 best = LOP_NONE;
	u32 best_rank = 0, n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n);
		u32 rank;
		if (n >= p->nr_domains)
			break;
		if (d->open || !d->cores)
			continue;
		rank = lop_node_is_open(p, d->node) ? LOP_MAX_PLANNED + 1 : lop_threads_there(p, d->node);
		if (best >= 0 && rank <= best_rank)
			continue;
		best = (s32)n;
		best_rank = rank;
	}
	return best;
}

/* Saves the plan as the best so far, or restores that one (`take`). */
lop_subprog u32 lop_keep(struct lop_plan *p lop_nonnull, bool take)
{
	u32 n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		if (n >= p->nr_threads)
			break;
		if (take)
			t->wanted_domain = t->kept;
		else
			t->kept = t->wanted_domain;
	}
	return n;
}

/* Plans all threads on the domains that are open now; returns the predicted EDP. */
lop_subprog u64 lop_gather_on_open(struct lop_plan *p lop_nonnull)
{
	lop_begin_plan(p);
	lop_give_gathered(p, LOP_MEMORY_INTENSIVE);
	lop_give_gathered(p, LOP_MEMORY_MODERATE);
	lop_give_gathered(p, LOP_MEMORY_VERY_LOW);
	return lop_predicted_edp(p, false);
}

lop_rule bool lop_open_next(struct lop_plan *p)
{
	s32 next = lop_next_to_open(p);
	if (next >= 0)
		lop_domain_at(p, next)->open = true;
	return next >= 0;
}

/* Opens the fewest domains that all the demand fits in. */
lop_rule void lop_open_fewest(struct lop_plan *p)
{
	u32 n;
	lop_open_where_threads_stay(p);
	lop_begin_plan(p);
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		if (p->open_cores && !lop_needs_more_cores(p))
			break;
		if (!lop_open_next(p))
			break;
		lop_begin_plan(p);
	}
}

/* `edp` is below `than` by more than a gain. */
lop_rule bool lop_is_below(u64 edp, u64 than, u64 gain_permille) { return edp < than / 1000 * (1000 - gain_permille); }

/*
 * Tries every number of open domains, from the fewest up, and ends with the plan of least predicted EDP, of nearly
 * equal ones that of fewest domains. Returns its EDP.
 */
lop_rule u64 lop_gather_best(struct lop_plan *p)
{
	u64 best = ~0ULL;
	u32 n;
	lop_open_fewest(p);
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		u64 edp = lop_gather_on_open(p);
		if (lop_is_below(edp, best, LOP_OPEN_GAIN_PERMILLE)) {
			best = edp;
			lop_relabel(p);
			lop_keep(p, false);
		}
		if (!lop_open_next(p))
			break;
	}
	lop_keep(p, true);
	return best;
}

/* Domains with a thread, at present or as planned. */
lop_subprog u32 lop_domains_used(struct lop_plan *p lop_nonnull, bool present)
{
	u32 used = 0, n;
	lop_sum_presses(p, present);
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) used += lop_domain_at(p, (s32)n)->threads != 0;
	return used;
}

/*
 * The plan is worth its moves: predicted EDP falls by more than 5 %, or fewer domains do as well, or threads share
 * cores while other cores have none.
 */
lop_rule bool lop_is_worth_gathering(struct lop_plan *p, u64 planned)
{
	u64 now = lop_predicted_edp(p, true);
	bool fewer = lop_domains_used(p, false) < lop_domains_used(p, true);
	return lop_is_below(planned, now, LOP_GATHER_GAIN_PERMILLE) || (fewer && !lop_is_below(now, planned, LOP_OPEN_GAIN_PERMILLE)) ||
	       lop_is_crowded(p);
}

/*
 * Gather: domains beyond those that the demand needs are opened only if predicted EDP falls. Intensive threads that
 * have to share domains are spread over those that are open. Returns how many threads move. A domain that the plan
 * gives no thread can be switched off: see domain_power.h.
 */
lop_rule u32 lop_gather(struct lop_plan *p)
{
	u64 planned;
	lop_sort_threads(p);
	planned = lop_gather_best(p);
	if (!lop_is_worth_gathering(p, planned))
		return lop_stay(p);
	return lop_note_moves(p);
}

/* Whether a plan puts a thread into this domain. */
lop_subprog bool lop_is_wanted(struct lop_plan *p lop_nonnull, s32 domain)
{
	bool wanted = false;
	u32 n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		if (n >= p->nr_threads)
			break;
		wanted |= lop_thread_at(p, n)->wanted_domain == domain;
	}
	return wanted;
}
