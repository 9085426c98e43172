/* SPDX-License-Identifier: GPL-2.0-only */
#include "lines.h"
/*
 * A pointer chase: each thread walks through all lines of its buffer in one random cycle, and computes between two lines. No address is
 * known before the previous line has arrived, so there is one miss at a time: MLP 1.
 *
 * After whole laps the walk is back at its beginning, and has met each line once per lap.
 */

static struct lines_asked asked = {
	.threads = 1, .buffer_mib = 64, .laps = 4, .intensity_mpki = 20, .seed = 1, .overhead_instructions = 19,
};

static const struct load_option options[] = {
	LINES_OPTIONS(&asked),
	LOAD_OPTION_COUNT("seed", &asked.seed, 0, LOAD_MOST, "of the order in which lines are met"),
};

static const struct load load = {
	.name = "chase",
	.purpose = "follows pointers through memory in random order, with a given number of lines per thousand instructions",
	.example = "chase --buffer-mib 32 --laps 2 --intensity-mpki 40",
	.options = options,
	.nr_options = LOAD_NR(options),
};

/* One cycle through all lines: a Fisher-Yates shuffle that never leaves a line in place (Sattolo). */
static void lay_out(struct line *lines, uint64_t count, uint64_t random)
{
	for (uint64_t i = 0; i < count; i++)
		lines[i].next = i;
	for (uint64_t i = count - 1; i > 0; i--) {
		random = load_compute(random, LOAD_INSTRUCTIONS_PER_TURN);
		uint64_t other = (random >> 32) % i, next = lines[i].next;

		lines[i].next = lines[other].next;
		lines[other].next = next;
	}
}

/* The address of the next line also depends on the computation, which adds 0, so that their times add up instead of overlapping. */
static void walk(struct load_thread *thread)
{
	const struct buffers *buffers = thread->team->shared;
	const struct line *lines = buffers->of_thread[thread->index];
	uint64_t steps = buffers->lines * asked.laps, at = 0, x = thread->value, met = 0;

	for (uint64_t step = 0; step < steps; step++) {
		met += at;
		x = load_compute(x, buffers->compute_instructions);
		at = lines[at + (x & buffers->zero)].next;
	}
	thread->value = x;
	thread->detail = at + met;
}

int main(int argc, char **argv)
{
	struct buffers buffers;
	struct load_team team;
	struct load_phase phases[2] = { { .name = "fill" }, { .name = "chase" } };

	load_begin(&load, argc, argv);
	phases[0].started_ns = load_started_ns();
	lines_begin(&buffers, &asked);
	for (uint64_t i = 0; i < asked.threads; i++)
		lay_out(buffers.of_thread[i], buffers.lines, load_first(asked.seed + i));
	load_phase_next(&phases[0], &phases[1]);
	load_team_begin(&team, asked.threads, walk, &buffers);
	load_run(&team);
	phases[1].ended_ns = load_now_ns();
	return lines_end(&team, &asked, phases, buffers.lines * (buffers.lines - 1) / 2 * asked.laps);
}
