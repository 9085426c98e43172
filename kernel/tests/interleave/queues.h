/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Queues of waiting tasks, and the ways in which CPUs make one another look for work. */
#include "kernel.h"

/* Printed with its time if LOP_INTERLEAVE_LOG is set; -1 is no task, and a queue of the kernel's own. It neither draws nor steps: the run is the same. */
void notes(const char *what, ...) __attribute__((format(printf, 1, 2)));

bool is_idle(const struct model_cpu *c);
bool runs_ours(const struct model_cpu *c);
/* Makes `c` pass through the scheduler, at once if it is idle. */
void resched(struct model_cpu *c);
/* Carries out the kicks that its last callback asked for. */
void carry_out_kicks(struct model_cpu *c);

/* `c` is locked. Finds IMMED tasks in its local DSQ that cannot run at once: these are enqueued again later. */
void look_at_immed(struct model_cpu *c);
/* Enqueues those tasks again. */
void reenqueue_immed(struct model_cpu *c);

/* `ordered`: by virtual time, else at the end. */
void append(struct queue *q, struct model_task *t, bool ordered);
void unlink_task(struct model_task *t);
void count_in(struct model_cpu *c, struct model_task *t);
void count_out(struct model_cpu *c, struct model_task *t);

/* `c` is locked. A task has become runnable there and is in no queue: the program says where it goes. */
void enqueue(struct model_cpu *c, struct model_task *t, u64 flags);
/* `c` is locked. Takes a task that waits there out of whatever queue it is in. */
void dequeue(struct model_cpu *c, struct model_task *t);
/* Moves tasks that were put on other CPUs while `c` was locked. Unlocks `c` meanwhile. */
void put_deferred(struct model_cpu *c);
