/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "lopsided.h"
#include "record.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/*
 * probe MODE: gives hints and ends at once, so that the page of the process stays as it is then. What only the process
 * can see it checks itself: a failed check ends it with a message.
 */

#define CHECK(WHAT) ((WHAT) ? (void)0 : failed(#WHAT, __LINE__))

static void failed(const char *what, int line)
{
	fprintf(stderr, "probe.c:%d: not so: %s\n", line, what);
	_exit(1);
}

static char *own_file(void)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%d.hints", getenv("LOP_HINT_DIR"), (int)getpid());
	return path;
}

/*
 * The process that holds the lock of this process's file; 0: nobody. Asked by a child: if the process itself closed a
 * descriptor of the file, that would end its lock.
 */
static pid_t holder(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char *path = own_file();
	pid_t found = 0, child;
	int ends[2];

	CHECK(pipe(ends) == 0);
	child = fork();
	if (child == 0) {
		int file = open(path, O_RDWR);

		CHECK(file >= 0 && fcntl(file, F_OFD_GETLK, &lock) == 0);
		found = lock.l_type == F_UNLCK ? 0 : lock.l_pid;
		_exit(write(ends[1], &found, sizeof(found)) != sizeof(found));
	}
	CHECK(read(ends[0], &found, sizeof(found)) == sizeof(found));
	CHECK(waitpid(child, NULL, 0) == child);
	return found;
}

static void every_call(void)
{
	lop_parallelism(4);
	lop_length(7);
	lop_next_length(9);
	lop_memory(LOP_MEMORY_INTENSIVE);
	lop_sequential_begin();
	lop_sequential_begin();
	lop_sequential_end();
	lop_lock_holder_begin();
	lop_spinning_begin();
	lop_spinning_end();
	lop_spinning_end();
	lop_spinning_begin();
	lop_background_begin();
}

static void all_over(void)
{
	lop_parallelism(0);
	lop_length(0);
	lop_next_length(0);
	lop_memory(LOP_MEMORY_UNKNOWN);
	lop_sequential_end();
	lop_lock_holder_end();
	lop_spinning_end();
	lop_background_end();
}

static void *say_length(void *length)
{
	lop_length((unsigned int)(size_t)length);
	return NULL;
}

static void run_thread(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, run, argument) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

static pthread_barrier_t all_there;

static void *stay(void *length)
{
	if (length)
		say_length(length);
	lop_spinning_begin();
	pthread_barrier_wait(&all_there);
	pause();
	return NULL;
}

/* Starts a thread that stays, by the library, and waits until it has given its hints. */
static void start_one(void)
{
	pthread_t thread;

	pthread_barrier_init(&all_there, NULL, 2);
	CHECK(lop_pthread_create(&thread, NULL, stay, NULL) == 0);
	pthread_barrier_wait(&all_there);
}

static void together(void)
{
	pthread_t thread;

	pthread_barrier_init(&all_there, NULL, 4);
	lop_length(10);
	for (size_t i = 1; i < 4; i++)
		CHECK(pthread_create(&thread, NULL, stay, (void *)(10 + i)) == 0);
	pthread_barrier_wait(&all_there);
}

static void one_after_another(void)
{
	lop_length(10);
	for (size_t i = 1; i < 4; i++)
		run_thread(say_length, (void *)(10 + i));
}

static void inherit(void)
{
	lop_next_length(3);
	start_one();
	start_one();
}

static void forked(void)
{
	pid_t child;

	lop_length(5);
	lop_lock_holder_begin();
	CHECK(waitpid(fork() ?: (_exit(0), 0), NULL, 0) > 0);
	lop_next_length(8);
	child = fork();
	if (child == 0) {
		CHECK(waitpid(fork() ?: (lop_lock_holder_end(), lop_spinning_begin(), _exit(0), 0), NULL, 0) > 0);
		_exit(0);
	}
	CHECK(waitpid(child, NULL, 0) == child);
}

/* The last thread to find no record gives no hints, and one that is given back is found. */
static void full(void)
{
	size_t bytes = 4096 * sizeof(struct lop_hint_record);
	struct lop_hint_record *records;
	int file;

	lop_length(10);
	file = open(own_file(), O_RDWR);
	records = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(records != MAP_FAILED);
	for (size_t i = 2; i < 4096; i++)
		records[i].thread = 1;
	struct lop_hint_record *before = malloc(bytes);
	memcpy(before, records, bytes);
	run_thread(say_length, (void *)11);
	CHECK(memcmp(before, records, bytes) == 0);
	records[4095].thread = 0;
	run_thread(say_length, (void *)12);
	CHECK(records[4095].thread == 0 && records[4095].version == 0 && records[4095].length == 12);
}

static void executes(char **argv)
{
	lop_length(5);
	lop_next_length(6);
	run_thread(say_length, (void *)11);
	CHECK(holder() == getpid());
	argv[1] = "executed";
	execv("/proc/self/exe", argv);
}

static void executed(void)
{
	CHECK(holder() == 0);
	lop_memory(LOP_MEMORY_MODERATE);
	CHECK(holder() == getpid());
}

/* Standard input is closed: the next file that the program opens takes its number. */
static void closed(void)
{
	close(0);
	lop_length(5);
	CHECK(open("/dev/null", O_RDONLY) == 0);
}

static void silent(void)
{
	errno = EXDEV;
	every_call();
	all_over();
	run_thread(say_length, (void *)5);
	CHECK(errno == EXDEV);
	CHECK(lop_version() == LOP_VERSION);
}

/* From the second call on the kernel ends the thread if it makes a system call other than exit. */
static void without_system_calls(void)
{
	every_call();
	all_over();
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	every_call();
	all_over();
	syscall(SYS_exit, 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "every-call"))
		every_call();
	else if (!strcmp(mode, "all-over"))
		every_call(), all_over();
	else if (!strcmp(mode, "together"))
		together();
	else if (!strcmp(mode, "one-after-another"))
		one_after_another();
	else if (!strcmp(mode, "inherit"))
		inherit();
	else if (!strcmp(mode, "forked"))
		forked();
	else if (!strcmp(mode, "full"))
		full();
	else if (!strcmp(mode, "executes"))
		executes(argv);
	else if (!strcmp(mode, "executed"))
		executed();
	else if (!strcmp(mode, "closed"))
		closed();
	else if (!strcmp(mode, "without-system-calls"))
		without_system_calls();
	else if (!strcmp(mode, "silent"))
		silent();
	else
		failed("there is such a mode", __LINE__);
	_exit(0);
}
