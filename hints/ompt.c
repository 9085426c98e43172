/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "regions.h"
#include <omp-tools.h>
#include <pthread.h>
#include <stdint.h>
/*
 * A tool for OpenMP runtimes that have OMPT, as LLVM's libomp does: gives the hints of programs that know nothing of them.
 * The runtime loads it if OMP_TOOL_LIBRARIES names it. A thread is SPINNING if it waits at a barrier or for tasks, or is a
 * worker without a region; not while it runs a task meanwhile. The teams of a league, each of which begins with a thread,
 * are a region. If the runtime cannot report one of the events, the tool does without all of them, and the runtime says so
 * (OMP_TOOL_VERBOSE_INIT=stderr).
 */

/* What a task's data says: that it waits, and for the first task of a region, above that, how many threads the region has. */
enum { WAITS = 1, TEAM = 2 };

static void on_thread_begin(ompt_thread_t kind, ompt_data_t *thread)
{
	(void)thread;
	if (kind == ompt_thread_initial)
		begin_initial_thread();
	else if (kind == ompt_thread_worker)
		set_spins(true);
}

static void on_thread_end(ompt_data_t *thread)
{
	(void)thread;
	end_initial_thread();
}

static void on_implicit_task(ompt_scope_endpoint_t end, ompt_data_t *region, ompt_data_t *task, unsigned int team, unsigned int number,
	int flags)
{
	(void)region, (void)flags;
	if (number != 0) {
		/* The task that an initial thread begins with has number 1. */
		if (!is_initial_thread())
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
