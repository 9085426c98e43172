/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "scx/common.bpf.h"
/* The program's callbacks, and what the checks ask of it. */
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
	unsigned cpus, threads, tiers, domains; /* threads: of a core. Kinds of cores and memory domains take turns in equal parts */
	unsigned tasks;                         /* of our class */
	unsigned policy;                        /* enum lop_policy */
	bool spare, hotplug;
	u64 isolated;                           /* CPUs; not all */
	u64 hold_ns, migration_ns;
};
void set_scene(const struct scene *scene);

/* What runs there goes to an idle CPU that joins for it, if rules say who has which core: sooner than they would say so. */
void move_from(unsigned cpu);
/* While nothing happens: is it as it should be? Null: yes; else what is not. */
const char *find_fault(unsigned *cpu);
bool counts_as_idle(unsigned cpu);
/* It was woken on a CPU that was idle, and has not run there. */
bool was_placed(unsigned number);
/* A task of limited affinity has a CPU that it counts on, and a higher class has that: seen or not, it is not sent elsewhere for it. */
bool counts_on_taken(unsigned number);
/* The timer will look for work that nobody came for. */
bool will_look(void);
/* How the sets stand, for people. */
void print_program(void);
void print_task(unsigned number);

/* Of a task of the model; MODEL_TASKS or more: it is none of ours. */
u32 task_number(const struct task_struct *p);
