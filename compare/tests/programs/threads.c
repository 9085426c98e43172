/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Three threads that each wait until the first thread waits for them, and then use 30 ms of CPU time. With an argument, one thread executes
 * that program instead.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_int all_are_there;

static long long cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Whether the state, the field after the name, is S. */
static int first_sleeps(void)
{
	char path[64], line[512] = "", *name_ends;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	stat = fopen(path, "r");
	if (!stat)
		return 0;
	name_ends = fgets(line, sizeof(line), stat) ? strrchr(line, ')') : NULL;
	fclose(stat);
	return name_ends && name_ends[1] == ' ' && name_ends[2] == 'S';
}

static void *spin(void *unused)
{
	long long begin_ns;

	/* The first thread only sleeps in pthread_join. */
	while (!atomic_load(&all_are_there) || !first_sleeps())
		usleep(1000);
	begin_ns = cpu_ns();
	while (cpu_ns() - begin_ns < 30000000)
		;
	return unused;
}

static void *execute(void *program)
{
	execl(program, program, (char *)NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[3];

	if (argc > 1) {
		pthread_create(&thread[0], NULL, execute, argv[1]);
		pthread_join(thread[0], NULL);
		return 9;
	}
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, spin, NULL);
	atomic_store(&all_are_there, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
