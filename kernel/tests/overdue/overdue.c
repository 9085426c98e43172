/* SPDX-License-Identifier: GPL-2.0-only */
/* CPU 1 would look for overdue tasks while CPU 0 searches the queue that both serve. Exit code 1: an expectation does not hold; it is printed. */
#include "types.h"
#include "lopsided.h"
#include "expect.h"
#include "machine.h"

static struct lop_sched sched;
static struct lop_world world, other_world;
static struct lop_task tasks[3];
static u64 now_ns = 1000000000;
static u32 looks[2];
static bool meanwhile;

u64 lop_env_now_ns(struct lop_world *w) { return now_ns; }

bool lop_env_take_overdue(struct lop_world *w, u32 queue, u32 cpu, u64 before_ns)
{
	looks[cpu]++;
	if (meanwhile && cpu == 0)
		lop_dispatch(&sched, &other_world, 1, NULL);
	return false;
}

int main(void)
{
	u32 n;
	start_all_high(&sched, &world, 2, now_ns);
	for (n = 0; n < 3; n++) {
		begin_task(&sched, &tasks[n]);
		lop_put(&sched, &world, &tasks[n], NULL, lop_wake(&sched, &world, &tasks[n], NULL, NULL, 0, now_ns));
	}
	now_ns += LOP_WAIT_MAX_NS;
	meanwhile = true;
	lop_dispatch(&sched, &world, 0, NULL);
	expect("only CPU 0 looks", looks[0] == 1 && looks[1] == 0);
	meanwhile = false;
	lop_dispatch(&sched, &other_world, 1, NULL);
	expect("CPU 1 looks the next time", looks[0] == 1 && looks[1] == 1);
	lop_dispatch(&sched, &world, 0, NULL);
	lop_dispatch(&sched, &other_world, 1, NULL);
	expect("then neither looks for a while", looks[0] == 1 && looks[1] == 1);
	now_ns += LOP_OVERDUE_PERIOD_NS;
	lop_dispatch(&sched, &world, 0, NULL);
	expect("a period later CPU 0 looks again", looks[0] == 2);
	return 0;
}
