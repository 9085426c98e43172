/* SPDX-License-Identifier: GPL-2.0-only */
#include "wait.h"
/*
 * In each round a thread computes (1 - a) L instructions, takes the lock, computes a L, adds to the sum and releases
 * the lock. With --barrier-every k it computes L for itself instead and meets the others every k rounds, where each
 * thread adds its partial sum.
 *
 * Thread t adds t * rounds + i in its round i, so the sum is that of 0 .. N - 1 with N = threads * rounds.
 */

static struct {
	uint64_t threads, rounds, length_instructions, barrier_every;
	double locked_percent;
} asked = { .threads = 8, .rounds = 2000, .length_instructions = 1000000, .locked_percent = 20 };

static const struct load_option options[] = {
	LOAD_OPTION_THREADS(&asked.threads, "threads that add to the sum"),
	LOAD_OPTION_COUNT("rounds", &asked.rounds, 1, 1e9, "rounds of each thread"),
	LOAD_OPTION_COUNT("length-instructions", &asked.length_instructions, 4, 1e12, "L, instructions of a round"),
	LOAD_OPTION_REAL("locked-percent", &asked.locked_percent, 0, 100, "a, share of a round with the lock held"),
	LOAD_OPTION_COUNT("barrier-every", &asked.barrier_every, 0, 1e9, "rounds between barriers, which take the place of the lock; 0: lock"),
};

static const struct load load = {
	.name = "global-sum",
	.purpose = "threads compute for themselves, then add to one sum under a lock, or meet at barriers; who waits sleeps (futex)",
	.example = "global-sum --threads 4 --rounds 1000 --length-instructions 1e5 --locked-percent 50",
	.options = options,
	.nr_options = LOAD_NR(options),
};

struct sum {
	struct load_waiting waiting;
	load_lock lock;
	struct load_barrier barrier;
	uint64_t locked_instructions, value, barriers;
	_Atomic uint64_t partial;
};

static void add_under_lock(struct load_thread *thread, struct sum *sum, uint64_t round)
{
	thread->value = load_compute(thread->value, asked.length_instructions - sum->locked_instructions);
	load_lock_take(&sum->lock, &sum->waiting, thread);
	lop_lock_holder_begin();
	thread->value = load_compute(thread->value, sum->locked_instructions);
	sum->value += thread->index * asked.rounds + round;
	lop_lock_holder_end();
	load_lock_release(&sum->lock);
}

static void meet(struct load_thread *thread, struct sum *sum, uint64_t own)
{
	atomic_fetch_add(&sum->partial, own);
	if (load_barrier_wait(&sum->barrier, &sum->waiting, thread))
		thread->detail++;
}

static void add_with_barriers(struct load_thread *thread)
{
	struct sum *sum = thread->team->shared;
	uint64_t own = 0;

	for (uint64_t round = 0; round < asked.rounds; round++) {
		thread->value = load_compute(thread->value, asked.length_instructions);
		own += thread->index * asked.rounds + round;
		if ((round + 1) % asked.barrier_every == 0) {
			meet(thread, sum, own);
			own = 0;
		}
	}
	atomic_fetch_add(&sum->partial, own);
}

static void add_with_lock(struct load_thread *thread)
{
	for (uint64_t round = 0; round < asked.rounds; round++)
		add_under_lock(thread, thread->team->shared, round);
}

int main(int argc, char **argv)
{
	struct sum sum = { .waiting = { .way = LOAD_BLOCK } };
	struct load_team team;
	uint64_t barriers = 0;

	load_begin(&load, argc, argv);
	sum.barrier.parties = (uint32_t)asked.threads;
	sum.locked_instructions = load_whole_turns((double)asked.length_instructions * asked.locked_percent / 100);
	load_team_begin(&team, asked.threads, asked.barrier_every ? add_with_barriers : add_with_lock, &sum);
	load_run(&team);

	uint64_t ended_ns = load_now_ns(), all = asked.threads * asked.rounds, total = load_spoil(sum.value + sum.partial);

	for (uint64_t i = 0; i < team.size; i++)
		barriers += team.threads[i].detail;
	load_report(ended_ns);
	load_report_threads(&team, load_report_waits);
	json_count("barriers", barriers);
	json_count("sum", total);
	json_bits("checksum", load_team_checksum(&team));
	return load_end(total == all * (all - 1) / 2 && load_team_computed(&team, asked.length_instructions, asked.rounds));
}
