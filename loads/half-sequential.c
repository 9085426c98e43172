/* SPDX-License-Identifier: GPL-2.0-only */
#include "wait.h"
/*
 * Pairs of phases: in the sequential one the first thread computes while the others wait for it, in the parallel one
 * all compute. With share s, pair length L and n threads on equal cores, a pair takes as long as s L + (1 - s) L / n
 * instructions.
 *
 * The other threads wait once per pair: they report their arrival, then wait until the next parallel phase opens. The
 * first thread waits until the last of them has arrived. Its SEQUENTIAL flag is set while it computes alone.
 */

static struct {
	uint64_t threads, pairs, pair_instructions;
	double sequential_percent;
	struct load_waiting waiting;
} asked = {
	.threads = 8, .pairs = 20, .pair_instructions = 400000000, .sequential_percent = 50,
	.waiting = { .way = LOAD_BLOCK, .spin_us = 50 },
};

static const struct load_option options[] = {
	LOAD_OPTION_THREADS(&asked.threads, "threads of the parallel phases"),
	LOAD_OPTION_COUNT("pairs", &asked.pairs, 1, 1e6, "pairs of a sequential and a parallel phase"),
	LOAD_OPTION_COUNT("pair-instructions", &asked.pair_instructions, 4, 1e12, "length of a pair, all threads together"),
	LOAD_OPTION_REAL("sequential-percent", &asked.sequential_percent, 0, 100, "share of a pair that is sequential"),
	LOAD_OPTION_WAITING(&asked.waiting),
};

static const struct load load = {
	.name = "half-sequential",
	.purpose = "alternates phases in which one thread computes and the others wait with phases in which all compute",
	.example = "half-sequential --threads 4 --pairs 10 --pair-instructions 1e8 --waiting spin-then-notify",
	.options = options,
	.nr_options = LOAD_NR(options),
};

struct pair {
	uint64_t begun_ns, opened_ns, ended_ns; /* starts of the sequential and the parallel phase, end */
	uint64_t spinners;                      /* threads whose SPINNING flag was set when the sequential phase ended */
};

struct phases {
	uint64_t sequential_instructions, parallel_instructions;
	_Atomic uint32_t opened, closed; /* parallel phases so far */
	_Atomic uint32_t arrived;        /* threads, except the first, that have reached the end of the open phase */
	struct pair *pairs;
};

static uint64_t spinners(const struct load_team *team)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < team->size; i++)
		count += atomic_load(&team->threads[i].spinning) ? 1 : 0;
	return count;
}

static uint64_t own_part(const struct phases *phases, uint64_t index)
{
	return load_part(phases->parallel_instructions, asked.threads, index);
}

static void lead(struct load_thread *thread, struct phases *phases)
{
	for (uint32_t i = 0; i < asked.pairs; i++) {
		struct pair *pair = &phases->pairs[i];

		pair->begun_ns = load_now_ns();
		lop_sequential_begin();
		thread->value = load_compute(thread->value, phases->sequential_instructions);
		pair->spinners = spinners(thread->team);
		lop_sequential_end();
		pair->opened_ns = load_now_ns();
		atomic_store(&phases->opened, i + 1);
		load_wake_all(&phases->opened, &asked.waiting);
		thread->value = load_compute(thread->value, own_part(phases, thread->index));
		if (asked.threads > 1)
			load_wait_while(&phases->closed, i, &asked.waiting, thread);
		pair->ended_ns = load_now_ns();
	}
}

static void follow(struct load_thread *thread, struct phases *phases)
{
	uint32_t others = (uint32_t)asked.threads - 1;

	for (uint32_t i = 0; i < asked.pairs; i++) {
		load_wait_while(&phases->opened, i, &asked.waiting, thread);
		thread->value = load_compute(thread->value, own_part(phases, thread->index));
		if (atomic_fetch_add(&phases->arrived, 1) + 1 < others)
			continue;
		atomic_store(&phases->arrived, 0);
		atomic_store(&phases->closed, i + 1);
		load_wake_all(&phases->closed, &asked.waiting);
	}
}

static void alternate(struct load_thread *thread)
{
	if (thread->index == 0)
		lead(thread, thread->team->shared);
	else
		follow(thread, thread->team->shared);
}

static bool computed(const struct load_team *team, const struct phases *phases)
{
	bool right = true;

	for (uint64_t i = 0; i < team->size; i++) {
		uint64_t alone = i ? 0 : phases->sequential_instructions;

		right &= load_spoil(team->threads[i].value) == load_expected(load_first(i), alone + own_part(phases, i), asked.pairs);
	}
	return right;
}

static void report_phases(const struct phases *phases)
{
	json_array("phases");
	for (uint64_t i = 0; i < asked.pairs; i++) {
		const struct pair *pair = &phases->pairs[i];

		json_object(NULL);
		json_text("name", "sequential");
		load_report_times(pair->begun_ns, pair->opened_ns);
		json_count("spinners_at_end", pair->spinners);
		json_close();
		json_object(NULL);
		json_text("name", "parallel");
		load_report_times(pair->opened_ns, pair->ended_ns);
		json_close();
	}
	json_close();
}

int main(int argc, char **argv)
{
	static struct phases phases;
	struct load_team team;

	load_begin(&load, argc, argv);
	phases.sequential_instructions = load_whole_turns((double)asked.pair_instructions * asked.sequential_percent / 100);
	phases.parallel_instructions = asked.pair_instructions - phases.sequential_instructions;
	phases.pairs = load_shared_memory(asked.pairs * sizeof(*phases.pairs));
	load_team_begin(&team, asked.threads, alternate, &phases);
	load_run(&team);
	load_report(load_now_ns());
	report_phases(&phases);
	load_report_threads(&team, load_report_waits);
	json_bits("checksum", load_team_checksum(&team));
	return load_end(computed(&team, &phases));
}
