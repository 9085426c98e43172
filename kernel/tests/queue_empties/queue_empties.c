/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two CPUs, both members of the high set. The last task of their queue starts on CPU 0, which is about to clear the bit
 * that says that tasks wait. Before the clear another task comes and finds no CPU idle. After the clear CPU 1 falls
 * idle and sees no task waiting. Exit code 1: CPU 1 is not kicked for the task; prints the check that failed.
 */
#include "types.h"
static void before_cleared(void *at), after_cleared(void *at);
#define LOP_ATOMICS_DEFINED
#define lop_atomic_or(p, v) __sync_fetch_and_or(p, v)
#define lop_atomic_and(p, v)                                         \
	({                                                           \
		__typeof__(*(p)) was;                                \
		before_cleared(p);                                   \
		was = __sync_fetch_and_and(p, v);                    \
		after_cleared(p);                                    \
		was;                                                 \
	})
#define lop_atomic_add(p, v) __sync_fetch_and_add(p, v)
#define lop_atomic_cas(p, old, new) __sync_val_compare_and_swap(p, old, new)
#include "lopsided.h"
#include "expect.h"
#include "machine.h"

static struct lop_sched sched;
static struct lop_world world, other_world;
static struct lop_task tasks[3];
static const u64 now_ns = 1000000000;
static u64 timer_at_ns;
static u32 kicked;
static bool watched;

u64 lop_env_now_ns(struct lop_world *w) { return now_ns; }
u32 lop_env_queued(struct lop_world *w, u32 queue) { return sched.queues.queued[queue]; }
void lop_env_kick(struct lop_world *w, u32 cpu) { kicked |= 1U << cpu; }
void lop_env_arm_timer(struct lop_world *w, u64 at_ns) { timer_at_ns = at_ns; }

static void wake(struct lop_task *t)
{
	lop_put(&sched, &other_world, t, NULL, lop_wake(&sched, &other_world, t, NULL, NULL, 0, now_ns));
}

static bool is_watched(const void *at) { return watched && at == &sched.queues.domain_waiting.word[0]; }

static void before_cleared(void *at)
{
	if (!is_watched(at))
		return;
	wake(&tasks[2]);
	expect("the other task waits, and finds no CPU idle", tasks[2].queue == (s32)lop_domain_queue(&sched, 0, LOP_HIGH) && !kicked);
}

static void after_cleared(void *at)
{
	if (!is_watched(at))
		return;
	watched = false;
	expect("CPU 1 finds nothing", lop_dispatch(&sched, &other_world, 1, NULL) == LOP_NEXT_NONE);
	lop_cpu_idle(&sched, &other_world, 1, true, now_ns);
	expect("CPU 1 sees no task waiting", !kicked);
}

int main(void)
{
	u32 n;
	start_all_high(&sched, &world, 2, now_ns);
	for (n = 0; n < 3; n++)
		begin_task(&sched, &tasks[n]);
	wake(&tasks[0]);
	timer_at_ns = kicked = 0;
	watched = true;
	lop_running(&sched, &world, &tasks[0], 0, now_ns);
	expect("the queue was empty for a moment", !watched);
	expect("the queue has the other task", lop_queue_waits(&sched, lop_domain_queue(&sched, 0, LOP_HIGH)));
	expect("the timer is armed to look at once", timer_at_ns == now_ns);
	lop_timer(&sched, &world, now_ns);
	expect("CPU 1 is kicked", kicked == 1U << 1);
	return 0;
}
