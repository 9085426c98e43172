/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "cpuset.h"
#define LOP_MAX_NODES 64
#define LOP_MAX_SMT 8
#define LOP_MAX_TIERS 16
#define LOP_MAX_MEMORY_DOMAINS 256

/* Where each CPU is. The adapter fills this in before lop_start(). */
struct lop_topology {
	struct lop_cpus cpus;              /* all CPUs of the machine, online or not */
	struct lop_cpus isolated;          /* those of them that only tasks bound there use (isolated.h) */
	u16 nr_nodes, nr_tiers, nr_memory_domains, nr_sockets;
	u16 tier[LOP_MAX_CPUS];            /* kind of core, 0 the fastest */
	u16 clock_domain[LOP_MAX_CPUS];    /* CPUs whose clock is one: it runs at the highest speed that one of them asks for */
	u16 voltage_domain[LOP_MAX_CPUS];
	u16 memory_domain[LOP_MAX_CPUS];
	u16 node[LOP_MAX_CPUS];
	u16 socket[LOP_MAX_CPUS];
	u16 next_sibling[LOP_MAX_CPUS];    /* ring of the SMT siblings of a core; without SMT the CPU itself */
	struct lop_cpus tier_cpus[LOP_MAX_TIERS];
	struct lop_cpus voltage_cpus[LOP_MAX_CPUS];
	struct lop_cpus memory_cpus[LOP_MAX_MEMORY_DOMAINS];
	struct lop_cpus node_cpus[LOP_MAX_NODES];
	u16 tier_permille[LOP_MAX_TIERS];  /* speed of a kind of core relative to the fastest, x 1000; 0: taken as 1000 */
};

/* A time for each CPU. */
struct lop_cpu_times { u64 ns[LOP_MAX_CPUS]; };
