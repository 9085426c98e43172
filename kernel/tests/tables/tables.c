/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * More groups and applications than the BPF program has places for: main.bpf.c as it is, compiled natively with the
 * modelled kernel of ../interleave/.
 */
#include "scx/common.bpf.h"
static u64 clock_of_test_ns = 1000000000;
#define bpf_ktime_get_ns() (clock_of_test_ns)
#include "../interleave/program.c"
#undef bpf_ktime_get_ns
#include "expect.h"

enum { MOST_TASKS = 5000, MOST_GROUPS = 2048, PLACES = 4096 };
static struct task_group groups[MOST_GROUPS];
static unsigned nr_groups;
static struct cgroup somewhere;
static struct { struct task_struct p; struct lop_task_state t; } threads[MOST_TASKS];

static struct task_group *group_in(struct task_group *parent)
{
	struct task_group *group = &groups[nr_groups++];
	group->parent = parent;
	group->css.cgroup = &somewhere;
	group->css.serial_nr = nr_groups;
	group->shares = (u64)LOP_WEIGHT_DEFAULT << 10;
	return group;
}

/* An awake task enters a group and is looked at, as at each wakeup. */
static void enter(unsigned n, struct task_group *group)
{
	threads[n].t.group = LOP_NONE;
	threads[n].t.group_key = 0;
	threads[n].t.task.weight = LOP_WEIGHT_DEFAULT;
	threads[n].t.task.weighs = true;
	threads[n].p.sched_task_group = group;
	regroup(&threads[n].p, &threads[n].t);
}

static void leave(unsigned n)
{
	struct lop_task_state *t = &threads[n].t;
	if (t->group != LOP_NONE)
		lop_group_add(&lopsided, group_of(t), -(s32)t->task.weight, clock_of_test_ns);
	release_slot(t->group);
	t->group = LOP_NONE;
}

/*
 * What the first `n` threads get together, in units in which a nice 0 task of the root group gets LOP_WEIGHT_DEFAULT.
 */
static u64 share_of(unsigned n)
{
	u64 sum = 0, k;
	for (k = 0; k < n; k++)
		sum += lop_weight_1024(&lopsided, &threads[k].t.task, group_of(&threads[k].t));
	return (sum + LOP_WEIGHT_DEFAULT / 2) / LOP_WEIGHT_DEFAULT;
}

static void begin_with(u32 places)
{
	memset(stacks, 0, sizeof(stacks));
	memset(entries, 0, sizeof(entries));
	memset(slots, 0, sizeof(slots));
	memset(apps, 0, sizeof(apps));
	memset(threads, 0, sizeof(threads));
	nr_groups = full_until_ns = groups_left_out = apps_left_out = pops = 0;
	ranks = true;
	last_group = last_app = places - 1;
	free_all_places(&free_slots, last_group);
	free_all_places(&free_apps, last_app);
}

/*
 * A user who creates more groups than there are slots gets no more than the group that they lie in weighs. Once there
 * are free ones again, each gets a slot of its own.
 */
static void groups_without_slot(void)
{
	struct task_group *root, *user;
	unsigned n;
	begin_with(4);
	root = group_in(NULL);
	user = group_in(root);
	for (n = 0; n < 100; n++)
		enter(n, group_in(user));
	expect("a user with 100 groups, 97 of them without a slot, weighs as much as the user's own group", share_of(100) == LOP_WEIGHT_DEFAULT);
	expect("the lack of slots is counted once", groups_left_out == 1);
	for (pops = 0, n = 0; n < 10000; n++)
		regroup(&threads[3 + n % 97].p, &threads[3 + n % 97].t);
	expect("their wakeups do not look for a slot", pops == 0);
	for (n = 0; n < 3; n++)
		leave(n);
	clock_of_test_ns += LOP_FULL_NS;
	for (n = 3; n < 100; n++)
		regroup(&threads[n].p, &threads[n].t);
	expect("freed slots go to the first groups that lack one", threads[3].t.group != threads[6].t.group && threads[6].t.group == threads[99].t.group);
	for (n = 3; n < 100; n++)
		leave(n);
	expect("all slots are free when all have left", stack_of(&free_slots)->depth == 4);
}

/* Groups deeper than slots go. */
static void groups_too_deep(void)
{
	struct task_group *group;
	unsigned n, depth;
	begin_with(PLACES);
	group = group_in(NULL);
	group = group_in(group);
	group->shares /= 4;
	for (depth = 0; depth < 40; depth++)
		group = group_in(group);
	enter(0, group);
	enter(1, group);
	expect("two tasks below 40 groups still share the weight of the outermost group below the root", share_of(2) == LOP_WEIGHT_DEFAULT / 4);
	for (pops = 0, n = 0; n < 10000; n++)
		regroup(&threads[n % 2].p, &threads[n % 2].t);
	expect("their wakeups do not look for a slot", pops == 0);
	expect("the shares stay the same", share_of(2) == LOP_WEIGHT_DEFAULT / 4);
	leave(0);
	leave(1);
	expect("all slots are free when all have left", stack_of(&free_slots)->depth == PLACES);
}

static unsigned threads_counted(void)
{
	unsigned n, sum = 0;
	for (n = 0; n < PLACES; n++)
		sum += apps[n].threads;
	return sum;
}

/* Each fork takes one look for a place, whether one is free or not, and no place is lost. */
static void processes_without_room(void)
{
	unsigned n, turn;
	begin_with(PLACES);
	for (turn = 0; turn < 3; turn++) {
		for (pops = 0, n = 0; n < MOST_TASKS; n++)
			enter_app(&threads[n].p, &threads[n].t, true);
		expect("a fork looks for a place once", pops == MOST_TASKS);
		expect("applications without a place are counted", apps_left_out == (turn + 1) * (MOST_TASKS - PLACES));
		expect("tasks without a place belong to no application", threads_counted() == PLACES && !threads[MOST_TASKS - 1].t.app);
		for (n = 0; n < MOST_TASKS; n++)
			leave_app(&threads[n].t);
		expect("all places are free when all have ended", !threads_counted() && stack_of(&free_apps)->depth == PLACES);
	}
}

int main(void)
{
	groups_without_slot();
	groups_too_deep();
	processes_without_room();
	return 0;
}
