/* SPDX-License-Identifier: GPL-2.0-only */
#include "lopsided.h"
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/*
 * busy THREADS BOARD: threads that never sleep and say what they are asked to. The file BOARD has a slot for each: what it is
 * to do, and which CPUs it may use. So whoever watches need not know the numbers of threads, and wakes none of them.
 * Built with OpenMP only the first thread is one of these; the others are OpenMP's, and wait for a region that never comes.
 */

enum order { SPINNING, SEQUENTIAL, LOCK_HOLDER, LENGTH, MEMORY, PARALLELISM, CHILD, EXIT };
enum { MOST_THREADS = 8 };

struct slot {
	uint32_t asked; /* number of the order below, which is complete when this is written */
	uint32_t order;
	uint32_t value; /* of flags: 1 begins, 0 ends. CHILD: slot of a child whose length is ten times that of anybody else */
	uint32_t done;  /* number of the last order that was carried out */
	uint64_t cpus;  /* that it may use, of the first 64 */
	uint64_t rounds;
};
_Static_assert(sizeof(struct slot) == 32, "the test writes it by offset");
static struct slot *board;

static void *busy(void *passed);

static void child(uint32_t slot)
{
	pthread_t thread;

	lop_next_length(10000);
	if (lop_pthread_create(&thread, NULL, busy, &board[slot % MOST_THREADS]) != 0)
		abort();
}

static void carry_out(uint32_t order, uint32_t value)
{
	switch ((enum order)order) {
	case SPINNING: value ? lop_spinning_begin() : lop_spinning_end(); break;
	case SEQUENTIAL: value ? lop_sequential_begin() : lop_sequential_end(); break;
	case LOCK_HOLDER: value ? lop_lock_holder_begin() : lop_lock_holder_end(); break;
	case LENGTH: lop_length(value); break;
	case MEMORY: lop_memory((enum lop_memory_class)value); break;
	case PARALLELISM: lop_parallelism(value); break;
	case CHILD: child(value); break;
	case EXIT: _exit(0);
	}
}

static void *busy(void *passed)
{
	struct slot *own = passed;

	for (;;) {
		uint32_t asked = __atomic_load_n(&own->asked, __ATOMIC_ACQUIRE);
		cpu_set_t set;

		if (asked != own->done) {
			carry_out(own->order, own->value);
			__atomic_store_n(&own->done, asked, __ATOMIC_RELEASE);
		}
		CPU_ZERO(&set);
		if (sched_getaffinity(0, sizeof(set), &set) != 0)
			abort();
		memcpy(&own->cpus, &set, sizeof(own->cpus));
		__atomic_add_fetch(&own->rounds, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[1]) : 0, file = argc > 2 ? open(argv[2], O_RDWR) : -1;
	pthread_t thread;

	board = mmap(NULL, MOST_THREADS * sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (board == MAP_FAILED || threads < 1 || threads > MOST_THREADS)
		return 1;
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
	{
#pragma omp barrier
	}
	busy(&board[0]);
#endif
	for (int n = 0; n < threads; n++)
		if (pthread_create(&thread, NULL, busy, &board[n]) != 0)
			return 1;
	pause();
}
