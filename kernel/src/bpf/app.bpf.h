/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "hints.bpf.h"
/*
 * An application is one process, or a process and all that it creates if a hint says so (LOP_HINT_WITH_CHILDREN). Its
 * state has a place in `apps` as long as one of its threads lives. It cannot live in the task storage of the first
 * thread, which other threads may outlast. Each thread keeps the number of its place, so a look-up needs no search.
 */
struct lop_app_state {
	struct lop_app app;
	u32 threads;        /* 0: the place is free */
	u32 keeper;         /* pid of the thread whose hint adds created processes to this application; 0: none */
	u32 declarer;       /* pid of the thread that declared the parallelism; 0: none */
	bool by_root;       /* root did for it */
};

struct lop_app_state apps[LOP_PLACES] SEC(".data.apps");
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, LOP_PLACES);
	__uint(value_size, sizeof(u32));
} free_apps SEC(".maps");
/* Threads that found no free place for a new application. */
u64 apps_left_out;
/* Place of each process that existed before the program was loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, LOP_PLACES);
	__type(key, s32);
	__type(value, u32);
} app_of_process SEC(".maps");

static __always_inline struct lop_app_state *app_at(u32 place) { return place_in(apps, place, last_app); }

/* The application that a thread belongs to; null: none. */
static __always_inline struct lop_app *app_of(const struct lop_task_state *t) { return ranks && t->app ? &app_at(t->app - 1)->app : 0; }

/* The hint of this thread no longer adds created processes to its application. */
static __always_inline void keep_no_children(const struct task_struct *p, const struct lop_task_state *t)
{
	struct lop_app_state *about = app_at(t->app - 1);
	if (about->keeper == (u32)p->pid)
		about->keeper = 0;
}

/* Updates `keeper` from the thread's hint. True: processes that the thread creates belong to its application. */
static __always_inline bool keeps_children(struct task_struct *p, const struct lop_task_state *t)
{
	const struct lop_hint_record *hint = root_hint_of(p);
	struct lop_app_state *about = app_at(t->app - 1);
	if (!t->app)
		return false;
	if (hint && (hint->flags & LOP_HINT_WITH_CHILDREN))
		about->keeper = p->pid;
	else if (hint)
		keep_no_children(p, t);
	return about->keeper;
}

/* Takes a free place and counts one thread in it. LOP_NONE: none is free. */
static __noinline s32 take_app(void)
{
	struct lop_app none = { .home_node = LOP_NONE };
	u32 place;
	if (bpf_map_pop_elem(&free_apps, &place)) {
		lop_atomic_add(&apps_left_out, 1);
		return LOP_NONE;
	}
	app_at(place)->app = none;
	app_at(place)->keeper = 0;
	app_at(place)->declarer = 0;
	lop_atomic_add(&app_at(place)->threads, 1);
	return (s32)place;
}

/*
 * Adds a thread to the application at `place`. The atomic increment returns the count before: 0 means that the last
 * thread has left, so the place is free or belongs to another application. Then the increment is undone and the result
 * is false.
 */
static __always_inline bool join_app(struct lop_task_state *t, u32 place)
{
	if (!lop_atomic_add(&app_at(place)->threads, 1)) {
		lop_atomic_add(&app_at(place)->threads, -1);
		return false;
	}
	t->app = place + 1;
	return true;
}

/*
 * For a task that existed before: joins the application of its process if one of that process's threads was seen
 * already, else takes a new place.
 */
static __always_inline void find_app(const struct task_struct *p, struct lop_task_state *t)
{
	s32 process = p->tgid, place;
	u32 *known = bpf_map_lookup_elem(&app_of_process, &process);
	if (known && join_app(t, *known))
		return;
	place = take_app();
	t->app = (u32)(place + 1);
	if (place != LOP_NONE)
		bpf_map_update_elem(&app_of_process, &process, &place, BPF_ANY);
}

/*
 * A new task joins its creator's application if both are threads of one process, or if the creator's hint adds its
 * children. Otherwise it starts an application. A task for which there is no place belongs to none. Kernel threads
 * belong to none. Without rules for fast cores (`ranks`) applications are not tracked.
 */
static __always_inline void enter_app(const struct task_struct *p, struct lop_task_state *t, bool created)
{
	struct task_struct *creator = bpf_get_current_task_btf();
	struct lop_task_state *of_creator = state_of(creator);
	if (!ranks || p->flags & PF_KTHREAD)
		return;
	if (!created) {
		find_app(p, t);
	} else if (of_creator && (p->tgid == creator->tgid || keeps_children(creator, of_creator))) {
		if (of_creator->app)
			join_app(t, of_creator->app - 1);
	} else {
		t->app = (u32)(take_app() + 1);
	}
}

/* Whether the machine has several nodes. If not, the verifier drops what follows from shared memory. */
const volatile bool has_nodes;
/* Nodes with CPUs, a bit for each by the kernel's number, and the policy's number of each. */
const volatile u64 node_bits;
const volatile u8 node_numbers[LOP_MAX_NODES];

/*
 * The only node with CPUs where the task may have memory (cpuset.mems); LOP_NONE: there are several, or none. A kernel
 * without NUMA has no such field.
 */
static __always_inline s32 only_node(const struct task_struct *p)
{
	u64 nodes;
	if (!bpf_core_field_exists(p->mems_allowed))
		return LOP_NONE;
	nodes = p->mems_allowed.bits[0] & node_bits;
	return nodes && !(nodes & (nodes - 1)) ? node_numbers[lop_lowest_bit(nodes) & (LOP_MAX_NODES - 1)] : LOP_NONE;
}

/*
 * A thread that is not the first of its process shares memory with that one. Each such thread looks at cpuset.mems, as
 * the process may have been moved since; the log has it after the thread itself. An application of several processes shares none.
 */
static __always_inline void share_memory(struct task_struct *p, const struct lop_task_state *t)
{
	struct lop_app *app = app_of(t);
	unsigned long flags = 0;
	bool locked;
	s32 node;
	if (!has_nodes || !app || p->pid == p->tgid || app_at(t->app - 1)->keeper)
		return;
	node = only_node(p);
	if (app->shares_memory && (node == LOP_NONE || node == app->home_node))
		return;
	locked = log_begin_open(&flags);
	tell(LOP_RECORD_SHARES, bpf_ktime_get_ns(), (u64)p, 0, (u32)(node + 1));
	lop_share_memory(app, node);
	log_end_open(locked, &flags);
}

/* Removes a thread from its application. The last one frees the place. */
static __always_inline void leave_app(struct lop_task_state *t)
{
	u32 place = t->app - 1;
	if (!ranks || !t->app)
		return;
	t->app = 0;
	if (lop_atomic_add(&app_at(place)->threads, -1) == 1)
		bpf_map_push_elem(&free_apps, &place, 0);
}
