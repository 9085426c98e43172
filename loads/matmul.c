/* SPDX-License-Identifier: GPL-2.0-only */
#include "load.h"
#include <stdio.h>
#include <string.h>
/*
 * C = A B by the plain triple loop: fork, each thread computes its rows, join.
 *
 * With A[i][k] = i + k and B[k][j] = k + j, and S1 and S2 the sums of k and of k^2 for k < n, every element is known:
 *     C[i][j] = n i j + (i + j) S1 + S2,    sum of all = 3 n S1^2 + n^2 S2
 * All of them are whole numbers below 2^53, so doubles hold them exactly, in whatever order they are added. Products of further repeats
 * are added to C, so that a missing or double one is noticed; 1000 of the largest matrices are still below 2^53.
 */

static struct {
	uint64_t threads, size, repeats;
	const char *rows;
} asked = { .threads = 8, .size = 2400, .repeats = 1, .rows = "even" };

static const struct load_option options[] = {
	LOAD_OPTION_THREADS(&asked.threads, "threads that compute rows"),
	LOAD_OPTION_COUNT("size", &asked.size, 1, 8192, "rows and columns of each matrix"),
	LOAD_OPTION_COUNT("repeats", &asked.repeats, 1, 1000, "times that each thread computes its rows"),
	LOAD_OPTION_TEXT("rows", &asked.rows, "rows per thread as X-Y: X each for the first half of the threads, Y for the others; or even"),
};

static const struct load load = {
	.name = "matmul",
	.purpose = "multiplies two matrices with several threads, each of which computes its rows",
	.example = "matmul --size 600 --threads 4 --rows 100-200",
	.options = options,
	.nr_options = LOAD_NR(options),
};

struct matrices {
	double *a, *b, *c;
	uint64_t first_half_rows, second_half_rows; /* of each thread; both 0: even */
};

/* Rows of the threads before thread `index`. */
static uint64_t first_row(const struct matrices *matrices, uint64_t index)
{
	uint64_t half = asked.threads / 2, more = asked.size % asked.threads;

	if (!matrices->first_half_rows && !matrices->second_half_rows)
		return index * (asked.size / asked.threads) + (index < more ? index : more);
	if (index < half)
		return index * matrices->first_half_rows;
	return half * matrices->first_half_rows + (index - half) * matrices->second_half_rows;
}

static void multiply_rows(struct matrices *matrices, uint64_t begin, uint64_t end)
{
	uint64_t n = asked.size;

	for (uint64_t i = begin; i < end; i++)
		for (uint64_t j = 0; j < n; j++) {
			double sum = 0;

			for (uint64_t k = 0; k < n; k++)
				sum += matrices->a[i * n + k] * matrices->b[k * n + j];
			matrices->c[i * n + j] += sum;
		}
}

static void multiply(struct load_thread *thread)
{
	struct matrices *matrices = thread->team->shared;
	uint64_t begin = first_row(matrices, thread->index), end = first_row(matrices, thread->index + 1);

	thread->detail = end - begin;
	for (uint64_t repeat = 0; repeat < asked.repeats; repeat++)
		multiply_rows(matrices, begin, end);
}

static void fill(struct matrices *matrices)
{
	uint64_t n = asked.size;

	for (uint64_t i = 0; i < n; i++)
		for (uint64_t j = 0; j < n; j++)
			matrices->a[i * n + j] = matrices->b[i * n + j] = (double)(i + j);
}

/* Counts the wrong elements, and sums all elements. */
static uint64_t wrong_elements(const double *c, uint64_t *sum)
{
	uint64_t n = asked.size, s1 = n * (n - 1) / 2, s2 = (n - 1) * n * (2 * n - 1) / 6, wrong = 0;

	*sum = load_spoil(0);
	for (uint64_t i = 0; i < n; i++)
		for (uint64_t j = 0; j < n; j++) {
			wrong += c[i * n + j] != (double)(asked.repeats * (n * i * j + (i + j) * s1 + s2));
			*sum += (uint64_t)c[i * n + j];
		}
	return wrong + (*sum != asked.repeats * (3 * n * s1 * s1 + n * n * s2));
}

/* X-Y: both must be whole numbers, and all rows must be covered. */
static void read_rows(struct matrices *matrices)
{
	unsigned x, y;
	int end = 0;
	char way_out[200];

	if (!strcmp(asked.rows, "even"))
		return;
	if (asked.rows[0] < '0' || asked.rows[0] > '9' || sscanf(asked.rows, "%5u-%5u%n", &x, &y, &end) != 2 || asked.rows[end])
		load_refuse("rows", asked.rows, "give X-Y, two whole numbers as in 200-400, or even");
	if (asked.threads % 2)
		load_refuse("rows", asked.rows, "halves of the threads need an even number of them; give --threads");
	if (asked.threads / 2 * ((uint64_t)x + y) != asked.size) {
		snprintf(way_out, sizeof(way_out), "%llu threads would compute %llu rows and --size is %llu; give X + Y = 2 size / threads",
			(unsigned long long)asked.threads, (unsigned long long)(asked.threads / 2 * ((uint64_t)x + y)),
			(unsigned long long)asked.size);
		load_refuse("rows", asked.rows, way_out);
	}
	matrices->first_half_rows = x;
	matrices->second_half_rows = y;
}

static void report_rows(const struct load_thread *thread)
{
	json_count("rows", thread->detail);
}

int main(int argc, char **argv)
{
	struct matrices matrices = { 0 };
	struct load_phase phases[2] = { { .name = "fill" }, { .name = "multiply" } };
	struct load_team team;
	uint64_t sum;

	load_begin(&load, argc, argv);
	read_rows(&matrices);
	size_t bytes = asked.size * asked.size * sizeof(double);

	matrices.a = load_shared_memory(bytes);
	matrices.b = load_shared_memory(bytes);
	matrices.c = load_shared_memory(bytes);
	phases[0].started_ns = load_started_ns();
	fill(&matrices);
	load_phase_next(&phases[0], &phases[1]);
	load_team_begin(&team, asked.threads, multiply, &matrices);
	for (uint64_t i = 0; i < asked.threads; i++)
		load_declare_length(&team, i, first_row(&matrices, i + 1) - first_row(&matrices, i));
	load_run(&team);
	phases[1].ended_ns = load_now_ns();

	uint64_t wrong = wrong_elements(matrices.c, &sum);

	load_report(phases[1].ended_ns);
	load_report_phases(phases, LOAD_NR(phases));
	load_report_threads(&team, report_rows);
	json_count("wrong_elements", wrong);
	json_bits("checksum", sum);
	return load_end(wrong == 0);
}
