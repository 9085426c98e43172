/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/*
 * openmp MODE: a program that knows nothing of hints. At some points it says where it is and in which thread, and waits until
 * somebody has read its page and answers by a byte.
 */

static void rendezvous(const char *where)
{
	char byte;

	printf("%s %ld\n", where, syscall(SYS_gettid));
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		_exit(1);
}

static int arrived, go;

/* The threads are busy until the one with `where` has been answered, without a barrier. */
static void meet(int threads, const char *where)
{
	__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
	if (where) {
		while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < threads)
			;
		rendezvous(where);
		__atomic_store_n(&go, 1, __ATOMIC_SEQ_CST);
	}
	while (!__atomic_load_n(&go, __ATOMIC_SEQ_CST))
		;
}

/* After a region whose threads met, so that others can. */
static void part(void)
{
	arrived = go = 0;
}

/* From then on all threads have said something. */
static void region(int threads)
{
#pragma omp parallel num_threads(threads)
	{
#pragma omp barrier
	}
}

static void regions(void)
{
	region(4);
#pragma omp parallel num_threads(4)
	meet(4, omp_get_thread_num() == 0 ? "busy" : NULL);
#pragma omp parallel num_threads(4)
	{
#pragma omp master
		rendezvous("waited-for");
	}
	rendezvous("between");
#pragma omp parallel num_threads(1)
	rendezvous("one");
	region(4);
	omp_pause_resource_all(omp_pause_hard);
	rendezvous("paused");
}

static void nested(void)
{
	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
	{
		int outer = omp_get_thread_num();

#pragma omp parallel num_threads(3)
		meet(6, outer == 0 && omp_get_thread_num() == 0 ? "nested" : NULL);
	}
	rendezvous("between");
}

/* The constructs that start a region, each of two threads that are busy in it. */
static void starts(void)
{
	int sum = 0;

	region(2);
	omp_set_schedule(omp_sched_dynamic, 1);
#define EACH_BUSY(place) \
	for (int i = 0; i < 2; i++) \
		meet(2, i == 0 ? place : NULL); \
	part()
#pragma omp parallel for num_threads(2) schedule(static)
	EACH_BUSY("static");
#pragma omp parallel for num_threads(2) schedule(monotonic : dynamic)
	EACH_BUSY("dynamic");
#pragma omp parallel for num_threads(2) schedule(nonmonotonic : dynamic)
	EACH_BUSY("nonmonotonic-dynamic");
#pragma omp parallel for num_threads(2) schedule(monotonic : guided)
	EACH_BUSY("guided");
#pragma omp parallel for num_threads(2) schedule(nonmonotonic : guided)
	EACH_BUSY("nonmonotonic-guided");
#pragma omp parallel for num_threads(2) schedule(monotonic : runtime)
	EACH_BUSY("runtime");
#pragma omp parallel for num_threads(2) schedule(nonmonotonic : runtime)
	EACH_BUSY("nonmonotonic-runtime");
#pragma omp parallel for num_threads(2) schedule(runtime)
	EACH_BUSY("any-runtime");
#pragma omp parallel for num_threads(2) schedule(static) reduction(task, + : sum)
	for (int i = 0; i < 2; i++) {
		meet(2, i == 0 ? "reduction" : NULL);
		sum += 1;
	}
	part();
	if (sum != 2)
		_exit(1);
#pragma omp parallel sections num_threads(2)
	{
#pragma omp section
		meet(2, "sections");
#pragma omp section
		meet(2, NULL);
	}
	part();
	omp_set_num_threads(2);
#pragma omp parallel
	meet(2, omp_get_thread_num() == 0 ? "number-of-before" : NULL);
}

/* The constructs that end by waiting, each with one of two threads in it when the other is there. */
static void waits(void)
{
	int given = 0, sum = 0, started = 0;

	region(2);
#pragma omp parallel num_threads(2) firstprivate(given)
	{
#pragma omp for schedule(static)
		for (int i = 0; i < 2; i++)
			if (i == 0)
				rendezvous("static");
#pragma omp for schedule(dynamic)
		for (int i = 0; i < 2; i++)
			if (i == 0)
				rendezvous("dynamic");
#pragma omp for schedule(dynamic) reduction(task, + : sum)
		for (int i = 0; i < 2; i++) {
			if (i == 0)
				rendezvous("reduction");
			sum += 1;
		}
#pragma omp sections
		{
#pragma omp section
			rendezvous("sections");
#pragma omp section
			;
		}
#pragma omp single
		rendezvous("single");
#pragma omp single copyprivate(given)
		{
			rendezvous("copied");
			given = 1;
		}
		if (!given)
			_exit(1);
#pragma omp master
		rendezvous("barrier");
#pragma omp barrier
#define IN_OTHER_THREAD(place) \
	{ \
		__atomic_store_n(&started, 1, __ATOMIC_SEQ_CST); \
		rendezvous(place); \
	}
#define UNTIL_STARTED \
	while (!__atomic_exchange_n(&started, 0, __ATOMIC_SEQ_CST)) \
		;
#pragma omp master
		{
#pragma omp task shared(started)
			IN_OTHER_THREAD("taskwait");
			UNTIL_STARTED;
#pragma omp taskwait
#pragma omp task shared(started) depend(out : sum)
			IN_OTHER_THREAD("dependence");
			UNTIL_STARTED;
#pragma omp taskwait depend(in : sum)
#pragma omp taskgroup
			{
#pragma omp task shared(started)
				IN_OTHER_THREAD("taskgroup");
				UNTIL_STARTED;
			}
		}
#pragma omp barrier
	}
}

/* Needs OMP_CANCELLATION=true. The thread that does not cancel waits meanwhile. */
static void cancelled(void)
{
	region(2);
#pragma omp parallel num_threads(2)
	{
#pragma omp for schedule(dynamic)
		for (int i = 0; i < 2; i++)
			if (i == 0)
				rendezvous("dynamic");
#pragma omp sections
		{
#pragma omp section
			rendezvous("sections");
#pragma omp section
			;
		}
		if (omp_get_thread_num() == 0) {
			rendezvous("barrier");
#pragma omp cancel parallel
		}
#pragma omp barrier
		_exit(1);
	}
	rendezvous("between");
}

/* Whoever runs the task is at a barrier meanwhile. */
static void tasks(void)
{
	region(2);
#pragma omp parallel num_threads(2)
	{
#pragma omp single
		{
#pragma omp task
			rendezvous("task");
		}
	}
}

/* The two tasks of a loop at the same time. */
static void taskloop(void)
{
	region(2);
#pragma omp parallel num_threads(2)
	{
#pragma omp single
#pragma omp taskloop num_tasks(2)
		for (int i = 0; i < 2; i++)
			meet(2, i == 0 ? "taskloop" : NULL);
	}
}

static void teams(void)
{
#pragma omp teams num_teams(2)
	meet(2, omp_get_team_num() == 0 ? "teams" : NULL);
	rendezvous("between");
}

/* A league is no region if its teams run one after another. */
static void team_by_team(void)
{
#pragma omp teams num_teams(2)
	{
#pragma omp parallel num_threads(3)
		meet(3, omp_get_thread_num() == 0 ? "team" : NULL);
		part();
	}
	rendezvous("between");
}

static void forked(void)
{
	pid_t child;

	region(3);
#pragma omp parallel num_threads(3)
	if (omp_get_thread_num() == 0) {
		child = fork();
		if (child == 0) {
			rendezvous("child");
			_exit(0);
		}
		if (waitpid(child, NULL, 0) != child)
			_exit(1);
		rendezvous("parent");
	}
}

static pthread_barrier_t both;

static void *other(void *unused)
{
#pragma omp parallel num_threads(2)
	meet(5, NULL);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	return unused;
}

static void two_initial(void)
{
	pthread_t thread;

	pthread_barrier_init(&both, NULL, 2);
	region(3);
	if (pthread_create(&thread, NULL, other, NULL) != 0)
		_exit(1);
#pragma omp parallel num_threads(3)
	meet(5, omp_get_thread_num() == 0 ? "two" : NULL);
	pthread_barrier_wait(&both);
	region(3);
	rendezvous("not-alone");
	pthread_barrier_wait(&both);
	pthread_join(thread, NULL);
	region(3);
	rendezvous("alone");
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "regions", regions },
	{ "nested", nested },
	{ "starts", starts },
	{ "waits", waits },
	{ "cancelled", cancelled },
	{ "tasks", tasks },
	{ "taskloop", taskloop },
	{ "teams", teams },
	{ "team-by-team", team_by_team },
	{ "forked", forked },
	{ "two-initial", two_initial },
};

int main(int argc, char **argv)
{
	omp_set_dynamic(0);
	for (unsigned int n = 0; argc > 1 && n < sizeof(modes) / sizeof(modes[0]); n++) {
		if (strcmp(argv[1], modes[n].name))
			continue;
		modes[n].run();
		return 0;
	}
	return 2;
}
