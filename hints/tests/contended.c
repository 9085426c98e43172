/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
/* contended: a program that knows nothing of hints. Its second thread waits for mutexes that the first one has. */

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static long waiter;
static int turn;      /* 1: the first thread locks once more; 2: it has; 3: the second one has */
static int waits_for; /* the number of the lock that it asks for next */
static pthread_cond_t signalled = PTHREAD_COND_INITIALIZER;
static int signals;   /* under `outer` */

static void say(const char *where, long thread)
{
	char byte;

	printf("%s %ld\n", where, thread);
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		_exit(1);
}

static void rendezvous(const char *where)
{
	say(where, syscall(SYS_gettid));
}

static void lock(pthread_mutex_t *mutex)
{
	__atomic_add_fetch(&waits_for, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(mutex);
}

static void *second(void *unused)
{
	waiter = syscall(SYS_gettid);
	lock(&outer);
	rendezvous("outer");
	lock(&inner);
	rendezvous("both");
	pthread_mutex_unlock(&outer);
	rendezvous("inner");
	pthread_mutex_unlock(&inner);
	rendezvous("none");
	pthread_mutex_lock(&outer);
	rendezvous("outer-at-once");
	__atomic_store_n(&turn, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != 2)
		;
	lock(&inner);
	pthread_mutex_unlock(&outer);
	rendezvous("inner-again");
	pthread_mutex_unlock(&inner);
	for (int kind = 0; kind < 3; kind++) {
		static const struct timespec never = { .tv_sec = 1L << 40 };

		__atomic_store_n(&turn, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != 2)
			;
		lock(&outer);
		__atomic_store_n(&turn, 3, __ATOMIC_SEQ_CST);
		rendezvous("before-condition");
		while (signals == kind) {
			if (kind == 0)
				pthread_cond_wait(&signalled, &outer);
			else if (kind == 1)
				pthread_cond_timedwait(&signalled, &outer, &never);
			else
				pthread_cond_clockwait(&signalled, &outer, CLOCK_MONOTONIC, &never);
		}
		rendezvous("after-condition");
		pthread_mutex_unlock(&outer);
		rendezvous("unlocked");
	}
	return unused;
}

/* Gives the mutex back once the second thread has asked for it, and sleeps. */
static void unlock(int number, pthread_mutex_t *mutex)
{
	char path[64], line[512], *state = NULL;

	while (__atomic_load_n(&waits_for, __ATOMIC_SEQ_CST) != number)
		;
	snprintf(path, sizeof(path), "/proc/self/task/%ld/stat", waiter);
	while (!state || state[2] != 'S') {
		FILE *file = fopen(path, "r");

		state = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
		if (file)
			fclose(file);
	}
	pthread_mutex_unlock(mutex);
}

int main(void)
{
	pthread_t thread;

	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&inner);
	if (pthread_create(&thread, NULL, second, NULL) != 0)
		return 1;
	unlock(1, &outer);
	unlock(2, &inner);
	while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != 1)
		;
	pthread_mutex_lock(&inner);
	__atomic_store_n(&turn, 2, __ATOMIC_SEQ_CST);
	unlock(3, &inner);
	for (int kind = 0; kind < 3; kind++) {
		while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != 1)
			;
		pthread_mutex_lock(&outer);
		__atomic_store_n(&turn, 2, __ATOMIC_SEQ_CST);
		unlock(4 + kind, &outer);
		while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != 3)
			;
		pthread_mutex_lock(&outer);
		say("in-condition", waiter);
		signals++;
		pthread_cond_signal(&signalled);
		pthread_mutex_unlock(&outer);
	}
	pthread_join(thread, NULL);
	return 0;
}
