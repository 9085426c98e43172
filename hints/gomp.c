/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "interpose.h"
#include "regions.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/*
 * For LD_PRELOAD: gives the hints of programs that gcc's OpenMP runtime, libgomp, runs, and that know nothing of them. They call
 * it for each region, wait and task, and these calls come here first. A thread is SPINNING while it waits at a barrier or for
 * tasks, unless it runs a task meanwhile, and while it is a worker without a region. An initial thread is known from its first
 * region on.
 *
 * Linked with libgomp, so that all calls of a process go to the same one, also those of libraries that dlopen() brings later.
 * Not seen: that a thread waits for the tasks of its taskloop, though the tasks are; detached tasks, so a thread that runs one
 * while it waits is SPINNING; in programs that gcc before 4.9 compiled, regions, so only waiting is seen. The teams of a league
 * run one after another, so a league is no region.
 */

int omp_get_num_threads(void);
int omp_get_thread_num(void);

static _Thread_local bool is_worker;
static bool has_key;
static pthread_key_t at_end; /* set for initial threads */

static void end_thread(void *unused)
{
	(void)unused;
	end_initial_thread();
}

static __attribute__((constructor)) void watch_threads(void)
{
	has_key = pthread_key_create(&at_end, end_thread) == 0;
	pthread_atfork(NULL, NULL, after_fork_in_child);
}

struct region {
	void *first; /* where GOMP_parallel_reductions() looks for the first word of the data */
	void (*run)(void *);
	void *data;
	unsigned int team; /* 0: it is none */
};

static void enter(struct region *region, unsigned int team)
{
	if (!is_worker && !is_initial_thread()) {
		begin_initial_thread();
		if (has_key)
			pthread_setspecific(at_end, region);
	}
	region->team = team;
	begin_region(team);
}

/* What each thread of a region runs. Only here is known how many there are. At its end it waits for the others. */
static void run_part(void *passed)
{
	struct region *region = passed;
	unsigned int team = (unsigned int)omp_get_num_threads();

	if (omp_get_thread_num() != 0) {
		is_worker = true;
		set_spins(false);
	} else if (team > 1) {
		enter(region, team);
	}
	region->run(region->data);
	if (team > 1)
		set_spins(true);
}

static void leave(struct region *region)
{
	if (!region->team)
		return;
	set_spins(false);
	end_region(region->team);
}

#define REGION(result, name, parameters, arguments) \
	INTERPOSED(name) \
	EXPORTED result name parameters \
	{ \
		struct region region __attribute__((cleanup(leave))) = { .run = run, .data = data }; \
		return NEXT(name) arguments; \
	}
#define LOOP(name) \
	REGION(void, name, \
	       (void (*run)(void *), void *data, unsigned int threads, long start, long end, long step, long chunk, unsigned int flags), \
	       (run_part, &region, threads, start, end, step, chunk, flags))
#define LOOP_WITHOUT_CHUNK(name) \
	REGION(void, name, (void (*run)(void *), void *data, unsigned int threads, long start, long end, long step, unsigned int flags), \
	       (run_part, &region, threads, start, end, step, flags))

REGION(void, GOMP_parallel, (void (*run)(void *), void *data, unsigned int threads, unsigned int flags), (run_part, &region, threads, flags))
REGION(void, GOMP_parallel_sections, (void (*run)(void *), void *data, unsigned int threads, unsigned int sections, unsigned int flags),
       (run_part, &region, threads, sections, flags))
LOOP(GOMP_parallel_loop_static)
LOOP(GOMP_parallel_loop_dynamic)
LOOP(GOMP_parallel_loop_guided)
LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
LOOP(GOMP_parallel_loop_nonmonotonic_guided)
LOOP_WITHOUT_CHUNK(GOMP_parallel_loop_runtime)
LOOP_WITHOUT_CHUNK(GOMP_parallel_loop_nonmonotonic_runtime)
LOOP_WITHOUT_CHUNK(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

INTERPOSED(GOMP_parallel_reductions)
EXPORTED unsigned int GOMP_parallel_reductions(void (*run)(void *), void *data, unsigned int threads, unsigned int flags)
{
	struct region region __attribute__((cleanup(leave))) = { .first = *(void **)data, .run = run, .data = data };

	return NEXT(GOMP_parallel_reductions)(run_part, &region, threads, flags);
}

static void restore_spins(bool *before)
{
	set_spins(*before);
}

#define WAIT(result, name, parameters, arguments) \
	INTERPOSED(name) \
	EXPORTED result name parameters \
	{ \
		bool before __attribute__((cleanup(restore_spins), unused)) = set_spins(true); \
		return NEXT(name) arguments; \
	}

WAIT(void, GOMP_barrier, (void), ())
WAIT(bool, GOMP_barrier_cancel, (void), ())
WAIT(void, GOMP_loop_end, (void), ())
WAIT(bool, GOMP_loop_end_cancel, (void), ())
WAIT(void, GOMP_sections_end, (void), ())
WAIT(bool, GOMP_sections_end_cancel, (void), ())
WAIT(void *, GOMP_single_copy_start, (void), ())
WAIT(void, GOMP_single_copy_end, (void *data), (data))
WAIT(void, GOMP_taskwait, (void), ())
WAIT(void, GOMP_taskwait_depend, (void **depend), (depend))
WAIT(void, GOMP_taskgroup_end, (void), ())
WAIT(void, GOMP_workshare_task_reduction_unregister, (bool cancelled), (cancelled))

/*
 * What stands before the data of a task, so that who runs it is known. The runtime copies both for each task, or has the
 * task's own copy function do it.
 */
struct task {
	long long first[3]; /* as the data begins: a taskloop's bounds, which the runtime writes, and a pointer, which it reads */
	size_t written;     /* so many bytes of that */
	void (*run)(void *);
	void (*copy)(void *, void *); /* NULL: the data is copied as bytes */
	void *data;
	size_t offset, bytes, align; /* of the copied data from here; of both */
};

static void *data_of(struct task *task)
{
	return (char *)task + task->offset;
}

static void run_task(void *passed)
{
	struct task *task = passed;
	bool before = set_spins(false);

	memcpy(data_of(task), task->first, task->written);
	task->run(data_of(task));
	set_spins(before);
}

static void copy_task(void *into, void *from)
{
	struct task *task = from;

	memcpy(into, task, sizeof(*task));
	task->copy(data_of(into), task->data);
}

/* A task with these. */
static struct task wrapped(void (*run)(void *), void *data, void (*copy)(void *, void *), long bytes, long align)
{
	struct task task = { .run = run, .copy = copy, .data = data };
	size_t known = (size_t)bytes < sizeof(task.first) ? (size_t)bytes : sizeof(task.first);

	task.align = (size_t)align > _Alignof(struct task) ? (size_t)align : _Alignof(struct task);
	task.offset = (sizeof(task) + task.align - 1) / task.align * task.align;
	task.bytes = task.offset + (size_t)bytes;
	if (known)
		memcpy(task.first, data, known);
	return task;
}

/* What the runtime copies as bytes. NULL: there is no memory, or the task has a copy function. To be freed. */
static void *flat(const struct task *task)
{
	void *both = task->copy ? NULL : aligned_alloc(task->align, (task->bytes + task->align - 1) / task->align * task->align);

	if (both) {
		memcpy(both, task, sizeof(*task));
		if (task->bytes > task->offset)
			memcpy(data_of(both), task->data, task->bytes - task->offset);
	}
	return both;
}

enum { GOMP_TASK_FLAG_DETACH = 1 << 13 };

INTERPOSED(GOMP_task)
EXPORTED void GOMP_task(void (*run)(void *), void *data, void (*copy)(void *, void *), long bytes, long align, bool may_wait, unsigned int flags,
			void **depend, int priority, void *detach)
{
	struct task task = wrapped(run, data, copy, bytes, align);
	void *both = flat(&task);

	if ((copy || both) && !(flags & GOMP_TASK_FLAG_DETACH))
		NEXT(GOMP_task)(run_task, copy ? &task : both, copy ? copy_task : NULL, (long)task.bytes, (long)task.align, may_wait, flags, depend,
				priority, detach);
	else
		NEXT(GOMP_task)(run, data, copy, bytes, align, may_wait, flags, depend, priority, detach);
	free(both);
}

#define TASKLOOP(name, number) \
	INTERPOSED(name) \
	EXPORTED void name(void (*run)(void *), void *data, void (*copy)(void *, void *), long bytes, long align, unsigned int flags, \
			   unsigned long tasks, int priority, number start, number end, number step) \
	{ \
		struct task task = wrapped(run, data, copy, bytes, align); \
		void *both; \
\
		task.written = 2 * sizeof(number); \
		both = flat(&task); \
		if (copy || both) \
			NEXT(name)(run_task, copy ? &task : both, copy ? copy_task : NULL, (long)task.bytes, (long)task.align, flags, tasks, \
				   priority, start, end, step); \
		else \
			NEXT(name)(run, data, copy, bytes, align, flags, tasks, priority, start, end, step); \
		free(both); \
	}

TASKLOOP(GOMP_taskloop, long)
TASKLOOP(GOMP_taskloop_ull, unsigned long long)
