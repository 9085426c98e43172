/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "load.h"
/*
 * What chase and stream share: a buffer per thread, of which each lap touches every line of 64 bytes once, and an
 * intensity.
 *
 * The intensity is set by construction: lines touched per thousand instructions. It equals the misses of the last-level
 * cache (MPKI) if the buffers of all threads together are much larger than that cache, and as far as prefetched lines
 * count as misses. Calling load_compute() and going on to the next line takes `overhead_instructions`, counted in the
 * code that gcc 12 generates for x86-64; other compilers differ by a few. All other instructions are whole turns.
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
	LOAD_OPTION_COUNT("buffer-mib", &(ASKED)->buffer_mib, 1, 65536, "size of each buffer, to be much more than the last-level cache"), \
	LOAD_OPTION_COUNT("laps", &(ASKED)->laps, 1, 1e6, "times that each line is met"), \
	LOAD_OPTION_REAL("intensity-mpki", &(ASKED)->intensity_mpki, 0.01, 50, "lines per thousand instructions, met from memory")

struct buffers {
	uint64_t lines;                /* per thread */
	uint64_t compute_instructions; /* between two lines */
	uint64_t zero;                 /* always 0, which the compiler does not know */
	struct line *of_thread[LOAD_MOST_THREADS];
};

void lines_begin(struct buffers *buffers, const struct lines_asked *asked);

/* Reports two phases and all threads. The detail of each thread must be `expected`. Returns the value of load_end(). */
int lines_end(const struct load_team *team, const struct lines_asked *asked, const struct load_phase *phases, uint64_t expected);
