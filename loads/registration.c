/* SPDX-License-Identifier: GPL-2.0-only */
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
/* A parallel loop of equal iterations whose split over the threads is fixed at compile time: fork, compute, join. */

static struct {
	uint64_t iteration_instructions;
	const char *split;
} asked = { .iteration_instructions = 200000000, .split = "7,7,7,7,6,6,5,5" };

static const struct load_option options[] = {
	LOAD_OPTION_COUNT("iteration-instructions", &asked.iteration_instructions, 4, 1e12, "length of each iteration"),
	LOAD_OPTION_TEXT("split", &asked.split, "iterations of each thread, one number per thread"),
};

static const struct load load = {
	.name = "registration",
	.purpose = "a loop of 50 equal iterations over 8 threads, split 7,7,7,7,6,6,5,5 in advance, as in image registration",
	.example = "registration --iteration-instructions 1e7",
	.options = options,
	.nr_options = LOAD_NR(options),
};

struct split {
	uint64_t threads, iterations;
	uint64_t of_thread[LOAD_MOST_THREADS];
};

static void register_images(struct load_thread *thread)
{
	const struct split *split = thread->team->shared;

	for (; thread->detail < split->of_thread[thread->index]; thread->detail++)
		thread->value = load_compute(thread->value, asked.iteration_instructions);
}

static _Noreturn void refuse_split(void)
{
	load_refuse("split", asked.split, "give one number from 0 to 1000000 per thread, at most 4096, with commas between them, as in 7,7,6");
}

static void read_split(struct split *split)
{
	const char *at = asked.split;

	for (;;) {
		char *end;

		if (*at < '0' || *at > '9' || split->threads == LOAD_MOST_THREADS)
			refuse_split();
		uint64_t iterations = strtoull(at, &end, 10);

		if (iterations > 1000000 || (*end && *end != ','))
			refuse_split();
		split->of_thread[split->threads++] = iterations;
		split->iterations += iterations;
		if (!*end)
			return;
		at = end + 1;
	}
}

static bool computed(const struct load_team *team, const struct split *split)
{
	bool right = true;

	for (uint64_t i = 0; i < team->size; i++)
		right &= load_spoil(team->threads[i].value) ==
			load_expected(load_first(i), asked.iteration_instructions, split->of_thread[i]);
	return right;
}

static void report_iterations(const struct load_thread *thread)
{
	json_count("iterations", thread->detail);
}

int main(int argc, char **argv)
{
	static struct split split;
	struct load_team team;

	load_begin(&load, argc, argv);
	read_split(&split);
	load_team_begin(&team, split.threads, register_images, &split);
	for (uint64_t i = 0; i < split.threads; i++)
		load_declare_length(&team, i, split.of_thread[i]);
	load_run(&team);
	load_report(load_now_ns());
	load_report_threads(&team, report_iterations);
	json_count("iterations", split.iterations);
	json_bits("checksum", load_team_checksum(&team));
	return load_end(computed(&team, &split));
}
