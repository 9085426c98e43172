/* SPDX-License-Identifier: GPL-2.0-only */
#include "lines.h"

static uint64_t compute_instructions(const struct lines_asked *asked)
{
	double all = 1000 / asked->intensity_mpki, overhead = (double)asked->overhead_instructions;

	return all > overhead ? load_whole_turns(all - overhead) : 0;
}

void lines_begin(struct buffers *buffers, const struct lines_asked *asked)
{
	volatile uint64_t zero = 0;
	uint64_t bytes = asked->buffer_mib << 20;

	buffers->lines = bytes / sizeof(struct line);
	buffers->compute_instructions = compute_instructions(asked);
	buffers->zero = zero;
	for (uint64_t i = 0; i < asked->threads; i++)
		buffers->of_thread[i] = load_shared_memory(bytes);
}

int lines_end(const struct load_team *team, const struct lines_asked *asked, const struct load_phase *phases, uint64_t expected)
{
	uint64_t lines = (asked->buffer_mib << 20) / sizeof(struct line) * asked->laps, instructions = compute_instructions(asked);
	bool correct = load_team_computed(team, instructions, lines);

	for (uint64_t i = 0; i < team->size; i++)
		correct &= load_spoil(team->threads[i].detail) == expected;
	load_report(phases[1].ended_ns);
	load_report_phases(phases, 2);
	load_report_threads(team, NULL);
	json_count("lines_of_thread", lines);
	json_count("instructions_of_thread", lines * (instructions + asked->overhead_instructions));
	json_bits("checksum", load_team_checksum(team));
	return load_end(correct);
}
