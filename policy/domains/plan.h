/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "gather.h"
#include "rank.h"
#include "uclamp.h"
/*
 * The plans of a configuration (spread, gather) and what threads gain from speed follow from facts that adapters hand over.
 * Which threads are planned, what each demands, which stay, which go together and what a domain is follow here and nowhere
 * else. Facts about CPUs are in the policy's own state.
 * Tested in: plan. Studied in: memory-domains, power-domains, everything.
 */
#define LOP_PLAN_PERIOD_NS (1000 * LOP_MS_NS) /* how often an adapter makes a plan, while there is anything to plan */
/* Threads that demand less are not planned (our choice): if only such threads run, the machine is idle. */
#define LOP_LEAST_DEMAND_PERMILLE 10

struct lop_planned {
	/* Facts. */
	struct lop_intensity intensity;
	u64 active_ns;       /* time of the last period in which it ran or waited to run */
	u32 shares;          /* 1 + number of its application, if that declares that its threads share memory; 0 */
	s32 cpu;             /* CPU that it runs on or ran on last; LOP_NONE: it has not run yet */
	s32 home;            /* lop_home_of() */
	bool restricted, system; /* as in struct lop_task */
	/* State that the adapter keeps from one plan to the next. */
	u64 moved_ns;        /* when a plan moved it last; 0: never */
	u32 speedup_permille; /* a result, too: SF on the scale of uclamp.h; 0: unknown */
	/* Result. */
	s32 wanted_domain;   /* memory domain that it runs in from now on; LOP_NONE: any */
};

/* Share of a period in which a thread ran or waited to run, x 1000, rounded up. */
lop_rule u32 lop_demand_permille(u64 active_ns, u64 period_ns)
{
	return (u32)lop_min((lop_min(active_ns, period_ns) * 1000 + period_ns - 1) / lop_max(period_ns, 1), 1000);
}

/*
 * There is something to plan by: a thread whose class is declared, or any thread if the adapter `measures` intensity. Without
 * that all threads are alike, and an adapter ends its plans.
 */
lop_rule bool lop_has_basis(const struct lop_planned *threads, u32 nr, bool measures)
{
	bool has_basis = false;
	u32 n;
	lop_for(n, 0, nr) has_basis |= measures || threads[n].intensity.declared != LOP_MEMORY_UNKNOWN;
	return has_basis;
}

/*
 * No plan moves the thread:
 * 1. if its affinity is restricted: it may not run on every CPU of a domain;
 * 2. if it is the system's own work and a core is reserved for that: it runs there;
 * 3. if it is paced: it runs at its home, so an order to leave only interrupts it.
 */
lop_rule bool lop_is_fixed(const struct lop_sched *s, const struct lop_planned *t)
{
	return t->restricted || (t->system && lop_has_reserved(s)) || t->home != LOP_NONE;
}

/* The memory domain that the thread is in: for a paced one that of its home, though it may be late and run elsewhere. */
lop_rule s32 lop_present_domain(const struct lop_sched *s, const struct lop_planned *t)
{
	s32 cpu = t->home != LOP_NONE ? t->home : t->cpu;
	return cpu == LOP_NONE ? LOP_NONE : s->topology.memory_domain[lop_cpu_index((u32)cpu)];
}

/*
 * Power where none was measured (our choice): a busy core draws as much as a node beyond its cores does while it is on,
 * and the rest of the machine as much as four. Only the ratios count.
 */
enum { LOP_CORE_MW = 10000, LOP_NODE_MW = 10000, LOP_BASE_MW = 40000 };

lop_rule bool lop_is_usable(const struct lop_sched *s, u32 cpu) { return lop_cpus_has(&s->open, cpu) && !lop_is_reserved(s, cpu); }

/* SMT siblings share what a core can do, so only the lowest usable one counts. */
lop_subprog bool lop_counts_as_core(const struct lop_sched *s lop_nonnull, u32 cpu)
{
	u32 sibling = s->topology.next_sibling[lop_cpu_index(cpu)], n;
	bool lowest = true;
	if (!lop_is_usable(s, cpu))
		return false;
	lop_for(n, 0, LOP_MAX_CPUS) {
		if (sibling == cpu)
			break;
		lowest &= sibling > cpu || !lop_is_usable(s, sibling);
		sibling = s->topology.next_sibling[lop_cpu_index(sibling)];
	}
	return lowest;
}

/* Adds a core to a domain. `permille` is the sum of speeds until lop_describe_domains() takes the mean. */
lop_rule void lop_add_core(const struct lop_sched *s, struct lop_domain *d, u32 cpu)
{
	u32 permille = s->topology.tier_permille[s->topology.tier[lop_cpu_index(cpu)] & (LOP_MAX_TIERS - 1)];
	d->permille += permille ? permille : 1000;
	d->cores++;
}

lop_subprog u32 lop_describe_domains(struct lop_plan *p lop_nonnull, const struct lop_sched *s lop_nonnull)
{
	u32 n;
	p->nr_domains = s->topology.nr_memory_domains;
	p->base_mw = s->config.power.core_mw ? s->config.power.base_mw : LOP_BASE_MW;
	p->node_mw = s->config.power.core_mw ? s->config.power.node_mw : LOP_NODE_MW;
	p->core_mw = s->config.power.core_mw ? s->config.power.core_mw : LOP_CORE_MW;
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) *lop_domain_at(p, (s32)n) = (struct lop_domain){ .cores = 0 };
	lop_for(n, 0, LOP_MAX_CPUS) {
		struct lop_domain *d = lop_domain_at(p, s->topology.memory_domain[lop_cpu_index(n)]);
		if (!lop_cpus_has(&s->topology.cpus, n))
			continue;
		d->node = s->topology.node[lop_cpu_index(n)];
		if (lop_counts_as_core(s, n))
			lop_add_core(s, d, n);
	}
	lop_for(n, 0, LOP_MAX_MEMORY_DOMAINS) {
		struct lop_domain *d = lop_domain_at(p, (s32)n);
		d->permille /= (u32)lop_max(d->cores, 1);
	}
	return p->nr_domains;
}

/* Fills in `wanted_domain` by gather.h or spread.h; returns how many threads move. */
lop_subprog u32 lop_plan_domains(struct lop_plan *p lop_nonnull, const struct lop_sched *s lop_nonnull, struct lop_planned *threads lop_nonnull, u32 nr)
{
	u32 planned = 0, moves, n;
	lop_describe_domains(p, s);
	lop_for(n, 0, LOP_MAX_PLANNED) {
		const struct lop_planned *t = &threads[n];
		if (n >= nr)
			break;
		if (!lop_is_planned(&s->config, lop_memory_class(&t->intensity)))
			continue;
		*lop_thread_at(p, planned++) = (struct lop_thread){
			.moved_ns = t->moved_ns,
			.mpmi = lop_planned_mpmi(&t->intensity),
			.demand_permille = lop_demand_permille(t->active_ns, p->period_ns),
			.domain = lop_present_domain(s, t),
			.together = t->shares,
			.memory = (u8)lop_memory_class(&t->intensity),
			.fixed = lop_is_fixed(s, t),
		};
	}
	p->nr_threads = planned;
	moves = s->config.domains == LOP_DOMAINS_GATHER ? lop_gather(p) : lop_spread(p);
	planned = 0;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		const struct lop_thread *t = lop_thread_at(p, planned);
		if (n >= nr)
			break;
		if (!lop_is_planned(&s->config, lop_memory_class(&threads[n].intensity)))
			continue;
		threads[n].moved_ns = t->moved_ns;
		threads[n].wanted_domain = t->wanted_domain;
		planned++;
	}
	return moves;
}

/* One SF exceeds another by more than 10 %. */
lop_rule bool lop_gains_more(u32 a_permille, u32 b_permille) { return (u64)a_permille * 10 > (u64)b_permille * 11; }

/*
 * SF of a thread by its intensity. It follows only changes of more than 10 %, so that noise of the counters changes no rank.
 * Worked example: 20 MPKI are 1.333, and 15 MPKI, 1.4, change nothing; 10 MPKI do: 1.5.
 */
lop_rule u32 lop_followed_speedup(const struct lop_planned *t)
{
	bool known = lop_memory_class(&t->intensity) != LOP_MEMORY_UNKNOWN;
	u32 permille = known ? lop_measured_speedup(lop_planned_mpmi(&t->intensity)) : 0;
	bool differs = lop_gains_more(permille, t->speedup_permille) || lop_gains_more(t->speedup_permille, permille);
	return differs ? permille : t->speedup_permille;
}

/*
 * Fills in where each of the `nr` threads (at most LOP_MAX_PLANNED) is to run and what it gains, by the rules of the
 * configuration; returns how many move. The facts are about the last `period_ns`. `p` was zeroed once.
 */
lop_rule u32 lop_plan_threads(struct lop_plan *p, const struct lop_sched *s, struct lop_planned *threads, u32 nr, u64 period_ns, u64 now_ns)
{
	u32 n;
	nr = (u32)lop_min(nr, LOP_MAX_PLANNED);
	p->now_ns = now_ns;
	p->period_ns = period_ns;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		if (n >= nr)
			break;
		threads[n].wanted_domain = LOP_NONE;
		if (lop_rules_by(s, LOP_SPEEDUP))
			threads[n].speedup_permille = lop_followed_speedup(&threads[n]);
	}
	return s->config.domains == LOP_DOMAINS_AS_COME ? 0 : lop_plan_domains(p, s, threads, nr);
}

/*
 * The last plan gathers, and wants this domain to be on or off, which it is not. An adapter switches domains on before it
 * moves threads, and off after that. A plan of no thread, as all are of unknown class, switches nothing.
 */
lop_subprog bool lop_must_switch(struct lop_plan *p lop_nonnull, const struct lop_sched *s lop_nonnull, s32 domain, bool on)
{
	bool is_off = lop_cpus_common(lop_domain_cpus(s, domain), &s->off) > 0;
	return s->config.domains == LOP_DOMAINS_GATHER && p->nr_threads && is_off == on && lop_is_wanted(p, domain) == on;
}
