/* SPDX-License-Identifier: GPL-2.0-only */
/* The policy core, compiled natively: one function for each thing the simulator asks of it. */
#include "types.h"

/* A simulated world calls its policy from one thread, one call at a time. Each returns the old value. */
#define LOP_ATOMICS_DEFINED
#define lop_atomic_or(p, v) ({ __typeof__(*(p)) old_ = *(p); *(p) |= (v); old_; })
#define lop_atomic_and(p, v) ({ __typeof__(*(p)) old_ = *(p); *(p) &= (v); old_; })
#define lop_atomic_add(p, v) ({ __typeof__(*(p)) old_ = *(p); *(p) += (v); old_; })
#define lop_atomic_cas(p, old, new) ({ __typeof__(*(p)) was_ = *(p); if (was_ == (old)) *(p) = (new); was_; })
#include "auto.h"
#include "lopsided.h"

bool lop_native_set_domain(struct lop_sched *s, struct lop_task *t, s32 domain, u32 cpu) { return lop_set_domain(s, t, domain, cpu); }
void lop_native_set_domain_on(struct lop_sched *s, struct lop_world *world, s32 domain, bool on, u64 now_ns)
{
	lop_set_domain_on(s, world, domain, on, now_ns);
}
void lop_native_rest_plans(struct lop_sched *s) { lop_rest_plans(s); }
void lop_native_go_to(const struct lop_sched *s, struct lop_task *t, u32 cpu) { lop_go_to(s, t, cpu); }
const struct lop_cpus *lop_native_off(const struct lop_sched *s) { return &s->off; }

size_t lop_native_sched_size(void) { return sizeof(struct lop_sched); }
size_t lop_native_task_size(void) { return sizeof(struct lop_task); }
struct lop_config *lop_native_config(struct lop_sched *s) { return &s->config; }
const struct lop_cpus *lop_native_members(const struct lop_sched *s, u32 set) { return &s->set[set].cpus; }
u32 lop_native_size(const struct lop_sched *s, u32 set) { return s->set[set].size; }
u32 lop_native_active(const struct lop_sched *s, u32 set) { return lop_active(s, set); }
u32 lop_native_target(const struct lop_sched *s, u32 set) { return lop_target(s, set); }
/* For tests: what the policy keeps beside the sets, to be compared with what follows from them. */
size_t lop_native_config_size(void) { return sizeof(struct lop_config); }
size_t lop_native_app_size(void) { return sizeof(struct lop_app); }
const struct lop_cpus *lop_native_idle(const struct lop_sched *s) { return &s->idle; }
const struct lop_cpus *lop_native_online(const struct lop_sched *s) { return &s->online; }
const struct lop_cpus *lop_native_hot(const struct lop_sched *s) { return &s->hot; }
const struct lop_cpus *lop_native_warm(const struct lop_sched *s) { return &s->warm; }
const struct lop_cpus *lop_native_beside_high(const struct lop_sched *s) { return &s->beside_high; }
const struct lop_cpus *lop_native_beside_busy(const struct lop_sched *s) { return &s->beside_busy; }
const struct lop_cpus *lop_native_pinned(const struct lop_sched *s, u32 set) { return &s->set[set].pinned; }
u32 lop_native_voltage_high(const struct lop_sched *s, u32 domain) { return s->voltage_high[lop_cpu_index(domain)]; }
u32 lop_native_node_high(const struct lop_sched *s, u32 node) { return s->node_high[node & (LOP_MAX_NODES - 1)]; }
const struct lop_cpus *lop_native_open(const struct lop_sched *s) { return &s->open; }
u32 lop_native_nr_open(const struct lop_sched *s) { return s->nr_open; }
u32 lop_native_undeclared_apps(const struct lop_sched *s) { return lop_undeclared(s); }
u32 lop_native_declared_sum(const struct lop_sched *s) { return s->declared_sum; }
u64 lop_native_timer_at_ns(const struct lop_sched *s) { return s->timer_at_ns; }
u64 lop_native_clock_ns(const struct lop_sched *s) { return s->clock_ns; }
u64 lop_native_slice_ns(const struct lop_sched *s) { return lop_slice_ns(s); }
/* What another CPU in the middle of a resize looks like: the lock is taken (true), or let go. */
void lop_native_hold_lock(struct lop_sched *s, bool held) { s->resizing = held; }
bool lop_native_waits(struct lop_sched *s, u32 queue) { return lop_queue_waits(s, queue); }

u64 lop_native_promotions(const struct lop_sched *s) { return s->promotions; }
u64 lop_native_demotions(const struct lop_sched *s) { return s->demotions; }
/* LOP_NONE: no CPU is reserved. */
s32 lop_native_reserved(const struct lop_sched *s, u32 *raised)
{
	*raised = s->reserve_raised;
	return s->reserving ? (s32)s->reserved_cpu : LOP_NONE;
}
bool lop_native_on_reserved_core(const struct lop_sched *s, u32 cpu) { return lop_on_reserved_core(s, cpu); }
u64 lop_native_swaps(const struct lop_sched *s) { return s->swaps; }

/* One CPU of the topology, before lop_native_start(). Siblings come in a ring over `next_sibling`. */
struct lop_native_cpu { u16 tier, voltage_domain, memory_domain, node, socket, next_sibling; };

void lop_native_add_cpu(struct lop_sched *s, u32 cpu, const struct lop_native_cpu *about)
{
	struct lop_topology *top = &s->topology;
	top->tier[cpu] = about->tier;
	top->voltage_domain[cpu] = about->voltage_domain;
	top->memory_domain[cpu] = about->memory_domain;
	top->node[cpu] = about->node;
	top->socket[cpu] = about->socket;
	top->next_sibling[cpu] = about->next_sibling;
	top->nr_tiers = (u16)lop_max(top->nr_tiers, about->tier + 1U);
	top->nr_memory_domains = (u16)lop_max(top->nr_memory_domains, about->memory_domain + 1U);
	top->nr_nodes = (u16)lop_max(top->nr_nodes, about->node + 1U);
	top->nr_sockets = (u16)lop_max(top->nr_sockets, about->socket + 1U);
	lop_cpus_add(&top->tier_cpus[about->tier & (LOP_MAX_TIERS - 1)], cpu);
	lop_cpus_add(&top->voltage_cpus[lop_cpu_index(about->voltage_domain)], cpu);
	lop_cpus_add(&top->memory_cpus[about->memory_domain & (LOP_MAX_MEMORY_DOMAINS - 1)], cpu);
	lop_cpus_add(&top->node_cpus[about->node & (LOP_MAX_NODES - 1)], cpu);
	lop_cpus_add(&top->cpus, cpu);
	lop_cpus_add(&s->online, cpu);
	lop_cpus_add(&s->idle, cpu);
}

/* Before lop_native_start(): nobody uses this CPU but who is bound there. */
void lop_native_isolate(struct lop_sched *s, u32 cpu) { lop_cpus_add(&s->topology.isolated, cpu); }

/* As a kernel finds its machine, instead of all online and idle: which CPUs are idle they tell later. After the last CPU was added. */
void lop_native_begin_busy(struct lop_sched *s, const struct lop_cpus *online)
{
	struct lop_cpus none = {};
	s->idle = none;
	s->online = *online;
}

void lop_native_start(struct lop_sched *s, struct lop_world *world, u64 now_ns) { lop_start(s, world, now_ns); }

/* Counts, grows, places, and starts or queues. Returns the placement's CPU; *claimed as in struct lop_placement. */
s32 lop_native_wake(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app, struct lop_group *group,
		    u32 last_cpu, u64 now_ns, bool *claimed)
{
	struct lop_placement place = lop_wake(s, world, t, app, group, last_cpu, now_ns);
	lop_put(s, world, t, group, place);
	*claimed = place.claimed;
	return place.cpu;
}

/* The first half of it: counts, grows and places, for who queues the task by a call of its own. */
s32 lop_native_place(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app, u32 last_cpu, u64 now_ns,
		     bool *claimed)
{
	struct lop_placement place = lop_wake(s, world, t, app, NULL, last_cpu, now_ns);
	*claimed = place.claimed;
	return place.cpu;
}

void lop_native_enqueue(struct lop_sched *s, struct lop_world *world, struct lop_task *t, const struct lop_group *group, u32 cpu)
{
	lop_enqueue(s, world, t, group, cpu);
}

void lop_native_wait_at_claimed(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u32 cpu)
{
	lop_wait_at_claimed(s, world, t, cpu);
}

/* The engine queues a task whose slice is over before it asks, so there is none to go on. */
bool lop_native_dispatch(struct lop_sched *s, struct lop_world *world, u32 cpu)
{
	return lop_dispatch(s, world, cpu, NULL) == LOP_NEXT_TAKEN;
}
u32 lop_native_dispatch_running(struct lop_sched *s, struct lop_world *world, u32 cpu, const struct lop_task *t)
{
	return lop_dispatch(s, world, cpu, t);
}
bool lop_native_goes_on(struct lop_sched *s, struct lop_world *world, const struct lop_task *t, u32 cpu)
{
	return lop_goes_on(s, world, t, cpu);
}
bool lop_native_came_too_late(const struct lop_sched *s, const struct lop_task *t, u32 cpu) { return lop_came_too_late(s, t, cpu); }
void lop_native_dequeue(struct lop_sched *s, struct lop_world *world, struct lop_task *t) { lop_dequeue(s, world, t); }
/* What moves running tasks: see lop_started() and lop_stopped(). */
void lop_native_started(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app, u32 cpu, u64 now_ns)
{
	lop_started(s, world, t, app, cpu, now_ns);
}
void lop_native_stopped(struct lop_sched *s, struct lop_task *t, struct lop_app *app, u32 cpu, bool runnable, u64 now_ns)
{
	lop_stopped(s, t, app, cpu, runnable, now_ns);
}
void lop_native_ended(struct lop_sched *s, struct lop_task *t, struct lop_app *app) { lop_ended(s, t, app); }
void lop_native_say(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app, u32 flags, u64 now_ns)
{
	lop_say(s, world, t, app, flags, now_ns);
}
bool lop_native_claim_late(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app)
{
	return lop_claim_late(s, world, t, app);
}
void lop_native_declare_length(struct lop_task *t, struct lop_app *app, u32 length) { lop_declare_length(t, app, length); }
void lop_native_born(struct lop_task *t, struct lop_task *creator, struct lop_app *app) { lop_born(t, creator, app); }
u32 lop_native_median_length(const struct lop_app *app) { return lop_median_length(app); }
bool lop_native_ranks_before(const struct lop_sched *s, const struct lop_rank *a, const struct lop_rank *b)
{
	return lop_ranks_before(s, a, b);
}
bool lop_native_displaces(const struct lop_rank *a, const struct lop_rank *b) { return lop_displaces(a, b); }
bool lop_native_has_core_by_length(const struct lop_sched *s, u32 cpu) { return lop_has_core_by_length(s, cpu); }
u32 lop_native_class_on(const struct lop_sched *s, u32 cpu) { return lop_class_on(s, cpu); }
bool lop_native_must_go(const struct lop_sched *s, u32 cpu) { return lop_must_go(s, cpu); }
const struct lop_cpus *lop_native_awaited(const struct lop_sched *s) { return &s->awaited; }
const struct lop_cpus *lop_native_given(const struct lop_sched *s) { return &s->given; }
u64 lop_native_moves(const struct lop_sched *s) { return s->moves; }
void lop_native_set_tier_speed(struct lop_sched *s, u32 tier, u32 permille)
{
	s->topology.tier_permille[tier & (LOP_MAX_TIERS - 1)] = (u16)permille;
}
bool lop_native_anything_waits(const struct lop_sched *s, u32 cpu) { return lop_anything_waits(s, cpu); }
void lop_native_running(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u64 now_ns)
{
	lop_running(s, world, t, now_ns);
}
u32 lop_native_wished_speedup(u32 speedup_permille, u32 min, u32 max) { return lop_wished_speedup(speedup_permille, min, max); }
u32 lop_native_weight_of_nice(s32 nice) { return lop_weight_of_nice(nice); }
u32 lop_native_weight_of_share(u32 cpu_weight) { return lop_weight_of_share(cpu_weight); }
void lop_native_stopping(struct lop_sched *s, struct lop_world *world, struct lop_task *t, const struct lop_group *group, u32 cpu,
			 u64 ran_ns)
{
	lop_stopping(s, world, t, group, cpu, ran_ns);
}
void lop_native_block(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app,
		      struct lop_group *group, u64 now_ns)
{
	lop_block(s, world, t, app, group, now_ns);
}
void lop_native_forget(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app, struct lop_group *group,
		       u64 now_ns)
{
	lop_forget(s, world, t, app, group, now_ns);
}
void lop_native_spin(struct lop_sched *s, struct lop_world *world, struct lop_task *t, struct lop_app *app, struct lop_group *group,
		     bool spinning, u64 now_ns)
{
	lop_spin(s, world, t, app, group, spinning, now_ns);
}
void lop_native_cpu_idle(struct lop_sched *s, struct lop_world *world, u32 cpu, bool idle, u64 now_ns)
{
	lop_cpu_idle(s, world, cpu, idle, now_ns);
}
void lop_native_cpu_taken(struct lop_sched *s, struct lop_world *world, u32 cpu, bool taken, u64 now_ns)
{
	lop_cpu_taken(s, world, cpu, taken, now_ns);
}
bool lop_native_is_short(const struct lop_sched *s) { return lop_is_short(s); }
void lop_native_timer(struct lop_sched *s, struct lop_world *world, u64 now_ns) { lop_timer(s, world, now_ns); }
void lop_native_set_allowed(struct lop_sched *s, struct lop_task *t, const struct lop_cpus *allowed)
{
	lop_set_allowed(s, t, allowed);
}
void lop_native_set_weight(struct lop_sched *s, struct lop_task *t, struct lop_group *group, u32 weight, u64 now_ns)
{
	lop_set_weight(s, t, group, weight, now_ns);
}
struct lop_group *lop_native_group(struct lop_sched *s, u32 index) { return lop_group_at(s, (s32)index); }
void lop_native_set_group_weight(struct lop_sched *s, struct lop_group *group, u32 weight, u64 now_ns)
{
	lop_group_set_weight(s, group, weight, now_ns);
}
size_t lop_native_group_size(void) { return sizeof(struct lop_group); }
bool lop_native_declare(struct lop_sched *s, struct lop_world *world, struct lop_app *app, u32 parallelism, u64 now_ns)
{
	return lop_declare(s, world, app, parallelism, now_ns);
}
void lop_native_cpu_offline(struct lop_sched *s, struct lop_world *world, u32 cpu, u64 now_ns)
{
	lop_cpu_offline(s, world, cpu, now_ns);
}
void lop_native_cpu_online(struct lop_sched *s, struct lop_world *world, u32 cpu, u64 now_ns)
{
	lop_cpu_online(s, world, cpu, now_ns);
}
void lop_native_anchor_anew(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u64 now_ns)
{
	lop_anchor_anew(s, world, t, now_ns);
}
void lop_native_rotate_heat(struct lop_sched *s, struct lop_world *world, u64 now_ns) { lop_rotate_heat(s, world, now_ns); }
u64 lop_native_default_hold_ns(u64 transition_ns) { return lop_default_hold_ns(transition_ns); }
void lop_native_configure(struct lop_config *c, u32 policy, u64 hold_ns)
{
	lop_choose(c, policy);
	lop_set_times(c, hold_ns);
}
size_t lop_native_traits_size(void) { return sizeof(struct lop_traits); }
void lop_native_leave_out(struct lop_config *c, const struct lop_traits *m) { lop_leave_out(c, m); }
u32 lop_native_green_opp(const struct lop_opp *opps, u32 nr_opps, bool stays_on)
{
	return lop_green_opp(opps, nr_opps, stays_on);
}
u32 lop_native_weight_of_user(const struct lop_sched *s, const struct lop_task *t, const struct lop_group *group)
{
	return lop_weight_of_user(s, t, group);
}
u32 lop_native_weight_1024(const struct lop_sched *s, const struct lop_task *t, const struct lop_group *group)
{
	return lop_weight_1024(s, t, group);
}
s32 lop_native_joiner(const struct lop_sched *s, u32 set, const struct lop_cpus *within, s32 home_node)
{
	struct lop_world world;
	return lop_joiner(s, &world, set, within, home_node);
}
s32 lop_native_leaver(const struct lop_sched *s, u32 set)
{
	struct lop_world world;
	return lop_leaver(s, &world, set);
}
