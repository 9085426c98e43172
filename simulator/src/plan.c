/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans for memory domains and kinds of cores, natively: arrays in, arrays out. */
#include <string.h>
#include "types.h"
#include "gather.h"
#include "list.h"
#include "specialise.h"

size_t lop_native_plan_size(void) { return sizeof(struct lop_plan); }
size_t lop_native_cast_size(void) { return sizeof(struct lop_cast); }
size_t lop_native_list_size(void) { return sizeof(struct lop_list); }
size_t lop_native_listed_size(void) { return sizeof(struct lop_listed); }
size_t lop_native_thread_size(void) { return sizeof(struct lop_thread); }
size_t lop_native_domain_size(void) { return sizeof(struct lop_domain); }
size_t lop_native_specialist_size(void) { return sizeof(struct lop_specialist); }
size_t lop_native_intensity_size(void) { return sizeof(struct lop_intensity); }

void lop_native_note_counters(struct lop_intensity *i, u64 misses, u64 instructions, u64 passed_ns)
{
	lop_note_counters(i, misses, instructions, passed_ns);
}
u32 lop_native_memory_class(const struct lop_intensity *i) { return lop_memory_class(i); }
u32 lop_native_planned_mpmi(const struct lop_intensity *i) { return lop_planned_mpmi(i); }
u32 lop_native_speedup_of_mpmi(u32 mpmi, u32 ratio_permille) { return lop_speedup_of_mpmi(mpmi, ratio_permille); }

struct lop_native_power { u32 base_mw, node_mw, core_mw; };

static void fill(struct lop_plan *p, const struct lop_thread *threads, u32 nr_threads, const struct lop_domain *domains, u32 nr_domains,
		 const struct lop_native_power *power, u64 now_ns)
{
	p->now_ns = now_ns;
	p->nr_threads = (u32)lop_min(nr_threads, LOP_MAX_PLANNED);
	p->nr_domains = (u32)lop_min(nr_domains, LOP_MAX_MEMORY_DOMAINS);
	p->base_mw = power->base_mw;
	p->node_mw = power->node_mw;
	p->core_mw = power->core_mw;
	memcpy(p->thread, threads, p->nr_threads * sizeof(*threads));
	memcpy(p->domain, domains, p->nr_domains * sizeof(*domains));
}

/* `gather`: by gather.h, else by spread.h. `p` is room that was zeroed once. Returns how many threads move. */
u32 lop_native_plan(struct lop_plan *p, bool gather, struct lop_thread *threads, u32 nr_threads, const struct lop_domain *domains,
		    u32 nr_domains, const struct lop_native_power *power, u64 now_ns)
{
	u32 moves;
	fill(p, threads, nr_threads, domains, nr_domains, power, now_ns);
	moves = gather ? lop_gather(p) : lop_spread(p);
	memcpy(threads, p->thread, p->nr_threads * sizeof(*threads));
	return moves;
}

/* Predicted EDP of the threads where they are. */
u64 lop_native_predicted_edp(struct lop_plan *p, const struct lop_thread *threads, u32 nr_threads, const struct lop_domain *domains,
			     u32 nr_domains, const struct lop_native_power *power)
{
	fill(p, threads, nr_threads, domains, nr_domains, power, 0);
	return lop_predicted_edp(p, true);
}

bool lop_native_is_planned(const struct lop_config *c, u32 memory) { return lop_is_planned(c, (enum lop_memory_class)memory); }

u32 lop_native_specialise(struct lop_cast *c, struct lop_specialist *threads, u32 nr_threads, u64 now_ns)
{
	u32 moves;
	c->now_ns = now_ns;
	c->nr_threads = (u32)lop_min(nr_threads, LOP_MAX_PLANNED);
	memcpy(c->thread, threads, c->nr_threads * sizeof(*threads));
	moves = lop_specialise(c);
	memcpy(threads, c->thread, c->nr_threads * sizeof(*threads));
	return moves;
}

/* A core for each of `permille`. */
void lop_native_list(struct lop_list *l, struct lop_listed *threads, u32 nr_threads, const u32 *permille, u32 nr_cores, u64 least_gain)
{
	l->nr_threads = (u32)lop_min(nr_threads, LOP_MAX_LISTED);
	l->nr_cores = (u32)lop_min(nr_cores, LOP_MAX_CPUS);
	l->least_gain = least_gain;
	memcpy(l->thread, threads, l->nr_threads * sizeof(*threads));
	for (u32 n = 0; n < l->nr_cores; n++)
		l->core[n].permille = permille[n];
	lop_list_threads(l);
	memcpy(threads, l->thread, l->nr_threads * sizeof(*threads));
}
u64 lop_native_listed_left(const struct lop_sched *s, const struct lop_task *t, const struct lop_app *app, u64 now_ns)
{
	return lop_listed_left(s, t, app, now_ns);
}
u64 lop_native_least_gain(const struct lop_sched *s, const struct lop_app *app) { return lop_least_gain(s, app); }
u64 lop_native_work_ns(const struct lop_sched *s, u32 cpu, u64 ran_ns) { return lop_work_ns(s, cpu, ran_ns); }
bool lop_native_put_on_list(struct lop_sched *s, struct lop_task *t, s32 cpu) { return lop_put_on_list(s, t, cpu); }
