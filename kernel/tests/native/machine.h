/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Machines and tasks for tests of the policy alone. Include lopsided.h first. */

/*
 * One kind of core, one cache, one node; the caller may change these afterwards. Each core is its own voltage domain
 * and has `threads` CPUs.
 */
static inline void describe_machine(struct lop_topology *top, u32 cpus, u32 threads)
{
	u32 cpu;
	top->nr_tiers = top->nr_nodes = top->nr_memory_domains = top->nr_sockets = 1;
	for (cpu = 0; cpu < cpus; cpu++) {
		u32 core = cpu / threads * threads;
		lop_cpus_add(&top->cpus, cpu);
		lop_cpus_add(&top->tier_cpus[0], cpu);
		lop_cpus_add(&top->node_cpus[0], cpu);
		lop_cpus_add(&top->memory_cpus[0], cpu);
		lop_cpus_add(&top->voltage_cpus[core], cpu);
		top->clock_domain[cpu] = (u16)core;
		top->voltage_domain[cpu] = (u16)core;
		top->next_sibling[cpu] = (u16)(core + (cpu + 1) % threads);
	}
}

/* A machine on which all CPUs are in the high set and busy. */
static inline void start_all_high(struct lop_sched *s, struct lop_world *world, u32 cpus, u64 now_ns)
{
	s->config.sizing = LOP_SIZE_ALL;
	lop_set_times(&s->config, 10 * LOP_MS_NS);
	describe_machine(&s->topology, cpus, 1);
	s->online = s->topology.cpus;
	lop_start(s, world, now_ns);
}

/* Asleep, of default weight, allowed on all CPUs. Call it once the CPUs are online. */
static inline void begin_task(struct lop_sched *s, struct lop_task *t)
{
	const struct lop_task asleep = { .weight = LOP_WEIGHT_DEFAULT, .anchor = LOP_NONE, .last_queue = LOP_NONE, .queue = LOP_NONE,
					 .wanted_domain = LOP_NONE };
	*t = asleep;
	lop_set_allowed(s, t, &s->topology.cpus);
}
