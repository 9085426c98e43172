/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs the policy's rules for fast cores on several CPUs at the same time, as a kernel does and the simulator does not.
 * Each thread is a CPU. It wakes tasks, runs them, stops them at random or when the policy says so, and lets them
 * sleep, until GOAL tasks have moved. In the end no task runs, no CPU is claimed for a task, none still has an order to
 * send its task away, and no task is lost. Before that, all threads claim the same CPUs. Argument: a seed, which also
 * selects the rules. Exit code 1: something was left, nothing moves any more, or two threads got one CPU.
 */
#include "types.h"
#include "lopsided.h"
#include "machine.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NR_CPUS = 4, NR_TASKS = 6, NOWHERE = -1, LOCAL = LOP_QUEUES, GOAL = 1000, ROUNDS = 100 };

static const u32 rules_of[] = { LOP_PHASES | LOP_TURNS, LOP_LONGEST, LOP_TURNS, LOP_PHASES | LOP_LONGEST | LOP_TURNS };

static struct lop_sched sched;
static struct lop_app app = { .home_node = LOP_NONE };
static struct lop_task tasks[NR_TASKS];
static int queue_of[NR_TASKS]; /* LOCAL + CPU: put there to start; NOWHERE: runs or sleeps */
static bool sleeps[NR_TASKS];
static u32 awake, over_cpus;
/* Far longer than needed, even on a busy machine. */
static const u64 patience_ns = 600000000000ULL;
static pthread_mutex_t queues = PTHREAD_MUTEX_INITIALIZER, task_lock[NR_TASKS];

/* The insertion that one call asked for; carried out after the call. */
static __thread struct { int task, queue, taken; } asked = { NOWHERE, NOWHERE, NOWHERE };

static u64 now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return (u64)at.tv_sec * 1000000000 + (u64)at.tv_nsec;
}

static void ask(const struct lop_task *t, u32 queue)
{
	asked.task = (int)(t - tasks);
	asked.queue = (int)queue;
}

/* Queues have no order: takes the first task by number whose vtime is not after `until_ns`. */
static bool take_from(int queue, u64 until_ns)
{
	int n;
	asked.taken = NOWHERE;
	pthread_mutex_lock(&queues);
	for (n = 0; n < NR_TASKS && asked.taken == NOWHERE; n++)
		if (queue_of[n] == queue && (until_ns == LOP_NO_TIME || !lop_before(until_ns, tasks[n].vtime_ns)))
			asked.taken = n;
	if (asked.taken != NOWHERE)
		queue_of[asked.taken] = NOWHERE;
	pthread_mutex_unlock(&queues);
	return asked.taken != NOWHERE;
}

static void queue_what_was_asked(void)
{
	pthread_mutex_lock(&queues);
	if (asked.task != NOWHERE)
		queue_of[asked.task] = asked.queue;
	asked.task = NOWHERE;
	pthread_mutex_unlock(&queues);
}

u64 lop_env_now_ns(struct lop_world *world) { return now(); }
void lop_env_insert_local(struct lop_world *world, struct lop_task *t, u32 cpu, u64 slice_ns) { ask(t, LOCAL + cpu); }
void lop_env_insert(struct lop_world *world, struct lop_task *t, u32 queue, u64 slice_ns, u64 vtime_ns) { ask(t, queue); }
bool lop_env_take(struct lop_world *world, u32 queue, u32 cpu, u64 until_ns) { return take_from((int)queue, until_ns); }
u32 lop_env_queued(struct lop_world *world, u32 queue)
{
	u32 count = 0;
	for (int n = 0; n < NR_TASKS; n++)
		count += queue_of[n] == (int)queue;
	return count;
}
u64 lop_env_first_ns(struct lop_world *world, u32 queue)
{
	for (int n = 0; n < NR_TASKS; n++)
		if (queue_of[n] == (int)queue)
			return tasks[n].vtime_ns;
	return LOP_NO_TIME;
}
/* Kicks and the timer do nothing, since each CPU looks for work all the time. */

struct cpu {
	struct lop_world world;
	u32 number, seed;
	int runs; /* a task, or NOWHERE */
};

static u32 chance(struct cpu *c, u32 of)
{
	c->seed = c->seed * 1664525 + 1013904223;
	return (c->seed >> 8) % of;
}

static void wake_one(struct cpu *c)
{
	u32 n = chance(c, NR_TASKS);
	if (pthread_mutex_trylock(&task_lock[n]))
		return;
	if (sleeps[n]) {
		struct lop_placement place;
		sleeps[n] = false;
		__sync_fetch_and_add(&awake, 1);
		place = lop_wake(&sched, &c->world, &tasks[n], &app, NULL, c->number, now());
		lop_put(&sched, &c->world, &tasks[n], NULL, place);
		if (asked.task == NOWHERE)
			lop_enqueue(&sched, &c->world, &tasks[n], NULL, c->number);
		queue_what_was_asked();
	}
	pthread_mutex_unlock(&task_lock[n]);
}

static void stop(struct cpu *c, bool blocks)
{
	int n = c->runs;
	struct lop_task *t = &tasks[n];
	pthread_mutex_lock(&task_lock[n]);
	c->runs = NOWHERE;
	lop_stopping(&sched, &c->world, t, NULL, c->number, 1000);
	lop_stopped(&sched, t, &app, c->number, !blocks, now());
	if (blocks) {
		lop_block(&sched, &c->world, t, &app, NULL, now());
		sleeps[n] = true;
		__sync_fetch_and_add(&awake, -1);
	} else {
		lop_enqueue(&sched, &c->world, t, NULL, c->number);
		queue_what_was_asked();
	}
	pthread_mutex_unlock(&task_lock[n]);
}

static void look_for_work(struct cpu *c)
{
	if (!take_from(LOCAL + (int)c->number, LOP_NO_TIME))
		lop_dispatch(&sched, &c->world, c->number, NULL);
	c->runs = asked.taken;
	asked.taken = NOWHERE;
	if (c->runs == NOWHERE) {
		if (!lop_cpus_has(&sched.idle, c->number))
			lop_cpu_idle(&sched, &c->world, c->number, true, now());
		return;
	}
	lop_cpu_idle(&sched, &c->world, c->number, false, now());
	lop_running(&sched, &c->world, &tasks[c->runs], c->number, now());
	lop_started(&sched, &c->world, &tasks[c->runs], &app, c->number, now());
}

/* All threads add each CPU to a set at the same time, then take it again. Exactly one must succeed each time. */
static struct lop_cpus contested;
static pthread_barrier_t together;
static u32 adds, takes;

static void contend(void)
{
	u32 added = 0, taken = 0;
	for (u32 round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&together);
		for (u32 n = 0; n < LOP_MAX_CPUS; n++)
			added += lop_cpus_try_add(&contested, n);
		pthread_barrier_wait(&together);
		for (u32 n = 0; n < LOP_MAX_CPUS; n++)
			taken += lop_cpus_take(&contested, n);
	}
	__sync_fetch_and_add(&adds, added);
	__sync_fetch_and_add(&takes, taken);
}

static void *cpu_runs(void *of)
{
	struct cpu *c = of;
	u64 since_ns;
	bool over = false;
	contend();
	since_ns = now();
	/* Until no CPU wakes tasks and all tasks sleep: a task that the last CPU wakes may start on any other. */
	while (now() < since_ns + 2 * patience_ns && !(__sync_fetch_and_add(&over_cpus, 0) == NR_CPUS && !__sync_fetch_and_add(&awake, 0))) {
		u32 what = chance(c, 16);
		bool was_over = over;
		over = over || __atomic_load_n(&sched.fast.moves, __ATOMIC_RELAXED) >= GOAL || now() >= since_ns + patience_ns;
		__sync_fetch_and_add(&over_cpus, over && !was_over);
		if (!over && chance(c, 4) == 0)
			wake_one(c);
		if (c->runs == NOWHERE)
			look_for_work(c);
		else if (over || what < 6 || lop_must_go(&sched, c->number))
			stop(c, over || what < 3);
		else if (what < 8)
			lop_set_hints(&sched, &c->world, &tasks[c->runs], &app, what == 6 ? LOP_LOCK_HOLDER : 0, now());
		else if (what == 8)
			lop_timer(&sched, &c->world, now());
	}
	return NULL;
}

/* CPU 0 is of the fast kind, the others are slow. */
static void describe(u32 rules)
{
	struct lop_topology *top = &sched.topology;
	describe_machine(top, NR_CPUS, 1);
	for (u32 cpu = 1; cpu < NR_CPUS; cpu++) {
		top->tier[cpu] = 1;
		lop_cpus_take(&top->tier_cpus[0], cpu);
		lop_cpus_add(&top->tier_cpus[1], cpu);
	}
	top->nr_tiers = 2;
	top->tier_permille[0] = 1000;
	top->tier_permille[1] = 667;
	sched.online = sched.idle = top->cpus;
	lop_choose(&sched.config, LOP_PHASE);
	lop_set_times(&sched.config, 10000000);
	sched.config.nr_cpus = NR_CPUS;
	sched.config.rules = rules;
	sched.config.migration_ns = 1;
}

int main(int argc, char **argv)
{
	static struct cpu cpus[NR_CPUS];
	pthread_t threads[NR_CPUS];
	u32 sent = 0, asleep = 0, seed;
	if (argc != 2)
		return 2;
	seed = (u32)atoi(argv[1]);
	describe(rules_of[seed % (sizeof(rules_of) / sizeof(rules_of[0]))]);
	for (int n = 0; n < NR_TASKS; n++) {
		queue_of[n] = NOWHERE;
		sleeps[n] = true;
		pthread_mutex_init(&task_lock[n], NULL);
	}
	pthread_barrier_init(&together, NULL, NR_CPUS);
	lop_start(&sched, &cpus[0].world, now());
	for (int n = 0; n < NR_TASKS; n++)
		begin_task(&sched, &tasks[n]);
	for (u32 n = 0; n < NR_CPUS; n++) {
		cpus[n].number = n;
		cpus[n].seed = seed * 7919 + n;
		cpus[n].runs = NOWHERE;
		pthread_create(&threads[n], NULL, cpu_runs, &cpus[n]);
	}
	for (u32 n = 0; n < NR_CPUS; n++)
		pthread_join(threads[n], NULL);
	for (u32 n = 0; n < NR_CPUS; n++)
		sent |= sched.fast.migrates_to[n];
	for (u32 n = 0; n < NR_TASKS; n++)
		asleep += sleeps[n];
	printf("moves %llu, claimed %llx, given %llx, sent %x, asleep %u of %d\n", (unsigned long long)sched.fast.moves,
	       (unsigned long long)sched.fast.claimed.word[0], (unsigned long long)sched.queues.given.word[0], sent, asleep, NR_TASKS);
	printf("of %d CPUs added %u, taken %u\n", ROUNDS * LOP_MAX_CPUS, adds, takes);
	if (adds != ROUNDS * LOP_MAX_CPUS || takes != adds)
		return 1;
	return sched.fast.claimed.word[0] || sched.queues.given.word[0] || sent || asleep != NR_TASKS || sched.fast.moves < GOAL;
}
