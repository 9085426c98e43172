/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "hints.bpf.h"
/*
 * An application is a process, or one and all that it creates, if that was said of it. What the policy keeps of it has a place here as long as
 * one of its threads lives: a thread may outlast the first one, and what is kept with that. Each thread keeps the number of the place: who
 * looks needs no search.
 */
struct lop_app_state {
	struct lop_app app;
	u32 threads;        /* 0: the place is free */
	u32 declared;       /* those of them that declared a length */
	u32 keeper;         /* thread of which it was said that processes which this application creates are of it; 0: none */
};

struct lop_app_state apps[LOP_PLACES] SEC(".data.apps");
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, LOP_PLACES);
	__uint(value_size, sizeof(u32));
} free_apps SEC(".maps");
/* Applications that found no place. */
u64 apps_left_out;
/* Of processes that were there before. */
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

/* That was said of this thread, and holds no more. */
static __always_inline void keep_no_children(const struct task_struct *p, const struct lop_task_state *t)
{
	struct lop_app_state *about = app_at(t->app - 1);
	if (about->keeper == (u32)p->pid)
		about->keeper = 0;
}

/* Processes that this thread creates belong to its application. */
static __always_inline bool keeps_children(struct task_struct *p, const struct lop_task_state *t)
{
	const struct lop_hint_record *said = hint_of(p);
	struct lop_app_state *about = app_at(t->app - 1);
	if (!t->app)
		return false;
	if (said && (said->flags & LOP_HINT_WITH_CHILDREN))
		about->keeper = p->pid;
	else if (said)
		keep_no_children(p, t);
	return about->keeper;
}

/* A free place, with one thread in it; LOP_NONE: there is none. */
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
	app_at(place)->declared = 0;
	lop_atomic_add(&app_at(place)->threads, 1);
	return (s32)place;
}

/* One thread more of an application; false: it had none any more, and its place is free or another's. */
static __always_inline bool join_app(struct lop_task_state *t, u32 place)
{
	if (!lop_atomic_add(&app_at(place)->threads, 1)) {
		lop_atomic_add(&app_at(place)->threads, -1);
		return false;
	}
	t->app = place + 1;
	return true;
}

/* A task that was there before: where its process is, if one of its threads has been met already. */
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
 * A new task is of its creator's application if it is a thread of the same process, or if that one keeps its children; else it is the first of its
 * own. Without room it belongs to none; nor do threads of the kernel, and nobody asks without rules.
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

/* One less; the last one frees the place. */
static __always_inline void leave_app(struct lop_task_state *t)
{
	u32 place = t->app - 1;
	if (!ranks || !t->app)
		return;
	t->app = 0;
	if (lop_atomic_add(&app_at(place)->threads, -1) == 1)
		bpf_map_push_elem(&free_apps, &place, 0);
}
