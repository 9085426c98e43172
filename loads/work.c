/* SPDX-License-Identifier: GPL-2.0-only */
#include "load.h"
#include "internal.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

/* Full period modulo 2^64: A is odd, M - 1 is a multiple of 4. */
#define MULTIPLIER 0x5851f42d4c957f2dULL
#define ADDEND 0x14057b7ef767814fULL

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t load_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t load_thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/*
 * Assembly, so that the compiler cannot merge, unroll or add instructions. Other architectures use C: about four
 * instructions.
 */
uint64_t load_compute(uint64_t x, uint64_t instructions)
{
	uint64_t turns = instructions / LOAD_INSTRUCTIONS_PER_TURN;

	if (turns == 0)
		return x;
#if defined(__x86_64__)
	__asm__ volatile("1: imulq %[m], %[x]\n\taddq %[a], %[x]\n\tdecq %[turns]\n\tjnz 1b"
		: [x] "+r"(x), [turns] "+r"(turns) : [m] "r"(MULTIPLIER), [a] "r"(ADDEND) : "cc");
#elif defined(__aarch64__)
	__asm__ volatile("1: mul %[x], %[x], %[m]\n\tadd %[x], %[x], %[a]\n\tsubs %[turns], %[turns], #1\n\tb.ne 1b"
		: [x] "+r"(x), [turns] "+r"(turns) : [m] "r"(MULTIPLIER), [a] "r"(ADDEND) : "cc");
#else
	for (; turns; turns--) {
		x = x * MULTIPLIER + ADDEND;
		__asm__ volatile("" : "+r"(x));
	}
#endif
	return x;
}

/* Steps x -> m x + a compose: first (m1, a1), then (m2, a2) is (m1 m2, m2 a1 + a2). */
uint64_t load_expected(uint64_t x, uint64_t instructions, uint64_t times)
{
	uint64_t turns = instructions / LOAD_INSTRUCTIONS_PER_TURN * times;
	uint64_t m = MULTIPLIER, a = ADDEND;

	for (; turns; turns >>= 1) {
		if (turns & 1)
			x = m * x + a;
		a += m * a;
		m *= m;
	}
	return x;
}

void *load_shared_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		load_fail("get memory", errno, "ask for less work at a time");
	return memory;
}

void load_team_begin(struct load_team *team, uint64_t size, void (*work)(struct load_thread *), void *shared)
{
	team->size = size;
	team->work = work;
	team->shared = shared;
	team->threads = load_shared_memory(size * sizeof(*team->threads));
	for (uint64_t i = 0; i < size; i++) {
		struct load_thread *thread = &team->threads[i];

		thread->index = i;
		thread->team = team;
		thread->value = load_first(i);
	}
}

void load_declare_length(struct load_team *team, uint64_t index, uint64_t length)
{
	team->threads[index].length = (uint32_t)(length < UINT32_MAX ? length : UINT32_MAX);
}

void load_name_process(const char *name)
{
	char comm[16];

	snprintf(comm, sizeof(comm), "lop-%.11s", name);
	prctl(PR_SET_NAME, comm);
}

void load_run_here(struct load_thread *thread)
{
	thread->started_ns = load_now_ns();
	uint64_t cpu_ns = load_thread_cpu_ns();

	thread->team->work(thread);
	thread->cpu_ns = load_thread_cpu_ns() - cpu_ns;
	thread->ended_ns = load_now_ns();
	thread->flags_left = atomic_load(&thread->spinning);
}

static void *thread_main(void *thread)
{
	load_run_here(thread);
	return NULL;
}

void load_run(struct load_team *team)
{
	for (uint64_t i = 0; i < team->size; i++) {
		struct load_thread *thread = &team->threads[i];

		if (thread->length)
			lop_next_length(thread->length);
		int error = lop_pthread_create(&thread->handle, NULL, thread_main, thread);

		if (error)
			load_fail("start all threads", error, "ask for fewer, or raise the limit (ulimit -u)");
	}
	for (uint64_t i = 0; i < team->size; i++)
		pthread_join(team->threads[i].handle, NULL);
}

int load_fork(const char *name)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		load_fail("start a process", errno, "ask for fewer at a time, or raise the limit (ulimit -u)");
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	load_name_process(name);
	return 0;
}

bool load_wait_for(int pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
