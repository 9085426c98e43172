/* Three threads that each sleep and then use 30 ms of CPU time, joined by the first one; with an argument, a thread executes it instead. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static void *spin(void *unused)
{
	struct timespec now;

	usleep(50000); /* until the first thread waits for this one */
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec == 0 && now.tv_nsec < 30000000);
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
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
