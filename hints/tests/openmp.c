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

static void region(int threads)
{
#pragma omp parallel num_threads(threads)
	{
#pragma omp barrier
	}
}

static void regions(void)
{
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

/* Whoever runs the task is at a barrier meanwhile. */
static void tasks(void)
{
#pragma omp parallel num_threads(2)
	{
#pragma omp single
		{
#pragma omp task
			rendezvous("task");
		}
	}
}

static void teams(void)
{
#pragma omp teams num_teams(2)
	meet(2, omp_get_team_num() == 0 ? "teams" : NULL);
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

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	omp_set_dynamic(0);
	if (!strcmp(mode, "regions"))
		regions();
	else if (!strcmp(mode, "nested"))
		nested();
	else if (!strcmp(mode, "tasks"))
		tasks();
	else if (!strcmp(mode, "teams"))
		teams();
	else if (!strcmp(mode, "forked"))
		forked();
	else if (!strcmp(mode, "two-initial"))
		two_initial();
	else
		return 2;
	return 0;
}
