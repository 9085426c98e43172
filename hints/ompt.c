/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "lopsided.h"
#include <omp-tools.h>
#include <pthread.h>
#include <stdbool.h>
/*
 * A tool for OpenMP runtimes that have OMPT, as LLVM's libomp does: gives the hints of programs that know nothing of them.
 * The runtime loads it if OMP_TOOL_LIBRARIES names it.
 *     parallelism   threads in parallel regions, all together; 0 (not known) from a thread of whose regions none runs: the
 *                   program may have threads of its own
 *     SPINNING      the thread waits at a barrier or for tasks, or it is a worker without a region; not while it runs a
 *                   task meanwhile
 *     SEQUENTIAL    the only thread that starts regions of its own is outside of them
 * A region of one thread is none; the teams of a league, each of which begins with a thread, are a region. If the runtime
 * cannot report one of the events, the tool does without all of them, and the runtime says so
 * (OMP_TOOL_VERBOSE_INIT=stderr).
 */

/* What a task's data says: that it waits, and for the first task of a region, above that, how many threads the region has. */
enum { WAITS = 1, TEAM = 2 };

static unsigned int in_regions;
static unsigned int initial_threads; /* those that are no workers: they start regions */

struct self {
	bool is_initial, spins, is_sequential;
	unsigned int regions; /* that it started and that have not ended, nested in one another */
};
static _Thread_local struct self self;

static void set_spins(bool spins)
{
	if (spins != self.spins)
		spins ? lop_spinning_begin() : lop_spinning_end();
	self.spins = spins;
}

/* With several initial threads none is waited for by all others. One that was alone when it said so learns that late. */
static void follow_sequential(void)
{
	bool is = self.is_initial && !self.regions && __atomic_load_n(&initial_threads, __ATOMIC_RELAXED) == 1;

	if (is != self.is_sequential)
		is ? lop_sequential_begin() : lop_sequential_end();
	self.is_sequential = is;
}

static void on_thread_begin(ompt_thread_t kind, ompt_data_t *thread)
{
	(void)thread;
	if (kind == ompt_thread_initial) {
		self.is_initial = true;
		__atomic_add_fetch(&initial_threads, 1, __ATOMIC_RELAXED);
		follow_sequential();
	} else if (kind == ompt_thread_worker) {
		set_spins(true);
	}
}

/* The thread itself may go on, without OpenMP. */
static void on_thread_end(ompt_data_t *thread)
{
	(void)thread;
	if (self.is_initial)
		__atomic_sub_fetch(&initial_threads, 1, __ATOMIC_RELAXED);
	self.is_initial = false;
	follow_sequential();
}

/* How many threads a region of this size adds: who starts it is in a region already, unless it comes from outside. */
static unsigned int added(unsigned int team)
{
	return self.is_initial && !self.regions ? team : team - 1;
}

static void begin_region(unsigned int team)
{
	unsigned int more = added(team);

	self.regions++;
	follow_sequential();
	lop_parallelism(__atomic_add_fetch(&in_regions, more, __ATOMIC_RELAXED));
}

/* What a thread outside said last would stand, and seem newer than what others say meanwhile. */
static void end_region(unsigned int team)
{
	unsigned int left;

	self.regions--;
	left = __atomic_sub_fetch(&in_regions, added(team), __ATOMIC_RELAXED);
	lop_parallelism(self.regions ? left : 0);
	follow_sequential();
}

static void on_implicit_task(ompt_scope_endpoint_t end, ompt_data_t *region, ompt_data_t *task, unsigned int team, unsigned int number,
	int flags)
{
	(void)region, (void)flags;
	if (number != 0) {
		/* The task that an initial thread begins with has number 1. */
		if (!self.is_initial)
			set_spins(end == ompt_scope_end);
	} else if (end == ompt_scope_begin && team > 1) {
		task->value = (uint64_t)team * TEAM;
		begin_region(team);
	} else if (end == ompt_scope_end && task->value / TEAM) {
		end_region((unsigned int)(task->value / TEAM));
	}
}

static void on_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t end, ompt_data_t *region, ompt_data_t *task, const void *code)
{
	bool waits = end == ompt_scope_begin;

	(void)kind, (void)region, (void)code;
	task->value = (task->value & ~(uint64_t)WAITS) | (waits ? WAITS : 0);
	set_spins(waits);
}

/* Who waits runs tasks meanwhile. `next` is NULL if the thread does not change to another one. */
static void on_task_schedule(ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *next)
{
	(void)prior, (void)status;
	if (next)
		set_spins(next->value & WAITS);
}

/* The child has the thread that forked, outside of all regions. */
static void after_fork_in_child(void)
{
	in_regions = 0;
	initial_threads = 1;
	self = (struct self){ .is_initial = true };
	follow_sequential();
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *tool)
{
	ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");

	(void)device, (void)tool;
	return set && pthread_atfork(NULL, NULL, after_fork_in_child) == 0 &&
	       set(ompt_callback_thread_begin, (ompt_callback_t)on_thread_begin) == ompt_set_always &&
	       set(ompt_callback_thread_end, (ompt_callback_t)on_thread_end) == ompt_set_always &&
	       set(ompt_callback_implicit_task, (ompt_callback_t)on_implicit_task) == ompt_set_always &&
	       set(ompt_callback_sync_region_wait, (ompt_callback_t)on_wait) == ompt_set_always &&
	       set(ompt_callback_task_schedule, (ompt_callback_t)on_task_schedule) == ompt_set_always;
}

/* The runtime has reported the end of each thread before. */
static void finalize(ompt_data_t *tool)
{
	(void)tool;
}

__attribute__((visibility("default"))) ompt_start_tool_result_t *ompt_start_tool(unsigned int openmp, const char *runtime)
{
	static ompt_start_tool_result_t result = { initialize, finalize, { 0 } };

	(void)openmp, (void)runtime;
	return &result;
}
