/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * Model of the kernel's scheduler core as a sched_ext scheduler sees it: CPUs with their runqueues, wakeups, kicks,
 * affinity changes, a higher scheduling class and the timer. It takes locks where the kernel does: the program must
 * cope with everything that the kernel's locking lets happen at the same time.
 */
#include "scx/common.bpf.h"
#include "steps.h"

enum doing { ASLEEP, WAKING, RUNNABLE };

/* What the model keeps for a task. */
struct model_task {
	struct task_struct task;
	unsigned number;
	enum doing doing;
	bool higher;              /* of the higher class, restricted to its CPU; the program never hears of it */
	s32 cpu;                  /* on whose runqueue it counts */
	bool on_cpu;              /* runs, or its CPU has not finished switching it out */
	s32 moving;               /* CPU that is taking it, or MODEL_CPUS + the CPU where it is to be put; -1: none */
	bool migrating;           /* counts on no runqueue: it is on its way from one CPU to another */
	u64 wants;                /* DSQ chosen by the program in which it does not lie yet; 0: none */
	u64 wants_flags;
	struct queue *queue;      /* it lies here */
	struct model_task *next;
	bool immed;               /* lies in a local DSQ and must run at once or be enqueued again (IMMED) */
	u64 seen;                 /* number of its stay in the queue */
	struct lock waking;
	u64 acts_at_ns;           /* running: time of its next action; asleep: time of its wakeup */
	unsigned woken_by;        /* CPU whose interrupt wakes it */
	u64 period_ns;            /* of the clock that wakes it; 0: none does */
	bool sleeps;              /* goes to sleep in its CPU's next schedule() */
	u32 state_asleep;         /* its __state while it sleeps: interruptible or frozen */
	bool pinned;              /* was switched out with migration disabled: cpus_ptr is its CPU alone */
	struct cpumask only;      /* that CPU */
	struct cpumask new_mask;  /* affinity that it is about to get */
	u64 waits_since_ns;
};

struct queue {
	struct lock lock;
	struct model_task *first;
	u32 nr;
};

struct model_cpu {
	struct rq rq;
	struct lock lock;
	struct queue local, higher;
	struct model_task stopper;     /* pushes away tasks that may not stay here; highest class */
	bool resched, in_balance, released, dispatched;
	bool reenqueues;               /* IMMED tasks that cannot run at once are to be enqueued again */
	bool leaves, off;              /* takes no more tasks, going offline; runs nothing any more */
	u32 preempt_count;
	bool deaf;                     /* asked for an interrupt while it got none, so its interrupt stays pending forever */
	u64 goes_ns;                   /* when it takes the next step offline or back */
	u64 ticks_at_ns, ran_since_ns;
	u64 kicks_idle, kicks_preempt; /* its pending kicks: target CPUs */
	struct model_task *deferred;   /* tasks put on other CPUs while this one was locked */
	struct model_task *movers[MODEL_TASKS]; /* tasks that may not stay here */
	u32 nr_movers;
};

/* The last entry stands for the timer, which runs on no CPU. */
extern struct model_cpu cpus[MODEL_CPUS + 1];
extern struct model_task tasks[MODEL_TASKS];
extern unsigned nr_cpus, nr_tasks;
extern struct task_struct idle_task;
extern u64 tick_ns;

static inline struct model_task *current_of(unsigned cpu) { return cpus[cpu].rq.curr->model; }
static inline bool may_use(const struct model_task *t, unsigned cpu)
{
	if (t->task.migration_disabled)
		return t->cpu == (s32)cpu;
	return !cpus[cpu].leaves && t->task.mask.bits[0] >> cpu & 1;
}

void begin_tasks(void);
/* Fibres of a CPU and of the timer. `acts`: called when a task's time to act has come. */
void run_cpu(unsigned cpu);
void run_timer(unsigned number);
extern void (*acts)(unsigned cpu, struct model_task *t);
/* Called when a task of our class starts on a CPU. */
extern void (*starts)(const struct model_task *t);
extern void (*interrupted)(unsigned cpu);
extern u64 (*next_interrupt_ns)(unsigned cpu);
/* Whether a CPU goes offline now; wakes tasks on it when it is off. */
extern bool (*goes)(void);
extern void (*wakes_at_its_end)(void);
/*
 * Whether this CPU gets an interrupt that it asks for. Every kick needs one, and from Linux 7.0 on every arming of the
 * timer.
 */
bool interrupts_itself(void);
/* False: the task does not sleep. */
bool wake(struct model_task *t);
void set_mask(struct model_task *t, u64 mask);
/* For the task that runs here: migrate_disable() and migrate_enable(). */
void disable_migration(struct model_task *t);
void enable_migration(struct model_task *t);
