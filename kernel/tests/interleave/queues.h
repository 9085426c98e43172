/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Where tasks wait, and how CPUs tell one another to look. */
#include "kernel.h"

/* Printed with its time if LOP_INTERLEAVE_LOG is set; -1 is no task, and a queue of the kernel's own. It neither draws nor steps: the run is the same. */
void notes(const char *what, ...) __attribute__((format(printf, 1, 2)));

bool is_idle(const struct model_cpu *c);
bool runs_ours(const struct model_cpu *c);
/* It goes through the scheduler, at once if it is idle. */
void resched(struct model_cpu *c);
/* What its last callback asked for. */
void carry_out_kicks(struct model_cpu *c);

/* What is to run on `c`, which is locked, at once or be queued anew: it is looked at if it cannot. */
void look_at_immed(struct model_cpu *c);
/* That is queued anew. */
void reenqueue_immed(struct model_cpu *c);

/* `ordered`: by virtual time, else last. */
void append(struct queue *q, struct model_task *t, bool ordered);
void unlink_task(struct model_task *t);
void count_in(struct model_cpu *c, struct model_task *t);
void count_out(struct model_cpu *c, struct model_task *t);

/* A task is runnable on `c`, which is locked, and is not put anywhere yet: the program says where. */
void enqueue(struct model_cpu *c, struct model_task *t, u64 flags);
/* A task that waits on `c`, which is locked, is taken from wherever it lies. */
void dequeue(struct model_cpu *c, struct model_task *t);
/* What was put on other CPUs while `c` was locked goes there; `c` is let go meanwhile. */
void put_deferred(struct model_cpu *c);
