/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "load.h"
/*
 * Shared by chase and stream: a buffer per thread, of which each line of 64 bytes is met once per lap, and an intensity.
 *
 * Intensity is by construction: lines met per thousand instructions. That equals the misses of the last-level cache (MPKI) if the
 * buffers of all threads are much larger than the cache, and if prefetched lines count as misses. Calling load_compute() and going on
 * to the next line takes `overhead_instructions` (counted in gcc 12's code for x86-64; other compilers differ by a few); all other
 * instructions are whole turns.
 */

struct line {
	_Alignas(64) uint64_t next;
};

struct lines_asked {
	uint64_t threads, buffer_mib, laps, seed, overhead_instructions;
	double intensity_mpki;
};

#define LINES_OPTIONS(ASKED) \
	LOAD_OPTION_THREADS(&(ASKED)->threads, "threads, each with a buffer of its own"), \
	LOAD_OPTION_COUNT("buffer-mib", &(ASKED)->buffer_mib, 1, 65536, "size of each buffer, which should be much larger than the last-level cache"), \
	LOAD_OPTION_COUNT("laps", &(ASKED)->laps, 1, 1e6, "times that each line is met"), \
	LOAD_OPTION_REAL("intensity-mpki", &(ASKED)->intensity_mpki, 0.01, 50, "lines per thousand instructions, met from memory")

struct buffers {
	uint64_t lines;                /* of each thread */
	uint64_t compute_instructions; /* between two lines */
	uint64_t zero;                 /* always 0, but unknown to the compiler */
	struct line *of_thread[LOAD_MOST_THREADS];
};

void lines_begin(struct buffers *buffers, const struct lines_asked *asked);

/* Reports two phases and all threads; each must have `expected` as its detail. Returns the result of load_end(). */
int lines_end(const struct load_team *team, const struct lines_asked *asked, const struct load_phase *phases, uint64_t expected);
