/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "scx/common.bpf.h"
/* The program's callbacks, and what the checks ask about its state. */
s32 lopsided_select_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
void lopsided_enqueue(struct task_struct *p, u64 enq_flags);
void lopsided_dispatch(s32 cpu, struct task_struct *prev);
void lopsided_running(struct task_struct *p);
void lopsided_stopping(struct task_struct *p, bool runnable);
void lopsided_tick(struct task_struct *p);
void lopsided_cpu_release(s32 cpu, struct scx_cpu_release_args *args);
void lopsided_set_cpumask(struct task_struct *p, struct cpumask *mask);
void lopsided_enable(struct task_struct *p);
void lopsided_cpu_offline(s32 cpu);
void lopsided_cpu_online(s32 cpu);
s32 lopsided_init_task(struct task_struct *p, struct scx_init_task_args *args);
s32 lopsided_init(void);

/* A machine and a policy. */
struct scene {
	/* threads: per core. Each kind has an equal block of cores, memory domains alternate from core to core. */
	unsigned cpus, threads, tiers, domains;
	unsigned tasks;                         /* of our class */
	unsigned policy;                        /* enum lop_policy */
	bool spare, hotplug, paces, light;
	u64 isolated;                           /* mask of CPUs; not all */
	u64 hold_ns, migration_ns;
};
void set_scene(const struct scene *scene);

/*
 * Moves the task that runs on `cpu` to an idle CPU that joins for it, if there are rules about rank: sooner than they
 * would.
 */
void move_from(unsigned cpu);
/* Checks the program's state at rest. Null: it is right; else what is wrong. */
const char *find_fault(unsigned *cpu);
bool counts_as_idle(unsigned cpu);
/* A wakeup claimed an idle CPU for the task, and it has not run there. */
bool was_placed(unsigned number);
/* The task is anchored to a CPU that a higher class has, noticed or not. It is not moved elsewhere for that. */
bool counts_on_taken(unsigned number);
/* The CPU where the paced task waits for others like it; -1: it is none, or does not wait there. */
s32 home_of(unsigned number);
/* The timer is set to look for work that no CPU came for. */
bool will_look(void);
/* Prints the state of the sets. */
void print_program(void);
void print_task(unsigned number);

/* Number of a task of the model; MODEL_TASKS or more: not of our class. */
u32 task_number(const struct task_struct *p);
