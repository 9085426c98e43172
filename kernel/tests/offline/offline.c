/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's program on a machine whose CPU 1 is isolated and whose CPU 0 goes offline and comes back: main.bpf.c unchanged, compiled natively with the
 * kernel of ../interleave/. Exit code 1: an expectation does not hold; it is printed.
 */
#include "scx/common.bpf.h"
#include "../interleave/program.c"
#define wake wake_of_model
#include "kernel.h"
#undef wake
#include "expect.h"

static const struct cred user = { { 1000 } };

/* A task that may run on both CPUs. */
static struct task_struct *new_task(u32 number)
{
	struct model_task *t = &tasks[number];
	struct scx_init_task_args args = { .fork = true };
	t->number = number;
	t->moving = -1;
	t->task.model = t;
	t->task.pid = t->task.tgid = (s32)number + 1;
	t->task.prio = t->task.static_prio = 120;
	t->task.mask.bits[0] = 3;
	t->task.nr_cpus_allowed = 2;
	t->task.cpus_ptr = &t->task.mask;
	t->task.cred = &user;
	lopsided_init_task(&t->task, &args);
	lopsided_enable(&t->task);
	return &t->task;
}

int main(void)
{
	const struct scene scene = { .cpus = 2, .threads = 1, .tiers = 1, .domains = 1, .tasks = 2, .policy = 1, .isolated = 2, .hold_ns = 100000 };
	struct task_struct *first, *second;
	nr_cpus = scene.cpus;
	set_scene(&scene);
	begin_tasks();
	lopsided_init();
	first = new_task(0);
	expect("an isolated CPU does not count while another CPU is online", !states[0].task.bound);
	lopsided_cpu_offline(0);
	second = new_task(1);
	expect("a new task is bound to the isolated CPU while no other is online", states[1].task.bound);
	expect("so is a task that wakes then", lopsided_select_cpu(first, 0, SCX_ENQ_WAKEUP) == 1 && states[0].task.bound);
	lopsided_cpu_online(0);
	expect("a task that wakes when CPU 0 is back is no longer bound", lopsided_select_cpu(second, 1, SCX_ENQ_WAKEUP) == 0 && !states[1].task.bound);
	return 0;
}
