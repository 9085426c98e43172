/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "config.h"
#include "intensity.h"
/*
 * Once a second threads are given to memory domains so that no domain has more misses to serve than it must.
 * This is distributed intensity. A plan is pure: threads with their intensities and places go in, the places where they
 * are to be come out.
 * Tested in: spread. Studied in: memory-domains, everything.
 */
#define LOP_MAX_PLANNED 512
#define LOP_MOVE_REST_NS (2000 * LOP_MS_NS) /* no thread moves twice within this time */
#define LOP_RELABEL_PASSES 4

struct lop_thread {
	u64 moved_ns;        /* when a plan moved it last; 0: never */
	u32 mpmi;            /* intensity, lop_planned_mpmi() */
	u32 demand_permille; /* share of the last second in which it ran or waited to run */
	s32 domain;          /* memory domain that it is in; LOP_NONE: it has not run yet */
	s32 wanted_domain;   /* result: memory domain that it is to be in */
	u32 together;        /* threads of one number share data, by declaration, and stay in one domain; 0: none */
	s32 kept;            /* result of the best plan so far, see gather.h */
	u8 memory;           /* enum lop_memory_class */
	bool fixed;          /* may not run in every domain: it counts where it is */
};

/* A memory domain, and what the plan gives it so far. */
struct lop_domain {
	u64 sum_mpmi;        /* lop_brings_mpmi() of its threads */
	u64 presses_permille; /* lop_presses_permille() of its threads, for gather.h */
	u32 cores;           /* online */
	u32 node;            /* its domains are switched off together: see gather.h */
	u32 threads;
	u32 intensive;       /* of these the intensive ones, unknown ones included */
	u32 demand_permille;
	bool open;           /* may be given threads */
};

struct lop_plan {
	u64 now_ns;
	u32 nr_threads, nr_domains;
	u32 open_cores, demand_permille;   /* of open domains, of all threads */
	u32 base_mw, node_mw, core_mw;     /* for gather.h: machine with all nodes off, each node on, each busy core */
	struct lop_thread thread[LOP_MAX_PLANNED];
	u16 order[LOP_MAX_PLANNED];        /* threads by lop_brings_mpmi(), highest first */
	struct lop_domain domain[LOP_MAX_MEMORY_DOMAINS];
};

/*
 * Whether a plan is made for a thread. Threads of unknown class, without counters and declaration, are all alike:
 * exchanging them gains nothing. If only_known is set, they stay where they are.
 */
lop_rule bool lop_is_planned(const struct lop_config *c, enum lop_memory_class memory)
{
	return !c->only_known || memory != LOP_MEMORY_UNKNOWN;
}

lop_rule struct lop_thread *lop_thread_at(struct lop_plan *p, u32 n) { return &p->thread[n & (LOP_MAX_PLANNED - 1)]; }
lop_rule struct lop_domain *lop_domain_at(struct lop_plan *p, s32 n) { return &p->domain[(u32)n & (LOP_MAX_MEMORY_DOMAINS - 1)]; }
lop_rule struct lop_thread *lop_thread_by_rank(struct lop_plan *p, u32 rank)
{
	return lop_thread_at(p, p->order[rank & (LOP_MAX_PLANNED - 1)]);
}

/* What a thread adds to the sum of its domain: intensity * demand. */
lop_rule u64 lop_brings_mpmi(const struct lop_thread *t) { return (u64)t->mpmi * t->demand_permille / 1000; }

lop_rule bool lop_counts_as_intensive(const struct lop_thread *t)
{
	return t->memory == LOP_MEMORY_INTENSIVE || t->memory == LOP_MEMORY_UNKNOWN;
}

/* The thread stays where it is, whatever would be better: it may not leave, or was moved less than two seconds ago. */
lop_rule bool lop_stays_put(const struct lop_plan *p, const struct lop_thread *t)
{
	return t->domain != LOP_NONE && (t->fixed || (t->moved_ns && p->now_ns - t->moved_ns < LOP_MOVE_REST_NS));
}

/* How many threads go before this one: those that bring more, or as much with a lower number. */
lop_subprog u32 lop_thread_rank(struct lop_plan *p lop_nonnull, u32 n)
{
	u64 brings = lop_brings_mpmi(lop_thread_at(p, n));
	u32 rank = 0, m;
	lop_for(m, 0, LOP_MAX_PLANNED) {
		u64 other;
		if (m >= p->nr_threads)
			break;
		other = lop_brings_mpmi(lop_thread_at(p, m));
		rank += other > brings || (other == brings && m < n);
	}
	return rank;
}

/* Sorts the threads by what they bring, highest first, and sums up their demand. */
lop_rule void lop_sort_threads(struct lop_plan *p)
{
	u32 n;
	p->demand_permille = 0;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		if (n >= p->nr_threads)
			break;
		p->order[lop_thread_rank(p, n) & (LOP_MAX_PLANNED - 1)] = (u16)n;
		p->demand_permille += lop_thread_at(p, n)->demand_permille;
	}
}

lop_rule void lop_give(struct lop_plan *p, struct lop_thread *t, s32 domain)
{
	struct lop_domain *d = lop_domain_at(p, domain);
	t->wanted_domain = domain;
	d->sum_mpmi += lop_brings_mpmi(t);
	d->demand_permille += t->demand_permille;
	d->threads++;
	d->intensive += lop_counts_as_intensive(t);
}

/* Begins a plan for the open domains that holds only the threads that stay, where they are. */
lop_subprog u32 lop_begin_plan(struct lop_plan *p lop_nonnull)
{
	u32 n;
	p->open_cores = 0;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n);
		if (n >= p->nr_domains)
			break;
		d->sum_mpmi = 0;
		d->threads = d->intensive = d->demand_permille = 0;
		p->open_cores += d->open ? d->cores : 0;
	}
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		if (n >= p->nr_threads)
			break;
		t->wanted_domain = LOP_NONE;
		if (lop_stays_put(p, t))
			lop_give(p, t, t->domain);
	}
	return p->open_cores;
}

/*
 * Capacity for one more thread: a core that has none yet. With more threads than cores, demand below the domain's share of
 * it:
 *     demand(d) / cores(d) < demand / cores
 */
lop_rule bool lop_domain_has_capacity(const struct lop_plan *p, const struct lop_domain *d)
{
	if (!d->open)
		return false;
	if (p->nr_threads <= p->open_cores)
		return d->threads < d->cores;
	return (u64)d->demand_permille * p->open_cores < (u64)p->demand_permille * d->cores;
}

/* `a` has a smaller sum than `b`, or the same sum and fewer threads. */
lop_rule bool lop_is_calmer(const struct lop_domain *a, const struct lop_domain *b)
{
	return a->sum_mpmi < b->sum_mpmi || (a->sum_mpmi == b->sum_mpmi && a->threads < b->threads);
}

/*
 * The open domain with the smallest sum that has capacity; if none has, the one with the smallest sum. `quiet`: only
 * domains with capacity and without an intensive thread; LOP_NONE if there is none.
 */
lop_subprog s32 lop_calmest(struct lop_plan *p lop_nonnull, bool quiet)
{
	s32 best = LOP_NONE;
	bool best_fits = false;
	u32 n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n);
		bool fits;
		if (n >= p->nr_domains)
			break;
		fits = lop_domain_has_capacity(p, d);
		if (!d->open || !d->cores || (quiet && (!fits || d->intensive)))
			continue;
		if (best >= 0 && (fits != best_fits ? !fits : !lop_is_calmer(d, lop_domain_at(p, best))))
			continue;
		best = (s32)n;
		best_fits = fits;
	}
	return best;
}

/* A domain with capacity that was given a thread that shares data with this one; LOP_NONE: there is none. */
lop_subprog s32 lop_beside_its_own(struct lop_plan *p lop_nonnull, const struct lop_thread *t lop_nonnull)
{
	s32 domain = LOP_NONE;
	u32 n;
	if (!t->together)
		return LOP_NONE;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *other = lop_thread_at(p, n);
		if (n >= p->nr_threads)
			break;
		if (other->together == t->together && other->wanted_domain != LOP_NONE && lop_domain_has_capacity(p, lop_domain_at(p, other->wanted_domain)))
			domain = other->wanted_domain;
	}
	return domain;
}

/* Beside threads that it shares data with, if there is capacity; else the calmest domain. */
lop_rule s32 lop_spreading_place(struct lop_plan *p, const struct lop_thread *t)
{
	s32 own = lop_beside_its_own(p, t);
	return own >= 0 ? own : lop_calmest(p, false);
}

/* Gives each thread, by intensity from the highest, to the calmest domain. */
lop_rule void lop_give_calmest(struct lop_plan *p)
{
	u32 n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_by_rank(p, n);
		if (n >= p->nr_threads)
			break;
		if (t->wanted_domain == LOP_NONE)
			lop_give(p, t, lop_spreading_place(p, t));
	}
}

/*
 * Moves that are saved if the two domains exchange what they were given, less those that it adds. A thread that must
 * stay outweighs all others.
 */
lop_subprog s32 lop_saved_by_exchange(struct lop_plan *p lop_nonnull, s32 a, s32 b)
{
	s32 saved = 0;
	u32 n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		s32 counts;
		if (n >= p->nr_threads)
			break;
		if (t->wanted_domain != a && t->wanted_domain != b)
			continue;
		counts = lop_stays_put(p, t) ? LOP_MAX_PLANNED : 1;
		if (t->domain == a || t->domain == b)
			saved += t->domain == t->wanted_domain ? -counts : counts;
	}
	return saved;
}

lop_subprog u32 lop_exchange(struct lop_plan *p lop_nonnull, s32 a, s32 b)
{
	u32 n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		if (n >= p->nr_threads)
			break;
		t->wanted_domain = t->wanted_domain == a ? b : t->wanted_domain == b ? a : t->wanted_domain;
	}
	return n;
}

/* Exchanges `a` with every later domain of its size for which that saves moves. Returns whether it did. */
lop_subprog bool lop_relabel_one(struct lop_plan *p lop_nonnull, s32 a)
{
	bool changed = false;
	u32 b;
	lop_for(b, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *one = lop_domain_at(p, a), *other = lop_domain_at(p, (s32)b);
		if (b >= p->nr_domains)
			break;
		if ((s32)b <= a || one->cores != other->cores || !one->open || !other->open)
			continue;
		if (lop_saved_by_exchange(p, a, (s32)b) <= 0)
			continue;
		lop_exchange(p, a, (s32)b);
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
	u32 pass, a;
	lop_for(pass, 0, LOP_RELABEL_PASSES) {
		bool changed = false;
		lop_for(a, 0, LOP_MAX_MEMORY_DOMAINS) {
			if (a >= p->nr_domains)
				break;
			changed |= lop_relabel_one(p, (s32)a);
		}
		if (!changed)
			break;
	}
}

/* Where the thread is at present, if it is anywhere; else, or as planned, where it is to be. */
lop_rule s32 lop_place_of(const struct lop_thread *t, bool present) { return present && t->domain != LOP_NONE ? t->domain : t->wanted_domain; }

/* The largest sum of a domain, at present or as planned. */
lop_subprog u64 lop_largest_sum_mpmi(struct lop_plan *p lop_nonnull, bool present)
{
	u64 largest = 0;
	u32 n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) lop_domain_at(p, (s32)n)->sum_mpmi = 0;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		u64 *sum = &lop_domain_at(p, lop_place_of(t, present))->sum_mpmi;
		if (n >= p->nr_threads)
			break;
		*sum += lop_brings_mpmi(t);
		largest = lop_max(largest, *sum);
	}
	return largest;
}

/* At present a domain has more threads than cores, though there are cores for all. */
lop_subprog bool lop_is_crowded(struct lop_plan *p lop_nonnull)
{
	bool crowded = false;
	u32 n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) lop_domain_at(p, (s32)n)->threads = 0;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_domain *d = lop_domain_at(p, lop_place_of(lop_thread_at(p, n), true));
		if (n >= p->nr_threads)
			break;
		crowded |= ++d->threads > d->cores;
	}
	return crowded && p->nr_threads <= p->open_cores;
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

/* The plan is carried out: notes the time for the threads that move. Returns how many do. */
lop_subprog u32 lop_note_moves(struct lop_plan *p lop_nonnull)
{
	u32 moves = 0, n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		if (n >= p->nr_threads)
			break;
		lop_assert(t->wanted_domain == LOP_NONE || lop_domain_at(p, t->wanted_domain)->open);
		if (t->domain == LOP_NONE || t->domain == t->wanted_domain)
			continue;
		t->moved_ns = p->now_ns;
		moves++;
	}
	return moves;
}

lop_subprog u32 lop_open_all(struct lop_plan *p lop_nonnull)
{
	u32 n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) lop_domain_at(p, (s32)n)->open = n < p->nr_domains && lop_domain_at(p, (s32)n)->cores;
	return n;
}

/*
 * Spread: threads by intensity, highest first, go each to the domain with the smallest sum so far that has a free core.
 * Then equal-sized domains are exchanged so that the fewest threads move. They move only if the largest sum of a domain
 * falls by more than 10 %, or threads share cores while other cores have none. Returns how many move.
 * Worked example: 20, 12, 0.2, 0.05 twice each on 2 domains of 4, both 20s and both 12s in the first: its sum of 64
 * falls to 32.25.
 */
lop_rule u32 lop_spread(struct lop_plan *p)
{
	u64 now_mpmi, planned_mpmi;
	lop_sort_threads(p);
	lop_open_all(p);
	lop_begin_plan(p);
	lop_give_calmest(p);
	lop_relabel(p);
	now_mpmi = lop_largest_sum_mpmi(p, true);
	planned_mpmi = lop_largest_sum_mpmi(p, false);
	if (planned_mpmi * 10 >= now_mpmi * 9 && !lop_is_crowded(p))
		return lop_stay(p);
	return lop_note_moves(p);
}
