/* SPDX-License-Identifier: GPL-2.0-only */
/* The policy's rules that the loader asks natively. They read the BPF program's own memory: same headers, same layout. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "bpf/intf.h"
#include "auto.h"
#include "demand.h"
#include "list.h"
#include "plan.h"
#include "sets.h"

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
u64 lop_loader_due_ns(const struct lop_sched *s, u32 set, u32 level) { return lop_due_at_ns(s, set, level); }

/* Plans about threads that the loader looked at (plan.h); Rust mirrors struct lop_planned. */
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

u32 lop_loader_plan(struct lop_plan *p, struct lop_cast *c, const struct lop_sched *s, struct lop_planned *threads, u32 nr, u64 now_ns)
{
	return lop_plan_threads(p, c, s, threads, nr, now_ns);
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
		if (!lop_is_usable(s, cpu))
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
