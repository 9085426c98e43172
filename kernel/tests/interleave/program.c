/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compiles main.bpf.c natively, as it is. Constants that the loader sets before loading are variables here. Each atomic
 * reports whether its result is used (steps.c).
 */
#include "scx/common.bpf.h"
#include "program.h"
#include "steps.h"
#include <stdio.h>
__attribute__((pure)) uint64_t result_used(uint64_t result);
#define __sync_fetch_and_add(at, by) ((__typeof__(*(at)))result_used(__sync_fetch_and_add(at, by)))
#define __sync_fetch_and_sub(at, by) ((__typeof__(*(at)))result_used(__sync_fetch_and_sub(at, by)))
#define __sync_fetch_and_or(at, with) ((__typeof__(*(at)))result_used(__sync_fetch_and_or(at, with)))
#define __sync_fetch_and_and(at, with) ((__typeof__(*(at)))result_used(__sync_fetch_and_and(at, with)))
#define LOP_PLACES 8192
/* Times and numbers for a run of a few milliseconds; pace.h has the real ones. */
#define LOP_STEADY_WAKES 2
#define LOP_OFF_MOST_PERMILLE 5000
#define LOP_PENALTY_NS 20000ULL
#define LOP_HOME_ENDS_NS 5000000ULL
#define LOP_LIGHT_SLICE_NS 20000ULL
#define LOP_HEAVY_NS 100000ULL
#define LOP_WAIT_MAX_NS 12000000ULL
#define const
#include "../../src/bpf/main.bpf.c"
#undef const

static struct lop_task_state states[MODEL_TASKS];
static u32 nr_known;
static bool comes_and_goes; /* CPUs go offline and come back; nothing is given to one that is offline */
static struct lop_timer_map_value timer_value;

void *storage_of(const void *map, struct task_struct *p)
{
	u32 number = task_number(p);
	return map == &task_states && number < nr_known ? &states[number] : NULL;
}

/* Stack maps: free places of applications and of groups. */
static struct stack { const void *map; u32 depth, values[LOP_PLACES]; } stacks[2];
static u64 pops;

static struct stack *stack_of(const void *map)
{
	struct stack *stack = &stacks[0];
	while (stack->map && stack->map != map)
		stack++;
	stack->map = map;
	return stack;
}

long pop(const void *map, u32 *value)
{
	struct stack *stack = stack_of(map);
	pops++;
	if (!stack->depth)
		return -ENOENT;
	*value = stack->values[--stack->depth];
	return 0;
}

long push(const void *map, const u32 *value)
{
	struct stack *stack = stack_of(map);
	if (stack->depth == LOP_PLACES)
		return -ENOENT;
	stack->values[stack->depth++] = *value;
	return 0;
}

/* Hash maps: the place of each group or process. */
static struct entry { const void *map; u64 key; u32 value; } entries[2 * LOP_PLACES];

static struct entry *entry_of(const void *map, u64 key)
{
	struct entry *entry = &entries[0];
	while (entry < &entries[2 * LOP_PLACES] && (entry->map != map || entry->key != key))
		entry++;
	return entry < &entries[2 * LOP_PLACES] ? entry : NULL;
}

static u64 key_at(const void *key, size_t size)
{
	u64 number = 0;
	memcpy(&number, key, size < sizeof(number) ? size : sizeof(number));
	return number;
}

void *look_up(const void *map, const void *key, size_t size)
{
	struct entry *entry;
	if (map == &timers)
		return &timer_value;
	entry = entry_of(map, key_at(key, size));
	return entry ? &entry->value : NULL;
}

long put(const void *map, const void *key, size_t size, u32 value)
{
	struct entry *entry = entry_of(map, key_at(key, size));
	if (map != &slot_of_group && map != &app_of_process)
		return 0;
	if (entry)
		return -EEXIST;
	entry = entry_of(NULL, 0);
	if (!entry)
		return -ENOENT;
	*entry = (struct entry){ map, key_at(key, size), value };
	return 0;
}

void drop(const void *map, const void *key, size_t size)
{
	struct entry *entry = entry_of(map, key_at(key, size));
	if (entry)
		*entry = (struct entry){};
}

/* Times for a program that runs for only a few milliseconds. */
static void set_times(struct lop_config *c, u64 hold_ns)
{
	lop_set_times(c, hold_ns);
	c->hold_ns = hold_ns;
	c->last_hold_ns = 2 * hold_ns;
	c->slice_min_ns = 20000;
	c->slice_max_ns = 60000;
	c->period_ns = 200000;
	c->turn_ns = 200000;
	c->grace_ns = 50000;
}

static void place_cpu(struct lop_topology *top, const struct scene *scene, unsigned cpu)
{
	unsigned core = cpu / scene->threads, cores = scene->cpus / scene->threads;
	top->tier[cpu] = (u16)(core * scene->tiers / cores);
	top->next_sibling[cpu] = (u16)(core * scene->threads + (cpu + 1) % scene->threads);
	top->clock_domain[cpu] = (u16)core;
	top->voltage_domain[cpu] = (u16)core;
	top->memory_domain[cpu] = (u16)(core % scene->domains);
	lop_cpus_add(&top->cpus, cpu);
	lop_cpus_add(&top->tier_cpus[top->tier[cpu]], cpu);
	lop_cpus_add(&top->voltage_cpus[core], cpu);
	lop_cpus_add(&top->memory_cpus[top->memory_domain[cpu]], cpu);
	lop_cpus_add(&top->node_cpus[0], cpu);
}

/* The slowest kind at two speeds, then the fastest at one. */
static void set_ladder(struct lop_config *c, u16 slowest, bool light)
{
	u32 permille = slowest ? 500 : 1000;
	u32 n;
	c->green = LOP_GREEN_WORK_PACED;
	c->light = light;
	/* So that a home has room for several tasks, and that the looks at idle CPUs which follow one another by a slice leave time to rest. */
	c->slice_min_ns = 1000;
	c->slice_max_ns = 2000;
	c->rung[c->nr_rungs++] = (struct lop_rung){ slowest, 400, 400 * permille / 1000 };
	c->rung[c->nr_rungs++] = (struct lop_rung){ slowest, 700, 700 * permille / 1000 };
	if (slowest)
		c->rung[c->nr_rungs++] = (struct lop_rung){ 0, 700, 700 };
	for (n = 0; n <= c->nr_rungs; n++)
		c->rung_uj[n] = 4000 + 1000 * n;
}

void set_scene(const struct scene *scene)
{
	struct lop_topology *top = &lopsided.topology;
	unsigned cpu;
	nr_known = scene->tasks;
	comes_and_goes = scene->hotplug;
	for (cpu = 0; cpu < scene->cpus; cpu++)
		place_cpu(top, scene, cpu);
	top->nr_tiers = (u16)scene->tiers;
	top->nr_memory_domains = (u16)scene->domains;
	top->nr_nodes = top->nr_sockets = 1;
	top->tier_permille[0] = 1000;
	top->tier_permille[1] = 500;
	lop_choose(&lopsided.config, scene->policy);
	set_times(&lopsided.config, scene->hold_ns);
	lopsided.config.migration_ns = scene->migration_ns;
	lopsided.config.spare = scene->spare;
	lopsided.config.nr_cpus = scene->cpus;
	lopsided.config.domains = LOP_DOMAINS_AS_COME;
	lopsided.config.reserve = LOP_RESERVE_NEVER;
	lopsided.config.green = LOP_GREEN_WORK_NONE;
	if (scene->paces)
		set_ladder(&lopsided.config, (u16)(scene->tiers - 1), scene->light);
	paces = scene->paces;
	places_light = scene->light;
	top->isolated.word[0] = scene->isolated;
	lopsided.online = top->cpus;
	nr_words = 1;
	last_group = last_app = LOP_PLACES - 1;
	ranks = lopsided.config.rules != 0;
	isolates = scene->isolated != 0;
	share(&lopsided, sizeof(lopsided));
	share(states, sizeof(states));
	share(resting, sizeof(resting));
	share(&unsure, sizeof(unsure));
	share(&left_kicks, sizeof(left_kicks));
	share(&left_over, sizeof(left_over));
}

void move_from(unsigned cpu)
{
	struct lop_world *world = begin_here();
	s32 to = lop_cpus_first(&lopsided.idle, &lopsided.open, &lopsided.set[LOP_HIGH].cpus);
	if (ranks && to >= 0 && lop_may_leave(&lopsided, cpu) && lop_is_vacant(&lopsided, (u32)to))
		lop_send(&lopsided, world, cpu, (u32)to, world->now_ns);
}

bool counts_as_idle(unsigned cpu) { return lop_cpus_has(&lopsided.idle, cpu); }

bool was_placed(unsigned number) { return states[number].claimed != LOP_NONE; }

bool counts_on_taken(unsigned number)
{
	s32 anchor = states[number].task.anchor;
	return anchor != LOP_NONE && (lop_cpus_has(&lopsided.taken, (u32)anchor) || runs_higher_class(anchor));
}

s32 home_of(unsigned number)
{
	const struct lop_task *t = &states[number].task;
	return t->role == LOP_ROLE_AT_HOME && t->queue >= 0 && t->queue < LOP_MAX_CPUS && !t->goes_first ? t->queue : LOP_NONE;
}

bool will_look(void) { return lopsided.queues.look && timer_is_set(); }

/* Counts the tasks whose state says that they wait in the queue. */
static u32 waiting_in(u32 queue)
{
	u32 waiting = 0, n;
	for (n = 0; n < nr_known; n++)
		waiting += states[n].task.queue == (s32)queue;
	return waiting;
}

static bool is_claimed_for_a_task(unsigned cpu)
{
	unsigned n;
	for (n = 0; n < nr_known; n++)
		if (states[n].task.given == cpu + 1)
			return true;
	for (n = 0; n < lopsided.config.nr_cpus; n++)
		if (lopsided.fast.migrates_to[n] == cpu + 1)
			return true;
	return false;
}

static const char *find_fault_of_home(unsigned cpu)
{
	u32 n, counted = 0, needed = 0;
	for (n = 0; n < nr_known; n++) {
		const struct lop_paced *p = &states[n].task.pace;
		bool here = p->home == cpu + 1 && (places_light || p->epoch == lopsided.pace.epoch[cpu]);
		counted += here;
		needed += here ? p->taken_permille : 0;
	}
	if (lopsided.pace.tasks[cpu] != counted)
		return "its count of tasks that have their home there is wrong";
	if (lopsided.pace.load_permille[cpu] != needed)
		return "what the tasks need that have their home there is wrong";
	if (counted && !places_light && !lop_cpus_has(&lopsided.set[LOP_GREEN].pinned, cpu))
		return "tasks have their home there, and it is none";
	if (!counted && lop_cpus_has(&lopsided.set[LOP_GREEN].pinned, cpu))
		return "it is a home, and no task has it";
	return NULL;
}

static const char *find_fault_of_cpu(unsigned cpu)
{
	const char *fault = paces ? find_fault_of_home(cpu) : NULL;
	u32 anchored = 0, given, n;
	if (fault)
		return fault;
	for (n = 0; n < nr_known; n++)
		anchored += states[n].task.anchor == (s32)cpu;
	if (lopsided.membership.anchored[cpu] != anchored)
		return "its count of anchored tasks is wrong";
	if (anchored && !lop_cpus_has(&lopsided.set[LOP_HIGH].pinned, cpu))
		return "a task is anchored to it, and it is not pinned";
	if (!anchored && lop_is_isolated(&lopsided, cpu) && counts_as_idle(cpu) &&
	    lop_cpus_has(&lopsided.set[LOP_HIGH].cpus, cpu) && !timer_is_set())
		return "it is isolated, and high although no task is bound to it";
	if (lop_cpus_has(&lopsided.fast.claimed, cpu) && !is_claimed_for_a_task(cpu))
		return "it is claimed, and no task is to get it";
	for (n = 0, given = 0; n < nr_known; n++)
		given += states[n].task.goes_first && states[n].task.queue == (s32)cpu;
	if (lopsided.queues.nr_given[cpu] != given || (!comes_and_goes && lop_cpus_has(&lopsided.queues.given, cpu) != !!given))
		return "its count of tasks given to it is wrong";
	return NULL;
}

static const char *find_fault_of_queue(u32 queue)
{
	if (lopsided.queues.queued[queue] != waiting_in(queue))
		return "the count of tasks in its queue is wrong";
	if (lop_queue_waits(&lopsided, queue) != (lopsided.queues.queued[queue] != 0))
		return "the bit that says whether its queue has tasks is wrong";
	return NULL;
}

/* The set does not have the size that it should and could have. Busy members cannot leave. */
static bool could_change(enum lop_set set)
{
	u32 size = lopsided.set[set].size, target = lop_target(&lopsided, set);
	return size < target || lop_next_pinned(&lopsided, set) >= 0 ||
	       (size > target && lop_leaver(&lopsided, &timer_context, set, lop_env_now_ns(&timer_context)) >= 0);
}

const char *find_fault(unsigned *cpu)
{
	const char *fault = NULL;
	u32 active = 0, n;
	for (n = 0; n < nr_known; n++)
		active += states[n].task.counted;
	for (*cpu = 0; *cpu < lopsided.config.nr_cpus && !fault; ++*cpu) {
		fault = find_fault_of_cpu(*cpu);
		if (!fault)
			fault = find_fault_of_queue(lop_cpu_queue(*cpu));
		if (!fault)
			fault = find_fault_of_queue(lop_shared_queue(&lopsided, *cpu, LOP_HIGH));
		if (fault)
			break;
	}
	if (!fault && paces && lop_cpus_common(&lopsided.set[LOP_GREEN].pinned, &lopsided.topology.cpus) != lopsided.pace.nr_homes)
		fault = "the number of homes is wrong";
	if (!fault && lop_active(&lopsided, LOP_ROLE_ORDINARY) + lop_active(&lopsided, LOP_ROLE_AT_HOME) + lop_active(&lopsided, LOP_ROLE_BACKGROUND) != active)
		fault = "the count of active tasks is wrong";
	if (!fault && lopsided.membership.lock)
		fault = "the lock of the sets is still held";
	if (!fault && (could_change(LOP_HIGH) || (paces && could_change(LOP_GREEN))) && !timer_is_set())
		fault = "a set has the wrong size, and no timer is set to correct it";
	return fault;
}

void print_program(void)
{
	printf("green %llx size %u, target %u, homes %llx\n", (unsigned long long)lopsided.set[LOP_GREEN].cpus.word[0], lopsided.set[LOP_GREEN].size,
	       lop_target(&lopsided, LOP_GREEN), (unsigned long long)lopsided.set[LOP_GREEN].pinned.word[0]);
	printf("high %llx size %u, target %u, active %u, idle %llx, unsure %llx, taken %llx, pinned %llx, waiting %llx and %llx, claimed %llx, given %llx, timer %lld ns\n",
	       (unsigned long long)lopsided.set[LOP_HIGH].cpus.word[0], lopsided.set[LOP_HIGH].size, lop_target(&lopsided, LOP_HIGH),
	       lop_active(&lopsided, LOP_ROLE_ORDINARY), (unsigned long long)lopsided.idle.word[0], (unsigned long long)unsure.word[0],
	       (unsigned long long)lopsided.taken.word[0], (unsigned long long)lopsided.set[LOP_HIGH].pinned.word[0],
	       (unsigned long long)lopsided.queues.cpu_waiting.word[0], (unsigned long long)lopsided.queues.domain_waiting.word[0],
	       (unsigned long long)lopsided.fast.claimed.word[0], (unsigned long long)lopsided.queues.given.word[0],
	       lopsided.timer_at_ns ? (long long)(lopsided.timer_at_ns - bpf_ktime_get_ns()) : -1LL);
}

void print_task(unsigned number)
{
	const struct lop_task_state *t = &states[number];
	printf("  counted %d, role %d, queue %d, claimed %d, place %d, anchor %d, given %u, home %u%s\n", t->task.counted, t->task.role, t->task.queue, t->claimed,
	       t->place, t->task.anchor, t->task.given, t->task.pace.home, t->task.pace.ends ? " ends" : "");
}
