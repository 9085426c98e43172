/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>
/* tasks: a program whose tasks compute with all that tasks can be given. Fails if something did not reach them. */

struct aligned {
	_Alignas(64) char bytes[64];
};

static __attribute__((noinline)) bool is_aligned(const void *volatile address)
{
	return (uintptr_t)address % 64 == 0;
}

/* `size` and `end` are not known to the compiler. */
static void compute(int size, unsigned long long end, bool later)
{
	long sum = 0, rows[size];
	struct aligned aligned = { .bytes = { 7 } };
	omp_event_handle_t done;

	for (int i = 0; i < size; i++)
		rows[i] = i;
	for (int i = 0; i < size; i++) {
#pragma omp task firstprivate(i) shared(sum) if (later)
		__atomic_add_fetch(&sum, i, __ATOMIC_SEQ_CST);
#pragma omp task firstprivate(rows) shared(sum) if (later)
		__atomic_add_fetch(&sum, rows[i], __ATOMIC_SEQ_CST);
	}
#pragma omp task firstprivate(aligned) shared(sum) if (later)
	__atomic_add_fetch(&sum, is_aligned(&aligned) ? aligned.bytes[0] : 0, __ATOMIC_SEQ_CST);
#pragma omp task detach(done) shared(sum) if (later)
	{
		__atomic_add_fetch(&sum, 1, __ATOMIC_SEQ_CST);
		omp_fulfill_event(done);
	}
#pragma omp task
	;
#pragma omp taskwait
#pragma omp taskloop grainsize(1) shared(sum) if (later)
	for (int i = 0; i < size; i++)
		__atomic_add_fetch(&sum, i, __ATOMIC_SEQ_CST);
#pragma omp taskloop num_tasks(3) firstprivate(rows) shared(sum) if (later)
	for (unsigned long long i = 0; i < end; i++)
		__atomic_add_fetch(&sum, rows[i], __ATOMIC_SEQ_CST);
	if (sum != 2 * size * (size - 1) + 8)
		_exit(1);
}

static void reduce(int size)
{
	long sum = 0;

#pragma omp parallel num_threads(3)
#pragma omp single
#pragma omp taskloop num_tasks(4) reduction(+ : sum)
	for (int i = 0; i < size; i++)
		sum += i;
	if (sum != size * (size - 1) / 2)
		_exit(1);
}

int main(void)
{
	for (int later = 0; later < 2; later++) {
		compute(500, 500, later);
#pragma omp parallel num_threads(3)
#pragma omp single
		compute(500, 500, later);
	}
	reduce(500);
	return 0;
}
