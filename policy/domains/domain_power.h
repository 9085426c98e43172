/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "isolated.h"
/*
 * A memory domain that is off has no CPU in a set, except those that tasks are anchored to.
 * The caller moves the threads of a domain before it switches the domain off; a thread left there runs until the next
 * tick.
 * Tested in: domains, auto. Studied in: power-domains, everything.
 */

/* An adapter that never plans memory domains defines this as false, so the verifier drops their rules. */
#ifndef lop_has_domains
#define lop_has_domains(s) ((s)->config.domains != LOP_DOMAINS_AS_COME)
#endif

lop_rule const struct lop_cpus *lop_domain_cpus(const struct lop_sched *s, s32 domain)
{
	return &s->topology.memory_cpus[(u32)domain & (LOP_MAX_MEMORY_DOMAINS - 1)];
}

/* CPUs that may be in a set: open ones in domains that are on, and isolated ones that a task is bound to. */
lop_rule u32 lop_nr_on(const struct lop_sched *s)
{
	u32 off = lop_has_domains(s) ? lop_cpus_common(&s->open, &s->off) : 0;
	return s->nr_open - (u32)lop_min(off, s->nr_open) + lop_nr_bound(s);
}

lop_rule void lop_switch_domain(struct lop_sched *s, s32 domain, bool on)
{
	const struct lop_cpus *cpus = lop_domain_cpus(s, domain);
	int i;
	lop_assert((u32)domain < LOP_MAX_MEMORY_DOMAINS);
	lop_for_words(i) {
		u32 n = i & (LOP_CPU_WORDS - 1);
		if (on)
			lop_atomic_and(&s->off.word[n], ~cpus->word[n]);
		else
			lop_atomic_or(&s->off.word[n], cpus->word[n]);
	}
}

/* The first domain that is off; LOP_NONE: all are on. */
lop_rule s32 lop_domain_off(const struct lop_sched *s)
{
	s32 cpu = lop_cpus_first(&s->off, &s->open, &s->set[LOP_HIGH].cpus);
	return cpu < 0 ? LOP_NONE : s->topology.memory_domain[lop_cpu_index((u32)cpu)];
}
