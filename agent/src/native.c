/* SPDX-License-Identifier: GPL-2.0-only */
/* The policy core for enforcement from user space: one function for each thing the agent asks of it. policy.rs names the same. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef int64_t s64;
typedef uint64_t u64;

/* The answers are static, so that their names cannot meet those of another adapter in one program. */
#define LOP_ENV static __attribute__((unused))
#define LOP_WORLD_MEMBERS void *agent;

/* One thread calls the policy, one call at a time. Each returns the old value. */
#define LOP_ATOMICS_DEFINED
#define lop_atomic_or(p, v) ({ __typeof__(*(p)) old_ = *(p); *(p) |= (v); old_; })
#define lop_atomic_and(p, v) ({ __typeof__(*(p)) old_ = *(p); *(p) &= (v); old_; })
#define lop_atomic_add(p, v) ({ __typeof__(*(p)) old_ = *(p); *(p) += (v); old_; })
#define lop_atomic_cas(p, old, new) ({ __typeof__(*(p)) was_ = *(p); if (was_ == (old)) *(p) = (new); was_; })
#include "auto.h"
#include "lopsided.h"
#include "plan.h"

struct agent_task {
	struct lop_task policy;
	u32 id;
};

/* What Rust answers (policy.rs). */
u64 lop_agent_now_ns(void *agent);
void lop_agent_insert_local(void *agent, u32 id, u32 cpu);
void lop_agent_insert(void *agent, u32 id, u32 queue, u64 vtime_ns);
bool lop_agent_take(void *agent, u32 queue, u32 cpu, u64 before_ns, u64 until_ns);
u32 lop_agent_queued(void *agent, u32 queue);
u64 lop_agent_first_ns(void *agent, u32 queue);
void lop_agent_kick(void *agent, u32 cpu);
void lop_agent_preempt(void *agent, u32 cpu);
void lop_agent_set_changed(void *agent, u32 cpu, u32 set);
void lop_agent_arm_timer(void *agent, u64 at_ns);

static u32 id_of(const struct lop_task *t) { return ((const struct agent_task *)t)->id; }

static u64 lop_env_now_ns(struct lop_world *world) { return lop_agent_now_ns(world->agent); }
static void lop_env_insert_local(struct lop_world *world, struct lop_task *t, u32 cpu, u64 slice_ns)
{
	(void)slice_ns; /* how long it runs is the kernel's to say */
	lop_agent_insert_local(world->agent, id_of(t), cpu);
}
static void lop_env_insert(struct lop_world *world, struct lop_task *t, u32 queue, u64 slice_ns, u64 vtime_ns)
{
	(void)slice_ns;
	lop_agent_insert(world->agent, id_of(t), queue, vtime_ns);
}
static bool lop_env_take(struct lop_world *world, u32 queue, u32 cpu, u64 until_ns)
{
	return lop_agent_take(world->agent, queue, cpu, LOP_NO_TIME, until_ns);
}
static bool lop_env_take_overdue(struct lop_world *world, u32 queue, u32 cpu, u64 before_ns)
{
	return lop_agent_take(world->agent, queue, cpu, before_ns, LOP_NO_TIME);
}
static u32 lop_env_queued(struct lop_world *world, u32 queue) { return lop_agent_queued(world->agent, queue); }
static u64 lop_env_first_ns(struct lop_world *world, u32 queue) { return lop_agent_first_ns(world->agent, queue); }
static void lop_env_kick(struct lop_world *world, u32 cpu) { lop_agent_kick(world->agent, cpu); }
static void lop_env_preempt(struct lop_world *world, u32 cpu) { lop_agent_preempt(world->agent, cpu); }
static void lop_env_set_changed(struct lop_world *world, u32 cpu, enum lop_set set) { lop_agent_set_changed(world->agent, cpu, set); }
static void lop_env_arm_timer(struct lop_world *world, u64 at_ns) { lop_agent_arm_timer(world->agent, at_ns); }
/* The reserved core's speed stays its governor's, and no temperature is read: no rule that would ask is called. */
static void lop_env_reserved_speed(struct lop_world *world, u32 cpu, u32 raised) { (void)world; (void)cpu; (void)raised; }
static s32 lop_env_temperature_mc(struct lop_world *world, u32 cpu) { (void)world; (void)cpu; return 0; }

#define WORLD(agent_) struct lop_world *world = &(struct lop_world){ .agent = (agent_) }

size_t lop_agent_sched_size(void) { return sizeof(struct lop_sched); }
size_t lop_agent_task_size(void) { return sizeof(struct agent_task); }
size_t lop_agent_app_size(void) { return sizeof(struct lop_app); }
size_t lop_agent_list_size(void) { return sizeof(struct lop_list); }

/* What was asked for and what the machine is like; Rust mirrors this. */
struct agent_config {
	u32 policy;       /* enum lop_policy */
	u32 fixed_size;
	s32 spare;        /* below 0: the policy's own */
	u32 nr_cpus, nr_memory_domains, nr_tiers, threads;
	u32 most_high;    /* power cap; 0: none */
	u64 hold_ns;      /* 0: the policy's own */
	u64 transition_ns, migration_ns;
};

void lop_agent_configure(struct lop_sched *s, const struct agent_config *asked)
{
	struct lop_config *c = &s->config;
	const struct lop_traits machine = {
		.nr_memory_domains = asked->nr_memory_domains, .nr_tiers = asked->nr_tiers, .threads = asked->threads,
	};
	lop_choose(c, asked->policy);
	if (asked->policy == LOP_AUTO)
		lop_leave_out(c, &machine);
	if (asked->policy == LOP_RESERVED_CORE)
		c->reserve = LOP_RESERVE_BY_SIZE;
	lop_set_times(c, asked->hold_ns ? asked->hold_ns : lop_default_hold_ns(asked->transition_ns));
	c->reserve_window_ns = 0;
	c->nr_cpus = asked->nr_cpus;
	c->fixed_size = asked->fixed_size;
	c->spare = asked->spare < 0 ? c->spare : (u32)asked->spare;
	c->most_high = asked->most_high;
	c->transition_ns = asked->transition_ns;
	c->migration_ns = asked->migration_ns;
}

u32 lop_agent_rules(const struct lop_sched *s) { return s->config.rules; }
u64 lop_agent_period_ns(const struct lop_sched *s) { return s->config.period_ns; }

/* One CPU of the topology; Rust mirrors this. */
struct agent_cpu { u16 tier, voltage_domain, memory_domain, node, socket, next_sibling, permille; };

void lop_agent_add_cpu(struct lop_sched *s, u32 cpu, const struct agent_cpu *about)
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
	top->tier_permille[about->tier & (LOP_MAX_TIERS - 1)] = about->permille;
	lop_cpus_add(&top->tier_cpus[about->tier & (LOP_MAX_TIERS - 1)], cpu);
	lop_cpus_add(&top->voltage_cpus[lop_cpu_index(about->voltage_domain)], cpu);
	lop_cpus_add(&top->memory_cpus[about->memory_domain & (LOP_MAX_MEMORY_DOMAINS - 1)], cpu);
	lop_cpus_add(&top->node_cpus[about->node & (LOP_MAX_NODES - 1)], cpu);
	lop_cpus_add(&top->cpus, cpu);
	lop_cpus_add(&s->online, cpu);
	lop_cpus_add(&s->idle, cpu);
}

void lop_agent_start(struct lop_sched *s, void *agent, u64 now_ns)
{
	WORLD(agent);
	lop_start(s, world, now_ns);
}

void lop_agent_task_init(struct agent_task *t, u32 id)
{
	memset(t, 0, sizeof(*t));
	t->id = id;
	t->policy.weight = 1024;
	t->policy.anchor = t->policy.last_queue = t->policy.queue = LOP_NONE;
	t->policy.memory_domain = t->policy.goes_to = LOP_NONE;
	t->policy.set = LOP_HIGH;
	t->policy.speedup_permille = LOP_UNMEASURED_SPEEDUP;
}
void lop_agent_app_init(struct lop_app *app)
{
	memset(app, 0, sizeof(*app));
	app->home_node = LOP_NONE;
}
void lop_agent_set_allowed(struct lop_sched *s, struct lop_task *t, const struct lop_cpus *allowed) { lop_set_allowed(s, t, allowed); }

void lop_agent_wake(struct lop_sched *s, void *agent, struct lop_task *t, struct lop_app *app, u32 last_cpu, u64 now_ns)
{
	WORLD(agent);
	lop_put(s, world, t, NULL, lop_wake(s, world, t, app, NULL, last_cpu, now_ns));
}
void lop_agent_block(struct lop_sched *s, void *agent, struct lop_task *t, struct lop_app *app, u64 now_ns)
{
	WORLD(agent);
	lop_block(s, world, t, app, NULL, now_ns);
}
void lop_agent_enqueue(struct lop_sched *s, void *agent, struct lop_task *t, u32 cpu)
{
	WORLD(agent);
	lop_enqueue(s, world, t, NULL, cpu);
}
bool lop_agent_dispatch(struct lop_sched *s, void *agent, u32 cpu)
{
	WORLD(agent);
	return lop_dispatch(s, world, cpu, NULL) == LOP_NEXT_TAKEN;
}
void lop_agent_running(struct lop_sched *s, void *agent, struct lop_task *t, struct lop_app *app, u32 cpu, u64 now_ns)
{
	WORLD(agent);
	lop_running(s, world, t, now_ns);
	lop_started(s, world, t, app, cpu, now_ns);
}
/* `ran_ns` on `cpu`; `runnable`: it does not block. */
void lop_agent_stopped(struct lop_sched *s, void *agent, struct lop_task *t, struct lop_app *app, u32 cpu, bool runnable, u64 ran_ns, u64 now_ns)
{
	WORLD(agent);
	lop_stopping(s, world, t, NULL, cpu, ran_ns);
	lop_stopped(s, t, app, cpu, runnable, now_ns);
}
void lop_agent_ended(struct lop_sched *s, struct lop_task *t, struct lop_app *app) { lop_ended(s, t, app); }
void lop_agent_dequeue(struct lop_sched *s, void *agent, struct lop_task *t)
{
	WORLD(agent);
	lop_dequeue(s, world, t);
}
void lop_agent_cpu_idle(struct lop_sched *s, void *agent, u32 cpu, bool idle, u64 now_ns)
{
	WORLD(agent);
	lop_cpu_idle(s, world, cpu, idle, now_ns);
}
void lop_agent_timer(struct lop_sched *s, void *agent, u64 now_ns)
{
	WORLD(agent);
	lop_timer(s, world, now_ns);
}
bool lop_agent_must_go(const struct lop_sched *s, u32 cpu) { return lop_must_go(s, cpu); }
bool lop_agent_anything_waits(const struct lop_sched *s, u32 cpu) { return lop_anything_waits(s, cpu); }

/* What a thread says of itself, flags of enum lop_says. */
void lop_agent_says(struct lop_sched *s, void *agent, struct lop_task *t, struct lop_app *app, u32 flags, u64 now_ns)
{
	WORLD(agent);
	if ((t->hint.flags ^ flags) & LOP_SPINNING)
		lop_spin(s, world, t, app, NULL, flags & LOP_SPINNING, now_ns);
	if ((t->hint.flags ^ flags) & (LOP_SEQUENTIAL | LOP_LOCK_HOLDER))
		lop_say(s, world, t, app, flags & ~(u32)LOP_SPINNING, now_ns);
}
void lop_agent_declare_length(struct lop_task *t, struct lop_app *app, u32 length) { lop_declare_length(t, app, length); }

u32 lop_agent_active(const struct lop_sched *s) { return lop_active(s, LOP_HIGH); }
void lop_agent_members(const struct lop_sched *s, struct lop_cpus *out) { *out = s->set[LOP_HIGH].cpus; }
s32 lop_agent_reserved(const struct lop_sched *s) { return s->reserving ? (s32)s->reserved_cpu : LOP_NONE; }

/* For people; Rust mirrors this. */
struct agent_facts {
	u32 active, target, spare;
	u64 hold_ns, promotions, demotions;
};
void lop_agent_facts(const struct lop_sched *s, struct agent_facts *out)
{
	*out = (struct agent_facts){
		.active = lop_active(s, LOP_HIGH), .target = lop_target(s, LOP_HIGH), .spare = s->config.spare,
		.hold_ns = s->config.hold_ns, .promotions = s->promotions, .demotions = s->demotions,
	};
}
/* When the `level`-th member, counted from 1, leaves if it stays surplus. */
u64 lop_agent_leaves_ns(const struct lop_sched *s, u32 level)
{
	return s->set[LOP_HIGH].below_since_ns[lop_cpu_index(level)] + lop_hold_ns(s, LOP_HIGH, level);
}

/* List scheduling of threads of one application (list.h): work left of a thread, and the plan. A core for each of `permille`. */
u64 lop_agent_left(const struct lop_sched *s, const struct lop_task *t, const struct lop_app *app, u64 now_ns)
{
	return lop_listed_left(s, t, app, now_ns);
}
void lop_agent_list(const struct lop_sched *s, const struct lop_app *app, struct lop_list *l, struct lop_listed *threads, u32 nr_threads,
		    const u32 *permille, u32 nr_cores)
{
	l->nr_threads = (u32)lop_min(nr_threads, LOP_MAX_LISTED);
	l->nr_cores = (u32)lop_min(nr_cores, LOP_MAX_CPUS);
	l->least_gain = lop_least_gain(s, app);
	memcpy(l->thread, threads, l->nr_threads * sizeof(*threads));
	for (u32 n = 0; n < l->nr_cores; n++)
		l->core[n].permille = permille[n];
	lop_list_threads(l);
	memcpy(threads, l->thread, l->nr_threads * sizeof(*threads));
}
/* True: it runs elsewhere and has to leave. */
bool lop_agent_put_on_list(struct lop_sched *s, struct lop_task *t, s32 cpu) { return lop_put_on_list(s, t, cpu); }
s32 lop_agent_listed(const struct lop_task *t) { return (s32)t->listed - 1; }

/* Plans about threads that were looked at (plan.h); Rust mirrors struct lop_planned. */
size_t lop_agent_planned_size(void) { return sizeof(struct lop_planned); }
size_t lop_agent_plan_size(void) { return sizeof(struct lop_plan); }
size_t lop_agent_cast_size(void) { return sizeof(struct lop_cast); }
bool lop_agent_plans(const struct lop_sched *s) { return lop_has_domains(s) || lop_has_specialists(s); }
bool lop_agent_gathers(const struct lop_sched *s) { return s->config.domains == LOP_DOMAINS_GATHER; }
void lop_agent_note_counters(struct lop_planned *t, u64 misses, u64 instructions, u64 passed_ns)
{
	lop_note_counters(&t->intensity, misses, instructions, passed_ns);
}
void lop_agent_plan(const struct lop_sched *s, struct lop_plan *p, struct lop_cast *c, struct lop_planned *threads, u32 nr, u64 now_ns)
{
	lop_plan_threads(p, c, s, threads, nr, now_ns);
}
/* Whether the last plan wants a thread in this memory domain. */
bool lop_agent_is_wanted(struct lop_plan *p, u32 domain) { return lop_is_wanted(p, (s32)domain); }
void lop_agent_set_domain_on(struct lop_sched *s, void *agent, u32 domain, bool on, u64 now_ns)
{
	WORLD(agent);
	lop_set_domain_on(s, world, (s32)domain, on, now_ns);
}
/* True: it is elsewhere, and has to be queued anew. */
bool lop_agent_set_domain(struct lop_sched *s, struct lop_task *t, s32 domain, u32 cpu) { return lop_set_domain(s, t, domain, cpu); }
s32 lop_agent_domain(const struct lop_sched *s, const struct lop_task *t) { return lop_wants_domain(s, t) ? t->memory_domain : LOP_NONE; }
void lop_agent_go_to(const struct lop_sched *s, struct lop_task *t, u32 cpu) { lop_go_to(s, t, cpu); }
void lop_agent_rest_plans(struct lop_sched *s) { lop_rest_plans(s); }
/* 0: nobody knows. */
void lop_agent_set_speedup(struct lop_task *t, u32 permille) { t->speedup_permille = permille ? permille : LOP_UNMEASURED_SPEEDUP; }
