/* SPDX-License-Identifier: GPL-2.0-only */
/* The policy's rules that the loader asks natively. They read the BPF program's own memory: same headers, same layout. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "bpf/intf.h"
#include "auto.h"
#include "demand.h"
#include "list.h"
#include "specialise.h"
#include "wish.h"

size_t lop_loader_sched_size(void) { return sizeof(struct lop_sched); }
size_t lop_loader_config_size(void) { return sizeof(struct lop_config); }
u64 lop_loader_default_hold_ns(u64 transition_ns) { return lop_default_hold_ns(transition_ns); }
void lop_loader_set_times(struct lop_config *c, u64 hold_ns) { lop_set_times(c, hold_ns); }

/* What a policy (enum lop_policy) does on a machine with so many memory domains, kinds of cores and threads of a core. What anything draws here nobody has measured. */
void lop_loader_choose(struct lop_config *c, u32 policy, u32 nr_memory_domains, u32 nr_tiers, u32 threads)
{
	const struct lop_traits machine = { .nr_memory_domains = nr_memory_domains, .nr_tiers = nr_tiers, .threads = threads };
	lop_choose(c, policy);
	if (policy == LOP_AUTO)
		lop_leave_out(c, &machine);
}

u32 lop_loader_target(const struct lop_sched *s, u32 set) { return lop_target(s, set); }

/*
 * Plans (spread.h, gather.h, specialise.h) about threads that the loader looked at; Rust mirrors this. What a plan needs to know of CPUs it
 * reads from the program's memory.
 */
struct lop_planned {
	struct lop_intensity intensity;
	u64 moved_ns;        /* when a plan moved it last; 0: never */
	u32 speedup_permille; /* the answer: on the scale of wish.h; 0: unknown */
	u32 demand_permille; /* share of the last second in which it ran or waited to run */
	s32 cpu;             /* it ran there last */
	s32 wanted_domain;   /* the answer: memory domain that it is to run in; LOP_NONE: it stays */
	s32 wanted_cpu;      /* and CPU that it changes to; LOP_NONE: it stays */
	bool runs;
	bool fixed;          /* may not run everywhere */
};

/*
 * Watts that nobody has measured here (ours): a busy core draws as much as a node beyond its cores does while it is on, and the rest of the
 * machine as much as four. Only their ratios count.
 */
enum { LOP_CORE_MW = 10000, LOP_NODE_MW = 10000, LOP_BASE_MW = 40000 };

size_t lop_loader_planned_size(void) { return sizeof(struct lop_planned); }
size_t lop_loader_plan_size(void) { return sizeof(struct lop_plan); }
size_t lop_loader_cast_size(void) { return sizeof(struct lop_cast); }
bool lop_loader_is_off(const struct lop_sched *s, u32 domain) { return lop_cpus_meet(&s->off, lop_domain_cpus(s, (s32)domain)); }
bool lop_loader_is_wanted(struct lop_plan *p, u32 domain) { return lop_is_wanted(p, (s32)domain); }
bool lop_loader_gains_more(u32 a_permille, u32 b_permille) { return lop_gains_more(a_permille, b_permille); }
void lop_loader_note_counters(struct lop_planned *t, u64 misses, u64 instructions, u64 passed_ns)
{
	lop_note_counters(&t->intensity, misses, instructions, passed_ns);
}

static bool is_usable(const struct lop_sched *s, u32 cpu) { return lop_cpus_has(&s->online, cpu) && !lop_is_reserved(s, cpu); }

/* SMT siblings share what a core can do: the lowest that is usable counts. */
static bool counts_as_core(const struct lop_sched *s, u32 cpu)
{
	u32 sibling = s->topology.next_sibling[cpu];
	if (!is_usable(s, cpu))
		return false;
	for (; sibling != cpu; sibling = s->topology.next_sibling[sibling])
		if (sibling < cpu && is_usable(s, sibling))
			return false;
	return true;
}

static void describe_domains(struct lop_plan *p, const struct lop_sched *s)
{
	u32 cpu;
	p->nr_domains = s->topology.nr_memory_domains;
	p->base_mw = LOP_BASE_MW;
	p->node_mw = LOP_NODE_MW;
	p->core_mw = LOP_CORE_MW;
	memset(p->domain, 0, sizeof(p->domain));
	for (cpu = 0; cpu < LOP_MAX_CPUS; cpu++) {
		struct lop_domain *d = &p->domain[s->topology.memory_domain[cpu]];
		if (!lop_cpus_has(&s->topology.cpus, cpu))
			continue;
		d->node = s->topology.node[cpu];
		d->cores += counts_as_core(s, cpu);
	}
}

/* Fills `wanted_domain` by gather.h or spread.h; returns how many move. */
static u32 plan_domains(struct lop_plan *p, const struct lop_sched *s, struct lop_planned *threads, u32 nr, u64 now_ns)
{
	u32 planned = 0, moves, n;
	describe_domains(p, s);
	p->now_ns = now_ns;
	for (n = 0; n < nr; n++) {
		const struct lop_planned *t = &threads[n];
		if (!lop_is_planned(&s->config, lop_memory_class(&t->intensity)))
			continue;
		p->thread[planned++] = (struct lop_thread){
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
	for (n = 0, planned = 0; n < nr; n++) {
		if (!lop_is_planned(&s->config, lop_memory_class(&threads[n].intensity)))
			continue;
		threads[n].moved_ns = p->thread[planned].moved_ns;
		threads[n].wanted_domain = p->thread[planned++].wanted;
	}
	return moves;
}

/* Fills `wanted_cpu` by specialise.h. SF follows from intensity and the speeds of the fastest and the slowest kind; of a thread whose class nobody knows it is not known. */
static u32 plan_kinds(struct lop_cast *c, const struct lop_sched *s, struct lop_planned *threads, u32 nr, u64 now_ns)
{
	const struct lop_topology *top = &s->topology;
	u32 slowest_permille = top->tier_permille[(top->nr_tiers - 1) & (LOP_MAX_TIERS - 1)];
	u32 ratio_permille = 1000000 / (u32)lop_max(slowest_permille, 1), moves, n;
	c->now_ns = now_ns;
	c->nr_threads = nr;
	for (n = 0; n < nr; n++) {
		struct lop_planned *t = &threads[n];
		bool known = lop_memory_class(&t->intensity) != LOP_MEMORY_UNKNOWN;
		u32 mpmi = lop_planned_mpmi(&t->intensity);
		t->speedup_permille = known ? lop_measured_speedup(mpmi) : 0;
		c->thread[n] = (struct lop_specialist){
			.moved_ns = t->moved_ns,
			.speedup_permille = known ? lop_speedup_of_mpmi(mpmi, ratio_permille) : 0,
			.cpu = t->runs ? t->cpu : LOP_NONE,
			.tier = top->tier[lop_cpu_index((u32)t->cpu)],
			.fixed = t->fixed || lop_has_core_by_length(s, lop_cpu_index((u32)t->cpu)),
			.class = (u8)lop_class_on(s, lop_cpu_index((u32)t->cpu)),
		};
	}
	moves = lop_specialise(c);
	for (n = 0; n < nr; n++) {
		threads[n].moved_ns = c->thread[n].moved_ns;
		threads[n].wanted_cpu = c->thread[n].wanted;
	}
	return moves;
}

/*
 * Where each of the `nr` threads (at most LOP_MAX_PLANNED) is to run, by the plans that the program is configured for; returns how many move.
 * `p` was zeroed once.
 */
u32 lop_loader_plan(struct lop_plan *p, struct lop_cast *c, const struct lop_sched *s, struct lop_planned *threads, u32 nr, u64 now_ns)
{
	u32 moves = 0, n;
	for (n = 0; n < nr; n++)
		threads[n].wanted_domain = threads[n].wanted_cpu = LOP_NONE;
	if (s->config.domains != LOP_DOMAINS_AS_COME)
		moves += plan_domains(p, s, threads, nr, now_ns);
	if (s->config.specialise)
		moves += plan_kinds(c, s, threads, nr, now_ns);
	return moves;
}

/* A thread of declared length; Rust mirrors this. */
struct lop_declared {
	u64 done_ns;   /* work done so far, ns on the fastest kind of core */
	u32 length;
	s32 cpu;       /* it runs there, or waits there by a list; LOP_NONE: nowhere yet */
	s32 wanted;    /* the answer: CPU where it waits; LOP_NONE: where any task does */
};

size_t lop_loader_declared_size(void) { return sizeof(struct lop_declared); }
size_t lop_loader_list_size(void) { return sizeof(struct lop_list); }
size_t lop_loader_app_size(void) { return sizeof(struct lop_app); }

/* A core for each CPU that runs applications. `cpus`: their numbers. */
static void describe_cores(struct lop_list *l, const struct lop_sched *s, u32 *cpus)
{
	u32 cpu;
	l->nr_cores = 0;
	for (cpu = 0; cpu < LOP_MAX_CPUS; cpu++) {
		if (!is_usable(s, cpu))
			continue;
		cpus[l->nr_cores] = cpu;
		l->core[l->nr_cores++].permille = (u32)lop_work_ns(s, cpu, 1000);
	}
}

static s32 core_of(const struct lop_list *l, const u32 *cpus, s32 cpu)
{
	u32 n;
	for (n = 0; n < l->nr_cores; n++)
		if ((s32)cpus[n] == cpu)
			return (s32)n;
	return LOP_NONE;
}

/*
 * At which CPU each of the threads of one application waits, in the order of their creation: the first LOP_MAX_LISTED of them at one, if they are more
 * than CPUs. Returns how many those are.
 */
u32 lop_loader_list(struct lop_list *l, const struct lop_sched *s, const struct lop_app *app, struct lop_declared *threads, u32 nr)
{
	u32 cpus[LOP_MAX_CPUS], n;
	describe_cores(l, s, cpus);
	for (n = 0; n < nr; n++)
		threads[n].wanted = LOP_NONE;
	if (!l->nr_cores || nr <= l->nr_cores)
		return 0;
	l->nr_threads = (u32)lop_min(nr, LOP_MAX_LISTED);
	l->least_gain = lop_least_gain(s, app);
	for (n = 0; n < l->nr_threads; n++) {
		const struct lop_task t = { .hint.length = threads[n].length, .done_ns = threads[n].done_ns };
		l->thread[n] = (struct lop_listed){
			.left = lop_listed_left(s, &t, app, 0),
			.core = core_of(l, cpus, threads[n].cpu),
			.wanted = LOP_NONE,
		};
	}
	lop_list_threads(l);
	for (n = 0; n < l->nr_threads; n++)
		threads[n].wanted = (s32)cpus[l->thread[n].wanted];
	return l->nr_threads;
}
