/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time of a wakeup that makes another CPU a member of the high set, on machines of 8 to 512 CPUs: ns, and the ratio to
 * the smallest machine. Medians of rounds that alternate between the sizes. Only the words of CPU sets that the machine
 * has are walked, as in the BPF program. Arguments: none.
 */
#include "types.h"
static u32 nr_words;
#define lop_for_words(i) for ((i) = 0; (u32)(i) < nr_words; (i)++)
#define lop_has_pace(s) false
#define lop_has_green(s) false
#define lop_has_sensors(s) false
#define lop_has_rank(s) false
#define lop_has_domains(s) false
#define lop_has_isolated(s) false
#define lop_uses_room(s) false
#define lop_can_reserve false
#define lop_may_cap false
#include "lopsided.h"
#include "machine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 201, WAKES = 6, SIZES = 4 };
static const u32 sizes[SIZES] = { 8, 64, 256, 512 };
/* Tasks woken before the measurement: none, or one for each CPU except seven. */
static const char *const kinds[] = { "idle machine", "all but seven" };
static struct lop_sched sched;
static struct lop_world world;
static struct lop_task tasks[LOP_MAX_CPUS];
static u64 now_ns;

u64 lop_env_now_ns(struct lop_world *w) { return now_ns; }

static u64 clock_ns(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return (u64)at.tv_sec * 1000000000 + (u64)at.tv_nsec;
}

/* Cores have two CPUs, caches sixteen. */
static void begin(u32 cpus)
{
	struct lop_topology *top = &sched.topology;
	u32 cpu;
	memset(&sched, 0, sizeof(sched));
	nr_words = cpus < 64 ? 1 : cpus / 64;
	now_ns = 1000000000;
	lop_choose(&sched.config, LOP_HIGHLOW_SPARE);
	lop_set_times(&sched.config, 10 * LOP_MS_NS);
	describe_machine(top, cpus, 2);
	top->nr_memory_domains = (u16)(cpus < 16 ? 1 : cpus / 16);
	memset(top->memory_cpus, 0, sizeof(top->memory_cpus));
	for (cpu = 0; cpu < cpus; cpu++) {
		top->memory_domain[cpu] = (u16)(cpu / 16);
		lop_cpus_add(&top->memory_cpus[cpu / 16], cpu);
	}
	sched.config.nr_cpus = cpus;
	sched.online = sched.idle = top->cpus;
	lop_start(&sched, &world, now_ns);
	for (cpu = 0; cpu < cpus; cpu++)
		begin_task(&sched, &tasks[cpu]);
}

/* ns that lop_wake() took, including one reading of the clock. */
static u64 wake(u32 task)
{
	u64 before_ns = clock_ns();
	struct lop_placement place = lop_wake(&sched, &world, &tasks[task], NULL, NULL, 0, now_ns);
	u64 took_ns = clock_ns() - before_ns;
	if (!place.claimed)
		exit(2);
	lop_cpu_idle(&sched, &world, (u32)place.cpu, false, now_ns);
	lop_running(&sched, &world, &tasks[task], (u32)place.cpu, now_ns);
	now_ns += 1000;
	return took_ns;
}

/* Time of one clock reading, which is part of each measurement. */
static u64 clock_takes_ns(void)
{
	u64 begin_ns = clock_ns();
	u32 n;
	for (n = 0; n < 1000; n++)
		clock_ns();
	return (clock_ns() - begin_ns) / 1001;
}

/*
 * Mean of WAKES wakeups that promote one CPU each. With `nearly_full` all CPUs but one have a task afterwards: one more
 * wakeup would find no CPU to promote.
 */
static u64 promoting_ns(u32 cpus, bool nearly_full)
{
	u32 first = nearly_full ? cpus - 1 - WAKES : 0, n;
	u64 promotions, took_ns = 0, clock_takes = clock_takes_ns();
	begin(cpus);
	for (n = 0; n < first; n++)
		wake(n);
	promotions = sched.membership.promotions;
	for (n = first; n < first + WAKES; n++)
		took_ns += wake(n) - clock_takes;
	if (sched.membership.promotions != promotions + WAKES)
		exit(3);
	return took_ns / WAKES;
}

static int by_size(const void *a, const void *b) { return (*(const u64 *)a > *(const u64 *)b) - (*(const u64 *)a < *(const u64 *)b); }

int main(void)
{
	static u64 ns[2][SIZES][ROUNDS];
	u32 kind, size, round;
	for (round = 0; round < ROUNDS; round++)
		for (kind = 0; kind < 2; kind++)
			for (size = 0; size < SIZES; size++)
				ns[kind][size][round] = promoting_ns(sizes[size], kind);
	for (kind = 0; kind < 2; kind++)
		for (size = 0; size < SIZES; size++) {
			u64 *all = ns[kind][size];
			qsort(all, ROUNDS, sizeof(*all), by_size);
			printf("%-13s %3u CPUs  %5llu ns  %5.2f\n", kinds[kind], sizes[size], (unsigned long long)all[ROUNDS / 2],
			       (double)all[ROUNDS / 2] / (double)ns[kind][0][ROUNDS / 2]);
		}
	return 0;
}
