/* SPDX-License-Identifier: GPL-2.0-only */
#include "load.h"
#include <omp.h>
/*
 * One OpenMP loop over a large array, which squares each element, run `repeats` times. Squares are added to a second array, so that a
 * missing or double element is noticed: result[i] must be repeats * source[i]^2.
 */

enum { STATIC, DYNAMIC, GUIDED };

static struct {
	uint64_t threads, elements, repeats, element_instructions, chunk;
	unsigned schedule;
} asked = { .threads = 8, .elements = 1000000, .repeats = 1, .element_instructions = 20000 };

static const char *const schedules[] = { "static", "dynamic", "guided", NULL };

static const struct load_option options[] = {
	LOAD_OPTION_THREADS(&asked.threads, "threads of the loop"),
	LOAD_OPTION_COUNT("elements", &asked.elements, 1, 1e9, "elements of the array"),
	LOAD_OPTION_COUNT("repeats", &asked.repeats, 1, 1e6, "times that the loop runs"),
	LOAD_OPTION_COUNT("element-instructions", &asked.element_instructions, 0, 1e9, "work on each element in addition to squaring it"),
	LOAD_OPTION_CHOICE("schedule", &asked.schedule, schedules, "who computes which elements"),
	LOAD_OPTION_COUNT("chunk", &asked.chunk, 0, 1e9, "elements handed out at a time (guided: at least); 0: OpenMP's default"),
};

static const struct load load = {
	.name = "parallel-for",
	.purpose = "an OpenMP loop over a large array, each element squared",
	.example = "parallel-for --threads 4 --elements 1e5 --element-instructions 4000 --schedule dynamic --chunk 100",
	.options = options,
	.nr_options = LOAD_NR(options),
};

struct arrays {
	uint64_t *source, *result;
};

static void square_all(struct load_thread *thread)
{
	const struct arrays *arrays = thread->team->shared;

	for (uint64_t repeat = 0; repeat < asked.repeats; repeat++) {
		_Pragma("omp for schedule(runtime)")
		for (uint64_t i = 0; i < asked.elements; i++) {
			thread->value = load_compute(thread->value, asked.element_instructions);
			arrays->result[i] += arrays->source[i] * arrays->source[i];
			thread->detail++;
		}
	}
}

/* The number of elements that were not squared `repeats` times. */
static uint64_t wrong_elements(const struct arrays *arrays)
{
	uint64_t wrong = load_spoil(0);

	for (uint64_t i = 0; i < asked.elements; i++)
		wrong += arrays->result[i] != asked.repeats * arrays->source[i] * arrays->source[i];
	return wrong;
}

static bool computed(const struct load_team *team)
{
	bool right = true;
	uint64_t done = 0;

	for (uint64_t i = 0; i < team->size; i++) {
		const struct load_thread *thread = &team->threads[i];

		right &= thread->value == load_expected(load_first(i), asked.element_instructions, thread->detail);
		done += thread->detail;
	}
	return right && done == asked.elements * asked.repeats;
}

static void choose_schedule(void)
{
	static const omp_sched_t kinds[] = { omp_sched_static, omp_sched_dynamic, omp_sched_guided };

	omp_set_dynamic(0);
	omp_set_num_threads((int)asked.threads);
	omp_set_schedule(kinds[asked.schedule], (int)asked.chunk);
}

static void report_elements(const struct load_thread *thread)
{
	json_count("elements", thread->detail);
}

int main(int argc, char **argv)
{
	struct arrays arrays;
	struct load_phase phases[2] = { { .name = "fill" }, { .name = "square" } };
	struct load_team team;
	int started = 0;

	load_begin(&load, argc, argv);
	choose_schedule();
	arrays.source = load_shared_memory(asked.elements * sizeof(*arrays.source));
	arrays.result = load_shared_memory(asked.elements * sizeof(*arrays.result));
	phases[0].started_ns = load_started_ns();
	for (uint64_t i = 0; i < asked.elements; i++)
		arrays.source[i] = i + 1;
	load_team_begin(&team, asked.threads, square_all, &arrays);
	load_phase_next(&phases[0], &phases[1]);
#pragma omp parallel shared(team, started)
	{
#pragma omp single
		started = omp_get_num_threads();
		load_run_here(&team.threads[omp_get_thread_num()]);
	}
	phases[1].ended_ns = load_now_ns();

	uint64_t wrong = wrong_elements(&arrays);

	load_report(phases[1].ended_ns);
	load_report_phases(phases, LOAD_NR(phases));
	load_report_threads(&team, report_elements);
	json_count("wrong_elements", wrong);
	return load_end(wrong == 0 && computed(&team) && started == (int)asked.threads);
}
