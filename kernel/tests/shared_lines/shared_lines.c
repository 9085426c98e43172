/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts atomic operations on the policy's state, which all CPUs share, while a task wakes, runs and sleeps and no set
 * changes. The calls are those of the BPF program, in its order. Prints a line for each kind of machine: name and
 * count.
 */
#include "types.h"
static unsigned accesses;
#define LOP_ATOMICS_DEFINED
#define lop_atomic_or(p, v) (accesses++, __sync_fetch_and_or(p, v))
#define lop_atomic_and(p, v) (accesses++, __sync_fetch_and_and(p, v))
#define lop_atomic_add(p, v) (accesses++, __sync_fetch_and_add(p, v))
#define lop_atomic_cas(p, old, new) (accesses++, __sync_val_compare_and_swap(p, old, new))
#include "lopsided.h"
#include "machine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NR_CPUS = 8 };
static struct lop_sched sched;
static struct lop_world world;
static u64 now_ns = 1000000000;

static bool takes;

u64 lop_env_now_ns(struct lop_world *w) { return now_ns; }
bool lop_env_take(struct lop_world *w, u32 queue, u32 cpu, u64 until_ns) { return takes; }

static void begin(u32 threads)
{
	memset(&sched, 0, sizeof(sched));
	sched.config.spare = 1;
	lop_set_times(&sched.config, 10 * LOP_MS_NS);
	sched.config.slice_min_ns = LOP_MS_NS;
	sched.config.slice_max_ns = 6 * LOP_MS_NS;
	sched.config.period_ns = 20 * LOP_MS_NS;
	describe_machine(&sched.topology, NR_CPUS, threads);
	sched.online = sched.idle = sched.topology.cpus;
	lop_start(&sched, &world, now_ns);
}

/*
 * The calls of select_cpu, running, stopping and a dispatch that finds nothing. Before Linux 7.0 (`waits`) the task
 * waits in the queue of the CPU that it claimed.
 */
static void wake_run_sleep(struct lop_task *t, bool waits)
{
	struct lop_placement place = lop_wake(&sched, &world, t, NULL, NULL, 0, now_ns);
	u32 cpu = (u32)place.cpu;
	if (!place.claimed)
		exit(2);
	if (waits) {
		lop_wait_at_claimed(&sched, &world, t, cpu);
		lop_look_at(&sched, &world, now_ns + LOP_MS_NS);
		takes = true;
		if (lop_dispatch(&sched, &world, cpu, NULL) != LOP_NEXT_TAKEN)
			exit(5);
		takes = false;
	}
	lop_cpu_idle(&sched, &world, cpu, false, now_ns);
	lop_running(&sched, &world, t, cpu, now_ns);
	now_ns += LOP_MS_NS;
	lop_stopping(&sched, &world, t, NULL, cpu, LOP_MS_NS);
	lop_block(&sched, &world, t, NULL, NULL, now_ns);
	if (lop_dispatch(&sched, &world, cpu, NULL) != LOP_NEXT_NONE)
		exit(3);
	lop_cpu_idle(&sched, &world, cpu, true, now_ns);
	now_ns += 24 * LOP_MS_NS;
}

static unsigned accesses_in_a_cycle(bool waits)
{
	static struct lop_task t;
	u64 promotions;
	begin_task(&sched, &t);
	wake_run_sleep(&t, waits);
	promotions = sched.membership.promotions;
	accesses = 0;
	wake_run_sleep(&t, waits);
	if (sched.membership.promotions != promotions || sched.membership.demotions)
		exit(4);
	return accesses;
}

int main(void)
{
	begin(1);
	printf("flat %u\n", accesses_in_a_cycle(false));
	begin(1);
	printf("flat, before 7.0 %u\n", accesses_in_a_cycle(true));
	begin(2);
	printf("smt %u\n", accesses_in_a_cycle(false));
	return 0;
}
