/* SPDX-License-Identifier: GPL-2.0-only */
#include "lines.h"
/*
 * A stream: each thread writes to all lines of its buffer in order, lap after lap, and computes between two lines. Addresses are
 * known in advance, so many misses are pending at a time, and prefetching hides most of their latency until bandwidth is exhausted.
 *
 * Each line counts the laps, so the sum of all counts is lines * laps.
 */

static struct lines_asked asked = { .threads = 1, .buffer_mib = 64, .laps = 16, .intensity_mpki = 20, .overhead_instructions = 15 };

static const struct load_option options[] = { LINES_OPTIONS(&asked) };

static const struct load load = {
	.name = "stream",
	.purpose = "writes through memory in order, with a given number of lines per thousand instructions",
	.example = "stream --buffer-mib 32 --laps 8 --intensity-mpki 40",
	.options = options,
	.nr_options = LOAD_NR(options),
};

static void write_through(struct load_thread *thread)
{
	const struct buffers *buffers = thread->team->shared;
	struct line *lines = buffers->of_thread[thread->index];
	uint64_t x = thread->value;

	for (uint64_t lap = 0; lap < asked.laps; lap++)
		for (uint64_t i = 0; i < buffers->lines; i++) {
			x = load_compute(x, buffers->compute_instructions);
			lines[i].next++;
		}
	thread->value = x;
}

int main(int argc, char **argv)
{
	struct buffers buffers;
	struct load_team team;
	struct load_phase phases[2] = { { .name = "fill" }, { .name = "stream" } };

	load_begin(&load, argc, argv);
	phases[0].started_ns = load_started_ns();
	lines_begin(&buffers, &asked);
	for (uint64_t i = 0; i < asked.threads; i++)
		for (uint64_t line = 0; line < buffers.lines; line++)
			buffers.of_thread[i][line].next = 0;
	load_phase_next(&phases[0], &phases[1]);
	load_team_begin(&team, asked.threads, write_through, &buffers);
	load_run(&team);
	phases[1].ended_ns = load_now_ns();
	for (uint64_t i = 0; i < asked.threads; i++)
		for (uint64_t line = 0; line < buffers.lines; line++)
			team.threads[i].detail += buffers.of_thread[i][line].next;
	return lines_end(&team, &asked, phases, buffers.lines * asked.laps);
}
