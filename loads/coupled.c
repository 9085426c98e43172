/* SPDX-License-Identifier: GPL-2.0-only */
#include "wait.h"
/*
 * Fork-join with many barriers, where a share b of the work does not gain from threads, as if memory bandwidth were exhausted:
 *     T(n threads) = T1 * ((1 - b) / n + b)
 *
 * In each interval every thread computes its part of (1 - b) T1, then its part of b T1 while no other thread does; then all meet.
 * This follows the formula on any machine and is the same work each time, unlike real memory traffic.
 */

static struct {
	uint64_t threads, intervals, interval_instructions;
	double bandwidth_percent;
	struct load_waiting waiting;
} asked = {
	.threads = 8, .intervals = 2000, .interval_instructions = 8000000, .bandwidth_percent = 20,
	.waiting = { .way = LOAD_ADAPTIVE, .spin_us = 50 },
};

static const struct load_option options[] = {
	LOAD_OPTION_THREADS(&asked.threads, "threads"),
	LOAD_OPTION_REAL("bandwidth-percent", &asked.bandwidth_percent, 0, 100, "b, share that only one thread at a time can do"),
	LOAD_OPTION_COUNT("interval-instructions", &asked.interval_instructions, 4, 1e12,
		"length of the interval between barriers, all threads together"),
	LOAD_OPTION_COUNT("intervals", &asked.intervals, 1, 1e9, "intervals, each of which ends with a barrier"),
	LOAD_OPTION_WAITING(&asked.waiting),
};

static const struct load load = {
	.name = "coupled",
	.purpose = "threads that meet at many barriers, with a share of the work that only one at a time can do",
	.example = "coupled --threads 4 --intervals 500 --bandwidth-percent 30 --waiting block",
	.options = options,
	.nr_options = LOAD_NR(options),
};

struct intervals {
	uint64_t own_instructions, bandwidth_instructions; /* of one thread in one interval */
	load_lock memory;
	struct load_barrier barrier;
};

static void compute(struct load_thread *thread)
{
	struct intervals *intervals = thread->team->shared;

	for (uint64_t i = 0; i < asked.intervals; i++) {
		thread->value = load_compute(thread->value, intervals->own_instructions);
		if (intervals->bandwidth_instructions) {
			load_lock_take(&intervals->memory, &asked.waiting, thread);
			thread->value = load_compute(thread->value, intervals->bandwidth_instructions);
			load_lock_release(&intervals->memory);
		}
		if (load_barrier_wait(&intervals->barrier, &asked.waiting, thread))
			thread->detail++;
	}
}

static void report_thread(const struct load_thread *thread)
{
	load_report_waits(thread);
	json_count("last_at_barrier", thread->detail);
}

int main(int argc, char **argv)
{
	static struct intervals intervals;
	struct load_team team;
	double of_thread;

	load_begin(&load, argc, argv);
	of_thread = (double)asked.interval_instructions / (double)asked.threads;
	intervals.bandwidth_instructions = load_whole_turns(of_thread * asked.bandwidth_percent / 100);
	intervals.own_instructions = load_whole_turns(of_thread) - intervals.bandwidth_instructions;
	intervals.barrier.parties = (uint32_t)asked.threads;
	load_team_begin(&team, asked.threads, compute, &intervals);
	load_run(&team);
	load_report(load_now_ns());
	load_report_threads(&team, report_thread);
	json_bits("checksum", load_team_checksum(&team));
	return load_end(load_team_computed(&team, intervals.own_instructions + intervals.bandwidth_instructions, asked.intervals));
}
