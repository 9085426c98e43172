/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "spread.h"
/*
 * Threads run in as few memory domains as it pays to use, intensive ones apart from all but very low ones.
 * This is power distributed intensity. Domains of one node are switched off together: the first open domain of a node
 * pays for it, the next ones cost nothing.
 * Tested in: gather, steady. Studied in: power-domains, everything.
 */

/*
 * MPKI at which a thread waits for misses half of its time (our choice: 0.4 ns of computing for an instruction, 40 ns
 * that a miss holds it up).
 */
#define LOP_HALF_WAIT_MPMI 10000ULL
/* What is smoothed of counters is off by 14 % (see LOP_SUMS_OFF_PERMILLE); three standard deviations. */
#define LOP_COUNTERS_OFF_PERMILLE 420
/*
 * One more domain is opened if predicted EDP falls by more than 1 % (our choice): below that fewer domains are as good. A
 * plan is carried out for as much, beyond what chance and moves account for.
 */
#define LOP_OPEN_GAIN_PERMILLE 10
/* Numbers of open domains that are tried: beyond 16 in steps of a sixteenth, which is as near as a prediction is (our choice). */
#define LOP_OPEN_STEPS 16
#define LOP_RELABEL_PASSES 4

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

/* Where the thread is at present, if it is anywhere; else, or as planned, where it is to be. */
lop_rule s32 lop_place_of(const struct lop_thread *t, bool present) { return present && t->domain != LOP_NONE ? t->domain : t->wanted_domain; }

/*
 * How far off what a thread presses may be, from the intensity: d waits / waits = (1 - waits) * d mpki / mpki. For a
 * sum the squares add up.
 */
lop_rule u64 lop_presses_squared(const struct lop_thread *t)
{
	u64 varies = (u64)lop_presses_permille(t) * (1000 - lop_waits_permille(t->mpmi)) / 1000;
	return varies * varies;
}

/* Sums for each domain what a prediction needs: what its threads press, how far off that may be, and how many they are. */
lop_subprog u32 lop_sum_presses(struct lop_plan *p lop_nonnull, bool present)
{
	u32 n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n);
		d->presses_permille = d->squares = 0;
		d->threads = d->demand_permille = 0;
	}
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		struct lop_domain *d = lop_domain_at(p, lop_place_of(t, present));
		if (n >= p->nr_threads)
			break;
		d->presses_permille += lop_presses_permille(t);
		d->squares += lop_presses_squared(t);
		d->demand_permille += t->demand_permille;
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

/* What sets the time: the thread that takes longest, and by how much, as predicted. */
struct lop_slowest {
	u32 permille;
	s32 thread;          /* LOP_NONE: none takes longer than alone */
	u64 busy_permille;   /* sum of demand * time */
};

/*
 * Of the time that a thread's work takes only the share in which it runs is stretched; of two threads that take as long the first counts:
 *     T = 1 + demand * (stretch - 1)
 * Worked example: six threads of 30 MPKI that run 2 % of the time press 0.015 each; side by side they are stretched by 5.6 %
 * and take 0.1 % longer.
 */
lop_subprog u32 lop_find_slowest(struct lop_plan *p lop_nonnull, struct lop_slowest *out lop_nonnull, bool present)
{
	u32 n;
	*out = (struct lop_slowest){ .permille = 1000, .thread = LOP_NONE };
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		u32 stretch = lop_stretch_permille(t, lop_domain_at(p, lop_place_of(t, present))->presses_permille), time;
		if (n >= p->nr_threads)
			break;
		time = 1000 + (u32)((u64)(stretch - 1000) * t->demand_permille / 1000);
		if (time > out->permille)
			*out = (struct lop_slowest){ .permille = time, .thread = (s32)n, .busy_permille = out->busy_permille };
		out->busy_permille += (u64)stretch * t->demand_permille / 1000;
	}
	return out->permille;
}

/*
 * Predicted energy-delay product of work that ends with its slowest thread, in mW per unit of work squared:
 *     T   = max of the threads' times
 *     E   = (base + nodes on * node) * T + core * sum of demand * stretch
 *     EDP = E * T
 */
lop_subprog u64 lop_predicted_edp(struct lop_plan *p lop_nonnull, bool present)
{
	struct lop_slowest slowest;
	u64 energy;
	lop_sum_presses(p, present);
	lop_find_slowest(p, &slowest, present);
	energy = (p->base_mw + (u64)lop_nodes_on(p) * p->node_mw) * slowest.permille / 1000 + slowest.busy_permille * p->core_mw / 1000;
	return energy * slowest.permille / 1000;
}

/*
 * Which of two domains gathering gives a thread of that class: for an intensive one the calmest that has capacity, away from
 * other intensive ones while there are domains for them; for a moderate one, of those with capacity, one without an intensive
 * thread; for one of very low intensity the one with most threads. If none has capacity, the calmest.
 */
lop_subprog bool lop_gathers_before(struct lop_plan *p lop_nonnull, u32 a, u32 b, u8 memory)
{
	struct lop_domain *one = lop_domain_at(p, (s32)a), *other = lop_domain_at(p, (s32)b);
	bool fits = lop_domain_has_capacity(p, one), other_fits = lop_domain_has_capacity(p, other);
	bool usable = one->open && one->cores;
	if (usable != (other->open && other->cores))
		return usable;
	if (fits != other_fits)
		return fits;
	if (fits && memory == LOP_MEMORY_MODERATE && !one->intensive != !other->intensive)
		return !one->intensive;
	if (fits && memory == LOP_MEMORY_VERY_LOW)
		return one->threads > other->threads || (one->threads == other->threads && a < b);
	return lop_is_calmer(one, other) || (!lop_is_calmer(other, one) && a < b);
}

/* The better of two entries of the tournament below `n`. */
lop_rule void lop_play(struct lop_plan *p, u32 n, u8 memory)
{
	u32 at = n & (LOP_MAX_MEMORY_DOMAINS - 1);
	u32 a = p->winner[2 * at], b = p->winner[2 * at + 1];
	p->winner[at] = (u16)(lop_gathers_before(p, a, b, memory) ? a : b);
}

/*
 * A tournament of all domains: the winner is in place 1, the domains are in the second half of the places, and whoever wins
 * below 2n and 2n + 1 is in place n. A domain that changes plays its few games again.
 */
lop_subprog u32 lop_begin_tournament(struct lop_plan *p lop_nonnull, u8 memory)
{
	u32 n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) p->winner[LOP_MAX_MEMORY_DOMAINS + n] = (u16)n;
	lop_for(n, 1, LOP_MAX_MEMORY_DOMAINS) lop_play(p, LOP_MAX_MEMORY_DOMAINS - n, memory);
	return p->winner[1];
}

lop_subprog u32 lop_play_again(struct lop_plan *p lop_nonnull, s32 domain, u8 memory)
{
	u32 n, level;
	n = LOP_MAX_MEMORY_DOMAINS + ((u32)domain & (LOP_MAX_MEMORY_DOMAINS - 1));
	lop_for(level, 0, LOP_DOMAIN_BITS) {
		n /= 2;
		lop_play(p, n, memory);
	}
	return p->winner[1];
}

/*
 * Called for intensive threads first, then moderate ones, then those of very low intensity, which is the order by
 * intensity where no class was declared. Threads that share data go side by side.
 */
lop_subprog u32 lop_give_gathered(struct lop_plan *p lop_nonnull, u8 memory)
{
	u32 n;
	lop_begin_tournament(p, memory);
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_by_rank(p, n);
		u8 class = lop_counts_as_intensive(t) ? LOP_MEMORY_INTENSIVE : t->memory;
		s32 own;
		if (n >= p->nr_threads)
			break;
		if (t->wanted_domain != LOP_NONE || class != memory)
			continue;
		own = lop_beside_its_own(p, t);
		lop_give(p, t, own >= 0 ? own : (s32)p->winner[1]);
		lop_play_again(p, t->wanted_domain, memory);
	}
	return n;
}

lop_rule void lop_open_domain(struct lop_plan *p, struct lop_domain *d)
{
	d->open = true;
	lop_domain_at(p, (s32)d->first_of_node)->node_open = true;
	p->open_cores += d->cores;
}

/* The domains of threads that stay are open, and demand is counted at the first domain of each node. */
lop_subprog u32 lop_open_where_threads_stay(struct lop_plan *p lop_nonnull)
{
	u32 first = 0, n;
	p->open_cores = 0;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n);
		if (d->node != lop_domain_at(p, (s32)first)->node)
			first = n;
		d->open = d->node_open = false;
		d->node_demand = 0;
		d->first_of_node = first;
	}
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		struct lop_domain *d = lop_domain_at(p, t->domain);
		if (n >= p->nr_threads)
			break;
		if (t->domain == LOP_NONE)
			continue;
		lop_domain_at(p, (s32)d->first_of_node)->node_demand += t->demand_permille;
		if (lop_stays_put(p, t) && !d->open)
			lop_open_domain(p, d);
	}
	return n;
}

/*
 * The domain to open next: one of an open node, otherwise one of the node whose threads demand most; of equals the first.
 * LOP_NONE: all are open.
 */
lop_subprog s32 lop_next_to_open(struct lop_plan *p lop_nonnull)
{
	s32 best = LOP_NONE;
	u64 best_rank = 0;
	u32 n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n), *node = lop_domain_at(p, (s32)d->first_of_node);
		u64 rank;
		if (n >= p->nr_domains)
			break;
		if (d->open || !d->cores)
			continue;
		rank = node->node_open ? LOP_NO_TIME : node->node_demand;
		if (best >= 0 && rank <= best_rank)
			continue;
		best = (s32)n;
		best_rank = rank;
	}
	return best;
}

/*
 * Threads that are in domain `a` now and that the plan gives to what is called `b` so far. A thread that must stay outweighs
 * all others.
 */
lop_rule u32 *lop_goes(struct lop_plan *p, s32 a, s32 b)
{
	return &p->goes[(u32)a & (LOP_MAX_MEMORY_DOMAINS - 1)][lop_domain_at(p, b)->holds & (LOP_MAX_MEMORY_DOMAINS - 1)];
}

/* Counts threads by where they are and where they are to go, or clears these counts. */
lop_subprog u32 lop_count_goes(struct lop_plan *p lop_nonnull, bool clear)
{
	u32 n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) lop_domain_at(p, (s32)n)->holds = n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		const struct lop_thread *t = lop_thread_at(p, n);
		u32 *goes = lop_goes(p, t->domain, t->wanted_domain);
		if (n >= p->nr_threads)
			break;
		if (t->domain != LOP_NONE)
			*goes = clear ? 0 : *goes + (lop_stays_put(p, t) ? LOP_MAX_PLANNED : 1);
	}
	return n;
}

/* Domains of one size, both open, for which moves are saved if they exchange what they were given. */
lop_rule bool lop_exchange_saves(struct lop_plan *p, s32 a, s32 b)
{
	const struct lop_domain *one = lop_domain_at(p, a), *other = lop_domain_at(p, b);
	return one->open && other->open && one->cores == other->cores && lop_speed_of(one) == lop_speed_of(other) &&
	       *lop_goes(p, a, b) + *lop_goes(p, b, a) > *lop_goes(p, a, a) + *lop_goes(p, b, b);
}

/* One pass over the threads: an exchange can save moves only between where one is and where it is to go. */
lop_subprog bool lop_relabel_once(struct lop_plan *p lop_nonnull)
{
	bool changed = false;
	u32 n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		const struct lop_thread *t = lop_thread_at(p, n);
		s32 a = t->domain, b;
		u32 held;
		if (n >= p->nr_threads)
			break;
		b = (s32)lop_domain_at(p, t->wanted_domain)->named;
		if (a == LOP_NONE || a == b || !lop_exchange_saves(p, a, b))
			continue;
		held = lop_domain_at(p, a)->holds;
		lop_domain_at(p, a)->holds = lop_domain_at(p, b)->holds;
		lop_domain_at(p, b)->holds = held;
		lop_domain_at(p, (s32)lop_domain_at(p, a)->holds)->named = (u32)a;
		lop_domain_at(p, (s32)held)->named = (u32)b;
		changed = true;
	}
	return changed;
}

/*
 * Equal-sized domains are interchangeable, so they are exchanged in pairs until no exchange saves a move. With two
 * domains that gives the fewest moves; with more of them a rotation of three might save another.
 */
lop_rule void lop_relabel(struct lop_plan *p)
{
	u32 pass, n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) lop_domain_at(p, (s32)n)->named = n;
	lop_count_goes(p, false);
	lop_for(pass, 0, LOP_RELABEL_PASSES) {
		if (!lop_relabel_once(p))
			break;
	}
	lop_count_goes(p, true);
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		if (n >= p->nr_threads)
			break;
		t->wanted_domain = (s32)lop_domain_at(p, t->wanted_domain)->named;
	}
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
	lop_begin_plan(p, false);
	lop_give_gathered(p, LOP_MEMORY_INTENSIVE);
	lop_give_gathered(p, LOP_MEMORY_MODERATE);
	lop_give_gathered(p, LOP_MEMORY_VERY_LOW);
	return lop_predicted_edp(p, false);
}

lop_rule bool lop_open_next(struct lop_plan *p)
{
	s32 next = lop_next_to_open(p);
	if (next >= 0)
		lop_open_domain(p, lop_domain_at(p, next));
	return next >= 0;
}

/*
 * Opens the fewest domains that all the demand fits in, one core for each 1000 permille. Returns how many were opened beyond
 * those where threads stay.
 */
lop_rule u32 lop_open_fewest(struct lop_plan *p)
{
	u32 opened = 0, n;
	lop_open_where_threads_stay(p);
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		if ((p->open_cores && lop_has_cores_for_all(p)) || !lop_open_next(p))
			break;
		opened++;
	}
	return opened;
}

/* `edp` is below `than` by more than a gain. */
lop_rule bool lop_is_below(u64 edp, u64 than, u64 gain_permille)
{
	return gain_permille < 1000 && edp < than / 1000 * (1000 - gain_permille);
}

/* Opens the domains of the next try; false: all are open. */
lop_rule bool lop_open_more(struct lop_plan *p, u32 *opened)
{
	u32 step = (u32)lop_max(*opened / LOP_OPEN_STEPS, 1), n;
	bool more = false;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		if (n >= step || !lop_open_next(p))
			break;
		(*opened)++;
		more = true;
	}
	return more;
}

/*
 * Tries numbers of open domains, from the fewest up, and ends with the plan of least predicted EDP, of nearly equal ones
 * that of fewest domains. Returns its EDP.
 */
lop_rule u64 lop_gather_best(struct lop_plan *p)
{
	u64 best = ~0ULL;
	u32 opened = lop_open_fewest(p), n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		u64 edp = lop_gather_on_open(p);
		if (lop_is_below(edp, best, LOP_OPEN_GAIN_PERMILLE)) {
			best = edp;
			lop_relabel(p);
			lop_keep(p, false);
		}
		if (!lop_open_more(p, &opened))
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

/* At present threads of a domain ask for more than its cores, though there are cores for all. */
lop_subprog bool lop_any_crowded(struct lop_plan *p lop_nonnull)
{
	bool crowded = false;
	u64 cores = 0;
	u32 n;
	lop_sum_presses(p, true);
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n);
		if (n >= p->nr_domains)
			break;
		cores += d->cores;
		crowded |= d->demand_permille > 1000 * d->cores + LOP_HALF_CORE_PERMILLE;
	}
	return crowded && p->demand_permille <= 1000 * cores;
}

/* The plan is not worth its moves: each thread that is anywhere stays there. */
lop_subprog u32 lop_stay(struct lop_plan *p lop_nonnull)
{
	u32 n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		if (n >= p->nr_threads)
			break;
		t->wanted_domain = lop_place_of(t, true);
	}
	return 0;
}

lop_subprog u32 lop_count_moves(struct lop_plan *p lop_nonnull)
{
	u32 moves = 0, n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		const struct lop_thread *t = lop_thread_at(p, n);
		if (n >= p->nr_threads)
			break;
		moves += t->domain != LOP_NONE && t->domain != t->wanted_domain;
	}
	return moves;
}

/* Floor of the square root of a number below 2^62. */
lop_rule u64 lop_root(u64 of)
{
	u64 root = 0;
	u32 n;
	lop_for(n, 0, 31) {
		u64 more = root | (1ULL << (30 - n));
		root = more * more <= of ? more : root;
	}
	return root;
}

/*
 * Share of the present EDP that may be chance. The slowest thread sets the time, and EDP goes with its square:
 *     off = 2 * demand * waits * 0.42 * sqrt(sum of squares of how far off the others' presses may be) / T
 * Worked example: three threads of 10 MPKI side by side wait half of their time and press 0.5 each, give or take 0.25 times
 * the error of the counters: T = 1.5, off = 2 * 0.5 * 0.42 * 0.354 / 1.5 = 9.9 %.
 */
lop_subprog u64 lop_off_permille(struct lop_plan *p lop_nonnull)
{
	struct lop_slowest slowest;
	const struct lop_thread *t;
	u64 others;
	lop_sum_presses(p, true);
	lop_find_slowest(p, &slowest, true);
	if (slowest.thread == LOP_NONE)
		return 0;
	t = lop_thread_at(p, (u32)slowest.thread);
	others = lop_domain_at(p, lop_place_of(t, true))->squares - lop_presses_squared(t);
	return 2 * lop_root(others) * LOP_COUNTERS_OFF_PERMILLE / 1000 * lop_presses_permille(t) / slowest.permille;
}

/*
 * The plan is worth its moves: predicted EDP falls by more than chance and the moves account for (each costs what it does in
 * spread.h), or fewer domains do as well, or threads share cores while other cores have none.
 *     gain > 1 % + off + 5 % * moves / threads
 */
lop_rule bool lop_is_worth_gathering(struct lop_plan *p, u64 planned)
{
	u64 now = lop_predicted_edp(p, true), off = lop_off_permille(p);
	bool fewer = lop_domains_used(p, false) < lop_domains_used(p, true);
	u64 moves = lop_count_moves(p) * LOP_MOVE_COST_PERMILLE / lop_max(p->nr_threads, 1);
	return lop_is_below(planned, now, LOP_OPEN_GAIN_PERMILLE + off + moves) ||
	       (fewer && off <= LOP_OPEN_GAIN_PERMILLE && !lop_is_below(now, planned, LOP_OPEN_GAIN_PERMILLE)) || lop_any_crowded(p);
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
