/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "config.h"
#include "intensity.h"
/*
 * Once a second threads are given to memory domains so that no domain has more misses to serve than it must.
 * This is distributed intensity. A plan is pure: threads with their intensities and places go in, the places where they
 * are to be come out.
 * Tested in: spread, steady. Studied in: memory-domains, everything.
 */
#define LOP_MAX_PLANNED 512
#define LOP_DOMAIN_BITS 8 /* of LOP_MAX_MEMORY_DOMAINS */
#define LOP_MOVE_REST_NS (2000 * LOP_MS_NS) /* no thread moves twice within this time */
/*
 * How far off by chance the gain of an exchange may be (our choice). A counter's reading of a second is off by 20 %
 * (assumed), what is smoothed of it (intensity.h) by 14 %; the gain is half of a difference of sums, and this is three
 * standard deviations of it:
 *     0.21 * sqrt(sum of squares of what the threads of both domains bring)
 */
#define LOP_SUMS_OFF_PERMILLE 210
/* What a move costs: the thread finds its cache empty, as if it brought so much more for as long as it stays (our choice). */
#define LOP_MOVE_COST_PERMILLE 50

struct lop_thread {
	u64 moved_ns;        /* when a plan moved it last; 0: never */
	u32 mpmi;            /* intensity, lop_planned_mpmi() */
	u32 demand_permille; /* share of the last second in which it ran or waited to run */
	s32 domain;          /* memory domain that it is in; LOP_NONE: it has not run yet */
	s32 wanted_domain;   /* result: memory domain that it is to be in */
	u32 together;        /* threads of one number share data, by declaration, and stay in one domain; 0: none */
	s32 kept;            /* result of the best plan so far, see gather.h */
	u32 first;           /* number of the first thread that it shares data with; its own: there is none before it */
	s32 latest;          /* of that first one: the domain that one of them was last given; LOP_NONE: none yet */
	u8 memory;           /* enum lop_memory_class */
	bool fixed;          /* may not run in every domain: it counts where it is */
	bool beside;         /* it is in one domain with a thread that it shares data with */
};

/* A memory domain, and what the plan gives it so far. */
struct lop_domain {
	u64 sum_mpmi;        /* lop_brings_mpmi() of its threads */
	u64 squares;         /* the sum of their squares */
	u64 presses_permille; /* lop_presses_permille() of its threads, for gather.h */
	u32 cores;           /* online */
	u32 permille;        /* speed of its cores relative to the fastest kind, x 1000; 0: taken as 1000 */
	u32 room_permille;   /* demand that its cores are for: lop_room_of() */
	u32 node;            /* its domains are switched off together: see gather.h */
	u32 first_of_node;   /* number of the first domain of its node, which has the next two */
	u64 node_demand;     /* of threads that are in domains of the node at present, permille */
	bool node_open;      /* one of them is open */
	u32 holds, named;    /* for gather.h: the domain under which the plan has what is to go here; what this one's is to be called */
	u32 threads;
	u32 intensive;       /* of these the intensive ones, unknown ones included */
	u32 demand_permille;
	bool open;           /* may be given threads */
	bool settled;        /* no exchange with another domain is worth its moves */
};

struct lop_plan {
	u64 now_ns;
	u64 period_ns;                     /* that the threads' facts are about, see plan.h */
	u32 nr_threads, nr_domains;
	u32 open_cores, demand_permille;   /* of open domains, of all threads */
	u64 open_work;                     /* of open domains: lop_work_of() */
	u32 base_mw, node_mw, core_mw;     /* for gather.h: machine with all nodes off, each node on, each busy core */
	struct lop_thread thread[LOP_MAX_PLANNED];
	u16 order[LOP_MAX_PLANNED];        /* threads by lop_brings_mpmi(), highest first */
	struct lop_domain domain[LOP_MAX_MEMORY_DOMAINS];
	u16 winner[2 * LOP_MAX_MEMORY_DOMAINS]; /* for gather.h: tournament of the domains */
	u32 goes[LOP_MAX_MEMORY_DOMAINS][LOP_MAX_MEMORY_DOMAINS]; /* threads from a domain to another; all 0 between plans */
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

/* Number of the first thread that shares data with this one. */
lop_subprog u32 lop_first_together(struct lop_plan *p lop_nonnull, u32 of)
{
	u32 first = of, n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		if (n >= of || first != of)
			break;
		if (lop_thread_at(p, n)->together == lop_thread_at(p, of)->together)
			first = n;
	}
	return first;
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
		lop_thread_at(p, n)->first = lop_thread_at(p, n)->together ? lop_first_together(p, n) : n;
	}
}

/* Adds a thread to the sums of a domain, or takes it out of them (`sign` -1). */
lop_rule void lop_count_thread(struct lop_domain *d, const struct lop_thread *t, s32 sign)
{
	u64 brings = lop_brings_mpmi(t);
	d->sum_mpmi += (u64)sign * brings;
	d->squares += (u64)sign * brings * brings;
	d->demand_permille += (u32)sign * t->demand_permille;
	d->threads += (u32)sign;
	d->intensive += (u32)sign * lop_counts_as_intensive(t);
}

/* Gives the thread to `domain` instead of the one that it was given to before, if any. */
lop_rule void lop_give(struct lop_plan *p, struct lop_thread *t, s32 domain)
{
	if (t->wanted_domain != LOP_NONE)
		lop_count_thread(lop_domain_at(p, t->wanted_domain), t, -1);
	t->wanted_domain = domain;
	lop_thread_at(p, t->first)->latest = domain;
	lop_count_thread(lop_domain_at(p, domain), t, 1);
}

lop_rule u32 lop_speed_of(const struct lop_domain *d) { return d->permille ? d->permille : 1000; }

/* What a domain can do in a second: a core of the fastest kind does 1000. */
lop_rule u64 lop_work_of(const struct lop_domain *d) { return (u64)d->cores * lop_speed_of(d); }

/* Cores of open domains that are faster than this one. */
lop_subprog u32 lop_faster_cores(struct lop_plan *p lop_nonnull, u32 permille)
{
	u32 cores = 0, n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n);
		if (n >= p->nr_domains)
			break;
		cores += d->open && lop_speed_of(d) > permille ? d->cores : 0;
	}
	return cores;
}

/*
 * Demand that the cores of a domain are for, in whole cores. Faster cores are taken first, as by rank.h: a plan that wanted
 * a thread on a slow core beside an idle fast one would be undone at once, and made again a second later.
 *     room = demand - cores of faster domains, from 0 up to its cores
 * Worked example: 6 threads, 4 cores of a fast kind and 8 of a slow one in domains of their own: room for 4 and for 2.
 */
lop_rule u32 lop_room_of(struct lop_plan *p, const struct lop_domain *d, u32 fastest_permille)
{
	u32 faster = lop_speed_of(d) < fastest_permille ? lop_faster_cores(p, lop_speed_of(d)) : 0;
	u32 wanted = (p->demand_permille + 999) / 1000;
	return 1000 * (u32)lop_min(wanted - lop_min(faster, wanted), d->cores);
}

/* Begins a plan for the open domains, without threads. */
lop_subprog u32 lop_begin_domains(struct lop_plan *p lop_nonnull)
{
	u32 fastest_permille = 0, n;
	p->open_cores = 0;
	p->open_work = 0;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n);
		if (n >= p->nr_domains)
			break;
		d->sum_mpmi = d->squares = 0;
		d->threads = d->intensive = d->demand_permille = 0;
		d->settled = !d->open;
		if (!d->open)
			continue;
		p->open_cores += d->cores;
		p->open_work += lop_work_of(d);
		fastest_permille = (u32)lop_max(fastest_permille, lop_speed_of(d));
	}
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n);
		if (n >= p->nr_domains)
			break;
		d->room_permille = lop_room_of(p, d, fastest_permille);
	}
	return p->open_cores;
}

/* Gives threads that are in a domain to it: all of them, or those that stay. */
lop_subprog u32 lop_begin_plan(struct lop_plan *p lop_nonnull, bool all)
{
	u32 n;
	lop_begin_domains(p);
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		if (n >= p->nr_threads)
			break;
		t->wanted_domain = t->latest = LOP_NONE;
		if (lop_stays_put(p, t) || (all && t->domain != LOP_NONE && lop_domain_at(p, t->domain)->open))
			lop_give(p, t, t->domain);
	}
	return p->open_cores;
}

lop_rule bool lop_has_cores_for_all(const struct lop_plan *p) { return p->demand_permille <= (u64)p->open_cores * 1000; }

/*
 * Capacity for one more thread: half a core is free. With more demand than cores, demand below the domain's share of it by
 * what its cores can do:
 *     demand(d) / work(d) < demand / work
 */
#define LOP_HALF_CORE_PERMILLE 500
lop_rule bool lop_domain_has_capacity(const struct lop_plan *p, const struct lop_domain *d)
{
	if (!d->open)
		return false;
	if (lop_has_cores_for_all(p))
		return d->demand_permille + LOP_HALF_CORE_PERMILLE <= d->room_permille;
	return (u64)d->demand_permille * p->open_work < (u64)p->demand_permille * lop_work_of(d);
}

/* More than half a core is asked for beyond the room, while there are cores for all demand. */
lop_rule bool lop_is_crowded(const struct lop_plan *p, const struct lop_domain *d)
{
	return lop_has_cores_for_all(p) && d->demand_permille > d->room_permille + LOP_HALF_CORE_PERMILLE;
}

/* `a` has a smaller sum than `b`, or the same sum and fewer threads. */
lop_rule bool lop_is_calmer(const struct lop_domain *a, const struct lop_domain *b)
{
	return a->sum_mpmi < b->sum_mpmi || (a->sum_mpmi == b->sum_mpmi && a->threads < b->threads);
}

/* The open domain with the smallest sum that has capacity; if none has, the one with the smallest sum. */
lop_subprog s32 lop_calmest(struct lop_plan *p lop_nonnull)
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
		if (!d->open || !d->cores)
			continue;
		if (best >= 0 && (fits != best_fits ? !fits : !lop_is_calmer(d, lop_domain_at(p, best))))
			continue;
		best = (s32)n;
		best_fits = fits;
	}
	return best;
}

/* The domain that was last given a thread that shares data with this one, if it has capacity; LOP_NONE. */
lop_rule s32 lop_beside_its_own(struct lop_plan *p, const struct lop_thread *t)
{
	s32 domain = t->together ? lop_thread_at(p, t->first)->latest : LOP_NONE;
	return domain >= 0 && lop_domain_has_capacity(p, lop_domain_at(p, domain)) ? domain : LOP_NONE;
}

/* Beside threads that it shares data with, if there is capacity; else the calmest domain. */
lop_rule s32 lop_spreading_place(struct lop_plan *p, const struct lop_thread *t)
{
	s32 own = lop_beside_its_own(p, t);
	return own >= 0 ? own : lop_calmest(p);
}

/* Gives threads that are nowhere yet a domain, by intensity from the highest. */
lop_rule void lop_give_new(struct lop_plan *p)
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

/* The plan is carried out: notes the time for the threads that move, to open domains all. Returns how many do. */
lop_subprog u32 lop_note_moves(struct lop_plan *p lop_nonnull)
{
	u32 moves = 0, n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_at(p, n);
		if (n >= p->nr_threads)
			break;
		if (t->domain == LOP_NONE || t->domain == t->wanted_domain)
			continue;
		lop_assert(t->wanted_domain == LOP_NONE || lop_domain_at(p, t->wanted_domain)->open);
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

/* A thread that leaves a domain, another one that comes for it, if any, and what that gains less what the moves cost. */
struct lop_swap {
	s32 leaves, comes;
	s64 gain_mpmi;
};

/* It is not held where it is, nor beside a thread that it shares data with. */
lop_rule bool lop_may_swap(const struct lop_plan *p, const struct lop_thread *t, s32 domain)
{
	return t->wanted_domain == domain && !t->beside && !lop_stays_put(p, t);
}

/* Rank of the first thread from `rank` on that may leave `domain`; LOP_NONE: there is none. */
lop_subprog s32 lop_next_in(struct lop_plan *p lop_nonnull, s32 domain, u32 rank)
{
	s32 found = LOP_NONE;
	u32 n;
	lop_for(n, rank, LOP_MAX_PLANNED) {
		if (n >= p->nr_threads || found >= 0)
			break;
		if (lop_may_swap(p, lop_thread_by_rank(p, n), domain))
			found = (s32)n;
	}
	return found;
}

lop_rule u64 lop_apart(s64 a, s64 b) { return (u64)(a < b ? b - a : a - b); }

/* From `rank` on, the thread that may leave `domain` and brings what is closest to `brings_mpmi`. */
lop_subprog s32 lop_closest_in(struct lop_plan *p lop_nonnull, s32 domain, s32 rank, s64 brings_mpmi)
{
	u32 n;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		s32 next = rank < 0 ? LOP_NONE : lop_next_in(p, domain, (u32)rank + 1);
		if (next < 0 || lop_apart((s64)lop_brings_mpmi(lop_thread_by_rank(p, (u32)next)), brings_mpmi) >
					lop_apart((s64)lop_brings_mpmi(lop_thread_by_rank(p, (u32)rank)), brings_mpmi))
			break;
		rank = next;
	}
	return rank;
}

/*
 * Keeps the swap if it gains no less than the best so far, so that of equals those move that bring least. The larger of two
 * sums falls by
 *     gain = min(shift, sum(from) - sum(to) - shift) - cost of the moves        shift = what leaves - what comes
 */
lop_rule void lop_consider(struct lop_plan *p, struct lop_swap *best, u64 more_mpmi, s32 leaves, s32 comes)
{
	u64 out = lop_brings_mpmi(lop_thread_by_rank(p, (u32)leaves));
	u64 in = comes < 0 ? 0 : lop_brings_mpmi(lop_thread_by_rank(p, (u32)comes));
	s64 shift = (s64)(out - in), rest = (s64)more_mpmi - shift;
	s64 gain = (shift < rest ? shift : rest) - (s64)((out + in) * LOP_MOVE_COST_PERMILLE / 1000);
	if (best->leaves >= 0 && gain < best->gain_mpmi)
		return;
	*best = (struct lop_swap){ .leaves = leaves, .comes = comes, .gain_mpmi = gain };
}

/* With `comes` gone, if anybody comes, its domain has capacity for the thread that leaves. */
lop_rule bool lop_may_change_places(struct lop_plan *p, s32 to, s32 comes)
{
	struct lop_domain rest = *lop_domain_at(p, to);
	if (comes >= 0)
		rest.demand_permille -= lop_thread_by_rank(p, (u32)comes)->demand_permille;
	return lop_domain_has_capacity(p, &rest);
}

/*
 * The swap between two domains that gains most. Threads of each are looked at from the highest down: the less leaves, the
 * less must come for it, so one pass over each is enough.
 */
lop_subprog bool lop_best_swap(struct lop_plan *p lop_nonnull, struct lop_swap *best lop_nonnull, s32 from, s32 to)
{
	u64 more_mpmi = lop_domain_at(p, from)->sum_mpmi - lop_domain_at(p, to)->sum_mpmi; /* the calmest has no more */
	s32 comes = lop_next_in(p, to, 0);
	u32 n;
	*best = (struct lop_swap){ .leaves = LOP_NONE };
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_thread *t = lop_thread_by_rank(p, n);
		if (n >= p->nr_threads)
			break;
		if (!lop_may_swap(p, t, from))
			continue;
		comes = lop_closest_in(p, to, comes, (s64)lop_brings_mpmi(t) - (s64)(more_mpmi / 2));
		if (comes >= 0 && lop_may_change_places(p, to, comes))
			lop_consider(p, best, more_mpmi, (s32)n, comes);
		if (lop_may_change_places(p, to, LOP_NONE))
			lop_consider(p, best, more_mpmi, (s32)n, LOP_NONE);
	}
	return best->leaves >= 0;
}

lop_rule void lop_do_swap(struct lop_plan *p, const struct lop_swap *swap, s32 from, s32 to)
{
	lop_give(p, lop_thread_by_rank(p, (u32)swap->leaves), to);
	if (swap->comes >= 0)
		lop_give(p, lop_thread_by_rank(p, (u32)swap->comes), from);
}

/* The gain is more than chance can make of nothing: LOP_SUMS_OFF_PERMILLE. */
lop_rule bool lop_is_beyond_chance(const struct lop_swap *swap, const struct lop_domain *a, const struct lop_domain *b)
{
	u64 gain = swap->gain_mpmi > 0 ? (u64)swap->gain_mpmi * 1000 / LOP_SUMS_OFF_PERMILLE : 0;
	return gain * gain > a->squares + b->squares;
}

/* Of open domains that are not settled, the one with the largest sum; LOP_NONE: there is none. */
lop_subprog s32 lop_loudest(struct lop_plan *p lop_nonnull)
{
	s32 best = LOP_NONE;
	u32 n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n);
		if (n >= p->nr_domains)
			break;
		if (!d->settled && (best < 0 || lop_is_calmer(lop_domain_at(p, best), d)))
			best = (s32)n;
	}
	return best;
}

/* The calmest open domain of other cores of the same speed: which kind a thread runs on is for rank.h to say. */
lop_subprog s32 lop_calmest_alike(struct lop_plan *p lop_nonnull, s32 from)
{
	s32 best = LOP_NONE;
	u32 n;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n);
		if (n >= p->nr_domains)
			break;
		if ((s32)n == from || !d->open || !d->cores || lop_speed_of(d) != lop_speed_of(lop_domain_at(p, from)))
			continue;
		if (best < 0 || lop_is_calmer(d, lop_domain_at(p, best)))
			best = (s32)n;
	}
	return best;
}

/* From the domain with the largest sum to the calmest one, as long as a swap gains more than it costs. */
lop_rule void lop_balance(struct lop_plan *p)
{
	struct lop_swap swap;
	u32 n;
	lop_for(n, 0, LOP_MAX_PLANNED + LOP_MAX_MEMORY_DOMAINS) {
		s32 from = lop_loudest(p), to;
		if (from < 0)
			break;
		to = lop_calmest_alike(p, from);
		if (to < 0 || !lop_best_swap(p, &swap, from, to) ||
		    !lop_is_beyond_chance(&swap, lop_domain_at(p, from), lop_domain_at(p, to)))
			lop_domain_at(p, from)->settled = true;
		else
			lop_do_swap(p, &swap, from, to);
	}
}

/* Of the threads of `from` those that bring least go to a domain that has cores free, as long as there are too many. */
lop_subprog u32 lop_make_room(struct lop_plan *p lop_nonnull, s32 from)
{
	u32 moves = 0, n;
	lop_for(n, 1, LOP_MAX_PLANNED + 1) {
		struct lop_thread *t = lop_thread_by_rank(p, p->nr_threads - n);
		s32 to;
		if (n > p->nr_threads)
			break;
		if (t->wanted_domain != from || lop_stays_put(p, t) || !lop_is_crowded(p, lop_domain_at(p, from)))
			continue;
		to = lop_spreading_place(p, t);
		if (to < 0 || to == from || !lop_domain_has_capacity(p, lop_domain_at(p, to)))
			continue;
		lop_give(p, t, to);
		moves++;
	}
	return moves;
}

/* Notes which threads are beside one that they share data with. */
lop_subprog u32 lop_note_beside(struct lop_plan *p lop_nonnull, struct lop_thread *t lop_nonnull)
{
	u32 n;
	t->beside = false;
	if (!t->together)
		return 0;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		const struct lop_thread *other = lop_thread_at(p, n);
		if (n >= p->nr_threads)
			break;
		t->beside |= other != t && other->together == t->together && other->wanted_domain == t->wanted_domain;
	}
	return t->beside;
}

/*
 * Spread: threads stay where they are, unless a move or an exchange between two domains gains more than it may gain by
 * chance, and than it costs: the larger of their sums falls. It is tried from the domain with the largest sum to the
 * calmest one until nothing is gained. Before that new threads are given the calmest domain, and threads without a core
 * leave for free ones. Returns how many move.
 * Worked example: 20, 12, 0.2, 0.05 twice each on 2 domains of 4, both 20s and both 12s in the first: 64 and 0.5. A 20 for
 * a 0.05 gains 19.95, less 1.0 for two moves, and 6.9 of that may be chance: 44.05 and 20.45. A 12 for a 0.2 gains 11.8:
 * 32.25 in each.
 */
lop_rule u32 lop_spread(struct lop_plan *p)
{
	u32 n;
	lop_sort_threads(p);
	lop_open_all(p);
	lop_begin_plan(p, true);
	lop_give_new(p);
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		if (n >= p->nr_domains)
			break;
		lop_make_room(p, (s32)n);
	}
	lop_for(n, 0, LOP_MAX_PLANNED) {
		if (n >= p->nr_threads)
			break;
		lop_note_beside(p, lop_thread_at(p, n));
	}
	lop_balance(p);
	return lop_note_moves(p);
}
