/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * The kernel's scheduler core, as far as a sched_ext scheduler sees it: CPUs with their queues, wakeups, kicks, changes of affinity, a class above ours and the
 * timer. Locks are taken where the kernel takes them, since what it lets happen at once is what the program has to bear.
 */
#include "scx/common.bpf.h"
#include "steps.h"

enum doing { ASLEEP, WAKING, RUNNABLE };

/* Of a task, what the model keeps. */
struct model_task {
	struct task_struct task;
	unsigned number;
	enum doing doing;
	bool higher;              /* of the class above ours, bound to its CPU; the program never hears of it */
	s32 cpu;                  /* whose queue it is counted in */
	bool on_cpu;              /* it runs, or its CPU is still at its end */
	s32 moving;               /* CPU that is taking it, or MODEL_CPUS + CPU where it is to be put; -1 */
	bool migrating;           /* counted nowhere: on its way from one CPU to another */
	u64 wants;                /* queue that it was put in by the program and does not lie in yet; 0: none */
	u64 wants_flags;
	struct queue *queue;      /* it lies there */
	struct model_task *next;
	bool immed;               /* it lies in the queue of a CPU, and is to run there at once or be queued anew */
	u64 seen;                 /* names its stay in the queue */
	struct lock waking;
	u64 acts_at_ns;           /* running: when it does something next. Asleep: when it is woken */
	unsigned woken_by;        /* CPU whose interrupt that is */
	bool sleeps;              /* it does when its CPU looks next */
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
	struct model_task stopper;     /* moves what may not stay here, of the highest class */
	bool resched, in_balance, released, dispatched;
	bool reenqueues;               /* what cannot run there at once is queued anew */
	bool leaves, off;              /* takes no more tasks, as it goes offline; runs nothing any more */
	bool deaf;                     /* asked for an interrupt when it got none: it seems to be on its way ever since */
	u64 goes_ns;                   /* when it takes the next step offline or back */
	u64 ticks_at_ns, ran_since_ns;
	u64 kicks_idle, kicks_preempt; /* that it asked for: CPUs */
	struct model_task *deferred;   /* put on other CPUs while this one was locked */
	struct model_task *movers[MODEL_TASKS]; /* may not stay here */
	u32 nr_movers;
};

/* The last one stands for what no CPU does: the timer. */
extern struct model_cpu cpus[MODEL_CPUS + 1];
extern struct model_task tasks[MODEL_TASKS];
extern unsigned nr_cpus, nr_tasks;
extern struct task_struct idle_task;
extern u64 tick_ns;

static inline struct model_task *current_of(unsigned cpu) { return cpus[cpu].rq.curr->model; }
static inline bool may_use(const struct model_task *t, unsigned cpu) { return !cpus[cpu].leaves && t->task.mask.bits[0] >> cpu & 1; }

void begin_tasks(void);
/* The fibre of a CPU, and of the timer. `acts`: what its task does when its time has come. */
void run_cpu(unsigned cpu);
void run_timer(unsigned number);
extern void (*acts)(unsigned cpu, struct model_task *t);
extern void (*interrupted)(unsigned cpu);
extern u64 (*next_interrupt_ns)(unsigned cpu);
/* Whether a CPU goes offline now, and what is woken there at its end. */
extern bool (*goes)(void);
extern void (*wakes_at_its_end)(void);
/* Whether this CPU gets an interrupt that it asks for, as each kick needs, and from Linux 7.0 on each setting of the timer. */
bool interrupts_itself(void);
/* False: it does not sleep. */
bool wake(struct model_task *t);
void set_mask(struct model_task *t, u64 mask);
