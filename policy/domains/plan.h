/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "specialise.h"
#include "uclamp.h"
/*
 * The plans of a configuration (spread, gather, specialise) are made from what an adapter saw of threads.
 * For adapters of real machines. What a plan needs to know of CPUs it reads from the policy's
 * own state.
 * Tested in: kernel/src/scheduler/plan. Studied in: none.
 */
struct lop_planned {
	struct lop_intensity intensity;
	u64 moved_ns;        /* when a plan moved it last; 0: never */
	u32 speedup_permille; /* result: on the scale of uclamp.h; 0: unknown */
	u32 demand_permille; /* share of the last second in which it ran or waited to run */
	s32 cpu;             /* CPU that it ran on last */
	s32 wanted_domain;   /* result: memory domain that it is to run in; LOP_NONE: it stays */
	s32 wanted_cpu;      /* result: CPU that it changes to; LOP_NONE: it stays */
	bool runs;
	bool fixed;          /* may not run on every CPU */
};

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

/* Adds a core to a domain, whose speed is the mean of those of its cores. */
lop_rule void lop_add_core(const struct lop_sched *s, struct lop_domain *d, u32 cpu)
{
	u32 permille = s->topology.tier_permille[s->topology.tier[lop_cpu_index(cpu)] & (LOP_MAX_TIERS - 1)];
	d->permille = (d->permille * d->cores + (permille ? permille : 1000)) / (d->cores + 1);
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
	return p->nr_domains;
}

/* Fills in `wanted_domain` by gather.h or spread.h; returns how many threads move. */
lop_subprog u32 lop_plan_domains(struct lop_plan *p lop_nonnull, const struct lop_sched *s lop_nonnull, struct lop_planned *threads lop_nonnull, u32 nr, u64 now_ns)
{
	u32 planned = 0, moves, n;
	lop_describe_domains(p, s);
	p->now_ns = now_ns;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		const struct lop_planned *t = &threads[n];
		if (n >= nr)
			break;
		if (!lop_is_planned(&s->config, lop_memory_class(&t->intensity)))
			continue;
		*lop_thread_at(p, planned++) = (struct lop_thread){
			.moved_ns = t->moved_ns,
			.mpmi = lop_planned_mpmi(&t->intensity),
			.demand_permille = t->demand_permille,
			.domain = s->topology.memory_domain[lop_cpu_index((u32)t->cpu)],
			.memory = (u8)lop_memory_class(&t->intensity),
			.fixed = t->fixed,
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

/*
 * Fills in `wanted_cpu` by specialise.h; returns how many threads move. SF follows from intensity and the speeds of the
 * fastest and the slowest kind; for a thread of unknown class it is unknown.
 */
lop_subprog u32 lop_plan_kinds(struct lop_cast *c lop_nonnull, const struct lop_sched *s lop_nonnull, struct lop_planned *threads lop_nonnull, u32 nr, u64 now_ns)
{
	const struct lop_topology *top = &s->topology;
	u32 slowest_permille = top->tier_permille[(top->nr_tiers - 1) & (LOP_MAX_TIERS - 1)];
	u32 ratio_permille = 1000000 / (u32)lop_max(slowest_permille, 1), moves, n;
	c->now_ns = now_ns;
	c->nr_threads = nr;
	lop_for(n, 0, LOP_MAX_PLANNED) {
		struct lop_planned *t = &threads[n];
		bool known = lop_memory_class(&t->intensity) != LOP_MEMORY_UNKNOWN;
		u32 mpmi = lop_planned_mpmi(&t->intensity);
		if (n >= nr)
			break;
		t->speedup_permille = known ? lop_measured_speedup(mpmi) : 0;
		*lop_specialist_at(c, n) = (struct lop_specialist){
			.moved_ns = t->moved_ns,
			.speedup_permille = known ? lop_speedup_of_mpmi(mpmi, ratio_permille) : 0,
			.cpu = t->runs ? t->cpu : LOP_NONE,
			.tier = top->tier[lop_cpu_index((u32)t->cpu)],
			.fixed = t->fixed || lop_has_core_by_length(s, lop_cpu_index((u32)t->cpu)),
			.class = (u8)lop_class_on(s, lop_cpu_index((u32)t->cpu)),
		};
	}
	moves = lop_specialise(c);
	lop_for(n, 0, LOP_MAX_PLANNED) {
		if (n >= nr)
			break;
		threads[n].moved_ns = lop_specialist_at(c, n)->moved_ns;
		threads[n].wanted_cpu = lop_specialist_at(c, n)->wanted_cpu;
	}
	return moves;
}

/*
 * Fills in where each of the `nr` threads (at most LOP_MAX_PLANNED) is to run, by the plans of the configuration;
 * returns how many move. `p` was zeroed once.
 */
lop_rule u32 lop_plan_threads(struct lop_plan *p, struct lop_cast *c, const struct lop_sched *s, struct lop_planned *threads, u32 nr, u64 now_ns)
{
	u32 moves = 0, n;
	nr = (u32)lop_min(nr, LOP_MAX_PLANNED);
	lop_for(n, 0, LOP_MAX_PLANNED) {
		if (n >= nr)
			break;
		threads[n].wanted_domain = threads[n].wanted_cpu = LOP_NONE;
	}
	if (s->config.domains != LOP_DOMAINS_AS_COME)
		moves += lop_plan_domains(p, s, threads, nr, now_ns);
	if (s->config.specialise)
		moves += lop_plan_kinds(c, s, threads, nr, now_ns);
	return moves;
}
